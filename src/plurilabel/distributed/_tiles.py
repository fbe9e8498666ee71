"""The tasks of :class:`~plurilabel.DaskIndex`: search pairs of groups of blocks.

A task takes two groups of blocks, with at most two blocks in memory: each block of the first group
is compared with those of the second, one after the other. Neighbors found so far limit the
distance up to which further blocks are searched.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone

from plurilabel.distributed._blocks import Recipe, Span
from plurilabel.neighbors import ExactIndex, Formula
from plurilabel.neighbors.shared import (
    Across,
    Floats,
    Neighbors,
    Points,
    Run,
    are_multiplied,
    threads,
    validate_points,
)

Group: TypeAlias = list[Span]  # consecutive blocks


def among_themselves(index: ExactIndex, group: Group, k: int) -> Neighbors:
    """Neighbors of the points of a group within it, each without itself."""
    lists = _Lists(group, k)
    with threads(index.n_jobs) as run:
        for i, block in enumerate(group):
            # the first is compared with all others, which are checked then
            _meet(index, block, group[i + 1 :], (lists, lists), run, within=True, checked=i > 0)
    return lists.distances, lists.indices


def across(
    index: ExactIndex, groups: tuple[Group, Group], far: tuple[Floats, Floats], k: int
) -> tuple[Neighbors, Neighbors]:
    """Neighbors of the points of two groups in the other, up to the limits ``far``.

    If there are fewer than k, the last distances are inf.
    """
    first, second = (_Lists(group, k, limits) for group, limits in zip(groups, far))
    with threads(index.n_jobs) as run:
        for block in groups[0]:
            _meet(index, block, groups[1], (first, second), run)
    return (first.distances, first.indices), (second.distances, second.indices)


def asked(index: ExactIndex, group: Group, queries: Span, k: int) -> Neighbors:
    Q = _read(index, queries)
    return merged([_search(fitted(index, block), Q, block[1], k) for block in group], k)


def fitted(index: ExactIndex, block: Span) -> ExactIndex:
    return clone(index).fit(_read(index, block))


def asked_fitted(search: ExactIndex, start: int, queries: Span, k: int) -> Neighbors:
    return _search(search, _read(search, queries), start, k)


def limits(found: Neighbors) -> Floats:
    """Distances of the k-th neighbors."""
    return found[0][:, -1].copy()


def merged(lists: list[Neighbors], k: int) -> Neighbors:
    """The first k of several lists, by distance and index."""
    distances = np.hstack([found[0] for found in lists])
    indices = np.hstack([found[1] for found in lists])
    order = np.lexsort((indices, distances))[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


class _Lists:
    """The k nearest neighbors so far of the points of a group; inf if there are fewer."""

    def __init__(self, group: Group, k: int, far: Floats | None = None):
        self.start, stop = group[0][1], group[-1][2]
        n = stop - self.start
        self.k, self.distances = k, np.full((n, k), np.inf)
        self.indices = np.full((n, k), -1, dtype=np.int64)
        self.far = np.full(n, np.inf) if far is None else far.copy()

    def part(self, block: Span) -> slice:
        return slice(block[1] - self.start, block[2] - self.start)

    def take(self, block: Span, found: Neighbors) -> None:
        """Merge new neighbors of the points of a block."""
        if not found[0].shape[1]:
            return
        part = self.part(block)
        distances, indices, far = self.distances[part], self.indices[part], self.far[part]
        rows = np.flatnonzero(found[0][:, 0] <= far)
        for some in (rows[i : i + 4096] for i in range(0, len(rows), 4096)):
            both = (distances[some], indices[some]), (found[0][some], found[1][some])
            distances[some], indices[some] = merged(list(both), self.k)
        np.minimum(far, distances[:, -1], out=far)


def _meet(
    index: ExactIndex, block: Span, others: Group, lists: tuple[_Lists, _Lists], run: Run, *,
    within: bool = False, checked: bool = True,
) -> None:  # fmt: skip
    """Compare a block with others, one after the other, and with itself if ``within``.

    With ``checked``, the others were validated before.
    """
    mine, theirs = lists
    points, part = _read(index, block), mine.part(block)
    if within:
        search, n = clone(index).fit(points), points.shape[0]
        if n > 1:
            distances, indices = search.kneighbors(None, min(mine.k, n - 1))
            mine.take(block, (distances, indices + block[1]))
        del search  # it takes more memory than the points
    if not others:
        return
    host = _Host(index, block, points, mine.far[part], mine.k)
    del points
    for other in others:
        far = mine.far[part], theirs.far[theirs.part(other)]
        of_mine, of_theirs = host.meet(other, far, run, checked=checked)
        mine.take(block, of_mine)
        theirs.take(other, of_theirs)


class _Host:
    """A block to compare with others: finds the neighbors of each in the other."""

    def __init__(self, index: ExactIndex, block: Span, points: Points, far: Floats, k: int):
        formula = Formula.of(index.metric, index.p)
        assert formula is not None
        self.index, self.block, self.formula, self.k = index, block, formula, k
        self.n, self.is_sparse = points.shape[0], sparse.issparse(points)
        self.search: ExactIndex | None = None
        self.across: Across | None = None
        if not index._takes_gpu(formula, points) and are_multiplied(formula, points):
            self.across = Across(formula, formula.prepare(points), far)

    def meet(
        self, other: Span, far: tuple[Floats, Floats], run: Run, *, checked: bool
    ) -> tuple[Neighbors, Neighbors]:
        """Neighbors of both blocks in the other, up to the limits ``far``."""
        index, k, start = self.index, self.k, self.block[1]
        B = _read(index, other, again=checked)
        if sparse.issparse(B) != self.is_sparse:
            raise ValueError(
                f"the chunks of X must be all dense or all sparse, got both: rows {start} to "
                f"{self.block[2] - 1} and {other[1]} to {other[2] - 1}"
            )
        if self.across and k <= min(self.n, B.shape[0]):
            bounded = all(np.isfinite(limits).all() for limits in far)
            B = B if checked and not self.formula.cosine else self.formula.prepare(B)
            of_a, of_b = self.across.of_each(B, k, run, far if bounded else None)
            return (of_a[0], of_a[1] + other[1]), (of_b[0], of_b[1] + start)
        # integers, few features, GPUs: engines that search one block at a time
        search = self.search = self.search or fitted(index, self.block)
        of_other = clone(index).fit(B)
        return _search(of_other, search.points_, other[1], k), _search(search, B, start, k)


def _read(index: ExactIndex, block: Span, *, again: bool = False) -> Points:
    """The points of a block; ``again`` skips the validation of arrays of floats."""
    source, start, stop = block
    try:
        points = source() if isinstance(source, Recipe) else source
        floats = isinstance(points, np.ndarray) and points.dtype in (np.float32, np.float64)
        if again and floats and points.flags.c_contiguous:
            return points
        return validate_points(ExactIndex(index.metric), points, reset=True)
    except (TypeError, ValueError) as error:  # pandas' NA is a TypeError
        raise ValueError(f"in rows {start} to {stop - 1} of X: {error}") from None


def _search(search: ExactIndex, Q: Points, start: int, k: int) -> Neighbors:
    distances, indices = search.kneighbors(Q, min(k, search.n_samples_fit_))
    return distances, indices + start
