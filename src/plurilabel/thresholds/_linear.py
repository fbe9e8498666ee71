"""The learned threshold function t(x) of Elisseeff and Weston, linear in the scores."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, number, numbers
from plurilabel._core.limits import one_blas_thread
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.thresholds._strategy import BLOCK, Scores, Sets, ThresholdStrategy, above

MANY = 1000
"""Labels from which on the least squares problem is large."""


class LinearThreshold(ThresholdStrategy):
    """A cut for each instance, linear in its scores: t(x) = <w, f(x)> + b.

    For each training instance the best cut s(x) is found, the one that makes the fewest mistakes:
    a cut a makes a mistake for each label of the instance with a score <= a, and for each other
    label with a score >= a. The optimum is an open interval between two neighbouring scores, and
    s(x) is its midpoint. If the interval is unbounded, s(x) is ``margin`` below the lowest or
    above the highest score. The lowest of several best intervals is used, which predicts the most
    labels. Then w and b are fitted to s by least squares, with the smallest norm if the solution
    is not unique.

    Parameters
    ----------
    margin : float, default=0.1
        How far s(x) lies beyond the lowest or highest score of an instance if the best cut is
        below or above all of them, in the unit of the scores. 0.1 is the value in the authors'
        programs for BP-MLL.

    Attributes
    ----------
    coef_ : ndarray of shape (q,)
    intercept_ : float

    References
    ----------
    A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.

    Examples
    --------
    >>> from plurilabel import LinearThreshold
    >>> scores = [[0.9, 0.5, 0.1], [0.6, 0.2, 0.1], [0.3, 0.1, 0.2]]
    >>> Y = [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    >>> LinearThreshold().fit(scores, Y).predict([[0.8, 0.45, 0.15]])
    array([[1, 0, 0]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "margin": [Interval(Real, 0, None, closed="left")]
    }
    _fitted: ClassVar[Declared] = {"coef_": numbers("n_labels_"), "intercept_": number()}

    def __init__(self, *, margin: float = 0.1):
        self.margin = margin

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        self._fit_weighted(scores, Y, None)

    def _fit_weighted(self, scores: Scores, Y: LabelMatrix, weights: Any) -> None:
        n, q = scores.shape
        s = best_cuts(scores, Y, self.margin)
        if isinstance(Y, UnknownLabels):  # instances that know nothing have no best cut
            some = np.flatnonzero(~np.isnan(s))
            scores, s, n = scores[some], s[some], len(some)
            weights = None if weights is None else weights[some]
        # QR by blocks of rows: R has the least squares problem of all rows seen so far. A block
        # has at least as many rows as R, or the work would be on R. One thread: most blocks are
        # too small for more, which would only wait for each other.
        R = np.zeros((0, q + 2))
        with one_blas_thread() if q < MANY else nullcontext():
            for rows in row_blocks(n, q, max(BLOCK / 8, q * q)):
                f = scores[rows]
                below = np.column_stack([f, np.ones(len(f)), s[rows]])
                if weights is not None:
                    below *= np.sqrt(weights[rows])[:, np.newaxis]
                R = np.asarray(np.linalg.qr(np.vstack([R, below]), mode="r"))
        if q < MANY:
            solution = np.linalg.lstsq(R[:, :-1], R[:, -1])[0]
        else:  # the same by an orthogonal decomposition, much faster than one in singular values
            rounding = q * np.finfo(float).eps
            A, s = R[:, :-1], R[:, -1]
            solution = linalg.lstsq(A, s, cond=rounding, lapack_driver="gelsy")[0]
        self.coef_, self.intercept_ = solution[:q], float(solution[q])

    def cuts(self, scores: Scores) -> Scores:
        """The cut t(x) of each instance, shape (n,)."""
        return scores @ self.coef_ + self.intercept_

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cuts(scores)[:, np.newaxis])


def best_cuts(scores: Scores, Y: LabelMatrix, margin: float) -> NDArray[np.float64]:
    """The cut s(x) of each instance that makes the fewest mistakes, shape (n,).

    Unknown labels are ignored; the cut is NaN if none is known.
    """
    n, q = scores.shape
    Y, unknown = known_part(Y)
    s = np.empty(n)
    for rows in row_blocks(n, q, BLOCK):
        f, size = scores[rows], np.full(rows.stop - rows.start, q)  # known labels
        if unknown is not None:
            hidden = dense(unknown[rows])
            f, size = np.where(hidden, np.inf, f), q - hidden.sum(axis=1)  # last in the order
        order = f.argsort(axis=1)
        f = np.take_along_axis(f, order, axis=1).astype(np.float64)  # ascending
        y = np.take_along_axis(dense(Y[rows]), order, axis=1)
        # Mistakes of a cut above the k lowest scores, k = 0..q, beyond those at k = 0: each label
        # that falls below the cut adds or removes one.
        mistakes = np.zeros((len(f), q + 1), dtype=np.int64)
        np.cumsum(np.where(y == 1, 1, -1), axis=1, out=mistakes[:, 1:])
        mistakes[:, 1:-1][f[:, 1:] == f[:, :-1]] = q + 1  # no room between equal scores
        if unknown is not None:
            mistakes[np.arange(q + 1) > size[:, np.newaxis]] = q + 1
        k = mistakes.argmin(axis=1)

        i = np.arange(len(f))
        # the ends must stay on their side of s even if the margin is lost in rounding
        low = np.minimum(f[:, 0] - margin, np.nextafter(f[:, 0], -np.inf))
        last = f[i, np.maximum(size, 1) - 1]
        high = np.maximum(last + margin, np.nextafter(last, np.inf))
        left, right = f[i, np.maximum(k - 1, 0)], f[i, np.minimum(k, q - 1)]
        s[rows] = np.where(k == 0, low, np.where(k == size, high, left / 2 + right / 2))
        s[rows][size == 0] = np.nan
    return s
