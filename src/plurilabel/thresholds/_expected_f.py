"""The label set with the highest expected F-beta under independent labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import Positive, Share
from plurilabel._core.fitted import Declared, parameter
from plurilabel.thresholds._strategy import (
    BLOCK,
    Scores,
    Sets,
    ThresholdStrategy,
    check_probabilities,
    highest,
)


@dataclass(eq=False, repr=False)
class ExpectedF(ThresholdStrategy):
    """Predict the label set whose expected F-beta is highest, given independent labels.

    Nothing is learned: the scores must be the labels' probabilities, and good ones. The optimum is
    exact. It consists of the k most likely labels for some k; for k = 1..q ::

        E F(k) = sum_t  (1 + beta^2) / (k + beta^2 t) * sum_{i <= k} P(y_i = 1, |y| = t)

    The joint probabilities follow from the distribution of the number of labels, from which each
    label is removed in turn, in O(q^2) for each instance. If several k are equally good, the
    smallest is taken.

    Parameters
    ----------
    beta : float, default=1.0
        Above 1 recall has more weight, and more labels are predicted.
    empty : float, default=0.0
        Value of an empty prediction for an instance without labels, whose F is 0/0. With 0, at
        least one label is predicted if any has a probability above 0; with 1, the empty set is
        predicted where it is likely enough.

    References
    ----------
    N. Ye, K. Chai, W. Lee, H. Chieu. Optimizing F-measure: a tale of two approaches. ICML 2012.
    K. Dembczyński, W. Waegeman, W. Cheng, E. Hüllermeier. An exact algorithm for F-measure
    maximization. NIPS 2011. M. Jansche. A maximum expected utility framework for binary sequence
    labeling. ACL 2007.

    Examples
    --------
    >>> from plurilabel import ExpectedF
    >>> scores, Y = [[0.9, 0.4, 0.1], [0.3, 0.2, 0.1]], [[1, 1, 0], [0, 1, 0]]
    >>> ExpectedF().fit(scores, Y).predict(scores)
    array([[1, 0, 0],
           [1, 1, 0]])
    """

    _learns_from_known = True
    _needs_scores = False
    _fitted: ClassVar[Declared] = {"beta_": parameter(), "empty_": parameter()}

    beta: Positive = 1.0
    _: KW_ONLY
    empty: Share = 0.0

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        check_probabilities(scores, "ExpectedF")
        self.beta_, self.empty_ = self.beta, self.empty

    def _sets(self, scores: Scores) -> Sets:
        check_probabilities(scores, "ExpectedF")
        # from 1e15 on F is the recall, to the last digit; the square must not overflow
        return highest(scores, _best_sizes(scores, min(float(self.beta_), 1e15), self.empty_))


def _best_sizes(p: Scores, beta: float, empty: float) -> NDArray[np.intp]:
    n, q = p.shape
    mean = p.sum(axis=1, dtype=np.float64)
    most = np.empty(n, dtype=np.intp)
    for rows in row_blocks(n, q, BLOCK):
        most[rows] = _largest_sizes(_descending(p[rows]), mean[rows], beta)
    # Rows that need the same amount of work go together, in blocks of bounded memory.
    order = most.argsort()[::-1]
    mean_to_come = np.maximum.accumulate(mean[order][::-1])[::-1]
    sizes = np.empty(n, dtype=np.intp)
    done = 0
    while done < n:
        k, terms = int(most[order[done]]), _terms(mean_to_come[done], q)
        some = order[done : done + max(1, BLOCK // max(q, k * (terms + 1)))]
        values = _expected_f(_descending(p[some]), k, terms, beta, empty)
        sizes[some] = values.argmax(axis=1)
        done += len(some)
    return sizes


def _descending(p: Scores) -> NDArray[np.float64]:
    return np.sort(p.astype(np.float64), axis=1)[:, ::-1]


def _terms(mean: float, q: int) -> int:
    """How many labels an instance may have, ignoring a probability below 1e-17."""
    # By Chernoff's bound P(|y| >= t) <= exp(t - mean) (mean / t)^t for t above the mean.
    t = np.arange(1, q + 1)
    bound = t - mean + t * np.log(np.maximum(mean, 1e-300) / t)
    unlikely = (t > mean) & (bound < -39.2)
    return max(1, int(unlikely.argmax()) if unlikely.any() else q)


def _largest_sizes(p: NDArray[Any], mean: NDArray[Any], beta: float) -> NDArray[np.intp]:
    """An upper bound on the best k: beyond it, E F(k) is below its lower bound for a smaller k."""
    # With c = 1 + beta^2, E F(k) = sum_{i <= k} p_i E[c / (k + beta^2 |y|) given y_i = 1]. This is
    # at most sum c p_i / (k + beta^2), since |y| >= 1, and by Jensen's inequality at least sum c
    # p_i / (k + beta^2 (1 + mean)).
    k, b2 = np.arange(1, p.shape[1] + 1), beta * beta
    hits = p.cumsum(axis=1)  # expected true positives of the k likeliest
    at_most = hits / (k + b2)
    at_least = hits / (k + b2 * (1 + mean[:, np.newaxis]))
    possible = at_most >= at_least.max(axis=1, keepdims=True)
    return p.shape[1] - possible[:, ::-1].argmax(axis=1)


def _expected_f(p: Scores, most: int, terms: int, beta: float, empty: float) -> Scores:
    """E F(k) for k = 0..most; the rows of p are descending, |y| above ``terms`` is ignored."""
    m, q = p.shape
    size = np.zeros((terms + 1, m))  # size[t] = P(|y| = t)
    size[0] = 1.0
    for i in range(q):
        size[1:] += (size[:-1] - size[1:]) * p[:, i]
        size[0] *= 1 - p[:, i]

    # P(|y without i| = t) from size[t] = (1 - p_i) rest[t] + p_i rest[t - 1]: upwards if
    # p_i <= 1/2, downwards otherwise, so that errors never grow.
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
