"""Points as products in low precision need them, and what is lost by that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor


@dataclass(frozen=True)
class Frame:
    """Where points are moved, and by which power of two they are scaled."""

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
    """Points as a product needs them, in half precision or float32."""

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
        # what is zero in one of two points adds nothing to their product, and nothing is rounded
        self.terms = int(terms)
        self.lost = 0.0 if exact else lost_by_sums(self.terms)
        self.tiny = 0.0 if exact else math.sqrt(d) * float(torch.finfo(dtype).tiny)
        self.errors *= 1 + 1e-9

    def heights(self, *, exact: bool) -> Tensor:
        """|h|², lowered by what the sum may lose, for the columns; infinite behind the end."""
        lost = 0.0 if exact else lost_by_sums(self.terms)
        heights = torch.full((len(self.points),), torch.inf, device=self.points.device)
        heights[: len(self.squares)] = (self.squares * (1 - lost)).float()
        return heights

    def floor(self, rows: Tensor, values: Tensor, largest: Tensor) -> Tensor:
        """A distance, in the scale of the points, that no column with such a value is below."""
        squares, e = self.squares[rows], self.errors[rows]
        apart = (values.double() + squares * (1 - self.lost)).clamp_min(0).sqrt()
        u = self.unit * 1.001
        return torch.maximum(
            apart - e - largest, apart * (1 - u) - u * squares.sqrt() - e - self.tiny
        )


def lost_by_sums(terms: int) -> float:
    """What a sum of so many products in float32 may lose, as a share of |h_x|² + |h_y|².

    At most a unit, 2**-23, for each term, of 2 |h_x| |h_y|; twice that also covers the last two
    operations.
    """
    return (terms + 32) * 2.0**-22


def padded_width(d: int) -> int:
    """Features filled up with zeros, as the kernels want them."""
    if d <= 128:
        return max(16, 1 << (d - 1).bit_length())
    return -(-d // 64) * 64


def in_parts(X: Tensor) -> list[Tensor]:
    return [part for _, part in in_numbered_parts(X)]


def in_numbered_parts(X: Tensor, width: int = 1) -> list[tuple[int, Tensor]]:
    """Blocks of rows, and the number of their first row.

    Some million numbers each, if no more than ``width`` are made of a row, or as many as it has.
    """
    step = max(1, (1 << 22) // max(X.shape[1], width))
    return [(i, X[i : i + step]) for i in range(0, len(X), step)]
