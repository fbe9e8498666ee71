"""Scores for training instances from models that have not seen them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, check_cv

from plurilabel.transformation._models import (
    NO_PARAMS,
    Params,
    binary_scores,
    fit_binary,
    in_parallel,
    rows_of_params,
)

Split = tuple[NDArray[np.integer], NDArray[np.integer]]


def binary_splits(cv: Any, X: Any, y: NDArray[np.integer]) -> list[Split]:
    """Folds for one label: stratified if cv is a number and the label has enough instances."""
    check_foldable(len(y))
    rarest = min(np.count_nonzero(y), np.count_nonzero(y == 0))
    if cv is None or isinstance(cv, int):
        folds = min(cv or 5, len(y))
        splitter = check_cv(folds, y, classifier=True) if rarest >= folds else KFold(folds)
    else:
        splitter = check_cv(cv, y, classifier=True)
    return list(splitter.split(X, y))


def out_of_fold_binary(
    estimator: Any,
    X: Any,
    y: NDArray[np.integer],
    splits: Iterable[Split],
    method: str,
    params: Params = NO_PARAMS,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Score of each instance, from a model trained on the other folds."""
    n = X.shape[0]

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> NDArray[np.floating]:
        model = fit_binary(estimator, X[train], y[train], rows_of_params(params, train, n))
        return binary_scores(model, X[test], method)

    splits = list(splits)
    check_partition(splits, n)
    scores = np.empty(n)
    for (_, test), found in zip(splits, in_parallel(score, splits, n_jobs=n_jobs)):
        scores[test] = found
    return scores


def check_foldable(n: int) -> None:
    """Folds need two instances."""
    if n < 2:
        raise ValueError(f"cross-validation needs at least two instances, got n_samples={n}")


def check_partition(splits: list[Split], n: int) -> None:
    """Each of the n instances must be tested once."""
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n)
    if not (tested == 1).all():
        raise ValueError("cv must test each training instance exactly once, as KFold does")
