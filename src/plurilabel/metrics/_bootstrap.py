"""Percentile intervals of all measures, from bootstrap samples of the instances.

A sample is a weight for each instance: how often it was drawn. Every measure is then a weighted
sum, so that many samples at a time are one matrix product, and nothing is sorted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._auc import Areas, stored_by_label
from plurilabel.metrics._counts import confusion, value_over_labels
from plurilabel.metrics._inputs import ScoreMatrix, Terms, blocks, ratio, split_known
from plurilabel.metrics._registry import Measure

_WEIGHTS = 2**22  # entries of the matrices (samples, instances) held at a time: 32 MB

Array = NDArray[Any]
FloatArray = NDArray[np.float64]


def samples_of(
    measures: Sequence[Measure], terms: Mapping[str, Terms], Y: LabelMatrix,
    Z: LabelMatrix | None, S: ScoreMatrix | None, n_samples: int, random_state: Any,
) -> dict[str, FloatArray]:  # fmt: skip
    """Values of each measure in bootstrap samples; ``terms`` has those of means over instances.

    The same random state draws the same rows for any other labels or scores of as many rows.
    """
    n = Y.shape[0]
    rng = check_random_state(random_state)
    columns: Any = None if S is None else _columns_of(Y, S)
    sampled: dict[str, list[FloatArray]] = {measure.name: [] for measure in measures}
    for block in row_blocks(n_samples, n, _WEIGHTS):
        W = np.empty((block.stop - block.start, n))
        for w in W:
            w[:] = np.bincount(rng.randint(0, n, n), minlength=n)
        counts: Any = None if Z is None else _weighted_confusion(W, Y, Z)
        areas: Any = None if S is None else [_areas(W, some) for some in columns]
        for measure in measures:
            if measure.name in terms:
                total, weight = terms[measure.name]
                values = ratio(_product(W, total), _product(W, weight), np.nan)
            elif measure.kind == "labels":
                values = value_over_labels(measure, *counts)
            else:
                values = areas[measure.average == "micro"].mean(measure)
            sampled[measure.name].append(values)
    return {name: np.concatenate(values) for name, values in sampled.items()}


def percentiles(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Percentiles of the samples in which the measure is defined."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _product(A: FloatArray, B: FloatArray) -> FloatArray:
    # All entries are finite, but some BLAS raise flags of their own (numpy issue 28687).
    with np.errstate(all="ignore"):
        return A @ B


def _weighted_confusion(W: FloatArray, Y: Any, Z: Any) -> tuple[Any, Any]:
    """The counts tp, fp, fn and tn (b, q), and how many instances know each label."""
    known: Any = W.shape[1]
    if isinstance(Y, UnknownLabels):  # predictions of unknown labels are left out
        known = known - _weighted_counts(W, Y.unknown, Y.unknown)[0]  # (b, q)
        Y, Z = Y.Y, UnknownLabels(Z, Y.unknown).Y
    true, pred, both = _weighted_counts(W, Y, Z)
    return confusion(true, pred, both, known), known


def _weighted_counts(W: FloatArray, Y: LabelMatrix, Z: LabelMatrix) -> list[FloatArray]:
    """Instances with each label: true, predicted, both; each (b, q)."""
    if sparse.issparse(Y) and sparse.issparse(Z):
        return [(M.astype(np.float64).T @ W.T).T for M in (Y, Z, Y.multiply(Z).tocsr())]
    counts = [np.zeros((len(W), Y.shape[1])) for _ in range(3)]
    for rows in blocks(*Y.shape):
        y, z = dense(Y[rows]), dense(Z[rows])
        for count, M in zip(counts, (y, z, y * z)):
            count += _product(W[:, rows], M.astype(np.float64))
    return counts


def _areas(W: FloatArray, columns: Sequence[_Column]) -> Areas:
    """Areas of each column, for each sample: (b, q)."""
    return Areas(*(np.stack(of, axis=1) for of in zip(*(column.areas(W) for column in columns))))


class _Column:
    """Entries whose areas are computed, each with its instance.

    Positives and negatives are in ascending order of their scores; ``lower`` and ``upper`` are,
    for each positive, the numbers of negatives below it and not above it, ``worse`` the number of
    positives below it. ``unscored`` are the instances of the positives without a score, below all
    others. ``n_labels`` is the number of labels of an instance, scored or not; None if all entries
    are scored. Entries with a soft label p are a positive of weight p and a negative of weight
    1 - p, which form no pair.
    """

    def __init__(
        self, row: Array, score: Array, p: Array, unscored: Array, n_labels: int | None
    ) -> None:
        low, high = np.flatnonzero(p < 1), np.flatnonzero(p > 0)
        low, high = (at[np.argsort(score[at], kind="stable")] for at in (low, high))
        self.negative, self.positive = row[low], row[high]
        self.soft: Any = None
        if p.dtype.kind == "f":
            self.soft = 1 - p[low], p[high], row, p * (1 - p)
        below, above = score[low], score[high]
        self.worse = above.searchsorted(above, "left")
        self.lower, self.upper = (below.searchsorted(above, side) for side in ("left", "right"))
        self.unscored, self.n_labels = unscored, n_labels

    def areas(self, W: FloatArray) -> Areas:
        """Weighted areas, for each sample."""
        entries = len(self.negative) + len(self.positive) + 1
        parts = [self._areas(W[b]) for b in row_blocks(len(W), entries, _WEIGHTS)]
        return Areas(*map(np.concatenate, zip(*parts)))

    def _areas(self, W: FloatArray) -> Areas:
        w0, w = W[:, self.negative], W[:, self.positive]
        own: Any = 0.0  # what entries would win over themselves
        surely: Any = 0.0  # what a positive adds to the labels found down to it
        if self.soft is not None:
            absent, present, row, both = self.soft
            w0, w, own, surely = w0 * absent, w * present, _product(W[:, row], both), 1 - present
        below, found = _sums_below(w0), _sums_below(w)
        half_wins = np.einsum("ij,ij->i", w, below[:, self.lower] + below[:, self.upper])
        scored, unscored = w.sum(axis=1), W[:, self.unscored].sum(axis=1)
        positives = scored + unscored
        negatives = below[:, -1]
        if self.n_labels is not None:
            negatives = self.n_labels * W.sum(axis=1) - positives
        half_wins += (2 * scored + unscored) * (negatives - below[:, -1])
        found = scored[:, None] - found[:, self.worse]
        rank = found + below[:, -1:] - below[:, self.lower]
        # NaN for positives that are not in the sample
        total = np.nansum(w * ratio(found + surely, rank, np.nan), axis=1)
        total += unscored * ratio(positives, positives + negatives)
        pairs = positives * negatives - own
        auc = ratio(half_wins - own, 2 * np.where(pairs > 1e-12, pairs, 0), np.nan)
        return Areas(auc, ratio(total, positives, np.nan), positives)


def _sums_below(W: FloatArray) -> FloatArray:
    """Sums of the first 0, 1, 2, ... columns."""
    sums = np.zeros((len(W), W.shape[1] + 1))
    np.cumsum(W, axis=1, out=sums[:, 1:])
    return sums


def _columns_of(Y: LabelMatrix, S: ScoreMatrix) -> tuple[list[_Column], list[_Column]]:
    """The column of each label, and all entries of the matrix as one column."""
    # Unknown labels have no entries; with sparse scores there are none.
    n_labels: tuple[int | None, int | None]
    if sparse.issparse(S):
        ends, row, score, relevant = stored_by_label(Y, S)
        scored = sparse.csc_array((relevant.astype(np.int8), row, ends), shape=Y.shape)
        unscored = sparse.csc_array(Y) - scored
        unscored.eliminate_zeros()
        n_labels = 1, Y.shape[1]
    else:
        known = ~dense(Y.unknown) if isinstance(Y, UnknownLabels) else np.ones(Y.shape, dtype=bool)
        label, row = np.nonzero(known.T)
        score, relevant = S[row, label], dense(split_known(Y)[0])[row, label]
        ends = np.searchsorted(label, np.arange(Y.shape[1] + 1))
        unscored = sparse.csc_array(Y.shape)
        n_labels = None, None
    parts = [np.split(entry, ends[1:-1]) for entry in (row, score, relevant)]
    parts.append(np.split(unscored.indices, unscored.indptr[1:-1]))
    columns = [_Column(r, s, y, u, n_labels[0]) for r, s, y, u in zip(*parts)]
    return columns, [_Column(row, score, relevant, unscored.indices, n_labels[1])]
