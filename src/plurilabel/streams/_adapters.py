"""Baselines, and adapters that make scikit-learn classifiers and river regressors learn rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multioutput import MultiOutputClassifier

from plurilabel._core.blocks import is_missing
from plurilabel._core.scores import score_method
from plurilabel.metrics import label_scores

Probabilities = dict[Hashable, dict[bool, float]]


def _as_probabilities(scores: Mapping[Hashable, float]) -> Probabilities:
    return {label: {True: p, False: 1.0 - p} for label, p in scores.items()}


@dataclass(eq=False)
class NoChange:
    """Predict the labels of the last row learned.

    This baseline is hard to beat if consecutive rows are alike, such as scenes of a film.

    Examples
    --------
    >>> from plurilabel.streams import NoChange
    >>> learner = NoChange()
    >>> learner.learn_one({"a": 1.0}, {"red": True, "blue": False})
    >>> learner.predict_one({"a": 2.0})
    {'red': True, 'blue': False}
    """

    last_: dict[Hashable, bool] = field(default_factory=dict, init=False, repr=False)

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:  # noqa: ARG002
        """Remember the labels; unknown ones keep their last value."""
        self.last_.update({label: bool(present) for label, present in y.items()})

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:  # noqa: ARG002
        """Predict the labels of the last row."""
        return dict(self.last_)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> Probabilities:  # noqa: ARG002
        """Probabilities, all 0 or 1."""
        return _as_probabilities({label: float(y) for label, y in self.last_.items()})


@dataclass(eq=False)
class LabelShares:
    """Predict the frequency of each label, ignoring the features.

    Parameters
    ----------
    fading : float, default=1.0
        Factor applied to the weight of earlier rows whenever the label is known in a row.

    Examples
    --------
    >>> from plurilabel.streams import LabelShares
    >>> learner = LabelShares()
    >>> for red in (True, True, False):
    ...     learner.learn_one({}, {"red": red})
    >>> learner.predict_one({}), round(learner.predict_proba_one({})["red"][True], 3)
    ({'red': True}, 0.667)
    """

    fading: float = 1.0
    sums_: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.fading <= 1:
            raise ValueError(f"fading must lie between 0 and 1, 0 excluded, got {self.fading!r}")

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:  # noqa: ARG002
        """Count the labels."""
        for label, present in y.items():
            total, weight = self.sums_.get(label, (0.0, 0.0))
            self.sums_[label] = self.fading * total + bool(present), self.fading * weight + 1

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:  # noqa: ARG002
        """Predict the labels of more than half of the rows."""
        return {label: total > weight / 2 for label, (total, weight) in self.sums_.items()}

    def predict_proba_one(self, x: Mapping[Any, Any]) -> Probabilities:  # noqa: ARG002
        """Frequency of each label."""
        return _as_probabilities({l: total / weight for l, (total, weight) in self.sums_.items()})


class ArrayLearner:
    """Learn single rows with a scikit-learn classifier that has ``partial_fit``.

    The first row determines features and labels: later features and labels are ignored, and
    absent features are 0. Rows with an unknown label are skipped.

    Parameters
    ----------
    estimator : classifier
        With ``partial_fit`` on arrays of features and 0/1 labels, such as
        :class:`~plurilabel.MLkNN` or scikit-learn's ``MultiOutputClassifier``.
    batch : int, default=1
        Number of rows to collect for each ``partial_fit``.
    first : int, default=100
        Number of rows to collect for the first ``partial_fit``. ML-kNN needs more than
        ``n_neighbors``.

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
            kind = type(estimator).__name__
            raise TypeError(f"estimator must have partial_fit to learn from a stream, got {kind}")
        for name, value in {"batch": batch, "first": first}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self.estimator, self.batch, self.first = estimator, batch, first
        self.features_: dict[Hashable, int] = {}
        self.labels_: tuple[Hashable, ...] = ()
        self.is_fitted_ = False
        self._waiting: list[tuple[NDArray[np.float64], list[bool]]] = []

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:
        """Collect a row, and learn the collected rows once there are enough."""
        if not self.labels_ and x and y:
            self.features_, self.labels_ = {name: j for j, name in enumerate(x)}, tuple(y)
        if not self.labels_ or not all(label in y for label in self.labels_):
            return
        self._waiting.append((self._row(x), [bool(y[label]) for label in self.labels_]))
        if len(self._waiting) < (self.batch if self.is_fitted_ else self.first):
            return
        X, Y = map(np.array, zip(*self._waiting))
        first = isinstance(self.estimator, MultiOutputClassifier) and not self.is_fitted_
        more = {"classes": [np.array([0, 1])] * len(self.labels_)} if first else {}
        self.estimator.partial_fit(X, Y.astype(np.int64), **more)
        self.is_fitted_ = True
        self._waiting.clear()

    def _row(self, x: Mapping[Any, Any]) -> NDArray[np.float64]:
        return np.array([x.get(name, 0.0) for name in self.features_], dtype=np.float64)

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:
        """Predict the labels; none before the first ``partial_fit``."""
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

    def predict_proba_one(self, x: Mapping[Any, Any]) -> Probabilities:
        """Probabilities, if the classifier has any."""
        if score_method(self.estimator) != "predict_proba":
            raise NotImplementedError(f"{type(self.estimator).__name__} has no predict_proba")
        return _as_probabilities(self.scores_one(x))

    def __repr__(self) -> str:
        inner = " ".join(repr(self.estimator).split())
        return f"ArrayLearner({inner}, batch={self.batch}, first={self.first})"


class RegressorLearner:
    """Learn labels with one of river's multi-target regressors.

    Each label is a target of 0 or 1 and is predicted if its value is above one half; the values,
    clipped to 0 and 1, are the scores. Rows in which a known label is missing are skipped, since
    regressors need every target.

    Parameters
    ----------
    regressor : river multi-target regressor
        Such as :class:`river.tree.ISOUPTreeRegressor` or a
        :class:`river.multioutput.RegressorChain`.

    Examples
    --------
    >>> from river import tree
    >>> from plurilabel.streams import RegressorLearner
    >>> learner = RegressorLearner(tree.ISOUPTreeRegressor(grace_period=20))
    >>> for i in range(200):
    ...     learner.learn_one({"a": i % 10}, {"low": i % 10 < 5, "high": i % 10 > 7})
    >>> learner.predict_one({"a": 1.0})
    {'low': True, 'high': False}
    """

    def __init__(self, regressor: Any) -> None:
        for method in ("learn_one", "predict_one"):
            if not hasattr(regressor, method):
                kind = type(regressor).__name__
                raise TypeError(f"regressor must have {method}, as river's do; got {kind}")
        self.regressor = regressor
        self.labels_: dict[Hashable, None] = {}

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, Any]) -> None:
        """Learn a row whose labels are all known."""
        known = {label: float(value) for label, value in y.items() if not is_missing(value)}
        if known and known.keys() >= self.labels_.keys():
            self.regressor.learn_one(dict(x), known)
            self.labels_.update(dict.fromkeys(known))

    def _values(self, x: Mapping[Any, Any]) -> dict[Hashable, float]:
        found = self.regressor.predict_one(dict(x)) if self.labels_ else {}
        return {label: float(found.get(label, 0.0)) for label in self.labels_}

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:
        """Predict the labels with values above one half."""
        return {label: value > 0.5 for label, value in self._values(x).items()}

    def predict_proba_one(self, x: Mapping[Any, Any]) -> Probabilities:
        """The values, clipped to 0 and 1."""
        values = self._values(x).items()
        return _as_probabilities({label: min(max(value, 0.0), 1.0) for label, value in values})

    def __repr__(self) -> str:
        return f"RegressorLearner({' '.join(repr(self.regressor).split())})"
