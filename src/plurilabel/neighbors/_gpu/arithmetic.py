"""Points in low precision and their rounding errors, and the kernels in plain torch."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

Tensor: TypeAlias = torch.Tensor
_NUMBERS = 1 << 24  # worked on at once


@dataclass(frozen=True)
class Frame:
    """The centre of points, and the power of two that scales them."""

    centre: Tensor
    scale: float

    @classmethod
    def of(cls, X: Tensor, *, whole: bool) -> Frame:
        some = torch.linspace(0, len(X) - 1, min(len(X), 257), device=X.device).long()
        centre = X[some].double().median(dim=0).values
        if whole:
            return cls(centre.round(), 1.0)
        reach = max(float((part.double() - centre).abs().max()) for part in in_parts(X))
        exponent = math.frexp(reach)[1] if reach > 0 else 0
        return cls(centre, 2.0 ** max(-500, min(15 - exponent, 500)))

    def moved(self, X: Tensor) -> Tensor:
        return (X.double() - self.centre) * self.scale


class Rounded:
    """Points for a product, in half precision or float32, with their rounding errors."""

    def __init__(self, X: Tensor, frame: Frame, dtype: torch.dtype, *, exact: bool, pad: int = 1):
        n, d = X.shape
        width = padded_width(d)
        limit = torch.finfo(dtype).max
        self.points = torch.zeros((-(-n // pad) * pad, width), device=X.device, dtype=dtype)
        self.squares = torch.empty(n, device=X.device, dtype=torch.float64)
        self.errors = torch.empty_like(self.squares)
        terms = torch.zeros((), device=X.device, dtype=torch.int64)
        for i, part in in_numbered_parts(X):
            moved = frame.moved(part)
            terms = torch.maximum(terms, (moved != 0).sum(1).max())
            rounded = moved.clamp(-limit, limit).to(dtype)
            self.points[i : i + len(part), :d] = rounded
            self.squares[i : i + len(part)] = rounded.double().square().sum(1)
            self.errors[i : i + len(part)] = (moved - rounded.double()).square().sum(1).sqrt()
        self.unit = 0.0 if exact else 2.0**-11 if dtype == torch.float16 else 2.0**-24
        # zeros add nothing to a product, and no rounding
        self.terms = int(terms)
        self.lost = 0.0 if exact else lost_by_sums(self.terms)
        self.tiny = 0.0 if exact else math.sqrt(d) * float(torch.finfo(dtype).tiny)
        self.errors *= 1 + 1e-9

    def heights(self, *, exact: bool) -> Tensor:
        """|h|² of the columns, less the error of the sum; infinite for padding."""
        lost = 0.0 if exact else lost_by_sums(self.terms)
        heights = torch.full((len(self.points),), torch.inf, device=self.points.device)
        heights[: len(self.squares)] = (self.squares * (1 - lost)).float()
        return heights

    def floor(self, rows: Tensor, values: Tensor, largest: Tensor) -> Tensor:
        """A lower bound of the (scaled) distance of columns with at least this value."""
        squares, e = self.squares[rows], self.errors[rows]
        apart = (values.double() + squares * (1 - self.lost)).clamp_min(0).sqrt()
        u = self.unit * 1.001
        own = apart * (1 - u) - u * squares.sqrt() - e - self.tiny
        return torch.maximum(apart - e - largest, own)


def lost_by_sums(terms: int) -> float:
    """Largest error of a sum of ``terms`` products in float32, relative to |h_x|² + |h_y|²."""
    # at most a unit, 2**-23, per term; twice that also covers the last two operations
    return (terms + 32) * 2.0**-22


def padded_width(d: int) -> int:
    """The number of features, padded as the kernels need it."""
    if d <= 128:
        return max(16, 1 << (d - 1).bit_length())
    return -(-d // 64) * 64


def in_parts(X: Tensor) -> list[Tensor]:
    return [part for _, part in in_numbered_parts(X)]


def in_numbered_parts(X: Tensor, width: int = 1) -> list[tuple[int, Tensor]]:
    """Blocks of rows with the index of their first row; ``width`` numbers are made of each row."""
    step = max(1, (1 << 22) // max(X.shape[1], width))
    return [(i, X[i : i + step]) for i in range(0, len(X), step)]


def functions(device: torch.device) -> Any:
    """The module with the three kernels: Triton's on a GPU, else this one."""
    if device.type == "cuda":
        try:
            from plurilabel.neighbors._gpu import kernels
        except ImportError:
            pass
        else:
            return kernels
    return sys.modules[__name__]


def group_minima(Q: Tensor, X: Tensor, heights: Tensor, group: int, out: Tensor) -> None:
    """``out[i, g]`` is the least ``heights[j] - 2 Q[i] @ X[j]`` of the columns j of group g."""
    # Half precision is exact in float32, even if that is rounded to TF32; float32 needs float64.
    kind = torch.float32 if Q.dtype == torch.float16 else torch.float64
    Q, X, heights = Q.to(kind), X.to(kind), heights.to(kind)
    step = max(1, _NUMBERS // X.shape[0])
    for i in range(0, Q.shape[0], step):
        values = torch.addmm(heights, Q[i : i + step], X.T, alpha=-2.0)
        out[i : i + step] = values.view(len(values), -1, group).amin(2)


def distances_in_groups(
    Q: Tensor, rows: Tensor, X: Tensor, own: Tensor, groups: Tensor, group: int
) -> Tensor:
    """Squared distances (m, T * group) in float32 of ``Q[rows]`` and the points of T groups each.

    Infinite for padding and for a row's own point.
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


def root(squares: Tensor) -> Tensor:
    """A correctly rounded square root: torch's is, on a GPU, but not on every CPU."""
    if squares.device.type == "cpu":
        return torch.from_numpy(np.sqrt(squares.numpy()))
    return squares.sqrt()
