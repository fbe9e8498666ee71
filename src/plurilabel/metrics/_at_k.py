"""Measures on the first k labels of each ranking, for large label spaces.

Ties count against the learner: at equal score the irrelevant labels come first. Of sparse scores
only what is stored is ranked: a label that is not stored is never among the first k.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from plurilabel.metrics._inputs import check_scored, check_top, mean_of_defined
from plurilabel.metrics._rank import rank
from plurilabel.metrics._top import Top, Worth, check_propensities, make_top


def _top(
    Y_true: ArrayLike, scores: ArrayLike, k: int, propensities: ArrayLike | None = None
) -> Top:
    Y, S = check_scored(Y_true, scores)
    check_top(k, Y.shape[1])
    if propensities is None:
        return make_top(Y, rank(Y, S, k).top)
    worth = Worth.from_propensities(check_propensities(propensities, Y.shape[1]))
    return make_top(Y, rank(Y, S, k, worth.grade_of).top, worth)


def precision_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the first k labels that are relevant; large is best.

    Divided by k even where fewer labels are relevant, or stored. An instance without relevant
    labels counts 0.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, at most q

    Returns
    -------
    float

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
    k : int, at most q

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

    A hit at rank r counts ``1 / log2(r + 1)``; the sum is divided by that of a list which has the
    relevant labels first, ``sum of 1 / log2(r + 1) for r up to min(k, |Y|)``. An instance without
    relevant labels is left out. Without ties equal to scikit-learn's ``ndcg_score(k=k)`` on such
    instances; that one gives ties their average.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
    k : int, at most q

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
    k : int, at most q
    propensities : array-like of shape (q,)
        From the labels of the training set, see :func:`propensities`.

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
    k : int, at most q
    propensities : array-like of shape (q,)
        From the labels of the training set, see :func:`propensities`.

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
