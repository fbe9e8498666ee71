"""The layers of an estimator: searches, pipelines and wrappers around a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from plurilabel.wrappers import ThresholdClassifier

AROUND = (Pipeline, ThresholdClassifier, GridSearchCV)
"""Estimators that contain a learner."""


def inside(estimator: Any) -> Any:
    """The fitted estimator inside a search or wrapper; None for other estimators."""
    inner = getattr(estimator, "estimator_", getattr(estimator, "best_estimator_", None))
    if not hasattr(inner, "fit"):
        return None
    try:  # the estimator_ of a forest is not fitted
        check_is_fitted(inner)
    except NotFittedError:
        return None
    return inner


def layers(estimator: Any) -> Iterator[Any]:
    """An estimator, the one inside it, and so on down to the learner."""
    while estimator is not None:
        yield estimator
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else inside(estimator)


def around(estimator: Any, learner: Any) -> Any:
    """Shallow copies of an estimator and its layers, with another learner."""
    if not isinstance(estimator, AROUND):
        return learner
    return _changed(copy(estimator), lambda inner: around(inner, learner))


def renamed(estimator: Any, names: Sequence[str]) -> Any:
    """A shallow copy whose learner has these label names."""
    same = copy(estimator)
    if len(getattr(same, "label_names_", ())) == len(names):
        same.label_names_ = np.array(list(names), dtype=object)
    if isinstance(same, Pipeline) or inside(same) is not None:
        return _changed(same, lambda inner: renamed(inner, names))
    return same


def _changed(same: Any, change: Callable[[Any], Any]) -> Any:
    """Replace the layer inside a pipeline, search or wrapper."""
    if isinstance(same, Pipeline):
        (*before, (name, last)) = same.steps
        same.steps = [*before, (name, change(last))]
    else:
        name = "estimator_" if hasattr(same, "estimator_") else "best_estimator_"
        setattr(same, name, change(getattr(same, name)))
    return same
