"""Features cut into ordered bins, so that one product sums the weights on each side of all cuts.

Every feature is sorted once, when the bins are made. A round of boosting then multiplies the 0/1
matrix (bins, instances) by the weights (instances, 2q); what lies below each cut is a cumulative
sum over the bins of a feature. For sparse X the bin of the zeros is not stored: its sum is the
total less the other bins, so a round costs as much as there are non-zeros.

Where every cut is wanted and a feature has many values, its bins hold several of them. The search
looks into a bin only if a cut in there could be better than the best so far; see ``_search``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ENTRIES = 2**17
"""Sums that are held at once: 1 MB, small enough for the cache."""

ROUNDING = 1e-13
"""Share of a total below which a difference from that total is taken for rounding."""

COARSE = 128
"""Bins of a feature with more values where every cut is wanted."""


@dataclass(frozen=True)
class Feature:
    """One feature's cuts and, for each bin, the instances in it."""

    index: int
    cuts: NDArray[np.float64]  # (b - 1,), empty for presence
    counts: NDArray[np.intp]  # (b,) or (b + 1,) with the missing values last
    members: NDArray[np.int32]  # instances, bin after bin, by value within a bin
    values: NDArray[np.float64] | None  # theirs, where there are cuts inside the bins
    zeros: int  # the bin that is not stored, -1 if all are


@dataclass(frozen=True)
class Chunk:
    """Features with equally many bins, as rows of one 0/1 matrix (g * slots, n)."""

    features: NDArray[np.intp]  # (g,)
    n_bins: int
    slots: int  # n_bins, or one more for the missing values
    zeros: NDArray[np.intp]  # (g,)
    indptr: NDArray[np.int64]
    members: NDArray[np.int32]
    values: NDArray[np.float64] | None

    def sizes(self) -> NDArray[np.int64]:
        """Instances in each bin, (g, n_bins)."""
        return np.diff(self.indptr).reshape(len(self.features), self.slots)[:, : self.n_bins]


@dataclass(frozen=True)
class Sums:
    """Weights in the bins of some features.

    Attributes
    ----------
    chunk : Chunk
    H : ndarray of shape (g, b, 2q)
        Sums of V over the instances in each bin.
    missing : ndarray of shape (g, 1)
        Weight of the instances for which the feature is missing.
    V : ndarray of shape (rows, 2q)
        Weights of the instances that count.
    place : ndarray of shape (n,), or None
        Row of V of each training instance, -1 for those that do not count.
    """

    chunk: Chunk
    H: NDArray[np.float64]
    missing: NDArray[np.float64]
    V: NDArray[np.float64]
    place: NDArray[np.int32] | None

    def inside(
        self, g: NDArray[np.intp], k: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights (B, most, 2q) and values (B, most) of the instances in B bins, by value.

        Filled up with no weight and the value NaN; so are the instances that do not count, but
        for their value.
        """
        chunk = self.chunk
        assert chunk.values is not None
        start = chunk.indptr[g * chunk.slots + k]
        size = chunk.indptr[g * chunk.slots + k + 1] - start
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
    """The cuts of all features, and the sums of weights in their bins.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        NaN is a missing value: in no bin.
    presence : bool
        Two bins for each feature, zero and not zero, instead of thresholds.
    max_bins : int or None
        Bins of a feature with more distinct values; None: every cut can be found.
    width : int
        Columns of the weights, 2q.
    """

    def __init__(self, X: Any, *, presence: bool, max_bins: int | None, width: int):
        self.n, self.presence = X.shape[0], presence
        features = [f for f in _features(X, presence, max_bins) if f is not None]
        self._cuts = {f.index: f.cuts for f in features}
        groups: dict[tuple[int, int, bool, bool], list[Feature]] = {}
        for f in features:
            bins = 2 if presence else len(f.cuts) + 1
            key = bins, len(f.counts), f.zeros >= 0, f.values is not None
            groups.setdefault(key, []).append(f)
        self._chunks = []
        for (bins, slots, *_), members in groups.items():
            step = max(1, ENTRIES // (slots * width))
            for start in range(0, len(members), step):
                self._chunks.append(_chunk(members[start : start + step], bins, slots))

    def threshold(self, feature: int, cut: int) -> float | None:
        """Value of a cut; None for presence."""
        return None if self.presence else float(self._cuts[feature][cut])

    def sums(self, V: NDArray[np.float64], rows: NDArray[np.intp] | None = None) -> Iterator[Sums]:
        """Weights in each bin, for some features at a time.

        Parameters
        ----------
        V : ndarray of shape (n, 2q)
        rows : ndarray of int, optional
            Instances that count; None: all.
        """
        place = None
        if rows is not None:
            place = np.full(self.n, -1, dtype=np.int32)
            place[rows] = np.arange(len(rows), dtype=np.int32)
            V = V[rows]
        total = V.sum(axis=0)
        for chunk in self._chunks:
            g, b = len(chunk.features), chunk.n_bins
            H = (_one_hot(chunk, place, len(V)) @ V).reshape(g, chunk.slots, -1)
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


def _chunk(features: list[Feature], n_bins: int, slots: int) -> Chunk:
    counts = np.concatenate([f.counts for f in features])
    return Chunk(
        features=np.array([f.index for f in features]),
        n_bins=n_bins,
        slots=slots,
        zeros=np.array([f.zeros for f in features]),
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        members=np.concatenate([f.members for f in features]),
        values=None
        if features[0].values is None
        else np.concatenate([f.values for f in features if f.values is not None]),
    )


def _features(X: Any, presence: bool, max_bins: int | None) -> Iterator[Feature | None]:
    n, d = X.shape
    if presence or sparse.issparse(X):
        X = sparse.csc_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        for j in range(d):
            stored = slice(*X.indptr[j : j + 2])
            values, rows = X.data[stored].astype(np.float64), X.indices[stored]
            yield _feature(j, values, rows, n - len(rows), presence, max_bins)
    else:
        rows = np.arange(n, dtype=np.int32)
        for j in range(d):
            yield _feature(j, X[:, j].astype(np.float64), rows, 0, presence, max_bins)


def _feature(
    j: int,
    values: NDArray[np.float64],
    rows: NDArray[Any],
    unstored: int,
    presence: bool,
    max_bins: int | None,
) -> Feature | None:
    """Bins of one feature from its stored values; None if there is nothing to cut."""
    unknown = np.isnan(values)
    inner = None
    if presence:
        cuts, bins, zeros = np.empty(0), 2, 0
        codes = np.ones(len(values), dtype=np.intp)
        if unstored == 0 or unknown.all():
            return None
        order = np.argsort(unknown, kind="stable")
    else:
        distinct, counts = distinct_values(values[~unknown], unstored)
        cuts = find_cuts(distinct, counts, max_bins or COARSE)
        bins = len(cuts) + 1
        if bins == 1:
            return None
        zeros = int(np.searchsorted(cuts, 0.0)) if unstored else -1
        codes = np.searchsorted(cuts, values)  # cuts strictly below the value
        order = np.argsort(values, kind="stable")  # missing values come last
        if max_bins is None and len(distinct) > bins:
            inner = values[order]
    codes[unknown] = bins
    sizes = np.bincount(codes, minlength=bins)
    return Feature(j, cuts, sizes, rows[order].astype(np.int32), inner, zeros)


def distinct_values(
    values: NDArray[np.float64], zeros: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Distinct values in order and how often they occur, with the zeros that are not stored."""
    distinct, counts = np.unique(values, return_counts=True)
    if zeros and not (distinct == 0).any():
        place = np.searchsorted(distinct, 0.0)
        distinct, counts = np.insert(distinct, place, 0.0), np.insert(counts, place, 0)
    return distinct, counts


def between(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds midway between neighbours, along the last axis."""
    low, high = values[..., :-1], values[..., 1:]
    cuts = low / 2 + high / 2
    # between neighbouring floats the midpoint is one of them; it must be the lower
    return np.where(cuts < high, cuts, low)


def find_cuts(
    distinct: NDArray[np.float64], counts: NDArray[np.intp], max_bins: int
) -> NDArray[np.float64]:
    """Thresholds midway between neighbouring distinct values, for at most ``max_bins`` bins.

    Where these are too many, those are kept that leave about equally many values in each bin;
    zero, if it occurs, has a bin of its own, so that sparse and dense columns are cut alike.
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
