"""Scores of any fitted classifier as one matrix (n, q), and measures as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plurilabel._core.scores import label_scores
from plurilabel.metrics._measures import get_measure


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
