"""Attention among the columns of a row, as two Triton kernels for the training.

A row has at most 128 columns, so a program computes the attention of one row and one head in a
single tile, reads the packed queries, keys and values where the product left them, and writes
their gradients the same way. General kernels work in tiles of 128 rows however short the
sequence is: they took half of a step.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST_COLUMNS = 128


@triton.jit
def _forward(
    packed, out, columns, scale, heads: tl.constexpr, width: tl.constexpr, tile: tl.constexpr
):
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c, d = tl.arange(0, tile), tl.arange(0, width)
    there = c[:, None] < columns
    first = packed + row * columns * 3 * heads * width + head * width
    cells = first + c[:, None] * (3 * heads * width) + d[None, :]
    q = tl.load(cells, there, 0.0)
    k = tl.load(cells + heads * width, there, 0.0)
    v = tl.load(cells + 2 * heads * width, there, 0.0)
    s = tl.where(c[None, :] < columns, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    answer = tl.dot(p.to(v.dtype), v)
    place = out + row * columns * heads * width + head * width
    tl.store(place + c[:, None] * (heads * width) + d[None, :], answer.to(v.dtype), there)


@triton.jit
def _backward(
    packed, gradient, out, columns, scale,
    heads: tl.constexpr, width: tl.constexpr, tile: tl.constexpr,
):  # fmt: skip
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c, d = tl.arange(0, tile), tl.arange(0, width)
    there = c[:, None] < columns
    start = row * columns * 3 * heads * width + head * width
    cells = start + c[:, None] * (3 * heads * width) + d[None, :]
    q = tl.load(packed + cells, there, 0.0)
    k = tl.load(packed + cells + heads * width, there, 0.0)
    v = tl.load(packed + cells + 2 * heads * width, there, 0.0)
    asked = gradient + row * columns * heads * width + head * width
    g = tl.load(asked + c[:, None] * (heads * width) + d[None, :], there, 0.0)
    s = tl.where(c[None, :] < columns, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    dp = tl.dot(g, tl.trans(v))
    ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(q.dtype)
    p = tl.where(there, p, 0.0).to(q.dtype)
    tl.store(out + cells, tl.dot(ds, k).to(q.dtype), there)
    tl.store(out + cells + heads * width, tl.dot(tl.trans(ds), q).to(q.dtype), there)
    tl.store(out + cells + 2 * heads * width, tl.dot(tl.trans(p), g).to(q.dtype), there)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, packed: Tensor) -> Tensor:
        rows, columns, _, heads, width = packed.shape
        packed = packed.contiguous()
        out = packed.new_empty(rows, columns, heads * width)
        ctx.save_for_backward(packed)
        _forward[(rows, heads)](packed, out, columns, *_constants(packed))
        return out

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (packed,) = ctx.saved_tensors
        rows, columns, _, heads, _ = packed.shape
        out = torch.empty_like(packed)
        _backward[(rows, heads)](packed, gradient.contiguous(), out, columns, *_constants(packed))
        return out


def _constants(packed: Tensor) -> tuple[float, int, int, int]:
    _, columns, _, heads, width = packed.shape
    return width**-0.5, heads, width, max(16, triton.next_power_of_2(columns))


def attend_columns(packed: Tensor) -> Tensor:
    """Attention of queries, keys and values (rows, columns, 3, heads, width).

    Returns (rows, columns, heads * width).
    """
    if packed.shape[1] > MOST_COLUMNS:
        raise ValueError(f"at most {MOST_COLUMNS} columns fit a tile, got {packed.shape[1]}")
    return _Attention.apply(packed)
