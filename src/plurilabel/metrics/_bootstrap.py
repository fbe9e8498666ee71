"""Percentile intervals of all measures, from bootstrap samples of the instances.

A sample is a weight for each instance: how often it was drawn. Every measure is then a weighted
sum, so that many samples at a time are one matrix product, and nothing is sorted again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._auc import stored_by_label
from plurilabel.metrics._by_label import LABEL_BASED
from plurilabel.metrics._counts import confusion
from plurilabel.metrics._inputs import ScoreMatrix, Terms, blocks

_WEIGHTS = 2**22  # entries of the matrices (samples, instances) held at a time: 32 MB

FloatArray = NDArray[np.float64]


def intervals_of(
    terms: Mapping[str, Terms],
    Y: LabelMatrix,
    Z: LabelMatrix | None,
    S: ScoreMatrix | None,
    n_samples: int,
    confidence: float,
    random_state: Any,
) -> dict[str, tuple[float, float]]:
    """Interval of each measure with terms, of the label-based ones, and of the AUCs."""
    n = Y.shape[0]
    rng = check_random_state(random_state)
    columns, pooled = ([], None) if S is None else _columns_of(Y, S)
    samples: defaultdict[str, list[FloatArray]] = defaultdict(list)
    for block in row_blocks(n_samples, n, _WEIGHTS):
        W = np.empty((block.stop - block.start, n))
        for w in W:
            w[:] = np.bincount(rng.randint(0, n, n), minlength=n)
        for name, (total, weight) in terms.items():
            samples[name].append(_ratio_or_nan(_product(W, total), _product(W, weight)))
        if Z is not None:
            for name, values in _label_based(W, Y, Z).items():
                samples[name].append(values)
        if pooled is not None:
            auc = np.stack([column.auc(W) for column in columns], axis=1)
            defined = ~np.isnan(auc)
            macro = _ratio_or_nan(np.where(defined, auc, 0).sum(axis=1), defined.sum(axis=1))
            samples["macro_auc"].append(macro)
            samples["micro_auc"].append(pooled.auc(W))
    return {name: _interval(np.concatenate(v), confidence) for name, v in samples.items()}


def _interval(values: FloatArray, confidence: float) -> tuple[float, float]:
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


def _ratio_or_nan(top: NDArray[Any], bottom: NDArray[Any]) -> FloatArray:
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)


def _label_based(W: FloatArray, Y: LabelMatrix, Z: LabelMatrix) -> dict[str, FloatArray]:
    """Macro and micro means of each measure, for each sample."""
    known: Any = W.shape[1]
    if isinstance(Y, UnknownLabels):  # what is predicted of labels that are not known is left out
        known = W.shape[1] - _weighted_counts(W, Y.unknown, Y.unknown)[0]  # (b, q)
        Y, Z = Y.Y, UnknownLabels(Z, Y.unknown).Y
    true, pred, both = _weighted_counts(W, Y, Z)
    counts = confusion(true, pred, both, known)  # four of (b, q)
    result = {f"macro_{name}": _macro(m(*counts), known) for name, m in LABEL_BASED.items()}
    sums = [count.sum(axis=1) for count in counts]
    return result | {f"micro_{name}": m(*sums) for name, m in LABEL_BASED.items()}


def _macro(values: FloatArray, known: Any) -> FloatArray:
    """Mean over the labels, of each sample; those known of no instance in it are left out."""
    if np.ndim(known) == 0:
        return values.mean(axis=1)
    return _ratio_or_nan(np.where(known > 0, values, 0.0).sum(axis=1), (known > 0).sum(axis=1))


def _weighted_counts(W: FloatArray, Y: LabelMatrix, Z: LabelMatrix) -> list[FloatArray]:
    """Instances with each label: true, predicted, both; each (b, q)."""
    if sparse.issparse(Y) and sparse.issparse(Z):
        return [(M.astype(np.float64).T @ W.T).T for M in (Y, Z, Y.multiply(Z).tocsr())]
    counts = [np.zeros((len(W), Y.shape[1])) for _ in range(3)]
    for rows in blocks(*Y.shape):
        y, z = dense(Y[rows]), dense(Z[rows])
        for count, M in zip(counts, (y, z, y & z)):
            count += _product(W[:, rows], M.astype(np.float64))
    return counts


class _Column:
    """Entries whose AUC is wanted, each with its instance.

    The negatives are in ascending order of their scores; ``lower`` and ``upper`` are, for each
    positive, the numbers of negatives below it and not above it. ``unscored`` are the instances of
    the positives without a score, below all others. ``n_labels`` is how many labels of an instance
    are meant, scored or not; None: only those that are scored.
    """

    def __init__(
        self,
        row: NDArray[Any],
        score: NDArray[Any],
        relevant: NDArray[np.bool_],
        unscored: NDArray[Any],
        n_labels: int | None = 1,
    ) -> None:
        low, high = score[~relevant], score[relevant]
        order = np.argsort(low, kind="stable")
        low = low[order]
        self.negative, self.positive = row[~relevant][order], row[relevant]
        self.lower, self.upper = low.searchsorted(high, "left"), low.searchsorted(high, "right")
        self.unscored = unscored
        self.n_labels = n_labels

    def auc(self, W: FloatArray) -> FloatArray:
        """Weighted AUC, for each sample."""
        entries = len(self.negative) + len(self.positive) + 1
        return np.concatenate([self._auc(W[b]) for b in row_blocks(len(W), entries, _WEIGHTS)])

    def _auc(self, W: FloatArray) -> FloatArray:
        below = np.zeros((len(W), len(self.negative) + 1))
        np.cumsum(W[:, self.negative], axis=1, out=below[:, 1:])
        w = W[:, self.positive]
        half_wins = np.einsum("ij,ij->i", w, below[:, self.lower] + below[:, self.upper])
        scored, unscored = w.sum(axis=1), W[:, self.unscored].sum(axis=1)
        positives = scored + unscored
        negatives = below[:, -1]
        if self.n_labels is not None:
            negatives = self.n_labels * W.sum(axis=1) - positives
        half_wins += (2 * scored + unscored) * (negatives - below[:, -1])
        return _ratio_or_nan(half_wins, 2 * positives * negatives)


def _columns_of(Y: LabelMatrix, S: ScoreMatrix) -> tuple[list[_Column], _Column]:
    """The column of each label, and all entries of the matrix as one column."""
    n, q = Y.shape
    if isinstance(Y, UnknownLabels):
        return _known_columns(Y, S)
    if sparse.issparse(S):
        ends, *entries = stored_by_label(Y, S)
    else:
        ends = np.arange(q + 1) * n
        entries = [np.tile(np.arange(n), q), S.T.ravel(), dense(Y).T.ravel() == 1]
    row, score, relevant = entries
    scored = sparse.csc_array((relevant.astype(np.int8), row, ends), shape=Y.shape)
    unscored = sparse.csc_array(Y) - scored
    unscored.eliminate_zeros()
    parts = [np.split(entry, ends[1:-1]) for entry in entries]
    parts.append(np.split(unscored.indices, unscored.indptr[1:-1]))
    columns = [_Column(*column) for column in zip(*parts)]
    return columns, _Column(row, score, relevant, unscored.indices, q)


def _known_columns(Y: UnknownLabels, S: ScoreMatrix) -> tuple[list[_Column], _Column]:
    """The same of the entries that are known; the scores are dense."""
    label, row = np.nonzero(~dense(Y.unknown).T)
    score, relevant = S[row, label], dense(Y.Y)[row, label] == 1
    none = np.empty(0, dtype=np.intp)
    ends = np.searchsorted(label, np.arange(1, Y.shape[1]))
    parts = [np.split(entry, ends) for entry in (row, score, relevant)]
    columns = [_Column(r, s, y, none, None) for r, s, y in zip(*parts)]
    return columns, _Column(row, score, relevant, none, None)
