"""Measures on scores, averaged over instances: how well the relevant labels are ranked.

**Ties count against the learner**: the rank of a label is the number of labels that score at
least as high as it does, and a pair is ranked correctly only if the relevant label scores strictly
higher.

Sparse scores are never made dense. An entry that they do not store ranks below every stored one,
tied with all others that are not stored. If the stored scores are positive, this is the same as
reading what is not stored as 0.

An instance without relevant labels has no ranking that would be right: it is left out of the mean
of every measure here, as in the programs of the papers' authors. So are, where pairs are counted,
instances with all labels. If none is left, the result is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel.metrics import _inputs
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    Terms,
    blocks,
    check_scored,
    mean_of_defined,
    split_known,
)


def one_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose top label is not relevant; 0 is best.

    If several labels share the highest score, it is an error unless all of them are relevant. An
    instance without relevant labels is left out. Equal to ``1 - precision_at_k`` with k=1.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse
        In sparse scores, a row with nothing stored is an error.

    Returns
    -------
    float
        NaN if no instance has a relevant label.

    Examples
    --------
    >>> from plurilabel.metrics import one_error
    >>> one_error([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.6, 0.6, 0.2]])
    0.5
    """
    return mean_of_defined(*ranking_of(Y_true, scores).one_error())


def coverage(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """How far to go down the ranking to find all relevant labels; smaller is better.

    Mean over instances of the largest rank of a relevant label, minus 1: 0 if the only relevant
    label comes first. An instance without relevant labels is left out. Scikit-learn's
    ``coverage_error`` is this plus 1 and counts such an instance as 0.

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
    return mean_of_defined(*ranking_of(Y_true, scores).coverage())


def coverage_normalized(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """:func:`coverage` divided by the number of labels q, as in later papers; smaller is better.

    It lies between 0 and (q - 1) / q, so that datasets with different numbers of labels can be
    shown side by side.

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
    return mean_of_defined(*ranking_of(Y_true, scores).coverage_normalized())


def ranking_loss(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of pairs (relevant, irrelevant) that are ranked incorrectly; 0 is best.

    Per instance ``|{(y', y''): f(y') <= f(y'')}| / (|Y| |not Y|)``, y' relevant and y'' not: a
    tie is an error, as in scikit-learn's ``label_ranking_loss``. An instance with no label or with
    all labels has no pairs and is left out; scikit-learn counts it as 0.

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
    return mean_of_defined(*ranking_of(Y_true, scores).ranking_loss())


def is_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Share of instances whose ranking is not perfect; 0 is best.

    One irrelevant label that scores at least as high as a relevant one makes an error (Crammer and
    Singer, 2003). An instance with no label or with all labels is left out.

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
    return mean_of_defined(*ranking_of(Y_true, scores).is_error())


def average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over relevant labels of the precision of the ranking down to them; 1 is best.

    Per instance the mean over y in Y of ``|{y' in Y: rank(y') <= rank(y)}| / rank(y)``. An
    instance without relevant labels is left out; scikit-learn's
    ``label_ranking_average_precision_score``, equal apart from that, counts it as 1. (Its
    ``average_precision_score`` is a different measure: it ranks instances, not labels.)

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
    return mean_of_defined(*ranking_of(Y_true, scores).average_precision())


def ranking_of(Y_true: ArrayLike, scores: ArrayLike) -> Ranking:
    """The ranking of what a user passes to a measure."""
    return rank(*check_scored(Y_true, scores))


@dataclass(frozen=True)
class Ranking:
    """What the measures need to know about the ranking of each instance.

    size : number of relevant labels
    last : 0-based position of the relevant label ranked last
    wrong : pairs (relevant, irrelevant) with the relevant label not strictly above
    precisions : sum over relevant labels of the precision at their rank
    top : (n, K) grades of the first K labels, 0 for an irrelevant one
    q : number of labels; where some are not known, that of the known labels of each instance
    """

    q: Any
    size: NDArray[np.int64]
    last: NDArray[np.int64]
    wrong: NDArray[np.float64]
    precisions: NDArray[np.float64]
    top: NDArray[np.integer[Any]]

    def one_error(self) -> Terms:
        """1 if the top label is not relevant."""
        some = (self.size > 0).astype(np.float64)
        return (self.top[:, 0] == 0) * some, some

    def coverage(self) -> Terms:
        """Steps down the list until all relevant labels are found."""
        some = (self.size > 0).astype(np.float64)
        return self.last * some, some

    def coverage_normalized(self) -> Terms:
        """Coverage / q."""
        last, some = self.coverage()
        return last / np.maximum(self.q, 1), some

    def ranking_loss(self) -> Terms:
        """Share of the pairs that are ranked incorrectly."""
        pairs = self.size * (self.q - self.size)
        return self.wrong / np.maximum(pairs, 1), (pairs > 0).astype(np.float64)

    def is_error(self) -> Terms:
        """1 if any pair is ranked incorrectly."""
        pairs = self.size * (self.q - self.size)
        return (self.wrong > 0).astype(np.float64), (pairs > 0).astype(np.float64)

    def average_precision(self) -> Terms:
        """Mean precision at the ranks of the relevant labels."""
        return self.precisions / np.maximum(self.size, 1), (self.size > 0).astype(np.float64)


def rank(
    Y: LabelMatrix, S: ScoreMatrix, n_top: int = 1, grade_of: NDArray[np.int64] | None = None
) -> Ranking:
    """Rank the labels of every instance, in blocks of rows.

    ``grade_of`` (q,) orders the labels by what a hit on them is worth, from 1; in a tie the lower
    grade comes first. Without it every label has grade 1.
    """
    n, q = Y.shape
    Y, known, _ = split_known(Y)
    size = Y.sum(axis=1, dtype=np.int64)
    last = np.zeros(n, dtype=np.int64)
    top = np.zeros((n, n_top), dtype=np.int8 if grade_of is None else np.int32)
    wrong, precisions = np.zeros(n), np.zeros(n)
    for rows, values, grade in _parts(Y, S, n_top, grade_of):
        grade, end = sort_against(values, grade)
        top[rows] = grade[:, :n_top]
        last[rows], wrong[rows], precisions[rows] = _positions(grade > 0, end, size[rows], q)
    return Ranking(q if known is None else known, size, last, wrong, precisions, top)


def sort_against(
    values: NDArray[Any], grade: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Grades in descending order of the values, the lower grade first in a tie; and tie ends.

    The second result is the last place of the tie that each place belongs to, or None if there
    are no ties. Values of -inf are padding: they come last and are not tied.
    """
    order = np.argsort(values, axis=1)[:, ::-1]
    grade = np.take_along_axis(grade, order, axis=1)
    values = np.sort(values, axis=1)[:, ::-1]  # faster than taking them in order
    tied = (values[:, 1:] == values[:, :-1]) & (values[:, 1:] > -np.inf)
    if not tied.any():
        return grade, None
    # One integer for (tie, grade): sorting it reorders within ties only.
    n_grades = int(grade.max()) + 1
    start_of_tie = np.zeros(values.shape, dtype=np.int64)
    np.cumsum(~tied, axis=1, out=start_of_tie[:, 1:])
    start_of_tie *= n_grades
    key = start_of_tie + grade
    key.sort(axis=1)
    place = np.arange(values.shape[1])
    end = np.broadcast_to(place, values.shape).copy()
    end[:, :-1][tied] = len(place)
    end = np.minimum.accumulate(end[:, ::-1], axis=1)[:, ::-1]
    return key - start_of_tie, end


def _positions(
    relevant: NDArray[np.bool_], end: NDArray[np.int64] | None, size: NDArray[np.int64], q: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Last position, wrong pairs and sum of precisions, from the sorted relevance (b, w)."""
    b, w = relevant.shape
    at = np.flatnonzero(relevant)  # the relevant labels that have a score, row after row
    row = at // w
    ranked = np.bincount(row, minlength=b)
    stop = np.cumsum(ranked)
    place = at - row * w + 1  # from 1
    found = np.arange(1, len(at) + 1) - (stop - ranked)[row]
    # A relevant label at place p has p - found irrelevant ones above it.
    wrong = np.bincount(row, weights=place - found, minlength=b)
    if end is not None:
        # All labels of a tie share its last place, and all relevant ones there are found.
        last_of_tie = row * w + end.ravel()[at]
        closes = np.ones(len(at), dtype=bool)
        closes[:-1] = last_of_tie[1:] != last_of_tie[:-1]
        closing = np.flatnonzero(closes)
        found = np.repeat(found[closing], np.diff(closing, prepend=-1))
        place = last_of_tie - row * w + 1
    precisions = np.bincount(row, weights=found / place, minlength=b)
    last = np.zeros(b, dtype=np.int64)
    last[ranked > 0] = place[stop[ranked > 0] - 1] - 1
    # Relevant labels without a score: all of them at rank q, below every irrelevant one.
    missing = size - ranked
    return (
        np.where(missing > 0, q - 1, last),
        wrong + missing * (q - size),
        precisions + missing * size / q,
    )


def _parts(
    Y: LabelMatrix, S: ScoreMatrix, n_top: int, grade_of: NDArray[np.int64] | None
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    """Rows, their scores and the grades of their labels, as small dense blocks."""
    if sparse.issparse(S):
        grade = stored_relevance(Y, S).astype(np.int64)
        if grade_of is not None:
            grade *= grade_of[S.indices]
        yield from padded_rows(S.indptr, S.data, grade, n_top)
        return
    for rows in blocks(*S.shape):
        grade = dense(Y[rows])
        yield rows, S[rows], grade if grade_of is None else grade * grade_of


def stored_relevance(Y: LabelMatrix, S: sparse.csr_array) -> NDArray[np.bool_]:
    """Whether each stored entry of S, in order, is a true label."""
    Y = sparse.csr_array(Y)
    n, q = S.shape
    relevant = np.zeros(S.nnz, dtype=bool)
    for rows in blocks(n, (S.nnz + Y.nnz) // n):
        stored, there = _entry_numbers(S, rows, q), _entry_numbers(Y, rows, q)
        if len(stored) == 0:
            continue
        at = np.minimum(stored.searchsorted(there), len(stored) - 1)
        relevant[S.indptr[rows.start] + at[stored[at] == there]] = True
    return relevant


def _entry_numbers(M: sparse.csr_array, rows: slice, q: int) -> NDArray[np.int64]:
    """Row * q + column of the stored entries of some rows; ascending."""
    ends = M.indptr[rows.start : rows.stop + 1].astype(np.int64)
    row = np.repeat(np.arange(rows.stop - rows.start, dtype=np.int64), np.diff(ends))
    return row * q + M.indices[ends[0] : ends[-1]]


def padded_rows(
    indptr: NDArray[Any], data: NDArray[Any], grade: NDArray[Any], min_width: int
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    """Rows of a CSR matrix as small dense blocks, padded with -inf and grade 0.

    Rows of similar length go together, so that one long row does not widen the others.
    """
    length = np.diff(indptr)
    # One more entry, for all places beyond the end of a row.
    data, grade = np.append(data, data.dtype.type(-np.inf)), np.append(grade, grade.dtype.type(0))
    by_length = np.argsort(-length, kind="stable")
    begin = 0
    while begin < len(by_length):
        width = max(int(length[by_length[begin]]), min_width, 1)
        rows = by_length[begin : begin + max(1, _inputs.BLOCK // width)]
        place = np.arange(width)
        at = np.where(place < length[rows, None], indptr[rows, None] + place, len(data) - 1)
        yield rows, data[at], grade[at]
        begin += len(rows)
