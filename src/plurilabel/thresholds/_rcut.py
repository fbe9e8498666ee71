"""RCut: the r labels with the highest scores, for every instance."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, count
from plurilabel._core.unknown import PartialLabels
from plurilabel.thresholds._base import Scores, Sets, ThresholdStrategy, highest, round_half_up


class RCut(ThresholdStrategy):
    """Predict the r labels with the highest scores, for every instance.

    Of equal scores, the label that comes first wins.

    Parameters
    ----------
    r : int, default=None
        Number of labels. By default the cardinality of the training labels, rounded to the nearest
        integer (halves up), but at least 1.

    Attributes
    ----------
    r_ : int

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from plurilabel import RCut
    >>> scores, Y = [[0.3, 0.2, 0.1], [0.7, 0.8, 0.9]], [[1, 1, 0], [0, 0, 1]]
    >>> RCut().fit(scores, Y).predict(scores)
    array([[1, 1, 0],
           [0, 1, 1]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "r": [None, Interval(Integral, 0, None, closed="left")],
    }
    _fitted: ClassVar[Declared] = {
        "r_": count(),
    }

    def __init__(self, r: int | None = None):
        self.r = r

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores; if not, labels are enough."""
        return False

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        n, q = Y.shape
        if self.r is not None and self.r > q:
            raise ValueError(f"r must be at most {q}, the number of labels, got {self.r}")
        partial = isinstance(Y, PartialLabels)
        mean = int(round_half_up(Y.shares().sum() if partial else Y.sum(dtype=np.int64) / n))
        self.r_ = max(1, mean) if self.r is None else int(self.r)

    def _sets(self, scores: Scores) -> Sets:
        return highest(scores, np.full(len(scores), self.r_))
