"""MCut: cut each instance's scores at their largest gap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import ThresholdStrategy, above, blocks, check_dense_scores


class MCut(ThresholdStrategy):
    """Cut the sorted scores of each instance in the middle of their largest gap.

    It learns nothing. At least one label is predicted and at least one is not, unless all scores
    of an instance are equal: then none is. Of equally large gaps the highest is taken.

    References
    ----------
    C. Largeron, C. Moulin, M. Géry. MCut: a thresholding strategy for multi-label
    classification. IDA 2012.

    Examples
    --------
    >>> from plurilabel.thresholds import MCut
    >>> scores, Y = [[0.9, 0.8, 0.2], [0.9, 0.3, 0.2]], [[1, 1, 0], [1, 0, 0]]
    >>> MCut().fit(scores, Y).predict(scores)
    array([[1, 1, 0],
           [1, 0, 0]])
    """

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return False

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        _check_two_labels(Y)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return above(scores, _gap_cuts(scores)[:, np.newaxis])


def gap_cuts(scores: ArrayLike) -> NDArray[np.float64]:
    """For each instance the middle of the largest gap between its sorted scores.

    Parameters
    ----------
    scores : array-like of shape (n, q)
        With at least two labels.

    Returns
    -------
    ndarray of shape (n,)
        To be used strictly; see :class:`MCut`.

    Examples
    --------
    >>> from plurilabel.thresholds import gap_cuts
    >>> gap_cuts([[1.0, 0.75, 0.25], [0.5, 0.5, 0.5]])
    array([0.5, 0.5])
    """
    checked = check_dense_scores(scores)
    _check_two_labels(checked)
    return _gap_cuts(checked)


def _check_two_labels(matrix: NDArray[Any] | LabelMatrix) -> None:
    if matrix.shape[1] < 2:
        raise ValueError("MCut needs at least two labels, whose scores have a gap; got 1")


def _gap_cuts(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    n, q = scores.shape
    cuts = np.empty(n)
    for rows in blocks(n, q):
        f = np.sort(scores[rows], axis=1)[:, ::-1].astype(np.float64) / 2  # a gap may overflow
        k = (f[:, :-1] - f[:, 1:]).argmax(axis=1)
        i = np.arange(len(f))
        high, low = f[i, k], f[i, k + 1]
        middle = high + low
        # of neighbouring numbers the midpoint rounds to one of them
        cuts[rows] = np.where((low * 2 <= middle) & (middle < high * 2), middle, low * 2)
    return cuts
