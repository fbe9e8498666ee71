"""Measures on the first k labels of each ranking, for large label spaces.

Ties count against the learner: at equal scores the irrelevant labels come first. Of sparse scores
only what is stored is ranked: a label that is not stored is never among the first k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.scores import check_count
from plurilabel._core.unknown import known_part
from plurilabel.metrics._inputs import (
    Terms,
    check_scored,
    check_true,
    mean_of_defined,
    split_known,
)
from plurilabel.metrics._ranking import padded_rows, rank, sort_against


def precision_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the first k labels that are relevant; larger is better.

    The divisor is k even where fewer labels are relevant, or stored. An instance without relevant
    labels is left out.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, default=5
        At most q.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2)
    0.5
    """
    return mean_of_defined(*_top(Y_true, scores, k).precision(k))


def recall_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the relevant labels that are among the first k; 1 is best.

    An instance without relevant labels is left out.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, default=5
        At most q.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import recall_at_k
    >>> recall_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2)
    0.75
    """
    return mean_of_defined(*_top(Y_true, scores, k).recall(k))


def ndcg_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Hits among the first k, discounted by rank, over those of a perfect list; 1 is best.

    A hit at rank r counts ``1 / log2(r + 1)``; the sum is divided by that of a list with the
    relevant labels first, ``sum of 1 / log2(r + 1) for r up to min(k, |Y|)``. An instance without
    relevant labels is left out. On the others, equal to scikit-learn's ``ndcg_score(k=k)`` if
    there are no ties; scikit-learn averages over ties.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, default=5
        At most q.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2), 4)
    0.8066
    """
    return mean_of_defined(*_top(Y_true, scores, k).ndcg(k))


def psp_at_k(
    Y_true: ArrayLike, scores: ArrayLike, k: int = 5, *, propensities: ArrayLike
) -> float:
    """Propensity-scored precision at k: hits on rare labels count more; 1 is best.

    A hit on label l counts ``1 / p_l``. The sum over all instances is divided by the largest that
    any ranking could reach, as in the Extreme Classification Repository. Among ties the label of
    least worth comes first.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, default=5
        At most q.
    propensities : array-like of shape (q,)
        From the labels of the training set; see :func:`propensities`.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    References
    ----------
    H. Jain, Y. Prabhu, M. Varma. Extreme multi-label loss functions for recommendation, tagging,
    ranking and other missing label applications. KDD 2016.

    Examples
    --------
    >>> from plurilabel.metrics import psp_at_k
    >>> psp_at_k([[1, 1]], [[0.9, 0.1]], k=1, propensities=[0.5, 0.25])
    0.5
    """
    return mean_of_defined(*_top(Y_true, scores, k, propensities).psp(k))


def ps_ndcg_at_k(
    Y_true: ArrayLike, scores: ArrayLike, k: int = 5, *, propensities: ArrayLike
) -> float:
    """Propensity-scored nDCG at k: :func:`ndcg_at_k` with hits worth ``1 / p_l``; 1 is best.

    As with :func:`psp_at_k`, the mean is divided by the largest that any ranking could reach.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, default=5
        At most q.
    propensities : array-like of shape (q,)
        From the labels of the training set; see :func:`propensities`.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import ps_ndcg_at_k
    >>> ps_ndcg_at_k([[1, 0]], [[0.9, 0.1]], k=1, propensities=[0.5, 0.25])
    1.0
    """
    return mean_of_defined(*_top(Y_true, scores, k, propensities).ps_ndcg(k))


def propensities(Y_train: ArrayLike, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Probability that a label that applies is also recorded, from how often it is recorded.

    The model of Jain et al. (2016): with N training instances, N_l of them with label l,
    ``p_l = 1 / (1 + C (N_l + b)^-a)``, ``C = (ln N - 1) (b + 1)^a``. Rare labels are missing
    more often, so a hit on them counts more (1 / p_l).

    Parameters
    ----------
    Y_train : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        Labels of the training set, not of the test set.
    a, b : float, default=0.55 and 1.5
        The authors use a=0.5, b=0.4 for Wikipedia data, a=0.6, b=2.6 for Amazon data, and the
        defaults elsewhere.

    Returns
    -------
    ndarray of shape (q,)
        Between 0 and 1.

    References
    ----------
    H. Jain, Y. Prabhu, M. Varma. Extreme multi-label loss functions for recommendation, tagging,
    ranking and other missing label applications. KDD 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.metrics import propensities
    >>> Y_train = np.zeros((100, 3), dtype=int)
    >>> Y_train[:90, 0] = Y_train[:10, 1] = Y_train[:1, 2] = 1
    >>> propensities(Y_train).round(3)
    array([0.668, 0.391, 0.217])
    """
    Y = check_true(known_part(Y_train)[0])  # what is not known is not recorded
    n = Y.shape[0]
    if n < 3:
        raise ValueError(f"Y_train must have at least 3 instances to model propensities, got {n}")
    if not (a > 0 and b > 0):
        raise ValueError(f"a and b must be positive, got a={a!r}, b={b!r}")
    c = (np.log(n) - 1) * (b + 1) ** a
    return 1 / (1 + c * (Y.sum(axis=0, dtype=np.int64) + b) ** -a)


class Worth(NamedTuple):
    """What a hit on each label is worth, 1 / p_l, and the grades that order labels by it.

    Both are None if all labels are worth the same.
    """

    grade_of: NDArray[np.int64] | None = None  # (q,), from 1
    of_grade: NDArray[np.float64] | None = None  # (q + 1,), 0 for grade 0


def worth_of(propensities: ArrayLike | None, q: int) -> Worth:
    """The worth of q labels from their propensities, checked."""
    if propensities is None:
        return Worth()
    p = np.asarray(propensities, dtype=np.float64)
    if p.shape != (q,):
        raise ValueError(f"propensities must have shape ({q},), one per label, got {p.shape}")
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("propensities must lie in (0, 1], as propensities(Y_train) returns them")
    order = np.argsort(-p, kind="stable")
    grade_of = np.empty(q, dtype=np.int64)
    grade_of[order] = np.arange(1, q + 1)
    return Worth(grade_of, np.concatenate([[0.0], 1 / p[order]]))


@dataclass(frozen=True)
class Top:
    """The first K labels of each instance, and the terms of the measures at k.

    size : number of relevant labels of each instance
    hit : (n, K) bool, whether the label at each place is relevant
    gain, best : (n, K) worth of what is at each place, and of the best possible list; only with
        propensities
    """

    size: NDArray[np.int64]
    hit: NDArray[np.bool_]
    gain: Any = None
    best: Any = None

    def precision(self, k: int) -> Terms:
        """Hits / k."""
        return self.hit[:, :k].sum(axis=1) / k, (self.size > 0).astype(np.float64)

    def recall(self, k: int) -> Terms:
        """Hits / relevant labels."""
        hits = self.hit[:, :k].sum(axis=1)
        return hits / np.maximum(self.size, 1), (self.size > 0).astype(np.float64)

    def ndcg(self, k: int) -> Terms:
        """Discounted hits over those of a perfect list."""
        return self._discounted(self.hit, k), (self.size > 0).astype(np.float64)

    def psp(self, k: int) -> Terms:
        """Worth of the hits, against the largest that any list could reach."""
        return self.gain[:, :k].sum(axis=1), self.best[:, :k].sum(axis=1)

    def ps_ndcg(self, k: int) -> Terms:
        """The same, discounted."""
        return self._discounted(self.gain, k), self._discounted(self.best, k)

    def _discounted(self, gain: NDArray[Any], k: int) -> NDArray[np.float64]:
        discount = 1 / np.log2(np.arange(2, k + 2))
        ideal = np.cumsum(discount)[np.clip(self.size, 1, k) - 1]
        return (gain[:, :k] * discount).sum(axis=1) / ideal


def make_top(Y: LabelMatrix, grades: NDArray[np.integer[Any]], worth: Worth) -> Top:
    """Terms at k from the grades (n, K) of a ranking."""
    Y = split_known(Y)[0]
    size = Y.sum(axis=1, dtype=np.int64)
    if worth.grade_of is None or worth.of_grade is None:
        return Top(size, grades > 0)
    # The most valuable true labels of each instance, descending: the best list.
    n, n_top = grades.shape
    best = np.zeros((n, n_top))
    Y = sparse.csr_array(Y)
    grade = worth.grade_of[Y.indices]
    for rows, values, some in padded_rows(Y.indptr, grade.astype(np.float64), grade, n_top):
        best[rows] = worth.of_grade[sort_against(values, some)[0][:, :n_top]]
    return Top(size, grades > 0, worth.of_grade[grades], best)


def _top(
    Y_true: ArrayLike, scores: ArrayLike, k: int, propensities: ArrayLike | None = None
) -> Top:
    """The first k labels of what a user passes to a measure."""
    Y, S = check_scored(Y_true, scores, first=True)
    if check_count(k, "k") > Y.shape[1]:
        raise ValueError(f"k must be at most the number of labels, {Y.shape[1]}, got {k}")
    worth = worth_of(propensities, Y.shape[1])
    return make_top(Y, rank(Y, S, k, worth.grade_of).top, worth)
