"""k-medoids for any distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks

Rows: TypeAlias = NDArray[np.intp]
CELLS = 1 << 18  # distances computed at a time
# Distances, and sums of them, that differ by a smaller share are ties, which the first wins, so
# that rounding cannot choose a medoid.
TIE = 1e-9


def k_medoids(
    distances: Callable[[Rows, Rows], NDArray[np.float64]], first: Rows, n: int, max_iter: int
) -> tuple[Rows, int]:
    """Alternate between assigning n items to medoids and moving these; return medoids and rounds.

    ``distances(rows, columns)`` returns distances between items. It is called for all items and
    the medoids, and within a group, never for all pairs. Neither step increases the sum of the
    distances to the nearest medoid.
    """

    def checked(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        D = distances(rows, columns)
        if np.isnan(D).any():
            i, j = np.argwhere(np.isnan(D))[0]
            pair = f"items {rows[i]} and {columns[j]}"
            raise ValueError(f"distances must be numbers, got NaN between {pair}")
        return D

    medoids = np.array(first)
    everything = np.arange(n)
    rounds, moved = 0, True
    while moved and rounds < max_iter:
        rounds += 1
        nearest = np.empty(n, dtype=np.intp)
        for rows in row_blocks(n, len(medoids), CELLS):
            nearest[rows] = _first_least(checked(everything[rows], medoids))
        nearest[medoids] = np.arange(len(medoids))  # also where two medoids are equal
        order = np.argsort(nearest, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(nearest, minlength=len(medoids)))[:-1])
        moved = False
        for j, group in enumerate(groups):
            if len(group) < 3:  # either of two is as good
                continue
            blocks = row_blocks(len(group), len(group), CELLS)
            total = np.concatenate([checked(group[b], group).sum(axis=1) for b in blocks])
            if total.min() < (1 - TIE) * total[group == medoids[j]][0]:
                medoids[j], moved = group[_first_least(total)], True
    return medoids, rounds


def _first_least(values: NDArray[np.float64]) -> Any:
    """Place of the first of the smallest values, along the last axis."""
    return (values <= (1 + TIE) * values.min(axis=-1, keepdims=True)).argmax(axis=-1)
