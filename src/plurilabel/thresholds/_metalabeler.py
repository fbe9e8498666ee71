"""MetaLabeler: predict how many labels an instance has, then take the highest-scored."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._compat import HasMethods, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import ThresholdStrategy, round_half_up
from plurilabel.thresholds._rcut import highest


class MetaLabeler(ThresholdStrategy):
    """Predict the size of an instance's label set from its scores; take that many labels.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        Learns the number of labels. A regressor's answer is rounded (halves up). None stands for
        a multinomial logistic regression on standardised features; ``Ridge()`` is much faster on
        large data, and little worse.
    features : {"sorted", "scores"}, default="sorted"
        What it learns from: the highest scores of an instance in descending order, twice as many
        as the largest label set; or all its scores, label by label. The paper calls these
        rank-based and score-based; its third kind, the features of the instance itself, are not
        at hand where only scores are.

    Attributes
    ----------
    estimator_ : fitted estimator, or None
        None if all training sets have one size.
    sizes_ : ndarray
        The different sizes of the training sets, ascending.

    References
    ----------
    L. Tang, S. Rajan, V. Narayanan. Large scale multi-label classification via MetaLabeler.
    WWW 2009.

    Examples
    --------
    >>> from plurilabel.thresholds import MetaLabeler
    >>> scores = [[0.9, 0.8], [0.8, 0.7], [0.9, 0.1], [0.2, 0.8]]
    >>> Y = [[1, 1], [1, 1], [1, 0], [0, 1]]
    >>> MetaLabeler().fit(scores, Y).predict([[0.7, 0.8], [0.1, 0.7]])
    array([[1, 1],
           [0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "features": [StrOptions({"sorted", "scores"})],
    }

    def __init__(self, estimator: Any = None, *, features: str = "sorted"):
        self.estimator = estimator
        self.features = features

    def _fit(self, scores: NDArray[np.floating], Y: LabelMatrix) -> None:
        sizes = np.asarray(Y.sum(axis=1, dtype=np.int64)).ravel()
        self.sizes_ = np.unique(sizes)
        self.estimator_ = None
        if len(self.sizes_) > 1:
            if self.estimator is None:
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            else:
                model = clone(self.estimator)
            self.estimator_ = model.fit(self._features(scores), sizes)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        n, q = scores.shape
        if self.estimator_ is None:
            sizes = np.full(n, self.sizes_[0])
        else:
            sizes = round_half_up(self.estimator_.predict(self._features(scores)))
        return highest(scores, np.clip(sizes, 0, q))

    def _features(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        if self.features == "scores":
            return scores
        return np.sort(scores, axis=1)[:, ::-1][:, : 2 * self.sizes_[-1]]
