"""Scores of any fitted classifier as one matrix (n, q)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


def score_method(estimator: Any) -> str:
    """Name of the method that scores come from: ``predict_proba``, else ``decision_function``."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"estimator must have predict_proba or decision_function to score labels, "
        f"but {type(estimator).__name__} has neither"
    )


def label_scores(
    estimator: Any, X: ArrayLike, *, n_labels: int | None = None
) -> NDArray[Any] | sparse.csr_array:
    """Score of every label for every row of X, whatever the classifier returns.

    The scores come from ``predict_proba`` if the classifier has it, else from
    ``decision_function``. A list of (n, classes) arrays, as ``MultiOutputClassifier``,
    ``KNeighborsClassifier``, trees and forests return, becomes a matrix of the probabilities of
    class 1. A label with only one class in training has probability 0 or 1.

    Parameters
    ----------
    estimator : fitted classifier
    X : array-like or sparse matrix of shape (n, d), or data frame
    n_labels : int, optional
        Number of labels. Needed only for a single label: scikit-learn's classifiers then return
        two columns (absent, present), which look the same as two labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> Y = np.array([[1, 0, 0], [1, 1, 0]])        # the last label never occurs
    >>> knn = KNeighborsClassifier(n_neighbors=2).fit([[0.0], [1.0]], Y)
    >>> label_scores(knn, [[0.2]])
    array([[1. , 0.5, 0. ]])
    """
    output = getattr(estimator, score_method(estimator))(X)
    return score_matrix(output, classes=getattr(estimator, "classes_", None), n_labels=n_labels)


def scores_or_none(estimator: Any, X: Any, q: int) -> Any:
    """Scores (n, q), or None if the estimator has none."""
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        return None
    return label_scores(estimator, X, n_labels=q)


def score_matrix(
    output: Any, *, classes: Any = None, n_labels: int | None = None
) -> NDArray[Any] | sparse.csr_array:
    """Convert the output of ``predict_proba`` or ``decision_function`` to one matrix (n, q)."""
    # A list of arrays needs ``classes``, the classifier's ``classes_``, if a label had only one
    # class in training.
    if n_labels is not None:
        check_count(n_labels, "n_labels")
    if isinstance(output, list) and len(output) > 0 and np.ndim(output[0]) == 2:
        if classes is None or len(classes) != len(output) or any(np.ndim(c) != 1 for c in classes):
            classes = [None] * len(output)  # the classifier does not say
        columns = zip(output, classes)
        return np.column_stack([_present(np.asarray(p), c, j) for j, (p, c) in enumerate(columns)])
    if sparse.issparse(output):
        return sparse.csr_array(output)
    scores = np.asarray(output)
    if scores.ndim == 1:
        return scores.reshape(-1, 1)
    if scores.ndim != 2:
        raise ValueError(f"scores must be a matrix (instances, labels), got shape {scores.shape}")
    if n_labels == 1 and scores.shape[1] == 2:
        return scores[:, 1:]
    return scores


def _present(proba: NDArray[Any], classes: ArrayLike | None, j: int) -> NDArray[Any]:
    """Probability that label j is present, from the probabilities of its classes."""
    if classes is None:
        if proba.shape[1] == 2:
            return proba[:, 1]
        raise ValueError(
            f"predict_proba has {proba.shape[1]} column(s) for label {j}, expected 2 (absent, "
            "present); the classifier has no classes_ to say which class is missing"
        )
    if not np.isin(classes, (0, 1)).all():
        raise ValueError(f"label {j} must have the classes 0 and 1, got {classes}")
    where = np.flatnonzero(np.asarray(classes) == 1)
    return proba[:, where[0]] if len(where) else np.zeros(len(proba), dtype=proba.dtype)


def check_count(value: Any, name: str) -> int:
    """A parameter that counts something: an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    return int(value)
