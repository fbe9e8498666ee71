"""The stacked threshold function t(x) of Elisseeff and Weston."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from plurilabel._compat import Interval
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    above,
    blocks,
    check_scores_and_labels,
    dense_rows,
)


class LinearCut(ThresholdStrategy):
    """A cut for each instance, linear in its scores: t(x) = <w, f(x)> + b.

    For each training instance the best cut s(x) is found, see :func:`instance_cuts`; w and b are
    the least squares fit to them, the one of smallest norm where there are several.

    Parameters
    ----------
    margin : float, default=0.1
        How far beyond the lowest or highest score of an instance s(x) lies when the best cut is
        below or above all of them. 0.1 as in the authors' programs for BP-MLL; it has the unit of
        the scores.

    Attributes
    ----------
    coef_ : ndarray of shape (q,)
    intercept_ : float

    References
    ----------
    A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.

    Examples
    --------
    >>> from plurilabel.thresholds import LinearCut
    >>> scores = [[0.9, 0.5, 0.1], [0.6, 0.2, 0.1], [0.3, 0.1, 0.2]]
    >>> Y = [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    >>> LinearCut().fit(scores, Y).predict([[0.8, 0.45, 0.15]])
    array([[1, 0, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "margin": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, margin: float = 0.1):
        self.margin = margin

    def _fit(self, scores: NDArray[np.floating], Y: LabelMatrix) -> None:
        n, q = scores.shape
        s = _best_cuts(scores, Y, self.margin)
        # QR by blocks of rows: R has the least squares problem of all rows seen so far. One
        # thread: the blocks are too small for more, and slow down by waiting for each other.
        R = np.zeros((0, q + 2))
        with threadpool_limits(1, user_api="blas"):
            for rows in blocks(n, q, entries=2**17):
                f = scores[rows]
                below = np.column_stack([f, np.ones(len(f)), s[rows]])
                R = np.asarray(np.linalg.qr(np.vstack([R, below]), mode="r"))
        solution = np.linalg.lstsq(R[:, :-1], R[:, -1])[0]
        self.coef_, self.intercept_ = solution[:q], float(solution[q])

    def cuts(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """The cut t of each instance, shape (n,)."""
        return scores @ self.coef_ + self.intercept_

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return above(scores, self.cuts(scores)[:, np.newaxis])


def instance_cuts(scores: ArrayLike, Y: ArrayLike, *, margin: float = 0.1) -> NDArray[np.float64]:
    """The cut for each instance that makes fewest mistakes, s(x) of Elisseeff and Weston.

    A cut a makes a mistake for each label of the instance with a score <= a, and for each other
    label with a score >= a. The optimum is an open interval between two neighbouring scores; s(x)
    is its midpoint. An interval without end is cut short: s(x) is then ``margin`` below the
    lowest or above the highest score. Of several best intervals the lowest is taken, which
    predicts most labels.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    margin : float, default=0.1

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from plurilabel.thresholds import instance_cuts
    >>> instance_cuts([[0.75, 0.25, 0.0], [0.75, 0.25, 0.0]], [[1, 0, 0], [0, 0, 0]])
    array([0.5 , 0.85])
    """
    if not margin >= 0:
        raise ValueError(f"margin must not be negative, got {margin}")
    checked, labels = check_scores_and_labels(scores, Y)
    return _best_cuts(checked, labels, margin)


def _best_cuts(scores: NDArray[np.floating], Y: LabelMatrix, margin: float) -> NDArray[np.float64]:
    n, q = scores.shape
    s = np.empty(n)
    for rows in blocks(n, q):
        order = scores[rows].argsort(axis=1)
        f = np.take_along_axis(scores[rows], order, axis=1).astype(np.float64)  # ascending
        y = np.take_along_axis(dense_rows(Y, rows), order, axis=1)
        # Mistakes of a cut above the k lowest scores, k = 0..q: q - |Y| at k = 0, then each
        # label that falls below the cut adds or removes one.
        mistakes = np.zeros((len(f), q + 1), dtype=np.int64)
        np.cumsum(np.where(y == 1, 1, -1), axis=1, out=mistakes[:, 1:])
        mistakes[:, 1:-1][f[:, 1:] == f[:, :-1]] = q + 1  # no room between equal scores
        k = mistakes.argmin(axis=1)

        i = np.arange(len(f))
        # the neighbours must stay on their sides of s, however small the margin is beside them
        low = np.minimum(f[:, 0] - margin, np.nextafter(f[:, 0], -np.inf))
        high = np.maximum(f[:, -1] + margin, np.nextafter(f[:, -1], np.inf))
        left, right = f[i, np.maximum(k - 1, 0)], f[i, np.minimum(k, q - 1)]
        s[rows] = np.where(k == 0, low, np.where(k == q, high, left / 2 + right / 2))
    return s
