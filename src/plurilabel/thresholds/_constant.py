"""One threshold for all scores: given, or by the number of labels in training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Finite
from plurilabel._core.fitted import Declared, number
from plurilabel._core.unknown import UnknownLabels
from plurilabel.thresholds._strategy import Scores, Sets, ThresholdStrategy, above, just_below
from plurilabel.thresholds._sweep import cut_between


@dataclass(eq=False, repr=False)
class ConstantThreshold(ThresholdStrategy):
    """Predict the labels whose score is above a given number.

    Parameters
    ----------
    cut : float, default=0.5
        0.5 suits probabilities, 0 suits decision functions. ``ThresholdClassifier`` with the
        strategy ``"constant"`` chooses the one that suits the classifier.

    Attributes
    ----------
    cut_ : float

    Examples
    --------
    >>> from plurilabel import ConstantThreshold
    >>> scores, Y = [[0.9, 0.4], [0.5, 0.6]], [[1, 1], [0, 1]]
    >>> ConstantThreshold(0.5).fit(scores, Y).predict(scores)
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _needs_scores = False
    _fitted: ClassVar[Declared] = {"cut_": number(finite=False)}

    cut: Finite = 0.5

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        self.cut_ = float(self.cut)


@dataclass(eq=False, repr=False)
class CardinalityThreshold(ThresholdStrategy):
    """One cut for all labels, such that the mean set size is that of the training labels.

    The cut is the one whose predictions have the label cardinality closest to that of Y: exactly
    that cardinality unless ties between scores prevent it. It lies halfway between the two scores
    that it separates. If two cuts are equally close, the higher one is taken, which predicts fewer
    labels.

    Parameters
    ----------
    batch : bool, default=False
        Whether ``predict`` chooses the cut anew for each batch of scores it is given, as the paper
        does on the test set. By default the cut is learned once, from the scores given to ``fit``,
        and the prediction for an instance does not depend on the others in its batch.

    Attributes
    ----------
    cut_ : float
        None with ``batch=True``.
    cardinality_ : float
        Mean number of labels in Y.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label
    classification. Machine Learning 85, 2011.

    Examples
    --------
    >>> from plurilabel import CardinalityThreshold
    >>> scores, Y = [[0.3, 0.2], [0.1, 0.02]], [[1, 1], [0, 1]]
    >>> strategy = CardinalityThreshold().fit(scores, Y)
    >>> round(strategy.cut_, 3), strategy.cardinality_
    (0.06, 1.5)
    >>> CardinalityThreshold(batch=True).fit(None, Y).predict([[0.9, 0.8], [0.7, 0.6]])
    array([[1, 1],
           [1, 0]])
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "cardinality_": number(),
        "cut_": number(finite=False, optional=True),
    }

    _: KW_ONLY
    batch: bool = False

    def learns_from_scores(self) -> bool:
        return not self.batch

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:
        some_unknown = isinstance(Y, UnknownLabels)
        total = float(Y.shares().sum()) * len(Y) if some_unknown else Y.sum()
        self.cardinality_ = total / Y.shape[0]
        self.cut_ = None if scores is None or self.batch else cut_for_total(scores, total)

    def _sets(self, scores: Scores) -> Sets:
        if self.cut_ is None:
            return above(scores, cut_for_total(scores, self.cardinality_ * len(scores)))
        return above(scores, self.cut_)


def cut_for_total(scores: Scores, total: float) -> float:
    """The cut with a number of scores above it that is closest to ``total``."""
    # np.partition, not a full sort: linear in the number of scores.
    flat, size = scores.ravel(), scores.size
    k = min(max(int(np.floor(total)), 0), size - 1)
    value = np.partition(flat, size - 1 - k)[size - 1 - k]  # k scores are ahead of this one
    over, at_least = np.count_nonzero(flat > value), np.count_nonzero(flat >= value)
    if total - over <= at_least - total:
        if over == 0:
            return float(value)
        return cut_between(value, flat.min(where=flat > value, initial=np.inf))
    if at_least == size:
        return float(just_below(value))
    return cut_between(flat.max(where=flat < value, initial=-np.inf), value)
