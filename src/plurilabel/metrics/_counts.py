"""Measures of one binary decision, from the four counts of its table.

``tp``, ``fp``, ``fn`` and ``tn`` are numbers or arrays that broadcast: one entry per label, per
instance, per candidate cut. **A ratio 0/0 is 0** (scikit-learn's ``zero_division=0``): a label
that is never predicted has precision 0, one that never occurs has recall 0.

All functions take the same four arguments, needed or not, so that any of them can be handed to
code that optimises "a measure of the counts".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

CountMeasure: TypeAlias = Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], NDArray[Any]]
"""A measure of the counts: ``measure(tp, fp, fn, tn)``, elementwise."""


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``numerator / denominator`` in float64, 0 where the denominator is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    )
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)


def accuracy_from_counts(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike
) -> NDArray[np.float64]:
    """Share of right decisions, ``(tp + tn) / (tp + fp + fn + tn)``.

    Examples
    --------
    >>> accuracy_from_counts([2, 0], [1, 0], [1, 0], [0, 4])
    array([0.5, 1. ])
    """
    tp, fp, fn, tn = (np.asarray(count) for count in (tp, fp, fn, tn))
    return ratio(tp + tn, tp + fp + fn + tn)


def precision_from_counts(
    tp: ArrayLike,
    fp: ArrayLike,
    fn: ArrayLike,  # noqa: ARG001
    tn: ArrayLike,  # noqa: ARG001
) -> NDArray[np.float64]:
    """Share of the predicted that is right, ``tp / (tp + fp)``; 0 if nothing is predicted.

    Examples
    --------
    >>> precision_from_counts([2, 0], [2, 0], [1, 3], [0, 4])
    array([0.5, 0. ])
    """
    tp, fp = np.asarray(tp), np.asarray(fp)
    return ratio(tp, tp + fp)


def recall_from_counts(
    tp: ArrayLike,
    fp: ArrayLike,  # noqa: ARG001
    fn: ArrayLike,
    tn: ArrayLike,  # noqa: ARG001
) -> NDArray[np.float64]:
    """Share of what is there that is predicted, ``tp / (tp + fn)``; 0 if nothing is there.

    Examples
    --------
    >>> recall_from_counts([2, 0], [1, 3], [2, 0], [0, 4])
    array([0.5, 0. ])
    """
    tp, fn = np.asarray(tp), np.asarray(fn)
    return ratio(tp, tp + fn)


def f_beta_from_counts(
    tp: ArrayLike,
    fp: ArrayLike,
    fn: ArrayLike,
    tn: ArrayLike,  # noqa: ARG001
    beta: float = 1.0,
) -> NDArray[np.float64]:
    """F-beta, ``(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)``; 0/0 is 0.

    ``beta`` above 1 gives recall more weight, below 1 precision.

    Examples
    --------
    >>> f_beta_from_counts([1, 0], [1, 0], [1, 0], [0, 4])
    array([0.5, 0. ])
    """
    tp, fp, fn = np.asarray(tp), np.asarray(fp), np.asarray(fn)
    b2 = beta * beta
    hit = (1 + b2) * tp
    return ratio(hit, hit + b2 * fn + fp)


def jaccard_from_counts(
    tp: ArrayLike,
    fp: ArrayLike,
    fn: ArrayLike,
    tn: ArrayLike,  # noqa: ARG001
) -> NDArray[np.float64]:
    """Intersection over union, ``tp / (tp + fp + fn)``; 0/0 is 0.

    Examples
    --------
    >>> jaccard_from_counts([2, 0], [1, 0], [1, 0], [0, 4])
    array([0.5, 0. ])
    """
    tp, fp, fn = np.asarray(tp), np.asarray(fp), np.asarray(fn)
    return ratio(tp, tp + fp + fn)
