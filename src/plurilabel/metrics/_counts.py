"""The counts behind all measures of label sets, and the measures of four counts.

Examples
--------
>>> import numpy as np
>>> from plurilabel.metrics import COUNT_MEASURES
>>> tp, fp, fn, tn = np.array([2, 0]), np.array([1, 0]), np.array([1, 3]), 4
>>> COUNT_MEASURES["jaccard"](tp, fp, fn, tn)
array([0.5, 0. ])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._inputs import Terms, blocks, check_beta, check_predicted, split_known

CountMeasure: TypeAlias = Callable[..., NDArray[Any]]
"""A measure of four counts: ``measure(tp, fp, fn, tn)``, elementwise."""


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``numerator / denominator`` in float64, 0 where the denominator is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)


def f_beta_of_counts(beta: float) -> CountMeasure:
    """F-beta as a measure of four counts."""
    b2 = check_beta(beta) ** 2

    def f_beta(tp: Any, fp: Any, fn: Any, _tn: Any) -> NDArray[np.float64]:
        hit = (1 + b2) * tp
        return ratio(hit, hit + b2 * fn + fp)

    return f_beta


COUNT_MEASURES: Mapping[str, CountMeasure] = MappingProxyType(
    {
        "accuracy": lambda tp, fp, fn, tn: ratio(tp + tn, tp + fp + fn + tn),
        "balanced_accuracy": lambda tp, fp, fn, tn: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2,
        "precision": lambda tp, fp, _fn, _tn: ratio(tp, tp + fp),
        "recall": lambda tp, _fp, fn, _tn: ratio(tp, tp + fn),
        "f0.5": f_beta_of_counts(0.5),
        "f1": f_beta_of_counts(1.0),
        "f2": f_beta_of_counts(2.0),
        "jaccard": lambda tp, fp, fn, _tn: ratio(tp, tp + fp + fn),
    }
)
"""Measures of one binary decision by name, as functions of its counts (tp, fp, fn, tn).

The counts are numbers or arrays that broadcast, with one entry per label, per instance or per
candidate cut. A ratio 0/0 is 0 (scikit-learn's ``zero_division=0``): a label that is never
predicted has precision 0, one that never occurs has recall 0. For all of them, higher is better.
"""


@dataclass(frozen=True)
class SetCounts:
    """Sizes of the true set, the predicted set and their intersection, both ways.

    ``true, pred, both`` count the labels of each instance (n,); ``label_true, label_pred,
    label_both`` the instances of each label (q,). Where some labels are not known, only the known
    ones count, and ``known`` and ``label_known`` are their numbers.
    """

    true: NDArray[np.int64]
    pred: NDArray[np.int64]
    both: NDArray[np.int64]
    label_true: NDArray[np.int64]
    label_pred: NDArray[np.int64]
    label_both: NDArray[np.int64]
    known: Any = None
    label_known: Any = None

    @property
    def per_label(self) -> tuple[NDArray[Any], ...]:
        """The counts tp, fp, fn and tn of each label."""
        return confusion(self.label_true, self.label_pred, self.label_both, self._n())

    # Terms of the measures by instance; Y is the true set, Z the predicted one -------------

    def hamming_loss(self) -> Terms:
        """|Y xor Z| / q."""
        wrong = self.true + self.pred - 2 * self.both
        if self.known is not None:
            return ratio(wrong, self.known), self._some_known()
        return wrong / len(self.label_true), np.ones(len(self.true))

    def subset_accuracy(self) -> Terms:
        """1 if Y = Z."""
        right = (self.true == self.both) & (self.pred == self.both)
        return right * self._some_known(), self._some_known()

    def accuracy(self) -> Terms:
        """|Y and Z| / |Y or Z|."""
        return ratio(self.both, self.true + self.pred - self.both), self._labelled()

    def precision(self) -> Terms:
        """|Y and Z| / |Z|."""
        return ratio(self.both, self.pred), self._labelled()

    def recall(self) -> Terms:
        """|Y and Z| / |Y|."""
        return ratio(self.both, self.true), self._labelled()

    def f_beta(self, beta: float = 1.0) -> Terms:
        """Harmonic mean of the two above, weighted."""
        b2 = check_beta(beta) ** 2
        return ratio((1 + b2) * self.both, b2 * self.true + self.pred), self._labelled()

    def _n(self) -> Any:
        """How many instances each label is known of."""
        return len(self.true) if self.label_known is None else self.label_known

    def _some_known(self) -> NDArray[np.float64]:
        if self.known is None:
            return np.ones(len(self.true))
        return (self.known > 0).astype(np.float64)

    def _labelled(self) -> NDArray[np.float64]:
        return (self.true > 0).astype(np.float64)


def confusion(true: Any, pred: Any, both: Any, n: Any) -> tuple[NDArray[Any], ...]:
    """The counts tp, fp, fn and tn from those of true, predicted and both among n."""
    return both, pred - both, true - both, n - true - pred + both


def count_sets(Y: LabelMatrix, Z: LabelMatrix) -> SetCounts:
    """Count a pair of label matrices, in blocks of rows; sparse pairs stay sparse.

    What is predicted of labels that are not known does not count.
    """
    if isinstance(Y, UnknownLabels):
        known_labels, known, label_known = split_known(Y)
        Z = UnknownLabels(Z, Y.unknown).Y
        return replace(count_sets(known_labels, Z), known=known, label_known=label_known)
    if sparse.issparse(Y) and sparse.issparse(Z):
        matrices = (Y, Z, Y.multiply(Z).tocsr())
        by_row = [np.diff(M.indptr).astype(np.int64) for M in matrices]
        by_label = [np.bincount(M.indices, minlength=Y.shape[1]) for M in matrices]
        return SetCounts(*by_row, *by_label)
    n, q = Y.shape
    by_row = [np.empty(n, dtype=np.int64) for _ in range(3)]
    by_label = [np.zeros(q, dtype=np.int64) for _ in range(3)]
    for rows in blocks(n, q):
        y, z = dense(Y[rows]), dense(Z[rows])
        for M, of_row, of_label in zip((y, z, y & z), by_row, by_label):
            of_row[rows] = M.sum(axis=1, dtype=np.int64)
            of_label += M.sum(axis=0, dtype=np.int64)
    return SetCounts(*by_row, *by_label)


def counts_of(Y_true: ArrayLike, Y_pred: ArrayLike) -> SetCounts:
    """The counts of what a user passes to a measure of label sets."""
    return count_sets(*check_predicted(Y_true, Y_pred))
