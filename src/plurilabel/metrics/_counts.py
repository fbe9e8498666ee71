"""Counts of label sets, from which their measures are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.soft import LabelSets, possible_sets
from plurilabel._core.unknown import UnknownLabels
from plurilabel.metrics._inputs import (
    blocks,
    check_beta,
    check_predicted,
    mean_of_defined,
    ratio,
    soft_part,
    split_known,
    terms_of,
    with_sets,
)
from plurilabel.metrics._registry import MEASURES, Measure

CountMeasure: TypeAlias = Callable[..., NDArray[Any]]  # of (tp, fp, fn, tn), elementwise


def f_beta_of_counts(tp: Any, fp: Any, fn: Any, _tn: Any, beta: float = 1.0) -> NDArray[Any]:
    b2 = check_beta(beta) ** 2
    hit = (1 + b2) * tp
    return ratio(hit, hit + b2 * fn + fp)


COUNT_MEASURES: Mapping[str, CountMeasure] = MappingProxyType(
    {
        "accuracy": lambda tp, fp, fn, tn: ratio(tp + tn, tp + fp + fn + tn),
        "balanced_accuracy": lambda tp, fp, fn, tn: (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2,
        "precision": lambda tp, fp, _fn, _tn: ratio(tp, tp + fp),
        "recall": lambda tp, _fp, fn, _tn: ratio(tp, tp + fn),
        "f0.5": partial(f_beta_of_counts, beta=0.5),
        "f1": f_beta_of_counts,
        "f2": partial(f_beta_of_counts, beta=2.0),
        "jaccard": lambda tp, fp, fn, _tn: ratio(tp, tp + fp + fn),
    }
)
"""Measures of binary decisions by name, as functions of their counts (tp, fp, fn, tn).

The counts are numbers or arrays that broadcast. A ratio 0/0 is 0. Higher is better for all.
"""


@dataclass(frozen=True)
class SetCounts:
    """Sizes of the true set, the predicted set and their intersection; only known labels count."""

    true: NDArray[np.int64]  # labels of each instance, (n,)
    pred: NDArray[np.int64]
    both: NDArray[np.int64]
    label_true: NDArray[np.int64]  # instances of each label, (q,)
    label_pred: NDArray[np.int64]
    label_both: NDArray[np.int64]
    known: NDArray[np.int64]  # known labels of each instance
    label_known: NDArray[np.int64]
    sets: LabelSets | None = None  # for soft labels: the "instances" are these

    @property
    def per_label(self) -> tuple[NDArray[Any], ...]:
        """The counts tp, fp, fn and tn of each label."""
        return confusion(self.label_true, self.label_pred, self.label_both, self.label_known)

    @property
    def wrong(self) -> NDArray[np.int64]:
        """Wrong decisions about each instance."""
        return self.true + self.pred - 2 * self.both

    @cached_property
    def some_known(self) -> NDArray[np.float64]:
        """1 for instances with a known label, else 0."""
        return (self.known > 0).astype(np.float64)

    @cached_property
    def labelled(self) -> NDArray[np.float64]:
        """1 for instances with a true label, else 0."""
        return (self.true > 0).astype(np.float64)


def confusion(true: Any, pred: Any, both: Any, n: Any) -> tuple[NDArray[Any], ...]:
    """The counts tp, fp, fn and tn from those of true, predicted and both among n."""
    return both, pred - both, true - both, n - true - pred + both


def count_sets(Y: LabelMatrix, Z: LabelMatrix, *, by_row: bool = True) -> SetCounts:
    """Count a pair of label matrices, in blocks of rows; sparse pairs stay sparse."""
    # Predictions of unknown labels do not count. Counts of instances with soft labels are left
    # out without ``by_row``: they are many.
    if (P := soft_part(Y)) is not None:
        return _count_soft(P, Y, Z, by_row)
    if isinstance(Y, UnknownLabels):
        Z = UnknownLabels(Z, Y.unknown).Y
    Y, *known = split_known(Y)
    if sparse.issparse(Y) and sparse.issparse(Z):
        matrices = (Y, Z, Y.multiply(Z).tocsr())
        of_rows = [np.diff(M.indptr).astype(np.int64) for M in matrices]
        of_labels = [np.bincount(M.indices, minlength=Y.shape[1]) for M in matrices]
        return SetCounts(*of_rows, *of_labels, *known)
    n, q = Y.shape
    of_rows = [np.empty(n, dtype=np.int64) for _ in range(3)]
    of_labels = [np.zeros(q, dtype=np.int64) for _ in range(3)]
    for rows in blocks(n, q):
        y, z = dense(Y[rows]), dense(Z[rows])
        for M, of_row, of_label in zip((y, z, y & z), of_rows, of_labels):
            of_row[rows] = M.sum(axis=1, dtype=np.int64)
            of_label += M.sum(axis=0, dtype=np.int64)
    return SetCounts(*of_rows, *of_labels, *known)


def _count_soft(P: Any, Y: LabelMatrix, Z: LabelMatrix, by_row: bool) -> SetCounts:
    """Counts of all label sets that soft labels stand for, and expected counts of the labels."""
    z = dense(Z) * ~dense(Y.unknown) if isinstance(Y, UnknownLabels) else dense(Z)
    true, pred, both = (M.sum(axis=0) for M in (P, z, P * z))
    counts = label_counts(true, pred, both, split_known(Y)[2])
    if not by_row:
        return counts
    sets = possible_sets(P)
    of = count_sets(with_sets(Y, sets), Z[sets.rows])
    return replace(counts, true=of.true, pred=of.pred, both=of.both, known=of.known, sets=sets)


def label_counts(true: Any, pred: Any, both: Any, known: Any) -> SetCounts:
    """Counts of labels without those of instances."""
    none = np.zeros(0, dtype=np.int64)
    return SetCounts(none, none, none, true, pred, both, none, known)


def value_of_counts(measure: Measure, counts: SetCounts, **params: Any) -> float:
    """A measure of label sets from their counts."""
    if measure.average == "instances":
        assert measure.terms is not None
        return mean_of_defined(*terms_of(measure.terms, counts, **params))
    return float(value_over_labels(measure, counts.per_label, counts.label_known, **params))


def value_over_labels(measure: Measure, counts: Any, known: Any, **params: Any) -> NDArray[Any]:
    """A macro or micro measure of counts (..., q), without labels that nobody knows."""
    assert measure.terms is not None
    if measure.average == "micro":
        return measure.terms(*(np.sum(count, axis=-1) for count in counts), **params)
    values = measure.terms(*counts, **params)
    there = np.broadcast_to(known, values.shape) > 0
    return ratio(np.where(there, values, 0.0).sum(axis=-1), there.sum(axis=-1), np.nan)


def value_of_sets(
    function: Callable[..., float], Y_true: ArrayLike, Y_pred: ArrayLike, **params: Any
) -> float:
    """The value of a registered function for true and predicted labels."""
    measure = MEASURES[function.__name__]
    by_row = measure.average == "instances"
    counts = count_sets(*check_predicted(Y_true, Y_pred), by_row=by_row)
    return value_of_counts(measure, counts, **params)
