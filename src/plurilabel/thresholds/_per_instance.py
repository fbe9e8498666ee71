"""RCut, MCut and MetaLabeler: how many labels each instance gets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import huge_numbers, row_blocks
from plurilabel._core.compat import Finite, HasMethods, Natural
from plurilabel._core.fitted import Declared, count, parameter, places
from plurilabel._core.unknown import UnknownLabels
from plurilabel.thresholds._strategy import (
    BLOCK,
    Scores,
    Sets,
    ThresholdStrategy,
    above,
    complete_rows,
    highest,
    round_half_up,
)

HUGE = 1e15  # scores above this are scaled twice: their squares could overflow


@dataclass(eq=False, repr=False)
class RCut(ThresholdStrategy):
    """Predict the r labels with the highest scores, for every instance (paper: see :class:`SCut`).

    Ties go to the first label.

    Parameters
    ----------
    r : int, default=None
        Number of labels. By default the cardinality of the training labels, rounded to the nearest
        integer (halves up), but at least 1.

    Attributes
    ----------
    r_ : int

    Examples
    --------
    >>> from plurilabel import RCut
    >>> scores, Y = [[0.3, 0.2, 0.1], [0.7, 0.8, 0.9]], [[1, 1, 0], [0, 0, 1]]
    >>> RCut().fit(scores, Y).predict(scores)
    array([[1, 1, 0],
           [0, 1, 1]])
    """

    _learns_from_known = True
    _needs_scores = False
    _fitted: ClassVar[Declared] = {"r_": count()}

    r: Natural | None = None

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        n, q = Y.shape
        if self.r is not None and self.r > q:
            raise ValueError(f"r must be at most {q}, the number of labels, got {self.r}")
        some_unknown = isinstance(Y, UnknownLabels)
        mean = int(round_half_up(Y.shares().sum() if some_unknown else Y.sum() / n))
        self.r_ = max(1, mean) if self.r is None else int(self.r)

    def _sets(self, scores: Scores) -> Sets:
        return highest(scores, np.full(len(scores), self.r_))


@dataclass(eq=False, repr=False)
class MCut(ThresholdStrategy):
    """Cut the sorted scores of each instance in the middle of their largest gap.

    Nothing is learned. At least one label is predicted and at least one is not, unless all scores
    of an instance are equal: then none is. The highest of equally large gaps is used.

    Parameters
    ----------
    floor : float, default=None
        Scores below this count as equal to it, so that the largest gap is not one between labels
        that are out of the question. The scores of a decision function have no lower bound, and
        :func:`~plurilabel.thresholds.get_strategy` uses -1 for them.

    References
    ----------
    C. Largeron, C. Moulin, M. Géry. MCut: a thresholding strategy for multi-label
    classification. IDA 2012.

    Examples
    --------
    >>> from plurilabel import MCut
    >>> scores, Y = [[0.9, 0.8, 0.2], [0.9, 0.3, 0.2]], [[1, 1, 0], [1, 0, 0]]
    >>> MCut().fit(scores, Y).predict(scores)
    array([[1, 1, 0],
           [1, 0, 0]])
    """

    _learns_from_known = True
    _needs_scores = False
    _fitted: ClassVar[Declared] = {"floor_": parameter()}

    floor: Finite | None = None

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        if Y.shape[1] < 2:
            raise ValueError("MCut needs at least two labels, whose scores have a gap; got 1")
        self.floor_ = self.floor

    def _sets(self, scores: Scores) -> Sets:
        n, q = scores.shape
        cuts = np.empty((n, 1))
        for rows in row_blocks(n, q, BLOCK):
            f = np.sort(scores[rows], axis=1)[:, ::-1].astype(np.float64) / 2  # a gap may overflow
            if self.floor_ is not None:
                f = np.maximum(f, self.floor_ / 2)
            k = (f[:, :-1] - f[:, 1:]).argmax(axis=1)[:, np.newaxis]
            high, low = np.take_along_axis(f, k, axis=1), np.take_along_axis(f, k + 1, axis=1)
            middle = high + low
            # the midpoint of two adjacent numbers is rounded to one of them
            cuts[rows] = np.where((low * 2 <= middle) & (middle < high * 2), middle, low * 2)
        return above(scores, cuts)


@dataclass(eq=False, repr=False)
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
    _fitted: ClassVar[Declared] = {
        "sizes_": places(None, below="n_labels_+1"),
        "features_": parameter(),
    }

    estimator: Annotated[Any, HasMethods(["fit", "predict"])] | None = None
    _: KW_ONLY
    features: Literal["sorted", "scores"] = "sorted"

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        scores, Y = complete_rows(scores, Y, "MetaLabeler")
        sizes = round_half_up(Y.sum(axis=1))  # soft labels: the expected size
        self.sizes_ = np.unique(sizes)
        self.estimator_, self.features_ = None, self.features
        if len(self.sizes_) > 1:
            usual = [StandardScaler(), LogisticRegression(max_iter=1000)]
            if np.abs(scores).max() > HUGE:
                usual.insert(0, MaxAbsScaler())
            model = make_pipeline(*usual) if self.estimator is None else clone(self.estimator)
            with huge_numbers():
                self.estimator_ = model.fit(self._features(scores), sizes)

    def _sets(self, scores: Scores) -> Sets:
        n, q = scores.shape
        if self.estimator_ is None:
            sizes = np.full(n, self.sizes_[0])
        else:
            with huge_numbers():
                sizes = round_half_up(self.estimator_.predict(self._features(scores)))
        return highest(scores, np.clip(sizes, 0, q))

    def _features(self, scores: Scores) -> Scores:
        if self.features_ == "scores":
            return scores
        return np.sort(scores, axis=1)[:, ::-1][:, : 2 * self.sizes_[-1]]
