"""Soft labels of the neighbours: counts and tallies that are not whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.soft import harder
from plurilabel.learners.lazy._neighbor_labels import (
    CELLS,
    Best,
    Events,
    Floats,
    NeighborLabels,
    Rows,
    highest,
    look_up,
    relative_weights,
)

UNIT = 2.0**-14  # of soft labels: sums of products of two are exact for 10^7 instances


class SoftNeighborLabels(NeighborLabels):
    """Labels with probabilities from 0 to 1: their counts are not whole numbers.

    An instance whose neighbours have a label j + f times counts as 1 - f instances with a count
    of j and f with j + 1; one that has the label itself with probability p counts as p instances
    with it and 1 - p without. Sparse labels are made dense, a block of rows at a time.
    """

    def blocks(self, neighbors: Rows) -> list[slice]:
        return row_blocks(len(neighbors), self.n_labels, CELLS)

    def events(self, distances: Floats, neighbors: Rows) -> Events:
        silent = None
        if self.unknown is None:
            share = dense(self.shares(distances, neighbors))
        else:
            weights = relative_weights(distances, self.power)
            share, silent = self._known_shares(weights, neighbors)
            share = np.where(silent, self._means(), share)
        return Events(in_units(self.k * share), silent)

    def tally(self, distances: Floats, neighbors: Rows, rows: Rows | None = None) -> Any:
        own, unknown = self._rows(rows)
        c = np.zeros((2, self.n_labels, self.k + 1))
        for part in self.blocks(neighbors):
            count, silent = self.events(distances[part], neighbors[part])
            p, counted = dense(own[part]), np.ones(count.shape)
            if silent is not None:
                counted = 1.0 - (silent | dense(unknown[part]))
            c += soft_tally(count, p, self.k + 1, counted)
        return c

    def scores(self, distances: Floats, neighbors: Rows, table: Floats) -> Floats:
        parts = [
            between(table, self.events(distances[rows], neighbors[rows]).count)
            for rows in self.blocks(neighbors)
        ]
        return np.vstack(parts) if parts else np.empty((0, self.n_labels))

    def above(
        self, distances: Floats, neighbors: Rows, table: Floats, cut: float
    ) -> sparse.csr_array:
        return sparse.csr_array(self.scores(distances, neighbors, table) > cut).astype(np.int64)

    def top(self, distances: Floats, neighbors: Rows, table: Floats, n_best: int) -> Best:
        return highest(self.scores(distances, neighbors, table), n_best)


def in_units(values: Floats) -> Floats:
    """Numbers, rounded to multiples of UNIT."""
    return np.rint(values / UNIT) * UNIT


def rounded(Y: LabelMatrix) -> LabelMatrix:
    """Soft labels to multiples of UNIT; others as they are."""
    if Y.dtype.kind != "f":
        return Y
    if not sparse.issparse(Y):
        return harder(in_units(Y))
    near = sparse.csr_array((in_units(Y.data), Y.indices, Y.indptr), Y.shape)
    near.eliminate_zeros()
    return harder(near)


def soft_tally(count: Floats, p: Floats, size: int, weight: Any = 1.0, lacking: Any = None) -> Any:
    """Frequency arrays (2, q, size) of fractional counts and soft labels p, both (n, q)."""
    # ``weight`` is that of each cell, ``lacking`` that of instances without the label if it
    # differs.
    j = np.minimum(count.astype(np.int64), size - 1)
    f, offset = count - j, size * np.arange(count.shape[1])
    table = np.zeros((2, count.shape[1], size))
    for b, w in enumerate(((1 - p) * (weight if lacking is None else lacking), p * weight)):
        for at, part in ((j, w * (1 - f)), (np.minimum(j + 1, size - 1), w * f)):
            found = np.bincount((at + offset).ravel(), part.ravel(), table[b].size)
            table[b] += found.reshape(table[b].shape)
    return table


def between(table: Floats, count: Floats) -> Floats:
    """``table[l, count]`` (n, q), by a line between whole counts."""
    j = np.minimum(count.astype(np.int64), table.shape[1] - 1)
    f = count - j
    return (1 - f) * look_up(table, j) + f * look_up(table, np.minimum(j + 1, table.shape[1] - 1))
