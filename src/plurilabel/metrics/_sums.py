"""Measures of rows that are in several places: sums that are added, and read at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._by_label import LABEL_BASED, macro, micro
from plurilabel.metrics._counts import SetCounts, count_sets
from plurilabel.metrics._evaluate import (
    Evaluation,
    note_of,
    on_instances,
    on_rankings,
    without_labels,
)
from plurilabel.metrics._inputs import (
    Terms,
    check_predicted,
    check_scored,
    check_top,
    refuse_labels,
)


@dataclass(frozen=True)
class MeasureSums:
    """What some rows add to the measures of :func:`~plurilabel.metrics.evaluate`.

    Sums of different rows are added with ``+``, in any order; :meth:`evaluation` reads the
    measures of all of them. They are those of ``evaluate`` on all rows: measures that are
    made of counts exactly, means up to rounding. The two measures of AUC compare rows with each
    other, so that sums cannot give them.

    Attributes
    ----------
    n : int
        Number of rows.
    n_labels : int
    n_unknown : int
        How many true labels are not known.

    Examples
    --------
    >>> from plurilabel.metrics import MeasureSums
    >>> first = MeasureSums.of([[1, 0], [0, 1]], labels=[[1, 1], [0, 1]])
    >>> second = MeasureSums.of([[1, 1]], labels=[[0, 0]])
    >>> (first + second).evaluation()["hamming_loss"]
    0.5
    """

    n: int
    n_labels: int
    n_unknown: int
    _without: int  # rows without labels
    _is_labels: bool  # whether all scores were integers 0 and 1
    _terms: dict[str, tuple[float, float]]  # sums of the terms and of their weights
    _counts: NDArray[np.int64] | None  # (4, q): true, predicted, both and known of each label

    @classmethod
    def of(
        cls,
        Y_true: ArrayLike,
        scores: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        top: Sequence[int] = (1, 3, 5),
        propensities: ArrayLike | None = None,
    ) -> Self:
        """The sums of some rows.

        Parameters
        ----------
        Y_true, scores, labels, top, propensities :
            As in :func:`~plurilabel.metrics.evaluate`, for these rows.

        Returns
        -------
        MeasureSums
        """
        if scores is None and labels is None:
            raise ValueError("MeasureSums needs scores, labels or both, got neither")
        check_top(top)
        terms: dict[str, tuple[float, float]] = {}
        table, is_labels = None, False
        if labels is not None:
            Y, Z = check_predicted(Y_true, labels, name="labels")
            counts = count_sets(Y, Z)
            terms |= {name: _summed(of_rows) for name, of_rows in on_instances(counts)}
            known = counts.label_known
            known = np.full(Y.shape[1], Y.shape[0]) if known is None else known
            table = np.array([counts.label_true, counts.label_pred, counts.label_both, known])
        if scores is not None:
            scores, is_labels = _as_floats(scores)
            Y, S = check_scored(Y_true, scores)
            for name, value in on_rankings(Y, S, top, propensities, auc=False):
                assert isinstance(value, tuple)
                terms[name] = _summed(value)
        n_unknown = Y.n_unknown if isinstance(Y, UnknownLabels) else 0
        n, q = Y.shape
        return cls(n, q, n_unknown, without_labels(Y), is_labels, terms, table)

    def __add__(self, other: MeasureSums) -> MeasureSums:
        if not isinstance(other, MeasureSums):
            return NotImplemented
        if self.n_labels != other.n_labels:
            raise ValueError(
                f"sums must be of the same labels, got {self.n_labels} and {other.n_labels}"
            )
        if self._terms.keys() != other._terms.keys():
            raise ValueError("sums must be of the same measures")
        pairs = ((name, self._terms[name], other._terms[name]) for name in self._terms)
        return replace(
            self,
            n=self.n + other.n,
            n_unknown=self.n_unknown + other.n_unknown,
            _without=self._without + other._without,
            _is_labels=self._is_labels and other._is_labels,
            _terms={name: (a[0] + b[0], a[1] + b[1]) for name, a, b in pairs},
            _counts=None
            if self._counts is None or other._counts is None
            else self._counts + other._counts,
        )

    def evaluation(self) -> Evaluation:
        """The measures of all rows, in the order of :func:`~plurilabel.metrics.evaluate`."""
        if self._is_labels:
            refuse_labels(np.array([0, 1]))
        values = {
            name: total / weight if weight else float("nan")
            for name, (total, weight) in self._terms.items()
        }
        if self._counts is not None:
            true, pred, both, known = self._counts
            rows = np.zeros(0, dtype=np.int64)
            counts = SetCounts(rows, rows, rows, true, pred, both, label_known=known)
            by_label = {
                f"{mean.__name__}_{name}": mean(counts, measure)
                for mean in (macro, micro)
                for name, measure in LABEL_BASED.items()
            }
            names = [*values]
            after = names.index("f1") + 1
            ordered = {name: values[name] for name in names[:after]}
            values = ordered | by_label | {name: values[name] for name in names[after:]}
        result = Evaluation(values, note=note_of(self.n, self._without, self.n_unknown))
        result.n_unknown = self.n_unknown
        return result


def _summed(terms: Terms) -> tuple[float, float]:
    total, weight = terms
    return float(np.sum(total, dtype=np.float64)), float(np.sum(weight, dtype=np.float64))


def _as_floats(scores: Any) -> tuple[Any, bool]:
    """Scores, integers as floats; and whether they look like labels: one block cannot tell."""
    if not sparse.issparse(scores):
        scores = np.asarray(scores)
    if scores.dtype.kind not in "biu":
        return scores, False
    values = scores.tocsr().data if sparse.issparse(scores) else scores
    is_labels = not values.size or (values.min() >= 0 and values.max() <= 1)
    return scores.astype(np.float64), bool(is_labels)
