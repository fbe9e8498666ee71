"""Constant cut: the same number for every score."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, number
from plurilabel.thresholds._base import Scores, Sets, ThresholdStrategy, above


class ConstantCut(ThresholdStrategy):
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
    >>> from plurilabel import ConstantCut
    >>> scores, Y = [[0.9, 0.4], [0.5, 0.6]], [[1, 1], [0, 1]]
    >>> ConstantCut(0.5).fit(scores, Y).predict(scores)
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cut": [Interval(Real, None, None, closed="neither")],
    }
    _fitted: ClassVar[Declared] = {
        "cut_": number(finite=False),
    }

    def __init__(self, cut: float = 0.5):
        self.cut = cut

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores; if not, labels are enough."""
        return False

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        self.cut_ = float(self.cut)

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cut_)
