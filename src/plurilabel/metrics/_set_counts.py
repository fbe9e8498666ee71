"""How many labels are true, predicted, and both: all that measures on label sets need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.base import LabelMatrix
from plurilabel.metrics._counts import ratio
from plurilabel.metrics._inputs import dense_rows, is_sparse, row_blocks

# A measure of each instance: what it adds to the sum, and its weight in the mean (0: left out).
Terms = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class SetCounts:
    """Sizes of the true set, the predicted set and their intersection, both ways.

    ``true, pred, both`` count the labels of each instance (n,); ``label_true, label_pred,
    label_both`` the instances of each label (q,).
    """

    true: NDArray[np.int64]
    pred: NDArray[np.int64]
    both: NDArray[np.int64]
    label_true: NDArray[np.int64]
    label_pred: NDArray[np.int64]
    label_both: NDArray[np.int64]

    @property
    def per_label(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Tp, fp, fn and tn of each label."""
        return confusion(self.label_true, self.label_pred, self.label_both, len(self.true))

    # Terms of the example-based measures; Y is the true set, Z the predicted one -----------

    def hamming_loss(self) -> Terms:
        """|Y xor Z| / q."""
        wrong = self.true + self.pred - 2 * self.both
        return wrong / len(self.label_true), self._everyone()

    def subset_accuracy(self) -> Terms:
        """1 if Y = Z."""
        right = (self.true == self.both) & (self.pred == self.both)
        return right.astype(np.float64), self._everyone()

    def accuracy(self) -> Terms:
        """|Y and Z| / |Y or Z|."""
        return ratio(self.both, self.true + self.pred - self.both), self._not_both_empty()

    def precision(self) -> Terms:
        """|Y and Z| / |Z|."""
        return ratio(self.both, self.pred), self._not_both_empty()

    def recall(self) -> Terms:
        """|Y and Z| / |Y|."""
        return ratio(self.both, self.true), (self.true > 0).astype(np.float64)

    def f_beta(self, beta: float = 1.0) -> Terms:
        """Harmonic mean of the two above, weighted."""
        b2 = beta * beta
        return ratio((1 + b2) * self.both, b2 * self.true + self.pred), self._not_both_empty()

    def _everyone(self) -> NDArray[np.float64]:
        return np.ones(len(self.true))

    def _not_both_empty(self) -> NDArray[np.float64]:
        return (self.true + self.pred > 0).astype(np.float64)


def confusion(
    true: NDArray[Any], pred: NDArray[Any], both: NDArray[Any], n: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Tp, fp, fn and tn from the counts of true, predicted and both among n."""
    return both, pred - both, true - both, n - true - pred + both


def count_sets(Y: LabelMatrix, Z: LabelMatrix) -> SetCounts:
    """Count a pair of label matrices, in blocks of rows; sparse pairs stay sparse."""
    if is_sparse(Y) and is_sparse(Z):
        matrices = (Y, Z, Y.multiply(Z).tocsr())
        by_row = [np.diff(M.indptr).astype(np.int64) for M in matrices]
        by_label = [np.bincount(M.indices, minlength=Y.shape[1]) for M in matrices]
        return SetCounts(*by_row, *by_label)
    n, q = Y.shape
    by_row = [np.empty(n, dtype=np.int64) for _ in range(3)]
    by_label = [np.zeros(q, dtype=np.int64) for _ in range(3)]
    for rows in row_blocks(n, q):
        y, z = dense_rows(Y, rows), dense_rows(Z, rows)
        for M, of_row, of_label in zip((y, z, y & z), by_row, by_label):
            of_row[rows] = M.sum(axis=1, dtype=np.int64)
            of_label += M.sum(axis=0, dtype=np.int64)
    return SetCounts(*by_row, *by_label)
