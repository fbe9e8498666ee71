"""Batches of tables in a few fixed shapes, so that a step can be captured once for each."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from benchmarks.prior_fitted._cells import group_features, view_features
from benchmarks.prior_fitted._dice import Dice
from benchmarks.prior_fitted._prior import draw, draw_easy, hide
from benchmarks.prior_fitted._regressions import LANDMARKS, regress
from benchmarks.prior_fitted.learner._weights import GROUP, PENALTIES, VIEWS, Size

MOST_TABLES = 128
PARTS = 4
"""Structures of the prior in a batch, at most."""


@dataclass(frozen=True)
class Shape:
    """Tables of one batch: how many, and how large."""

    tables: int
    rows: int
    known: int
    features: int
    labels: int

    @property
    def groups(self) -> int:
        return -(-self.features // GROUP)

    @property
    def cells(self) -> int:
        """Tokens of the batch."""
        return self.tables * self.rows * (self.groups + self.labels)

    def __str__(self) -> str:
        return (
            f"{self.tables} x ({self.rows} rows, {self.known} known, {self.features} features, "
            f"{self.labels} labels)"
        )


# rows, features, labels; the share of known rows goes through KNOWN
SIZES = (
    [(32, 4, 2), (48, 4, 3), (64, 4, 2), (64, 8, 3), (96, 8, 2), (96, 6, 4)],
    [(32, 4, 3), (64, 8, 4), (96, 12, 6), (128, 6, 2), (160, 20, 7), (200, 16, 5), (256, 11, 8),
     (320, 24, 6), (400, 8, 4), (400, 36, 10), (240, 40, 3), (128, 30, 12), (48, 19, 7)],
    [(150, 60, 6), (300, 20, 12), (400, 72, 6), (500, 100, 4), (600, 16, 14), (600, 72, 6),
     (800, 40, 8), (900, 128, 5), (1000, 30, 20), (700, 3, 6), (500, 300, 5), (1000, 64, 3),
     (250, 48, 20), (900, 100, 14), (200, 20, 30)],
    [(1200, 72, 6), (1500, 100, 14), (2000, 100, 14), (2000, 296, 6), (1600, 296, 5),
     (2400, 40, 10), (4000, 16, 5), (3000, 64, 8), (1000, 200, 30), (800, 100, 60), (1800, 20, 20),
     (1400, 160, 10), (2500, 128, 4), (600, 300, 16), (2000, 8, 4)],
)  # fmt: skip
KNOWN = (0.7, 0.5, 0.85, 0.8, 0.35, 0.9, 0.6)
BUDGETS = (30_000, 60_000, 120_000, 240_000)
"""Tokens of a batch of tiny, small, middle and large tables."""
MIXTURES = (
    (1.0, 0.0, 0.0, 0.0),
    (0.2, 0.8, 0.0, 0.0),
    (0.0, 0.4, 0.6, 0.0),
    (0.0, 0.15, 0.4, 0.45),
)
"""Share of tiny to large tables at each stage: without tiny ones it takes long to begin."""
EASY = (0.7, 0.4, 0.1, 0.0)
"""Share of easy tables at each stage."""


def shapes(scale: float = 1.0) -> list[list[Shape]]:
    """Tiny to large shapes; ``scale`` multiplies the number of tables."""
    return [
        [_shape(*size, int(budget * scale), KNOWN[i % len(KNOWN)]) for i, size in enumerate(sizes)]
        for sizes, budget in zip(SIZES, BUDGETS)
    ]


def _shape(n: int, d: int, q: int, budget: int, share: float) -> Shape:
    tables = budget // (n * (-(-d // GROUP) + q))
    return Shape(max(1, min(MOST_TABLES, tables)), n, round(share * n), d, q)


@dataclass
class Batch:
    """What a step reads."""

    cells: Tensor  # (tables, rows, groups, GROUP * VIEWS)
    known: Tensor  # (tables, known rows, labels), NaN where unknown
    answers: Tensor  # (tables, rows, labels, 2 * regressions)
    names: Tensor  # (tables, groups + labels, name width)
    targets: Tensor  # (tables, queried rows, labels)

    def tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


def empty_batch(shape: Shape, size: Size, device: torch.device, kind: torch.dtype) -> Batch:
    """A batch to copy others to."""
    t, n, m, q = shape.tables, shape.rows, shape.known, shape.labels
    return Batch(
        torch.zeros(t, n, shape.groups, GROUP * VIEWS, device=device, dtype=kind),
        torch.zeros(t, m, q, device=device),
        torch.zeros(t, n, q, 2 * len(PENALTIES), device=device, dtype=kind),
        torch.zeros(t, shape.groups + q, size.name_width, device=device, dtype=kind),
        torch.zeros(t, n - m, q, device=device),
    )


def make_batch(
    dice: Dice,
    shape: Shape,
    size: Size,
    kind: torch.dtype,
    *,
    scores: str | None = None,
    easy: float = 0.0,
    landmarks: int = LANDMARKS,
) -> Batch:
    """Tables of the prior, of up to four structures, each an easy one by chance."""
    parts = min(PARTS, shape.tables)
    counts = [shape.tables // parts + (i < shape.tables % parts) for i in range(parts)]
    drawn = [_table(dice, count, shape, scores, easy) for count in counts]
    X, known, targets = (torch.cat(column) for column in zip(*drawn))
    names = dice.normal(shape.tables, shape.groups + shape.labels, size.name_width)
    views = view_features(X, shape.known)
    cells, answers = group_features(views).to(kind), regress(views, known, landmarks).to(kind)
    return Batch(cells, known, answers, names.to(kind), targets)


def _table(
    dice: Dice, tables: int, shape: Shape, scores: str | None, easy: float
) -> tuple[Tensor, Tensor, Tensor]:
    dimensions = (tables, shape.rows, shape.features, shape.labels)
    if dice.chance(easy):
        X, Y = draw_easy(dice, *dimensions)
    else:
        X, Y = draw(dice, *dimensions, scores=scores)
    X, known = hide(dice, X, Y, shape.known)
    return X, known, Y[:, shape.known :]
