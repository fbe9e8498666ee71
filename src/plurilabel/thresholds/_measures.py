"""Names of the measures that a cut can be optimised for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel.metrics import COUNT_MEASURES, CountMeasure


def all_right(_tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, _tn: ArrayLike) -> NDArray[np.float64]:
    """1 where no decision is wrong."""
    return ((np.asarray(fp) == 0) & (np.asarray(fn) == 0)).astype(np.float64)


class GroupedMeasure(NamedTuple):
    """A mean over groups of decisions: all of them as one, the labels, or the instances."""

    over: str  # "all", "labels" or "instances"
    of_counts: CountMeasure
    # Which groups count in the mean: "all" of them, those with "true" labels, or also those
    # where something is predicted ("either"). The rules of plurilabel.metrics.
    counted: str = "all"


GROUPED_MEASURES: dict[str, GroupedMeasure] = {
    **{f"micro_{name}": GroupedMeasure("all", m) for name, m in COUNT_MEASURES.items()},
    **{f"macro_{name}": GroupedMeasure("labels", m) for name, m in COUNT_MEASURES.items()},
    # as in plurilabel.metrics: without a prefix, the mean over instances
    **{
        name: GroupedMeasure("instances", COUNT_MEASURES[name], "either")
        for name in ("precision", "f0.5", "f1", "f2")
    },
    "recall": GroupedMeasure("instances", COUNT_MEASURES["recall"], "true"),
    "accuracy": GroupedMeasure("instances", COUNT_MEASURES["jaccard"], "either"),
    "subset_accuracy": GroupedMeasure("instances", all_right),
}
"""Measures of a label matrix, by name; all are better when higher."""


def count_measure(measure: str | Callable[..., Any]) -> CountMeasure:
    """The measure of the counts that a name or a callable stands for."""
    if callable(measure):
        return measure
    if measure not in COUNT_MEASURES:
        raise ValueError(
            f"measure must be a callable of (tp, fp, fn, tn) or one of "
            f"{sorted(COUNT_MEASURES)}, got {measure!r}"
        )
    return COUNT_MEASURES[measure]


def grouped_measure(measure: str | Callable[..., Any]) -> GroupedMeasure:
    """The measure of a label matrix that a name stands for; a callable is a micro measure."""
    if callable(measure):
        return GroupedMeasure("all", measure)
    if measure not in GROUPED_MEASURES:
        raise ValueError(
            f"measure must be a callable of (tp, fp, fn, tn) or one of "
            f"{sorted(GROUPED_MEASURES)}, got {measure!r}"
        )
    return GROUPED_MEASURES[measure]
