"""Scores for instances from models that were not trained on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.compat import rows_of_params, safe_indexing
from plurilabel._core.scores import score_matrix
from plurilabel.thresholds._base import Scores


def scores_of(
    estimator: Any, X: Any, method: str, *, n_labels: int, classes: NDArray[Any] | None
) -> Scores:
    """Scores (n, q) of a fitted classifier's ``method``.

    For a 1-D y, ``classes`` are all classes; one that this classifier has not seen gets the lowest
    of its scores, or a probability of 0.
    """
    output, seen = getattr(estimator, method)(X), getattr(estimator, "classes_", None)
    if classes is None:
        scores = score_matrix(output, classes=seen, n_labels=n_labels)
    else:
        scores = _scores_of_classes(np.asarray(output), np.asarray(seen), classes, method)
    name = f"{method} of {type(estimator).__name__}"
    if sparse.issparse(scores):
        raise TypeError(f"estimator must return dense scores, but {name} returned a sparse matrix")
    if scores.shape[1] != n_labels:
        raise ValueError(
            f"estimator must score each of the {n_labels} labels, but {name} returned "
            f"{scores.shape[1]} column(s)"
        )
    return scores


def _scores_of_classes(
    scores: NDArray[Any], seen: NDArray[Any], classes: NDArray[Any], method: str
) -> Scores:
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
    fit_params: Mapping[str, Any],
    n_jobs: int | None,
    **kind: Any,
) -> tuple[Scores, NDArray[np.integer]]:
    """Scores of the test rows of each split, by a clone trained on its training rows.

    Returns the scores and the rows that they belong to; splits may overlap or leave rows out.
    ``kind`` goes to :func:`scores_of`.
    """

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> Scores:
        params = rows_of_params(X, fit_params, train)
        model = clone(estimator).fit(safe_indexing(X, train), safe_indexing(y, train), **params)
        return scores_of(model, safe_indexing(X, test), method, **kind)

    splits = list(splits)
    scores = Parallel(n_jobs=n_jobs)(delayed(score)(train, test) for train, test in splits)
    return np.concatenate(scores), np.concatenate([test for _, test in splits])
