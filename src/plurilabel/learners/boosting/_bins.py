"""Features cut into ordered bins, so that one product sums the weights on each side of all cuts.

Every feature is sorted once. A round of boosting then multiplies the 0/1 matrix (bins, instances)
by the weights (instances, 2q); the weight below each cut is a cumulative sum over the bins of a
feature. For sparse X the bin of the zeros is not stored: its sum is the total minus the other
bins, so that the cost of a round is proportional to the number of non-zeros.

If every cut is wanted and a feature has many values, a bin holds several of them, and
``_best_condition`` looks inside only if a cut there could be the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.boosting._rules import Floats, Rows

ENTRIES = 2**17  # sums in memory at once: 1 MB, small enough for the cache
ROUNDING = 1e-13  # a smaller difference of two sums, relative to their size, is rounding
COARSE = 128  # bins of a feature with more values if every cut is wanted: up to 3 times as fast


@dataclass(frozen=True)
class Chunk:
    """Features with equally many bins: a 0/1 matrix in CSR, with a row for each bin.

    If features have missing values, these are in an additional last bin.
    """

    features: NDArray[np.intp]  # (g,)
    n_bins: int
    counts: NDArray[np.intp]  # (g, n_bins), or one more for missing values
    zeros: NDArray[np.intp]  # (g,), the bin of each feature that is not stored, -1 for none
    members: NDArray[np.int32]  # instances, bin after bin, by value within a bin
    values: Floats | None  # theirs, where there are cuts inside the bins

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Where the members of each bin begin."""
        return np.concatenate([[0], np.cumsum(self.counts)])


@dataclass(frozen=True)
class Sums:
    """Weights in the bins of some features."""

    chunk: Chunk
    H: Floats  # (g, b, 2q), sums of V over the instances in each bin
    missing: Floats  # (g, 1), weight of the instances for which the feature is missing
    V: Floats  # (rows, 2q), weights of the instances that count
    place: NDArray[np.int32] | None  # (n,), rows of V; -1 for instances that do not count

    def inside(self, g: Rows, k: Rows) -> tuple[Floats, Floats]:
        """Weights (B, most, 2q) and values (B, most) of the instances in B bins, by value.

        Padded with weight 0 and value NaN; instances that do not count have weight 0.
        """
        chunk = self.chunk
        assert chunk.values is not None
        start = chunk.indptr[g * chunk.counts.shape[1] + k]
        size = chunk.counts[g, k]
        at = np.arange(size.max())
        real = at < size[:, np.newaxis]
        where = np.where(real, start[:, np.newaxis] + at, 0)
        members = chunk.members[where]
        if self.place is not None:
            members = self.place[members]
        weights = self.V[members]
        weights[~real | (members < 0)] = 0.0
        return weights, np.where(real, chunk.values[where], np.nan)


class Bins:
    """The cuts of all features, and the sums of weights (n, width) in their bins.

    With ``presence``, two bins, zero and not zero. Without ``max_bins``, every cut is possible.
    """

    def __init__(self, X: Any, *, presence: bool, max_bins: int | None, width: int):
        self.n, self.presence, self.max_bins = X.shape[0], presence, max_bins
        self._cuts: dict[int, Floats] = {}
        groups: dict[tuple[int, int, bool, bool], list[Chunk]] = {}
        for j, stored in enumerate(columns_of(X, presence)):
            f = self._binned(j, *stored)
            if f is not None:
                key = f.n_bins, f.counts.size, f.zeros[0] >= 0, f.values is not None
                groups.setdefault(key, []).append(f)
        self._chunks = []
        for (_, slots, *_), features in groups.items():
            for some in row_blocks(len(features), slots * width, ENTRIES):
                self._chunks.append(_joined(features[some]))

    def _binned(self, j: int, values: Floats, rows: NDArray[Any], unstored: int) -> Chunk | None:
        """The bins of feature j from its stored values; None if there is nothing to cut."""
        unknown = np.isnan(values)
        inner = None
        if self.presence:
            cuts, bins, zeros = np.empty(0), 2, 0
            codes = np.ones(len(values), dtype=np.intp)
            if unstored == 0 or unknown.all():
                return None
            order = np.argsort(unknown, kind="stable")
        else:
            distinct, counts = distinct_values(values[~unknown], unstored)
            cuts = find_cuts(distinct, counts, self.max_bins or COARSE)
            bins = len(cuts) + 1
            if bins == 1:
                return None
            zeros = int(np.searchsorted(cuts, 0.0)) if unstored else -1
            codes = np.searchsorted(cuts, values)
            order = np.argsort(values, kind="stable")  # NaN last
            if self.max_bins is None and len(distinct) > bins:
                inner = values[order]
        self._cuts[j] = cuts
        codes[unknown] = bins
        sizes = np.bincount(codes, minlength=bins)[np.newaxis]
        members = rows[order].astype(np.int32)
        return Chunk(np.array([j]), bins, sizes, np.array([zeros]), members, inner)

    def threshold(self, feature: int, cut: int) -> float | None:
        """Value of a cut; None for presence."""
        return None if self.presence else float(self._cuts[feature][cut])

    def sums(self, V: Floats, rows: Rows | None = None) -> Iterator[Sums]:
        """Sums of weights V (n, 2q) in each bin, by groups of features; only ``rows`` count."""
        place = None
        if rows is not None:
            place = np.full(self.n, -1, dtype=np.int32)
            place[rows] = np.arange(len(rows), dtype=np.int32)
            V = V[rows]
        total = V.sum(axis=0)
        for chunk in self._chunks:
            g, b = len(chunk.features), chunk.n_bins
            H = (_one_hot(chunk, place, len(V)) @ V).reshape(*chunk.counts.shape, -1)
            if chunk.zeros[0] >= 0:
                rest = total - H.sum(axis=1)
                rest[rest < ROUNDING * total] = 0.0
                H[np.arange(g), chunk.zeros] = rest
            missing = H[:, b:].sum(axis=(1, 2))[:, np.newaxis]
            yield Sums(chunk, H[:, :b], missing, V, place)


def _one_hot(chunk: Chunk, place: NDArray[np.int32] | None, n: int) -> sparse.csr_array:
    """Rows are bins, columns the instances that count."""
    members, indptr = chunk.members, chunk.indptr
    if place is not None:
        members = place[members]
        kept = members >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        members = members[kept]
    ones = np.ones(len(members))
    return sparse.csr_array((ones, members, indptr), shape=(len(indptr) - 1, n))


def _joined(chunks: list[Chunk]) -> Chunk:
    """Concatenate chunks of the same form."""
    values = [f.values for f in chunks if f.values is not None]
    return Chunk(
        features=np.concatenate([f.features for f in chunks]),
        n_bins=chunks[0].n_bins,
        counts=np.concatenate([f.counts for f in chunks]),
        zeros=np.concatenate([f.zeros for f in chunks]),
        members=np.concatenate([f.members for f in chunks]),
        values=np.concatenate(values) if values else None,
    )


def columns_of(X: Any, presence: bool = False) -> Iterator[tuple[Floats, NDArray[Any], int]]:
    """Yield the stored values of each column, their rows, and the number of unstored zeros."""
    n, d = X.shape
    if presence or sparse.issparse(X):
        X = sparse.csc_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        for j in range(d):
            stored = slice(*X.indptr[j : j + 2])
            rows = X.indices[stored]
            yield X.data[stored].astype(np.float64), rows, n - len(rows)
    else:
        rows = np.arange(n, dtype=np.int32)
        for j in range(d):
            yield X[:, j].astype(np.float64), rows, 0


def distinct_values(values: Floats, zeros: int) -> tuple[Floats, NDArray[np.intp]]:
    """Distinct values in order and their counts; an unstored 0 is included, with count 0."""
    distinct, counts = np.unique(values, return_counts=True)
    if zeros and not (distinct == 0).any():
        place = np.searchsorted(distinct, 0.0)
        distinct, counts = np.insert(distinct, place, 0.0), np.insert(counts, place, 0)
    return distinct, counts


def between(values: Floats) -> Floats:
    """Midpoints between neighbours along the last axis."""
    low, high = values[..., :-1], values[..., 1:]
    cuts = low / 2 + high / 2
    # adjacent floats have no midpoint: take the lower
    return np.where(cuts < high, cuts, low)


def find_cuts(distinct: Floats, counts: NDArray[np.intp], max_bins: int) -> Floats:
    """Thresholds midway between distinct values, for at most ``max_bins`` bins.

    If there are too many, bins have about equal counts; zero, if it occurs, has its own bin, so
    that sparse and dense columns are cut alike.
    """
    cuts = between(distinct)
    if len(distinct) <= max_bins:
        return cuts
    is_zero = distinct == 0
    share = np.cumsum(np.where(is_zero, 0, counts))
    bins = max_bins - 2 * int(is_zero.any())
    wanted = share[-1] * np.arange(1, bins) / bins
    kept = np.searchsorted(share, wanted)
    at_zero = np.flatnonzero(is_zero)
    kept = np.unique(np.concatenate([kept, at_zero - 1, at_zero]))
    return cuts[kept[(kept >= 0) & (kept < len(cuts))]]
