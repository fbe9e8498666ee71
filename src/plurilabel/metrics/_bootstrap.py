"""Percentile intervals of all measures, from bootstrap samples of the instances.

A sample is a weight for each instance: how often it was drawn. Every measure is then a weighted
sum, so that many samples at a time are one matrix product, and nothing is sorted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel.base import LabelMatrix
from plurilabel.metrics._counts import CountMeasure
from plurilabel.metrics._inputs import ScoreMatrix, dense_rows, is_sparse, row_blocks
from plurilabel.metrics._rank import stored_relevance
from plurilabel.metrics._set_counts import Terms, confusion

_WEIGHTS = 2**22  # entries of the matrices (samples, instances) held at a time: 32 MB

FloatArray = NDArray[np.float64]


def intervals_of(
    terms: Mapping[str, Terms],
    Y: LabelMatrix,
    Z: LabelMatrix | None,
    S: ScoreMatrix | None,
    label_based: Mapping[str, CountMeasure],
    n_samples: int,
    confidence: float,
    random_state: Any,
) -> dict[str, tuple[float, float]]:
    """Interval of each measure with terms, of the label-based ones, and of the AUCs."""
    n = Y.shape[0]
    rng = check_random_state(random_state)
    columns = _columns_of(Y, S) if S is not None else []
    pooled = _pool(Y, S) if S is not None else None
    samples: dict[str, list[FloatArray]] = {}
    for block in _blocks_of_samples(n_samples, n):
        W: FloatArray = np.empty((len(block), n))
        for b in range(len(block)):
            W[b] = np.bincount(rng.randint(0, n, n), minlength=n)
        for name, (total, weight) in terms.items():
            samples.setdefault(name, []).append(
                _ratio_or_nan(_product(W, total), _product(W, weight))
            )
        if Z is not None:
            for name, values in _label_based(W, Y, Z, label_based).items():
                samples.setdefault(name, []).append(values)
        if pooled is not None:
            macro = np.stack([c.auc(W) for c in columns], axis=1)
            samples.setdefault("macro_auc", []).append(_mean_of_defined_columns(macro))
            samples.setdefault("micro_auc", []).append(pooled.auc(W))
    return {name: _interval(np.concatenate(v), confidence) for name, v in samples.items()}


def _blocks_of_samples(n_samples: int, n: int) -> list[range]:
    """Numbers of the samples that are drawn together."""
    step = max(1, _WEIGHTS // n)
    return [range(i, min(i + step, n_samples)) for i in range(0, n_samples, step)]


def _interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Percentiles of the samples in which the measure is defined."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _product(A: FloatArray, B: FloatArray) -> FloatArray:
    # All entries are finite; but some BLAS raise flags of their own (numpy issue 28687).
    with np.errstate(all="ignore"):
        return A @ B


def _ratio_or_nan(top: NDArray[Any], bottom: NDArray[Any]) -> FloatArray:
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)


def _mean_of_defined_columns(values: FloatArray) -> FloatArray:
    defined = ~np.isnan(values)
    return _ratio_or_nan(np.where(defined, values, 0).sum(axis=1), defined.sum(axis=1))


def _label_based(
    W: FloatArray, Y: LabelMatrix, Z: LabelMatrix, measures: Mapping[str, CountMeasure]
) -> dict[str, FloatArray]:
    """Macro and micro means of each measure, for each sample."""
    true, pred, both = _weighted_counts(W, Y, Z)
    counts = confusion(true, pred, both, W.shape[1])  # four of (b, q)
    result = {f"macro_{name}": m(*counts).mean(axis=1) for name, m in measures.items()}
    sums = [count.sum(axis=1) for count in counts]
    return result | {f"micro_{name}": m(*sums) for name, m in measures.items()}


def _weighted_counts(W: FloatArray, Y: LabelMatrix, Z: LabelMatrix) -> list[FloatArray]:
    """Instances with each label: true, predicted, both; each (b, q)."""
    if is_sparse(Y) and is_sparse(Z):
        return [(M.astype(np.float64).T @ W.T).T for M in (Y, Z, Y.multiply(Z).tocsr())]
    counts = [np.zeros((len(W), Y.shape[1])) for _ in range(3)]
    for rows in row_blocks(*Y.shape):
        y, z = dense_rows(Y, rows), dense_rows(Z, rows)
        for count, M in zip(counts, (y, z, y & z)):
            count += _product(W[:, rows], M.astype(np.float64))
    return counts


@dataclass(frozen=True)
class _Column:
    """Entries whose AUC is wanted: the instance of each, negatives in ascending order of score.

    ``lower`` and ``upper`` are, for each positive, the numbers of negatives below it and not
    above it. ``unscored_*`` are the instances of the entries without a score, below all others.
    """

    negative: NDArray[Any]
    positive: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    unscored_positive: NDArray[Any]
    n_labels: int

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        row: NDArray[Any],
        y: NDArray[np.bool_],
        unscored_positive: NDArray[Any],
        n_labels: int,
    ) -> _Column:
        low, high = values[~y], values[y]
        order = np.argsort(low, kind="stable")
        low = low[order]
        lower, upper = low.searchsorted(high, "left"), low.searchsorted(high, "right")
        return cls(row[~y][order], row[y], lower, upper, unscored_positive, n_labels)

    def auc(self, W: FloatArray) -> FloatArray:
        """Weighted AUC, for each sample."""
        step = max(1, _WEIGHTS // (len(self.negative) + len(self.positive) + 1))
        parts = [self._auc(W[i : i + step]) for i in range(0, len(W), step)]
        return np.concatenate(parts)

    def _auc(self, W: FloatArray) -> FloatArray:
        below = np.zeros((len(W), len(self.negative) + 1))
        np.cumsum(W[:, self.negative], axis=1, out=below[:, 1:])
        w = W[:, self.positive]
        half_wins = np.einsum("ij,ij->i", w, below[:, self.lower] + below[:, self.upper])
        scored, unscored = w.sum(axis=1), W[:, self.unscored_positive].sum(axis=1)
        positives = scored + unscored
        negatives = self.n_labels * W.sum(axis=1) - positives
        half_wins += (2 * scored + unscored) * (negatives - below[:, -1])
        return _ratio_or_nan(half_wins, 2 * positives * negatives)


def _columns_of(Y: LabelMatrix, S: ScoreMatrix) -> list[_Column]:
    n, q = Y.shape
    none = np.zeros(0, dtype=np.intp)
    if not is_sparse(S):
        by_label = Y.tocsc() if is_sparse(Y) else Y
        every = np.arange(n)
        return [_Column.of(S[:, j], every, _dense_column(by_label, j), none, 1) for j in range(q)]
    entry = sparse.csr_array((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape).tocsc()
    relevant = stored_relevance(Y, S)
    true = sparse.csr_array(Y).tocsc()
    columns = []
    for j in range(q):
        part = slice(entry.indptr[j], entry.indptr[j + 1])
        row, at = entry.indices[part], entry.data[part]
        y = relevant[at]
        missing = np.setdiff1d(true.indices[true.indptr[j] : true.indptr[j + 1]], row[y])
        columns.append(_Column.of(S.data[at], row, y, missing, 1))
    return columns


def _dense_column(Y: Any, j: int) -> NDArray[np.bool_]:
    column = Y[:, [j]].toarray()[:, 0] if is_sparse(Y) else Y[:, j]
    return column.astype(bool)


def _pool(Y: LabelMatrix, S: ScoreMatrix) -> _Column:
    """All entries of the matrix as one column."""
    n, q = Y.shape
    if not is_sparse(S):
        y = (Y.toarray() if is_sparse(Y) else Y).ravel().astype(bool)
        none = np.zeros(0, dtype=np.intp)
        return _Column.of(S.ravel(), np.repeat(np.arange(n), q), y, none, q)
    row = np.repeat(np.arange(n), np.diff(S.indptr))
    relevant = stored_relevance(Y, S)
    sizes = np.diff(sparse.csr_array(Y).indptr)
    missing = np.repeat(np.arange(n), sizes - np.bincount(row[relevant], minlength=n))
    return _Column.of(S.data, row, relevant, missing, q)
