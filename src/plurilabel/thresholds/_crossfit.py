"""Scores for instances from models that were not trained on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from plurilabel.metrics import score_matrix


def class_or_label_scores(
    estimator: Any, X: Any, method: str, *, n_labels: int, classes: NDArray[Any] | None
) -> NDArray[np.floating]:
    """Scores (n, q) of a fitted classifier's ``method``.

    For a 1-D y, ``classes`` are all of them, and a class that this classifier did not see gets
    the lowest of its scores (a probability of 0).
    """
    output = getattr(estimator, method)(X)
    if classes is None:
        scores = score_matrix(
            output, classes=getattr(estimator, "classes_", None), n_labels=n_labels
        )
        if sparse.issparse(scores):
            raise TypeError(
                f"estimator must give dense scores, but {method} of {type(estimator).__name__} "
                "returned a sparse matrix"
            )
    else:
        scores = _spread(np.asarray(output), estimator.classes_, classes, method)
    if scores.shape[1] != n_labels:
        raise ValueError(
            f"estimator must score each of the {n_labels} labels, but {method} of "
            f"{type(estimator).__name__} returned {scores.shape[1]} column(s)"
        )
    return scores


def _spread(
    scores: NDArray[Any], seen: NDArray[Any], classes: NDArray[Any], method: str
) -> NDArray[Any]:
    if scores.ndim == 1:  # two classes, positive for the second
        scores = np.column_stack([-scores, scores])
    if len(seen) == len(classes):
        return scores
    lowest = 0.0 if method == "predict_proba" else scores.min()
    spread = np.full((len(scores), len(classes)), lowest)
    spread[:, np.searchsorted(classes, seen)] = scores
    return spread


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Iterable[tuple[NDArray[np.integer], NDArray[np.integer]]],
    method: str,
    *,
    n_labels: int,
    classes: NDArray[Any] | None,
    fit_params: Mapping[str, Any],
    n_jobs: int | None,
) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    """Scores of the test rows of each split, by a clone trained on its training rows.

    Returns the scores and the rows that they belong to; splits that overlap or leave rows out
    are fine.
    """
    n = y.shape[0]

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> NDArray[np.floating]:
        params = {name: _rows_if_aligned(value, train, n) for name, value in fit_params.items()}
        model = clone(estimator).fit(rows_of(X, train), rows_of(y, train), **params)
        return class_or_label_scores(
            model, rows_of(X, test), method, n_labels=n_labels, classes=classes
        )

    splits = list(splits)
    scores = Parallel(n_jobs=n_jobs)(delayed(score)(train, test) for train, test in splits)
    return np.concatenate(scores), np.concatenate([test for _, test in splits])


def rows_of(X: Any, index: NDArray[np.integer]) -> Any:
    """Some rows of whatever a classifier takes: array, sparse matrix, data frame or list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def _rows_if_aligned(value: Any, index: NDArray[np.integer], n: int) -> Any:
    """Metadata such as sample weights go with their rows; anything else goes as it is."""
    if isinstance(value, str | bytes | Mapping) or value is None:
        return value
    length = value.shape[0] if getattr(value, "shape", ()) else getattr(value, "__len__", int)()
    return rows_of(value, index) if length == n else value
