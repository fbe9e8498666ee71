"""Scores of any fitted classifier as one matrix (n, q), and measures as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel.metrics._inputs import check_count
from plurilabel.metrics._measures import get_measure


def score_method(estimator: Any) -> str:
    """Name of the method that scores come from: ``predict_proba``, else ``decision_function``.

    Parameters
    ----------
    estimator : classifier

    Returns
    -------
    str
        The first of the two methods that the classifier has.

    Raises
    ------
    TypeError
        If it has neither.

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
    """Turn what ``predict_proba`` or ``decision_function`` returned into one matrix (n, q).

    :func:`label_scores` does this for a fitted classifier.

    Parameters
    ----------
    output : array of shape (n, q) or (n,), sparse matrix, or list of arrays (n, classes)
    classes : list of arrays, optional
        The classifier's ``classes_``. Needed for a list if only one class of some label was seen
        in training: the output alone does not say which.
    n_labels : int, optional
        Number of labels; see :func:`label_scores`.

    Returns
    -------
    ndarray or csr_array of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> score_matrix([np.array([[0.1, 0.9]]), np.array([[1.0]])], classes=[[0, 1], [0]])
    array([[0.9, 0. ]])
    """
    if n_labels is not None:
        check_count(n_labels, "n_labels")
    if isinstance(output, list) and len(output) > 0 and np.ndim(output[0]) == 2:
        if classes is None or len(classes) != len(output) or any(np.ndim(c) != 1 for c in classes):
            classes = [None] * len(output)  # the classifier does not say
        columns = enumerate(zip(output, classes))
        return np.column_stack([_present(np.asarray(p), c, j) for j, (p, c) in columns])
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
        raise ValueError(
            f"label {j} must have the classes 0 and 1, but the classifier learned {classes}"
        )
    where = np.flatnonzero(np.asarray(classes) == 1)
    return proba[:, where[0]] if len(where) else np.zeros(len(proba), dtype=proba.dtype)


class Scorer:
    """``scorer(estimator, X, Y)``; higher is better."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        self.name = name
        self.params = params

    def __call__(self, estimator: Any, X: Any, y_true: Any) -> float:
        measure = get_measure(self.name)
        if measure.kind == "labels":
            prediction = estimator.predict(X)
        else:
            prediction = label_scores(estimator, X, n_labels=_width(y_true))
        value = measure.function(y_true, prediction, **self.params)
        return value if measure.greater_is_better else -value

    def __repr__(self) -> str:
        params = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"get_scorer({self.name!r}{params})"


def _width(Y: Any) -> int | None:
    shape = np.shape(Y) if not hasattr(Y, "shape") else Y.shape
    return int(shape[1]) if len(shape) == 2 else None


def get_scorer(name: str, **params: Any) -> Callable[[Any, Any, Any], float]:
    """Get a measure as a scikit-learn scorer: ``scorer(estimator, X, Y)``, higher is better.

    For ``GridSearchCV(scoring=...)``, ``cross_val_score`` and the like. The value of a loss is
    negated. Scores come from ``predict_proba``, else from ``decision_function``; see
    :func:`label_scores`.

    Parameters
    ----------
    name : str
        One of :func:`measure_names`, with a number in place of k: ``"precision@3"``.
    **params
        Parameters of the measure, such as ``beta=2`` or ``propensities=p``.

    Returns
    -------
    callable

    Examples
    --------
    >>> from plurilabel.metrics import get_scorer
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> search = GridSearchCV(
    ...     KNeighborsClassifier(), {"n_neighbors": [1, 15]}, scoring=get_scorer("ranking_loss")
    ... )
    >>> search.fit(X, Y).best_params_
    {'n_neighbors': 15}
    """
    measure = get_measure(name)
    if measure.name.endswith("@k") and "k" not in params:
        raise ValueError(
            f"name must have a number in place of k, such as {name[:-1]}5, got {name!r}"
        )
    if name.startswith(("psp@", "ps_ndcg@")) and "propensities" not in params:
        raise ValueError(f"{name} needs propensities=propensities(Y_train), got none")
    return Scorer(name, params)
