"""The label set with the highest expected F-beta under independent labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._compat import Interval
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    blocks,
    check_dense_scores,
    check_probabilities,
)
from plurilabel.thresholds._rcut import highest


class ExpectedF(ThresholdStrategy):
    """Predict the label set whose expected F-beta is highest, given independent labels.

    It learns nothing: the scores must be the labels' probabilities, and good ones. The optimum
    is exact and made of the k most likely labels for some k; for k = 1..q ::

        E F(k) = sum_t  (1 + beta^2) / (k + beta^2 t) * sum_{i <= k} P(y_i = 1, |y| = t)

    The joint probabilities follow from the distribution of the number of labels, from which each
    label is taken out in turn. That is O(q^2) for each instance. If several k are equally good,
    the smallest is taken.

    Parameters
    ----------
    beta : float, default=1.0
        Above 1 recall has more weight, and more labels are predicted.
    empty : float, default=0.0
        What an empty prediction for an instance without labels is worth, whose F is 0/0. With 0
        at least one label is predicted wherever one has a probability above 0; with 1 the empty
        set is chosen where it is likely enough.

    References
    ----------
    N. Ye, K. Chai, W. Lee, H. Chieu. Optimizing F-measure: a tale of two approaches. ICML 2012.
    K. Dembczyński, W. Waegeman, W. Cheng, E. Hüllermeier. An exact algorithm for F-measure
    maximization. NIPS 2011. M. Jansche. A maximum expected utility framework for binary sequence
    labeling. ACL 2007.

    Examples
    --------
    >>> from plurilabel.thresholds import ExpectedF
    >>> scores, Y = [[0.9, 0.4, 0.1], [0.3, 0.2, 0.1]], [[1, 1, 0], [0, 1, 0]]
    >>> ExpectedF().fit(scores, Y).predict(scores)
    array([[1, 0, 0],
           [1, 1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "beta": [Interval(Real, 0, None, closed="neither")],
        "empty": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, beta: float = 1.0, *, empty: float = 0.0):
        self.beta = beta
        self.empty = empty

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return False

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        if scores is not None:
            check_probabilities(scores, "ExpectedF")

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        check_probabilities(scores, "ExpectedF")
        return highest(scores, _best_sizes(scores, self.beta, self.empty))


def expected_f_labels(
    scores: ArrayLike, *, beta: float = 1.0, empty: float = 0.0
) -> NDArray[np.int64]:
    """Label sets with the highest expected F-beta; see :class:`ExpectedF`.

    Parameters
    ----------
    scores : array-like of shape (n, q)
        Probabilities of the labels, in [0, 1].
    beta : float, default=1.0
    empty : float, default=0.0

    Returns
    -------
    0/1 ndarray of shape (n, q)

    Examples
    --------
    >>> from plurilabel.thresholds import expected_f_labels
    >>> expected_f_labels([[0.9, 0.4, 0.1], [0.1, 0.05, 0.0]], empty=1.0)
    array([[1, 0, 0],
           [0, 0, 0]])
    """
    checked = check_dense_scores(scores)
    check_probabilities(checked, "expected_f_labels")
    if not beta > 0:
        raise ValueError(f"beta must be positive, got {beta}")
    return highest(checked, _best_sizes(checked, beta, empty)).astype(np.int64)


def _best_sizes(p: NDArray[np.floating], beta: float, empty: float) -> NDArray[np.intp]:
    n, q = p.shape
    mean = p.sum(axis=1, dtype=np.float64)
    most = np.empty(n, dtype=np.intp)
    for rows in blocks(n, q):
        most[rows] = _largest_sizes(_descending(p[rows]), mean[rows], beta)
    # Rows that need as much work as each other go together, in blocks of bounded memory.
    order = most.argsort()[::-1]
    mean_to_come = np.maximum.accumulate(mean[order][::-1])[::-1]
    sizes = np.empty(n, dtype=np.intp)
    done = 0
    while done < n:
        k, terms = int(most[order[done]]), _terms(mean_to_come[done], q)
        some = order[done : done + max(1, 2**20 // max(q, k * (terms + 1)))]
        values = _expected_f(_descending(p[some]), k, terms, beta, empty)
        sizes[some] = values.argmax(axis=1)
        done += len(some)
    return sizes


def _descending(p: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.sort(p.astype(np.float64), axis=1)[:, ::-1]


def _terms(mean: float, q: int) -> int:
    """How many labels an instance may have, but for a probability below 1e-17.

    By Chernoff's bound P(|y| >= t) <= exp(t - mean) (mean / t)^t for t above the mean.
    """
    t = np.arange(1, q + 1)
    bound = t - mean + t * np.log(np.maximum(mean, 1e-300) / t)
    unlikely = (t > mean) & (bound < -39.2)
    return max(1, int(unlikely.argmax()) if unlikely.any() else q)


def _largest_sizes(
    p: NDArray[np.float64], mean: NDArray[np.float64], beta: float
) -> NDArray[np.intp]:
    """A bound on the best k: beyond it E F(k) is less than it surely is for a smaller k.

    With c = 1 + beta^2, E F(k) = sum_{i <= k} p_i E[c / (k + beta^2 |y|) given y_i = 1]. That is
    at most sum c p_i / (k + beta^2), since |y| >= 1, and by Jensen's inequality at least
    sum c p_i / (k + beta^2 (1 + mean)).
    """
    k, b2 = np.arange(1, p.shape[1] + 1), beta * beta
    hits = p.cumsum(axis=1)  # expected true positives of the k likeliest
    at_most = hits / (k + b2)
    at_least = hits / (k + b2 * (1 + mean[:, np.newaxis]))
    possible = at_most >= at_least.max(axis=1, keepdims=True)
    return p.shape[1] - possible[:, ::-1].argmax(axis=1)


def _expected_f(
    p: NDArray[np.float64], most: int, terms: int, beta: float, empty: float
) -> NDArray[np.float64]:
    """E F(k) for k = 0..most; the rows of p are descending, |y| above ``terms`` is left out."""
    m, q = p.shape
    size = np.zeros((terms + 1, m))  # size[t] = P(|y| = t)
    size[0] = 1.0
    for i in range(q):
        size[1:] += (size[:-1] - size[1:]) * p[:, i]
        size[0] *= 1 - p[:, i]

    # P(|y without i| = t) from size[t] = (1 - p_i) rest[t] + p_i rest[t - 1]: upwards where
    # p_i <= 1/2, downwards elsewhere, so that errors never grow.
    p = p[:, :most]
    likely = p > 0.5
    rest = np.zeros((terms + 1, m, most))  # the last stays 0
    odds = np.where(likely, 0.0, p / np.where(likely, 1.0, 1 - p))
    absent = np.where(likely, 1.0, 1 - p)
    rest[0] = size[0][:, np.newaxis] / absent
    for t in range(1, terms):
        rest[t] = size[t][:, np.newaxis] / absent - odds * rest[t - 1]
    row, label = np.nonzero(likely)
    large = p[row, label]
    for t in range(terms, 0, -1):
        rest[t - 1, row, label] = (size[t, row] - (1 - large) * rest[t, row, label]) / large

    k, b2 = np.arange(1, most + 1), beta * beta
    weight = (1 + b2) / (k + b2 * np.arange(1, terms + 1)[:, np.newaxis])  # (terms, most)
    joint = (p * rest[:-1]).cumsum(axis=2)  # sum over i <= k of P(y_i = 1, |y| = t)
    value = np.empty((m, most + 1))
    value[:, 0] = empty * size[0]
    value[:, 1:] = np.einsum("tmk,tk->mk", joint, weight)
    return value
