"""Measures of scores, averaged over instances: how well the relevant labels are ranked.

**Ties count against the learner**: the rank of a label is the number of labels that score at
least as high as it does, a pair is ranked correctly only if the relevant label scores strictly
higher, and among the first k labels the irrelevant ones come first at equal scores.

Sparse scores are never made dense. An entry that they do not store ranks below every stored one,
tied with all others that are not stored, and is never among the first k labels. If the stored
scores are positive, whole rankings are the same as if the others were 0.

An instance without relevant labels has no correct ranking: it is left out of the mean of every
measure here, as in the programs of the papers' authors. So are, where pairs are counted, instances
with all labels. If none is left, the result is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.unknown import known_part
from plurilabel.metrics._inputs import check_true
from plurilabel.metrics._rank import value_of_ranking
from plurilabel.metrics._registry import measure

__all__ = [
    "average_precision", "coverage", "coverage_normalized", "is_error", "ndcg", "ndcg_at_k",
    "one_error", "precision_at_k", "propensities", "ps_ndcg_at_k", "psp_at_k", "r_precision",
    "r_precision_at_k", "ranking_loss", "recall_at_k",
]  # fmt: skip


@measure("scores", lambda r: (~r.hit[:, 0] * r.labelled, r.labelled), loss=True, title="one-error")
def one_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose top label is not relevant; 0 is best.

    If several labels share the highest score, it is an error unless all of them are relevant. An
    instance without relevant labels is left out; NaN if no other is left.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
        In sparse scores, a row with nothing stored is an error.

    Examples
    --------
    >>> from plurilabel.metrics import one_error
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.6, 0.6, 0.2]])
    0.5
    """
    return value_of_ranking(one_error, Y_true, scores)


@measure("scores", lambda r: (r.last * r.labelled, r.labelled), loss=True)
def coverage(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """How far to go down the ranking to find all relevant labels; smaller is better.

    Mean over instances of the largest rank of a relevant label, minus 1: 0 if the only relevant
    label comes first. An instance without relevant labels is left out. Scikit-learn's
    ``coverage_error`` is this plus 1 and counts such an instance as 0. NaN if no other is left.
    Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import coverage
    >>> coverage([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]])
    1.0
    """
    return value_of_ranking(coverage, Y_true, scores)


@measure(
    "scores",
    lambda r: (r.last * r.labelled / np.maximum(r.q, 1), r.labelled),
    loss=True,
    title="normalized coverage",
)
def coverage_normalized(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """:func:`coverage` divided by the number of labels q, as in later papers; smaller is better.

    It lies between 0 and (q - 1) / q, so that datasets with different numbers of labels can be
    shown side by side. NaN if no instance has a relevant label. Parameters as in
    :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import coverage_normalized
    >>> coverage_normalized([[1, 0, 1, 0]], [[0.9, 0.5, 0.6, 0.1]])
    0.25
    """
    return value_of_ranking(coverage_normalized, Y_true, scores)


@measure("scores", lambda r: (r.wrong / np.maximum(r.pairs, 1), r.has_pairs), loss=True)
def ranking_loss(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of pairs (relevant, irrelevant) that are ranked incorrectly; 0 is best.

    Per instance ``|{(y', y''): f(y') <= f(y'')}| / (|Y| |not Y|)``, y' relevant and y'' not: a tie
    is an error, as in scikit-learn's ``label_ranking_loss``. An instance with no label or with all
    labels has no pairs and is left out; scikit-learn counts it as 0. NaN if no other is left.
    Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.2]])
    0.25
    """
    return value_of_ranking(ranking_loss, Y_true, scores)


@measure("scores", lambda r: ((r.wrong > 0) * 1.0, r.has_pairs), loss=True, title="is-error")
def is_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose ranking is not perfect; 0 is best.

    One irrelevant label that scores at least as high as a relevant one makes an error (Crammer and
    Singer, 2003). An instance with no label or with all labels is left out; NaN if no other is
    left. Parameters as in :func:`one_error`.

    References
    ----------
    K. Crammer, Y. Singer. A family of additive online algorithms for category ranking. Journal of
    Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from plurilabel.metrics import is_error
    >>> is_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]])
    0.5
    """
    return value_of_ranking(is_error, Y_true, scores)


@measure("scores", lambda r: (r.precisions / np.maximum(r.size, 1), r.labelled))
def average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over relevant labels of the precision of the ranking down to them; 1 is best.

    Per instance the mean over y in Y of ``|{y' in Y: rank(y') <= rank(y)}| / rank(y)``. An
    instance without relevant labels is left out; scikit-learn's
    ``label_ranking_average_precision_score``, equal apart from that, counts it as 1. (Its
    ``average_precision_score`` ranks instances, not labels.) NaN if no other is left. Parameters
    as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import average_precision
    >>> average_precision([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.8, 0.7, 0.2]])
    0.66...
    """
    return value_of_ranking(average_precision, Y_true, scores)


@measure("scores", lambda r: (r.early / np.maximum(r.size, 1), r.labelled), title="R-precision")
def r_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean precision of the first ``|Y|`` labels, as many as are relevant; 1 is best.

    There precision and recall are equal. In a tie the irrelevant labels come first; trec_eval,
    otherwise equal, orders ties by name. An instance without relevant labels is left out. NaN if
    no other is left. Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import r_precision
    >>> r_precision([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]])
    0.75
    """
    return value_of_ranking(r_precision, Y_true, scores)


@measure("scores", lambda r: (r.gains / np.where(r.size > 0, r.ideal, 1.0), r.labelled))
def ndcg(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """:func:`ndcg_at_k` of the whole ranking, without a cut; 1 is best.

    Without ties, equal to scikit-learn's ``ndcg_score`` on the instances with relevant labels. In
    a tie the irrelevant labels come first; scikit-learn and torchmetrics average over ties.
    Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import ndcg
    >>> round(ndcg([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]]), 4)
    0.9599
    """
    return value_of_ranking(ndcg, Y_true, scores)


@measure("scores", lambda r, k: (r.hits(k) / k, r.labelled))
def precision_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the first k labels that are relevant; larger is better.

    The divisor is k even where fewer labels are relevant, or stored. An instance without relevant
    labels is left out. NaN if no instance has a relevant label.

    Parameters
    ----------
    Y_true, scores : as in :func:`one_error`
    k : int, default=5
        At most q.

    Examples
    --------
    >>> from plurilabel.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2)
    0.5
    """
    return value_of_ranking(precision_at_k, Y_true, scores, k=k)


@measure("scores", lambda r, k: (r.hits(k) / np.maximum(r.size, 1), r.labelled))
def recall_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the relevant labels that are among the first k; 1 is best.

    An instance without relevant labels is left out. NaN if no instance has a relevant label.
    Parameters as in :func:`precision_at_k`.

    Examples
    --------
    >>> from plurilabel.metrics import recall_at_k
    >>> recall_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2)
    0.75
    """
    return value_of_ranking(recall_at_k, Y_true, scores, k=k)


@measure("scores", lambda r, k: (r.hits(k) / np.clip(r.size, 1, k), r.labelled), title="RP@k")
def r_precision_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Mean share of the hits that the first k labels could have; 1 is best.

    The divisor is ``min(k, |Y|)``, so that, unlike :func:`precision_at_k`, an instance with fewer
    than k relevant labels can reach 1 (RP@k of Chalkidis et al., 2019). An instance without
    relevant labels is left out. NaN if no instance has a relevant label. Parameters as in
    :func:`precision_at_k`.

    References
    ----------
    I. Chalkidis, M. Fergadiotis, P. Malakasiotis, I. Androutsopoulos. Large-scale multi-label text
    classification on EU legislation. ACL 2019.

    Examples
    --------
    >>> from plurilabel.metrics import r_precision_at_k
    >>> r_precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2)
    0.75
    """
    return value_of_ranking(r_precision_at_k, Y_true, scores, k=k)


@measure("scores", lambda r, k: (r.discounted(r.hit, k), r.labelled))
def ndcg_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int = 5) -> float:
    """Hits among the first k, discounted by rank, over those of a perfect list; 1 is best.

    A hit at rank r counts ``1 / log2(r + 1)``; the sum is divided by that of a list with the
    relevant labels first, ``sum of 1 / log2(r + 1) for r up to min(k, |Y|)``. An instance without
    relevant labels is left out. On the others, equal to scikit-learn's ``ndcg_score(k=k)`` if
    there are no ties; scikit-learn averages over ties. NaN if no instance has a relevant label.
    Parameters as in :func:`precision_at_k`.

    Examples
    --------
    >>> from plurilabel.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]], k=2), 4)
    0.8066
    """
    return value_of_ranking(ndcg_at_k, Y_true, scores, k=k)


@measure("scores", lambda r, k: (r.gain[:, :k].sum(axis=1), r.best[:, :k].sum(axis=1)))
def psp_at_k(
    Y_true: ArrayLike, scores: ArrayLike, k: int = 5, *, propensities: ArrayLike
) -> float:
    """Propensity-scored precision at k: hits on rare labels count more; 1 is best.

    A hit on label l counts ``1 / p_l``. The sum over all instances is divided by the largest that
    any ranking could reach, as in the Extreme Classification Repository. Among ties the label of
    least worth comes first. NaN if no instance has a relevant label.

    Parameters
    ----------
    Y_true, scores, k : as in :func:`precision_at_k`
    propensities : array-like of shape (q,)
        From the labels of the training set; see :func:`propensities`.

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
    return value_of_ranking(psp_at_k, Y_true, scores, propensities, k=k)


@measure("scores", lambda r, k: (r.discounted(r.gain, k), r.discounted(r.best, k)))
def ps_ndcg_at_k(
    Y_true: ArrayLike, scores: ArrayLike, k: int = 5, *, propensities: ArrayLike
) -> float:
    """Propensity-scored nDCG at k: :func:`ndcg_at_k` with hits worth ``1 / p_l``; 1 is best.

    As with :func:`psp_at_k`, the mean is divided by the largest that any ranking could reach.
    Parameters as in :func:`psp_at_k`.

    Examples
    --------
    >>> from plurilabel.metrics import ps_ndcg_at_k
    >>> ps_ndcg_at_k([[1, 0]], [[0.9, 0.1]], k=1, propensities=[0.5, 0.25])
    1.0
    """
    return value_of_ranking(ps_ndcg_at_k, Y_true, scores, propensities, k=k)


def propensities(Y_train: ArrayLike, *, a: float = 0.55, b: float = 1.5) -> NDArray[np.float64]:
    """Probability (q,) that a label that applies is recorded, from how often it is recorded.

    The model of Jain et al. (2016), see :func:`psp_at_k`: with N training instances, N_l of them
    with label l, ``p_l = 1 / (1 + C (N_l + b)^-a)``, ``C = (ln N - 1) (b + 1)^a``. Rare labels are
    missing more often, so a hit on them counts more (1 / p_l).

    Parameters
    ----------
    Y_train : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        Labels of the training set, not of the test set.
    a, b : float, default=0.55 and 1.5
        The authors use a=0.5, b=0.4 for Wikipedia data, a=0.6, b=2.6 for Amazon data, and the
        defaults elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.metrics import propensities
    >>> Y_train = np.zeros((100, 3), dtype=int)
    >>> Y_train[:90, 0] = Y_train[:10, 1] = Y_train[:1, 2] = 1
    >>> propensities(Y_train).round(3)
    array([0.668, 0.391, 0.217])
    """
    Y = check_true(known_part(Y_train)[0])  # unknown labels are not recorded
    n = Y.shape[0]
    if n < 3:
        raise ValueError(f"Y_train must have at least 3 instances to model propensities, got {n}")
    if not (a > 0 and b > 0):
        raise ValueError(f"a and b must be positive, got a={a!r}, b={b!r}")
    c = (np.log(n) - 1) * (b + 1) ** a
    return 1 / (1 + c * (Y.sum(axis=0) + b) ** -a)
