"""Scores of any fitted classifier, ours or scikit-learn's, as one matrix (n, q)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = ["label_scores", "score_matrix", "score_method"]


def score_method(estimator: Any) -> str:
    """Name of the method that gives the scores: ``predict_proba``, else ``decision_function``.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> score_method(OneVsRestClassifier(LinearSVC()))
    'decision_function'
    """
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"estimator must have predict_proba or decision_function to give scores, "
        f"but {type(estimator).__name__} has neither"
    )


def label_scores(
    estimator: Any, X: ArrayLike, *, n_labels: int | None = None
) -> NDArray[Any] | sparse.csr_array:
    """Score of every label for every row of X, whatever shape the classifier answers in.

    ``predict_proba`` is asked where there is one, else ``decision_function``. The list of
    (n, classes) arrays that ``MultiOutputClassifier``, ``KNeighborsClassifier``, trees and
    forests return becomes the probabilities of class 1, column by column. A label with one class
    in training has probability 0 (only absent) or 1 (only present).

    Parameters
    ----------
    estimator : fitted classifier
    X : array-like or sparse matrix of shape (n, d), or data frame
    n_labels : int, optional
        Number of labels. Needed only for a single label: scikit-learn's classifiers then answer
        with two columns (absent, present), which cannot be told from two labels.

    Returns
    -------
    ndarray or csr_array of shape (n, q)

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


def score_matrix(
    output: Any, *, classes: Any = None, n_labels: int | None = None
) -> NDArray[Any] | sparse.csr_array:
    """What ``predict_proba`` or ``decision_function`` returned, as one matrix (n, q).

    Parameters
    ----------
    output : array of shape (n, q) or (n,), sparse matrix, or list of arrays (n, classes)
    classes : list of arrays, optional
        The classifier's ``classes_``. Needed for a list with a label of which only one class was
        seen: the output alone does not say which.
    n_labels : int, optional
        See :func:`label_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> score_matrix([np.array([[0.1, 0.9]]), np.array([[1.0]])], classes=[[0, 1], [0]])
    array([[0.9, 0. ]])
    """
    if isinstance(output, list) and len(output) > 0 and np.ndim(output[0]) == 2:
        known = _classes_of_each(classes, output)
        columns = [_present(np.asarray(p), c, j) for j, (p, c) in enumerate(zip(output, known))]
        return np.column_stack(columns)
    if sparse.issparse(output):
        return sparse.csr_array(output)
    scores = np.asarray(output)
    if scores.ndim == 1:
        return scores.reshape(-1, 1)
    if scores.ndim != 2:
        raise ValueError(
            f"scores must be a matrix (instances, labels), got an array of shape {scores.shape}"
        )
    if n_labels == 1 and scores.shape[1] == 2:
        return scores[:, 1:]
    return scores


def _classes_of_each(classes: Any, output: list[Any]) -> list[NDArray[Any] | None]:
    """The classes of each label, None where the estimator does not say."""
    if classes is None or len(classes) != len(output) or any(np.ndim(c) != 1 for c in classes):
        return [None] * len(output)
    return [np.asarray(c) for c in classes]


def _present(proba: NDArray[Any], classes: NDArray[Any] | None, j: int) -> NDArray[Any]:
    """Probability that label j is present, from the probabilities of its classes."""
    if classes is None:
        if proba.shape[1] == 2:
            return proba[:, 1]
        raise ValueError(
            f"predict_proba has {proba.shape[1]} column(s) for label {j}, expected 2 (absent, "
            "present); which class it stands for is unknown, since the classifier has no classes_"
        )
    if not np.isin(classes, (0, 1)).all():
        raise ValueError(
            f"label {j} must have the classes 0 and 1, but the classifier learned {classes}"
        )
    where = np.flatnonzero(classes == 1)
    return proba[:, where[0]] if len(where) else np.zeros(len(proba), dtype=proba.dtype)
