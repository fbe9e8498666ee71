"""The learned threshold function t(x) of Elisseeff and Weston, linear in the scores."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import AtLeastOne, NotNegative
from plurilabel._core.fitted import Declared, number, numbers
from plurilabel._core.least_squares import least_squares
from plurilabel._core.limits import one_blas_thread
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.thresholds._strategy import BLOCK, Scores, Sets, ThresholdStrategy, above

MANY = 1000  # labels from which on the least squares problem is large
# What varies by less than this, relative to the scores, is rounding: nothing is fitted to it.
DIGITS = 1e-6
# The same relative to how much scores vary, which protects against scores of new instances that
# vary in other ways: hardly any training instance has a rare label, and its scores hardly vary.
VARIES = 1e-3


@dataclass(eq=False, repr=False)
class LinearThreshold(ThresholdStrategy):
    """A cut for each instance, linear in its scores: t(x) = <w, f(x)> + b.

    For each training instance the best cut s(x) is found, the one that makes the fewest mistakes:
    a cut a makes a mistake for each label of the instance with a score <= a, and for each other
    label with a score >= a. The optimum is an open interval between two neighbouring scores, and
    s(x) is its midpoint. If the interval is unbounded, s(x) is ``margin`` below the lowest or
    above the highest score. The lowest of several best intervals is used, which predicts the most
    labels. Then w and b are fitted to s by least squares, with the smallest norm of w if the
    solution is not unique. Scores often depend on each other, such as those of an instance that
    sum to 0 or 1, and those of rare labels hardly vary: combinations of scores that vary by less
    than a thousandth of the others are not used.

    Parameters
    ----------
    margin : float, default=0.1
        How far s(x) lies beyond the lowest or highest score of an instance if the best cut is
        below or above all of them, in the unit of the scores. 0.1 is the value in the authors'
        programs for BP-MLL.
    digits : int, default=None
        If given, s(x) is found for scores that are rounded to this many significant digits of the
        largest one, so that scores which are equal except for rounding errors count as equal. w
        and b are fitted to the scores as they are.

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
    _fitted: ClassVar[Declared] = {"coef_": numbers("n_labels_"), "intercept_": number()}

    _: KW_ONLY
    margin: NotNegative = 0.1
    digits: AtLeastOne | None = None

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        self._fit_weighted(scores, Y, None)

    def _fit_weighted(self, scores: Scores, Y: LabelMatrix, weights: Any) -> None:
        n, q = scores.shape
        scores, unit = _moderate(scores)
        rounded = scores if self.digits is None else _rounded(scores, self.digits)
        s = best_cuts(rounded, Y, self.margin * unit)
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
                below = np.column_stack([np.ones(len(f)), f, s[rows]])
                if weights is not None:
                    below *= np.sqrt(weights[rows])[:, np.newaxis]
                R = np.asarray(np.linalg.qr(np.vstack([R, below]), mode="r"))
            self.coef_, intercept = _solution(R)
        self.intercept_ = intercept / unit

    def cuts(self, scores: Scores) -> Scores:
        """The cut t(x) of each instance, shape (n,)."""
        return scores @ self.coef_ + self.intercept_

    def _sets(self, scores: Scores) -> Sets:
        scores, unit = _moderate(scores)
        return above(scores, (scores @ self.coef_ + self.intercept_ * unit)[:, np.newaxis])


def _solution(R: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights w and b from the triangle R of the columns (1, f, s)."""
    # Below its first row, R is the triangle of the columns around their means.
    q = R.shape[1] - 2
    if len(R) < 2 or R[0, 0] == 0:  # a single row, or none with a weight
        return np.zeros(q), float(R[0, -1] / R[0, 0]) if R[:1, 0].any() else 0.0
    spread, size = abs(R[1:, 1:-1]).max(), abs(R[:, 1:-1]).max()
    w = np.zeros(q)
    if spread > DIGITS * size:
        cond = max(VARIES, DIGITS * size / spread)
        w = least_squares(R[1:, 1:-1], R[1:, -1], cond=cond, large=q >= MANY)
    return w, float((R[0, -1] - R[0, 1:-1] @ w) / R[0, 0])


def _moderate(scores: Scores) -> tuple[Scores, float]:
    """Scores times a power of two, which is 1 unless their squares could overflow."""
    largest = max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0)))
    if largest < np.sqrt(np.finfo(np.float64).max) / scores.size:
        return scores, 1.0
    unit = 2.0 ** -float(np.frexp(largest)[1])
    return scores * unit, unit


def _rounded(scores: Scores, digits: int) -> Scores:
    """Scores to so many significant digits of the largest."""
    most = float(abs(scores).max(initial=0.0))
    unit = 10.0 ** (np.floor(np.log10(most)) + 1 - digits) if most else 1.0
    return np.round(scores / unit) * unit


def best_cuts(scores: Scores, Y: LabelMatrix, margin: float) -> NDArray[np.float64]:
    """The cut s(x) of each instance that makes the fewest mistakes, shape (n,)."""
    # Unknown labels are ignored; the cut is NaN if none is known.
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
        mistakes = np.zeros((len(f), q + 1), np.result_type(y, np.int64))
        np.cumsum(2 * y - 1, axis=1, out=mistakes[:, 1:])  # expected ones if labels are soft
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
