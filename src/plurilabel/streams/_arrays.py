"""Learners of arrays with ``partial_fit``, behind the door for single rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multioutput import MultiOutputClassifier

from plurilabel._core.scores import score_method
from plurilabel.metrics import label_scores


class ArrayLearner:
    """A scikit-learn classifier with ``partial_fit``, as a learner of single rows.

    Features and labels have the columns of the first row that is learned: whatever appears later
    is left out, so that a label that is new is never predicted. A feature that a row lacks is 0;
    a row in which a label is missing is not learned.

    Parameters
    ----------
    estimator : classifier
        With ``partial_fit`` on arrays of features and 0/1 labels, such as
        :class:`~plurilabel.MLkNN` or scikit-learn's ``MultiOutputClassifier``.
    batch : int, default=1
        Rows to collect for each ``partial_fit``: a larger number is faster, and learns later.
    first : int, default=100
        Rows to collect for the first ``partial_fit``; ML-kNN needs more than it has neighbours.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> from plurilabel.streams import ArrayLearner
    >>> learner = ArrayLearner(MultiOutputClassifier(SGDClassifier(random_state=0)), first=2)
    >>> for a in (-1.0, 1.0, -2.0, 2.0):
    ...     learner.learn_one({"a": a}, {"up": a > 0, "down": a < 0})
    >>> learner.predict_one({"a": 3.0})
    {'up': True, 'down': False}
    """

    def __init__(self, estimator: Any, batch: int = 1, first: int = 100) -> None:
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(
                f"estimator must have partial_fit to learn from a stream, but "
                f"{type(estimator).__name__} has none"
            )
        for name, value in {"batch": batch, "first": first}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self.estimator, self.batch, self.first = estimator, batch, first
        self.features_: dict[Hashable, int] = {}
        self.labels_: tuple[Hashable, ...] = ()
        self.is_fitted_ = False
        self._waiting: list[tuple[NDArray[np.float64], list[bool]]] = []

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:
        """Learn a row, with those that wait for it."""
        if not self.labels_:
            if not x or not y:
                return
            self.features_ = {name: j for j, name in enumerate(x)}
            self.labels_ = tuple(y)
        if not all(label in y for label in self.labels_):
            return
        self._waiting.append((self._row(x), [bool(y[label]) for label in self.labels_]))
        if len(self._waiting) >= (self.batch if self.is_fitted_ else self.first):
            self._learn()

    def _learn(self) -> None:
        X = np.array([x for x, _ in self._waiting])
        Y = np.array([y for _, y in self._waiting], dtype=np.int64)
        more = {}
        if isinstance(self.estimator, MultiOutputClassifier) and not self.is_fitted_:
            more["classes"] = [np.array([0, 1])] * len(self.labels_)
        self.estimator.partial_fit(X, Y, **more)
        self.is_fitted_ = True
        self._waiting.clear()

    def _row(self, x: Mapping[Any, Any]) -> NDArray[np.float64]:
        row = np.zeros(len(self.features_))
        for name, value in x.items():
            if name in self.features_:
                row[self.features_[name]] = value
        return row

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:
        """The predicted labels; nothing before the first ``partial_fit``."""
        if not self.is_fitted_:
            return {}
        Z = np.asarray(self.estimator.predict(self._row(x)[None])).reshape(1, -1)
        return dict(zip(self.labels_, map(bool, Z[0].tolist())))

    def scores_one(self, x: Mapping[Any, Any]) -> dict[Hashable, float]:
        """Scores, from ``predict_proba`` or ``decision_function``."""
        score_method(self.estimator)
        if not self.is_fitted_:
            return {}
        S = label_scores(self.estimator, self._row(x)[None], n_labels=len(self.labels_))
        return dict(zip(self.labels_, np.asarray(S)[0].tolist()))

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Hashable, dict[bool, float]]:
        """Probabilities, if the classifier has any."""
        if score_method(self.estimator) != "predict_proba":
            raise NotImplementedError(f"{type(self.estimator).__name__} has no predict_proba")
        return {l: {True: p, False: 1 - p} for l, p in self.scores_one(x).items()}

    def __repr__(self) -> str:
        inner = " ".join(repr(self.estimator).split())
        return f"ArrayLearner({inner}, batch={self.batch}, first={self.first})"
