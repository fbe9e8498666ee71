"""MetaLabeler: predict how many labels an instance has, then take that many."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import HasMethods, StrOptions
from plurilabel._core.fitted import Declared, parameter, places
from plurilabel.thresholds._base import (
    Scores,
    Sets,
    ThresholdStrategy,
    complete_rows,
    highest,
    round_half_up,
)


class MetaLabeler(ThresholdStrategy):
    """Predict the size of an instance's label set from its scores; take that many labels.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        Learns the number of labels. The prediction of a regressor is rounded (halves up). The
        default is a multinomial logistic regression on standardised features; ``Ridge()`` is much
        faster on large data, and little worse.
    features : {"sorted", "scores"}, default="sorted"
        What it learns from: the highest scores of an instance in descending order, twice as many
        as the largest label set; or all its scores, label by label. The paper calls these
        rank-based and score-based; its third kind, the features of the instance itself, is not
        available to a strategy, which only sees scores.

    Attributes
    ----------
    estimator_ : fitted estimator, or None
        None if all training sets have the same size.
    sizes_ : ndarray
        The distinct sizes of the training sets, ascending.
    features_ : str
        The ``features`` of ``fit``.

    References
    ----------
    L. Tang, S. Rajan, V. Narayanan. Large scale multi-label classification via MetaLabeler.
    WWW 2009.

    Examples
    --------
    >>> from plurilabel import MetaLabeler
    >>> scores = [[0.9, 0.8], [0.8, 0.7], [0.9, 0.1], [0.2, 0.8]]
    >>> Y = [[1, 1], [1, 1], [1, 0], [0, 1]]
    >>> MetaLabeler().fit(scores, Y).predict([[0.7, 0.8], [0.1, 0.7]])
    array([[1, 1],
           [0, 1]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "features": [StrOptions({"sorted", "scores"})],
    }
    _fitted: ClassVar[Declared] = {
        "sizes_": places(None, below="n_labels_+1"),
        "features_": parameter(),
    }

    def __init__(self, estimator: Any = None, *, features: str = "sorted"):
        self.estimator = estimator
        self.features = features

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        scores, Y = complete_rows(scores, Y, "MetaLabeler")
        sizes = Y.sum(axis=1, dtype=np.int64)
        self.sizes_ = np.unique(sizes)
        self.estimator_, self.features_ = None, self.features
        if len(self.sizes_) > 1:
            if self.estimator is None:
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            else:
                model = clone(self.estimator)
            self.estimator_ = model.fit(self._features(scores), sizes)

    def _sets(self, scores: Scores) -> Sets:
        n, q = scores.shape
        if self.estimator_ is None:
            sizes = np.full(n, self.sizes_[0])
        else:
            sizes = round_half_up(self.estimator_.predict(self._features(scores)))
        return highest(scores, np.clip(sizes, 0, q))

    def _features(self, scores: Scores) -> Scores:
        if self.features_ == "scores":
            return scores
        return np.sort(scores, axis=1)[:, ::-1][:, : 2 * self.sizes_[-1]]
