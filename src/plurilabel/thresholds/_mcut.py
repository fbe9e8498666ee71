"""MCut: cut each instance's scores at their largest gap."""

from __future__ import annotations

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel.thresholds._base import BLOCK, Scores, Sets, ThresholdStrategy, above


class MCut(ThresholdStrategy):
    """Cut the sorted scores of each instance in the middle of their largest gap.

    Nothing is learned. At least one label is predicted and at least one is not, unless all scores
    of an instance are equal: then none is. Of equally large gaps the highest is taken.

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

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores; if not, labels are enough."""
        return False

    _learns_from_known = True

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        if Y.shape[1] < 2:
            raise ValueError("MCut needs at least two labels, whose scores have a gap; got 1")

    def _sets(self, scores: Scores) -> Sets:
        n, q = scores.shape
        cuts = np.empty((n, 1))
        for rows in row_blocks(n, q, BLOCK):
            f = np.sort(scores[rows], axis=1)[:, ::-1].astype(np.float64) / 2  # a gap may overflow
            k = (f[:, :-1] - f[:, 1:]).argmax(axis=1)[:, np.newaxis]
            high, low = np.take_along_axis(f, k, axis=1), np.take_along_axis(f, k + 1, axis=1)
            middle = high + low
            # the midpoint of two adjacent numbers is rounded to one of them
            cuts[rows] = np.where((low * 2 <= middle) & (middle < high * 2), middle, low * 2)
        return above(scores, cuts)
