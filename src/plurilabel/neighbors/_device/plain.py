"""The three functions of :mod:`~plurilabel.neighbors._device.kernels` in plain torch."""

from __future__ import annotations

from typing import TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor

_NUMBERS = 1 << 24  # worked on at once


def group_minima(Q: Tensor, X: Tensor, heights: Tensor, group: int, out: Tensor) -> None:
    """``out[i, g]`` is the least ``heights[j] - 2 Q[i] @ X[j]`` of the columns j of group g."""
    # Sums in half precision would be rounded, and float32 may be rounded to TF32 before it is
    # multiplied: half precision passes through that unchanged.
    kind = torch.float32 if Q.dtype == torch.float16 else torch.float64
    Q, X, heights = Q.to(kind), X.to(kind), heights.to(kind)
    step = max(1, _NUMBERS // X.shape[0])
    for i in range(0, Q.shape[0], step):
        values = torch.addmm(heights, Q[i : i + step], X.T, alpha=-2.0)
        out[i : i + step] = values.view(len(values), -1, group).amin(2)


def distances_in_groups(
    Q: Tensor, rows: Tensor, X: Tensor, own: Tensor, groups: Tensor, group: int
) -> Tensor:
    """Squared distances (m, T * group) of ``Q[rows]`` and the points of T groups each, in float32.

    Infinite for points behind the end, and for a row's own point.
    """
    (m, T), n = groups.shape, X.shape[0]
    out = torch.empty((m, T * group), device=X.device, dtype=torch.float32)
    inside = torch.arange(group, device=X.device)
    step = max(1, _NUMBERS // (T * group * X.shape[1]))
    for i in range(0, m, step):
        some = slice(i, i + step)
        j = (groups[some, :, None] * group + inside).flatten(1)
        e = X[j.clamp(max=n - 1)] - Q[rows[some], None]
        out[some] = (e * e).sum(2).masked_fill((j >= n) | (j == own[some, None]), torch.inf)
    return out


def canonical_squares(A: Tensor, rows: Tensor, B: Tensor, cols: Tensor) -> Tensor:
    """Squared distances of ``A[rows]`` and ``B[cols]`` (m, K) in float64, feature by feature."""
    out = torch.empty(cols.shape, device=A.device, dtype=torch.float64)
    step = max(1, _NUMBERS // max(1, cols.shape[1] * A.shape[1]))
    for i in range(0, len(rows), step):
        some = slice(i, i + step)
        e = A[rows[some], None].double() - B[cols[some]].double()
        total = torch.zeros_like(out[some])
        for j in range(A.shape[1]):
            total = total + e[:, :, j] * e[:, :, j]
        out[some] = total
    return out
