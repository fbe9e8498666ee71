"""Sort the labels of each instance once; every ranking measure follows from that order.

**Ties count against the learner.** Among labels of equal score the irrelevant come first. An
entry that sparse scores do not store ranks below everything stored, tied with all others that
are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix
from plurilabel.metrics._inputs import (
    BLOCK,
    ScoreMatrix,
    dense_rows,
    is_sparse,
    row_blocks,
    set_sizes,
)
from plurilabel.metrics._set_counts import Terms


@dataclass(frozen=True)
class Ranking:
    """What the measures need to know about the ranking of each instance.

    size : number of relevant labels
    last : 0-based position of the relevant label ranked last
    wrong : pairs (relevant, irrelevant) with the relevant label not strictly above
    precisions : sum over relevant labels of the precision at their rank
    top : (n, K) grades of the first K labels, 0 for an irrelevant one
    """

    q: int
    size: NDArray[np.int64]
    last: NDArray[np.int64]
    wrong: NDArray[np.float64]
    precisions: NDArray[np.float64]
    top: NDArray[np.integer[Any]]

    def one_error(self) -> Terms:
        """1 if the top label is irrelevant."""
        return (self.top[:, 0] == 0).astype(np.float64), np.ones(len(self.size))

    def coverage(self) -> Terms:
        """Steps down the list until all relevant labels are found."""
        some = (self.size > 0).astype(np.float64)
        return self.last * some, some

    def coverage_normalized(self) -> Terms:
        """Coverage / q."""
        last, some = self.coverage()
        return last / self.q, some

    def ranking_loss(self) -> Terms:
        """Share of the pairs that are ranked wrongly."""
        pairs = self.size * (self.q - self.size)
        return self.wrong / np.maximum(pairs, 1), (pairs > 0).astype(np.float64)

    def is_error(self) -> Terms:
        """1 if any pair is ranked wrongly."""
        pairs = self.size * (self.q - self.size)
        return (self.wrong > 0).astype(np.float64), (pairs > 0).astype(np.float64)

    def average_precision(self) -> Terms:
        """Mean precision at the ranks of the relevant labels."""
        return self.precisions / np.maximum(self.size, 1), (self.size > 0).astype(np.float64)


def rank(
    Y: LabelMatrix, S: ScoreMatrix, n_top: int = 1, grade_of: NDArray[np.int64] | None = None
) -> Ranking:
    """Rank the labels of every instance, in blocks of rows.

    ``grade_of`` (q,) orders the labels by what a hit on them is worth, from 1; a tie puts the
    lower grade first. Without it every label has grade 1.
    """
    n, q = Y.shape
    size = set_sizes(Y)
    last = np.zeros(n, dtype=np.int64)
    top = np.zeros((n, n_top), dtype=np.int8 if grade_of is None else np.int32)
    wrong, precisions = np.zeros(n), np.zeros(n)
    if is_sparse(S):
        blocks = _sparse_blocks(Y, S, n_top, grade_of)
    else:
        blocks = _dense_blocks(Y, S, grade_of)
    for rows, values, grade in blocks:
        grade, end = sort_against(values, grade)
        top[rows] = grade[:, :n_top]
        relevant = grade > 0
        last[rows], wrong[rows], precisions[rows] = _positions(relevant, end, size[rows], q)
    return Ranking(q, size, last, wrong, precisions, top)


def sort_against(
    values: NDArray[Any], grade: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Grades in descending order of the values, the lower grade first in a tie; and tie ends.

    The second answer is, for each place, the last place of its tie, or None if there is no tie.
    Places of value -inf are filling: they come last and are not tied.
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


def _dense_blocks(
    Y: LabelMatrix, S: NDArray[Any], grade_of: NDArray[np.int64] | None
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    for rows in row_blocks(*S.shape):
        grade = dense_rows(Y, rows)
        yield rows, S[rows], grade if grade_of is None else grade * grade_of


def _sparse_blocks(
    Y: LabelMatrix, S: sparse.csr_array, n_top: int, grade_of: NDArray[np.int64] | None
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    grade = stored_relevance(Y, S).astype(np.int64)
    if grade_of is not None:
        grade *= grade_of[S.indices]
    return padded_rows(S.indptr, S.data, grade, n_top)


def stored_relevance(Y: LabelMatrix, S: sparse.csr_array) -> NDArray[np.bool_]:
    """Whether each stored entry of S, in order, is a true label."""
    Y = sparse.csr_array(Y)
    n, q = S.shape
    relevant = np.zeros(S.nnz, dtype=bool)
    for rows in row_blocks(n, max(1, (S.nnz + Y.nnz) // n)):
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
    """Rows of a CSR matrix as small dense blocks, filled up with -inf and grade 0.

    Rows of similar length go together, so that one long row does not widen the others.
    """
    length = np.diff(indptr)
    by_length = np.argsort(-length, kind="stable")
    begin = 0
    while begin < len(by_length):
        width = max(int(length[by_length[begin]]), min_width, 1)
        rows = by_length[begin : begin + max(1, BLOCK // width)]
        inside = np.arange(width) < length[rows, None]
        at = np.where(inside, indptr[rows, None].astype(np.int64) + np.arange(width), 0)
        if len(data) == 0:
            yield rows, np.full(at.shape, -np.inf), np.zeros(at.shape, dtype=grade.dtype)
        else:
            values = np.where(inside, data[at], data.dtype.type(-np.inf))
            yield rows, values, np.where(inside, grade[at], 0)
        begin += len(rows)
