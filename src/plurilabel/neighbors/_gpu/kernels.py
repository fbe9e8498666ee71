"""Three kernels in Triton: minima of groups, distances within groups, canonical distances.

:mod:`~plurilabel.neighbors._gpu.arithmetic` has the same three functions in plain torch.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
import triton
import triton.language as tl

Tensor: TypeAlias = torch.Tensor
AT_ONCE = 128  # features that the product's kernel holds at once; more are looped over


@triton.jit
def _minima_narrow(
    Q, X, H, OUT, m, groups, n_splits: tl.constexpr,
    D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """All features at once: the rows of Q stay in registers while the columns pass by."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + rm[:, None].to(tl.int64) * D + rd[None, :], mask=rm[:, None] < m, other=0.0)
    tiles = groups * G // BN
    per = tl.cdiv(tiles, n_splits)
    first = tl.program_id(1) * per
    for t in range(first, tl.minimum(tiles, first + per)):
        rn = t * BN + tl.arange(0, BN)
        x = tl.load(X + rn[None, :].to(tl.int64) * D + rd[:, None])
        h = tl.load(H + rn)
        d = h[None, :] - 2.0 * tl.dot(q, x, input_precision="ieee")
        g = tl.min(tl.reshape(d, (BM, BN // G, G)), axis=2)
        rg = t * (BN // G) + tl.arange(0, BN // G)
        tl.store(OUT + rm[:, None].to(tl.int64) * groups + rg[None, :], g, mask=rm[:, None] < m)


@triton.jit
def _minima_wide(
    Q, X, H, OUT, m, groups,
    D: tl.constexpr, G: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Features in a loop. Programs of 16 row blocks follow each other, for the cache."""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BM), groups * G // BN
    first = (pid // (16 * tiles_n)) * 16
    size = tl.minimum(tiles_m - first, 16)
    pm = first + (pid % (16 * tiles_n)) % size
    pn = (pid % (16 * tiles_n)) // size
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    q = Q + (rm % m)[:, None].to(tl.int64) * D + rk[None, :]
    x = X + rn[None, :].to(tl.int64) * D + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, D // BK):
        acc = tl.dot(tl.load(q), tl.load(x), acc, input_precision="ieee")
        q += BK
        x += BK
    d = tl.load(H + rn)[None, :] - 2.0 * acc
    g = tl.min(tl.reshape(d, (BM, BN // G, G)), axis=2)
    rg = pn * (BN // G) + tl.arange(0, BN // G)
    tl.store(OUT + rm[:, None].to(tl.int64) * groups + rg[None, :], g, mask=rm[:, None] < m)


def group_minima(Q: Tensor, X: Tensor, heights: Tensor, group: int, out: Tensor) -> None:
    """``out[i, g]`` is the least ``heights[j] - 2 Q[i] @ X[j]`` of the columns j of group g."""
    (m, D), groups = Q.shape, X.shape[0] // group
    half = Q.dtype == torch.float16
    if D <= AT_ONCE:
        BM, BN, warps, stages = (256, 128, 8, 3) if half else (64, 64, 4, 2)
        splits = 4
        grid: Any = (triton.cdiv(m, BM), splits)
        _minima_narrow[grid](
            Q, X, heights, out, m, groups, splits, D, group, BM, BN,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
        return
    BM, BN, BK, warps, stages = (128, 256, 64, 8, 3) if half else (64, 64, 32, 4, 3)
    grid = (triton.cdiv(m, BM) * (X.shape[0] // BN),)
    _minima_wide[grid](
        Q, X, heights, out, m, groups, D, group, BM, BN, BK, num_warps=warps, num_stages=stages
    )


@triton.jit
def _within_groups(
    Q, X, ROWS, OWN, GROUPS, OUT, n, d, T,
    G: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    r, t = tl.program_id(0).to(tl.int64), tl.program_id(1)
    row, own = tl.load(ROWS + r), tl.load(OWN + r)
    g = tl.load(GROUPS + r * T + t)
    rn = g * G + tl.arange(0, G)
    rk = tl.arange(0, BK)
    total = tl.zeros((G,), dtype=tl.float32)
    for k in range(0, d, BK):
        q = tl.load(Q + row * d + k + rk, mask=k + rk < d, other=0.0)
        x = tl.load(
            X + rn[:, None] * d + (k + rk)[None, :],
            mask=(rn[:, None] < n) & ((k + rk)[None, :] < d),
            other=0.0,
        )
        e = x - q[None, :]
        total += tl.sum(e * e, axis=1)
    total = tl.where((rn >= n) | (rn == own), float("inf"), total)
    tl.store(OUT + (r * T + t) * G + tl.arange(0, G), total)


def distances_in_groups(
    Q: Tensor, rows: Tensor, X: Tensor, own: Tensor, groups: Tensor, group: int
) -> Tensor:
    """Squared distances (m, T * group) in float32 of ``Q[rows]`` and the points of T groups each.

    Infinite for padding and for a row's own point.
    """
    m, T = groups.shape
    out = torch.empty((m, T * group), device=X.device, dtype=torch.float32)
    n, d = X.shape
    block = min(128, triton.next_power_of_2(d))
    _within_groups[(m, T)](Q, X, rows, own, groups, out, n, d, T, group, block)
    return out


@triton.jit
def _canonical(A, ROWS, B, COLS, OUT, count, K, d, BLOCK: tl.constexpr):
    p = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = p < count
    a = tl.load(ROWS + p // K, mask=there, other=0) * d
    b = tl.load(COLS + p, mask=there, other=0) * d
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for j in range(0, d):
        x = tl.load(A + a + j, mask=there, other=0.0).to(tl.float64)
        e = x - tl.load(B + b + j, mask=there, other=0.0).to(tl.float64)
        total += e * e
    tl.store(OUT + p, total, mask=there)


def canonical_squares(A: Tensor, rows: Tensor, B: Tensor, cols: Tensor) -> Tensor:
    """Squared distances of ``A[rows]`` and ``B[cols]`` (m, K) in float64, feature by feature."""
    # A square is rounded before it is added, as in the formula: no fused multiply-add.
    out = torch.empty(cols.shape, device=A.device, dtype=torch.float64)
    count = cols.numel()
    if count:
        _canonical[(triton.cdiv(count, 128),)](
            A, rows, B, cols.contiguous(), out, count, cols.shape[1], A.shape[1], 128,
            num_warps=4, enable_fp_fusion=False,
        )  # fmt: skip
    return out
