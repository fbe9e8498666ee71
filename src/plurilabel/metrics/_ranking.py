"""Measures on scores, averaged over instances: how well the relevant labels are ranked.

**Ties count against the learner**: the rank of a label is the number of labels that score at
least as high as it does, and a pair is right only if the relevant label scores strictly higher.

Sparse scores are never made dense. An entry that they do not store ranks below every stored one,
tied with all the others that are not stored. If stored scores are positive, that is the same as
taking what is not stored for 0.

An instance for which a measure is not defined is left out of its mean; each docstring says which.
If none is left, the result is NaN.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from plurilabel.metrics._inputs import check_scored, mean_of_defined
from plurilabel.metrics._rank import Ranking, rank


def _ranking(Y_true: ArrayLike, scores: ArrayLike) -> Ranking:
    return rank(*check_scored(Y_true, scores))


def one_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose top label is not relevant; 0 is best.

    If several labels share the highest score, it is an error unless all of them are relevant.
    An instance without relevant labels is always an error, as the definition has it. Equal to
    ``1 - precision_at_k`` with k=1.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
        Sparse: a row with nothing stored is an error.

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import one_error
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.6, 0.6, 0.2]])
    0.5
    """
    return mean_of_defined(*_ranking(Y_true, scores).one_error())


def coverage(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """How far to go down the ranking to find all relevant labels; small is best.

    Mean over instances of the largest rank of a relevant label, minus 1: 0 if the only relevant
    label comes first. Scikit-learn's ``coverage_error`` is this plus 1; it counts an instance
    without relevant labels as 0, which is left out here.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import coverage
    >>> coverage([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.1, 0.7, 0.2]])
    1.0
    """
    return mean_of_defined(*_ranking(Y_true, scores).coverage())


def coverage_normalized(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """:func:`coverage` divided by the number of labels q, as in later papers; small is best.

    It lies between 0 and (q - 1) / q, so that data with different numbers of labels can be shown
    side by side.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import coverage_normalized
    >>> coverage_normalized([[1, 0, 1, 0]], [[0.9, 0.5, 0.6, 0.1]])
    0.25
    """
    return mean_of_defined(*_ranking(Y_true, scores).coverage_normalized())


def ranking_loss(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of pairs (relevant, irrelevant) that are not ranked the right way; 0 is best.

    Per instance ``|{(y', y''): f(y') <= f(y'')}| / (|Y| |not Y|)``, y' relevant and y'' not: a
    tie is an error. Scikit-learn's ``label_ranking_loss`` has the same rule for ties. An instance
    with no label or with all labels has no pairs and is left out; scikit-learn counts it as 0.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no instance has both a relevant and an irrelevant label.

    Examples
    --------
    >>> from plurilabel.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.2]])
    0.25
    """
    return mean_of_defined(*_ranking(Y_true, scores).ranking_loss())


def is_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose ranking is not perfect; 0 is best.

    An error is a single irrelevant label that scores at least as high as a relevant one
    (Crammer and Singer, 2003). An instance with no label or with all labels is left out.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no instance has both a relevant and an irrelevant label.

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
    return mean_of_defined(*_ranking(Y_true, scores).is_error())


def average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over relevant labels of the precision of the list down to them; 1 is best.

    Per instance the mean over y in Y of ``|{y' in Y: rank(y') <= rank(y)}| / rank(y)``. An
    instance without relevant labels is left out; scikit-learn's
    ``label_ranking_average_precision_score``, equal apart from that, counts it as 1. (Its
    ``average_precision_score`` is another measure: it ranks instances, not labels.)

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import average_precision
    >>> average_precision([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.8, 0.7, 0.2]])
    0.66...
    """
    return mean_of_defined(*_ranking(Y_true, scores).average_precision())
