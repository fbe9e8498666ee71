"""Rankings of labels by their scores, from which the measures of rankings are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.scores import check_count
from plurilabel._core.soft import LabelSets, possible_sets
from plurilabel.metrics import _inputs
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    blocks,
    check_scored,
    mean_of_defined,
    soft_part,
    split_known,
    stored_relevance,
    terms_of,
    with_sets,
)
from plurilabel.metrics._registry import MEASURES

Array: TypeAlias = NDArray[Any]
Part: TypeAlias = tuple[Any, Array, Array]


def value_of_ranking(
    function: Callable[..., float], Y_true: ArrayLike, scores: ArrayLike,
    propensities: ArrayLike | None = None, **params: Any,
) -> float:  # fmt: skip
    """The value of a registered function for true labels and scores."""
    terms: Any = MEASURES[function.__name__.replace("_at_k", "@k")].terms
    Y, S = check_scored(Y_true, scores, first="k" in params)
    q, n_top = Y.shape[1], check_count(params.get("k", 1), "k")
    if n_top > q:
        raise ValueError(f"k must be at most the number of labels, {q}, got {n_top}")
    ranking = rank(Y, S, n_top, worth_of(propensities, q))
    return mean_of_defined(*terms_of(terms, ranking, **params))


class Worth(NamedTuple):
    """Worth of a hit on each label, 1 / p_l, and its rank as a grade; None if all are equal."""

    grade_of: Array | None = None  # (q,), from 1
    of_grade: Array | None = None  # (q + 1,), 0 for grade 0


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
class Ranking:
    """Properties of the ranking of each instance."""

    q: NDArray[np.int64]  # number of known labels
    size: NDArray[np.int64]  # number of relevant labels
    last: NDArray[np.int64]  # 0-based position of the relevant label ranked last
    wrong: NDArray[np.float64]  # pairs with the relevant label not strictly above
    precisions: NDArray[np.float64]  # sum over relevant labels of the precision at their rank
    early: NDArray[np.float64]  # relevant labels among the first ``size``
    gains: NDArray[np.float64]  # sum over relevant labels of 1 / log2(1 + their place)
    ideal: NDArray[np.float64]  # the same for a perfect ranking
    hit: NDArray[np.bool_]  # (n, K), whether each of the first K labels is relevant
    gain: Any = None  # (n, K), worth of each of the first K labels; None without propensities
    best: Any = None  # (n, K), that of the best possible list
    sets: LabelSets | None = None  # for soft labels: the "instances" are these

    @cached_property
    def labelled(self) -> NDArray[np.float64]:
        """1 for instances with a relevant label, else 0."""
        return (self.size > 0).astype(np.float64)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Number of pairs of a relevant and an irrelevant label."""
        return self.size * (self.q - self.size)

    @cached_property
    def has_pairs(self) -> NDArray[np.float64]:
        """1 for instances with a relevant and an irrelevant label, else 0."""
        return (self.pairs > 0).astype(np.float64)

    def hits(self, k: int) -> NDArray[np.int64]:
        """Relevant labels among the first k."""
        return self.hit[:, :k].sum(axis=1)

    def discounted(self, gain: NDArray[Any], k: int) -> NDArray[np.float64]:
        """Gains of the first k labels, discounted by rank, over those of a perfect list."""
        discount = 1 / np.log2(np.arange(2, k + 2))
        ideal = np.cumsum(discount)[np.clip(self.size, 1, k) - 1]
        return (gain[:, :k] * discount).sum(axis=1) / ideal


def rank(Y: LabelMatrix, S: ScoreMatrix, n_top: int, worth: Worth) -> Ranking:
    """Rank the labels of every instance, in blocks of rows."""
    # In a tie the irrelevant labels come first, then those of least worth.
    if (P := soft_part(Y)) is not None:
        sets = possible_sets(P)
        return replace(rank(with_sets(Y, sets), S[sets.rows], n_top, worth), sets=sets)
    n, q = Y.shape
    Y, known, _ = split_known(Y)
    size = Y.sum(axis=1, dtype=np.int64)
    last = np.zeros(n, dtype=np.int64)
    top = np.zeros((n, n_top), dtype=np.int8 if worth.grade_of is None else np.int32)
    wrong, precisions, early, gains = np.zeros((4, n))
    gain_to = np.append(0.0, np.cumsum(1 / np.log2(np.arange(2, q + 2))))  # of the first places
    for rows, values, grade in _parts(Y, S, n_top, worth.grade_of):
        grade, end = sort_against(values, grade)
        top[rows] = grade[:, :n_top]
        relevant = grade > 0
        last[rows], wrong[rows], precisions[rows] = positions(relevant, end, size[rows], q)
        early[rows], gains[rows] = _places(relevant, size[rows], gain_to)
    gain, best = _gains(Y, top, worth)
    ideal = gain_to[size]
    return Ranking(known, size, last, wrong, precisions, early, gains, ideal, top > 0, gain, best)


def _gains(Y: LabelMatrix, top: Array, worth: Worth) -> tuple[Any, Any]:
    """Worth of the first labels, and of the most valuable true labels, in descending order."""
    if worth.grade_of is None or worth.of_grade is None:
        return None, None
    n, n_top = top.shape
    best = np.zeros((n, n_top))
    Y = sparse.csr_array(Y)
    grade = worth.grade_of[Y.indices]
    for rows, values, some in padded_rows(Y.indptr, grade.astype(np.float64), grade, n_top):
        best[rows] = worth.of_grade[sort_against(values, some)[0][:, :n_top]]
    return worth.of_grade[top], best


def sort_against(values: Array, grade: Array) -> tuple[Array, Array | None]:
    """Grades in descending order of the values, the lower grade first in a tie; and tie ends."""
    # The second result is the last place of the tie that each place belongs to, or None if there
    # are no ties. Values of -inf are padding: they come last and are not tied.
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


def positions(relevant: Array, end: Array | None, size: Array, q: int) -> Part:
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
    last = np.where(missing > 0, q - 1, last)
    return last, wrong + missing * (q - size), precisions + missing * size / q


def _places(relevant: Array, size: Array, gain_to: Array) -> tuple[Array, Array]:
    """Relevant labels among the first ``size``, and the sum of the gains of all."""
    b, w = relevant.shape
    row, place = np.divmod(np.flatnonzero(relevant), w)
    early = np.bincount(row[place < size[row]], minlength=b)
    gains = np.bincount(row, weights=np.diff(gain_to)[place], minlength=b)
    # relevant labels without a score have the last places
    q = len(gain_to) - 1
    others = q - size + np.bincount(row, minlength=b)  # places before them
    return early + np.maximum(size - others, 0), gains + gain_to[q] - gain_to[others]


def _parts(Y: LabelMatrix, S: ScoreMatrix, n_top: int, grade_of: Array | None) -> Iterator[Part]:
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


def padded_rows(indptr: Array, data: Array, grade: Array, min_width: int) -> Iterator[Part]:
    """Rows of a CSR matrix as small dense blocks, padded with -inf and grade 0."""
    # Rows of similar length go together, so that one long row does not widen the others.
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
