"""Engines: from fast candidates to certain neighbours, on several threads.

An engine proposes candidates by fast arithmetic and guarantees floors: no point after the first k,
and none that it left out, is nearer. The first k candidates are ranked by canonical distance; if
the last of them is below the floor, the result is certain. Otherwise all candidates are ranked.
The remaining rows (ties, near ties) search everything within the k-th distance, which includes the
true neighbours.

This module has a k-d tree, brute force and a table of all pairs; matrix products are in
:mod:`~plurilabel.neighbors._blocks`, and GPUs in :mod:`~plurilabel.neighbors._gpu`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from plurilabel._core.limits import one_blas_thread
from plurilabel.neighbors._distance import UNIT, Floats, Formula, Integers, Neighbors, Points

# ``run(work, tasks)`` calls ``work(task)`` for each task and returns the results in order.
Run: TypeAlias = Callable[..., list]
Bools: TypeAlias = NDArray[np.bool_]
Candidates: TypeAlias = tuple[NDArray[np.int64], Floats, Floats]
Pairs: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

FEW = 1 << 15  # differences up to which all pairs cost less than candidates and their proof


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Run]:
    """A ``map`` over ``n_jobs`` threads, with BLAS limited to one thread in each."""
    # None means as many threads as BLAS would use, which follows the limits of joblib's workers
    # and of ``threadpoolctl``.
    with one_blas_thread() as usual:
        n_threads = usual if n_jobs is None else joblib.effective_n_jobs(n_jobs)
        if n_threads == 1:
            yield lambda work, tasks: [work(task) for task in tasks]
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield lambda work, tasks: list(pool.map(work, tasks))


class Engine(ABC):
    """A way to search points X for queries Q, both as the formula prepares them."""

    formula: Formula | None  # None where distances are scikit-learn's or the user's
    X: Points

    @abstractmethod
    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        """The k nearest rows of X for each row of Q, or for each row of X without itself."""

    def grown(self, X: Points, new: Points) -> Engine | None:  # noqa: ARG002
        """The engine of points X, the last of which are new; None if it must be rebuilt."""
        return None

    def reduced(self, X: Points, stay: Integers) -> Engine | None:  # noqa: ARG002
        """The engine of the points X that stay; None if it must be rebuilt."""
        return None


class CertifiedEngine(Engine):
    """An engine whose candidates are certified."""

    formula: Formula

    @abstractmethod
    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:
        """K indices for each row of Q (None: each training point, without itself), -1 for none.

        They are roughly in order. Also returns, for each row, lower bounds of the distances of all
        points but the first k, and of all points left out.
        """

    @abstractmethod
    def within(self, Q: Points, radius: Floats) -> Pairs:
        """Pairs (row of Q, index): all training points within the radius of each row, or more."""

    def precise(self, Q: Points | None) -> CertifiedEngine:  # noqa: ARG002
        """The engine for ``within``: itself, unless its arithmetic is too rough."""
        return self

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        X, formula = self.X, self.formula
        if Q is not None and Q.shape[0] * X.shape[0] * X.shape[1] <= FEW:
            return AllPairs(formula, X, formula.table).neighbors(Q, k, run)
        points = X if Q is None else Q
        others = X.shape[0] - (Q is None)
        # a few to spare, so that few rows are uncertain; texts tie more often
        spare = max(3 if isinstance(X, np.ndarray) else 20, k // 8)
        K = min(k + spare, others)
        zero = formula.zero_rows(points)
        candidates, after_k, floor = self.candidates(Q, k, K, run)
        distances, indices = self._ranked_twice(points, candidates, after_k, k, run)
        uncertain = ~(distances[:, -1] < np.maximum(floor, after_k))
        if others == K:
            uncertain &= (candidates < 0).any(axis=1)
        uncertain &= ~zero
        if Q is None:
            self._settle_duplicates(distances, indices, uncertain, zero)
        if uncertain.any():
            again = np.flatnonzero(uncertain)
            self.precise(Q).search_wider(points, again, distances, indices, run, own=Q is None)
        if zero.any():  # distance 1 from all others: the first are the nearest
            rows, distances[zero] = np.flatnonzero(zero), 1.0
            first = np.tile(np.arange(k + 1), (len(rows), 1))
            indices[rows] = without_self(first, first, rows)[1] if Q is None else first[:, :k]
        return distances, indices

    def _ranked_twice(
        self, points: Points, candidates: Integers, after_k: Floats, k: int, run: Run
    ) -> Neighbors:
        """Rank the first k candidates, and all candidates where others may be nearer."""
        m = points.shape[0]
        distances, indices = np.empty((m, k)), np.empty((m, k), dtype=np.int64)

        def rank(part: slice) -> None:
            found = ranked(self.formula, points, part, self.X, candidates[part, :k], k)
            distances[part], indices[part] = found
            more = np.flatnonzero(~(found[0][:, -1] < after_k[part])) + part.start
            if len(more):
                found = ranked(self.formula, points, more, self.X, candidates[more], k)
                distances[more], indices[more] = found

        run(rank, slices(m, 1024))
        return distances, indices

    def _settle_duplicates(
        self, distances: Floats, indices: Integers, uncertain: Bools, zero: Bools
    ) -> None:
        """Settle rows with k duplicates, which would otherwise all be compared with each other."""
        at_zero = (distances[:, -1] == 0) & ~zero
        if (at_zero & uncertain).any() and self.formula.zero_means_equal(self.X):
            rows, k = np.flatnonzero(at_zero | uncertain), distances.shape[1]
            same, first = _first_equal(self.X, rows, k)
            distances[same], indices[same], uncertain[same] = 0.0, first, False

    def search_wider(
        self, points: Points, again: Integers, distances: Floats, indices: Integers, run: Run,
        *, own: bool = False,
    ) -> None:  # fmt: skip
        """Search rows of ``points`` among all training points within their k-th distance so far.

        With ``own``, the points are the training points, none of which is its own neighbour.
        """
        k = distances.shape[1]

        def some(rows: Integers) -> None:
            i, j = self.within(points[rows], distances[rows, -1])
            if own:
                other = rows[i] != j
                i, j = i[other], j[other]
            exact = self.formula.pairs(points, rows[i], self.X, j)
            distances[rows], indices[rows] = first_of_each(i, j, exact, len(rows), k)

        step = max(1, min(256, (1 << 22) // self.X.shape[0]))
        run(some, [again[i : i + step] for i in range(0, len(again), step)])


class Tree(CertifiedEngine):
    """A k-d tree, for few features."""

    def __init__(self, formula: Formula, X: NDArray[Any]):
        self.formula, self.X = formula, X
        self.tree = cKDTree(X.astype(np.float64, copy=False))
        self.error = _error_of_sums(X)

    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:
        points, extra = (self.X, 1) if Q is None else (Q, 0)
        m, n = points.shape[0], self.X.shape[0]
        near = np.empty((m, K), dtype=np.int64)
        floor, after_k = np.empty(m), np.empty(m)

        def some(part: slice) -> None:
            ranks = np.arange(1, K + extra + 1)
            distance, index = self.tree.query(points[part], ranks, p=self.formula.p)
            floor[part] = distance[:, -1]
            if extra:
                distance, index = without_self(distance, index, np.arange(m)[part])
            near[part], after_k[part] = index, distance[:, min(k, K - 1)]

        run(some, slices(m, 512))
        if K + extra == n:
            floor[:] = np.inf
        if k == K:
            after_k = floor
        less = 1 - self.error
        return near, self.formula.of_norm(after_k * less), self.formula.of_norm(floor * less)

    def within(self, Q: Points, radius: Floats) -> Pairs:
        reach = self.formula.to_norm(radius) * (1 + self.error)
        return _flat(self.tree.query_ball_point(Q, reach, p=self.formula.p))


class Brute(CertifiedEngine):
    """scikit-learn's brute force, made to compare every pair directly.

    On sparse points it can do so for the Manhattan distance only.
    """

    def __init__(self, formula: Formula, X: Points):
        self.formula, self.X = formula, X.astype(np.float64, copy=False)
        how: dict[str, Any] = {"metric": "minkowski", "p": formula.p}
        if formula.p == 2:
            # "euclidean" would use products, whose error is not relative to the distance.
            how = {"metric": "seuclidean", "metric_params": {"V": np.ones(X.shape[1])}}
        self.search = NearestNeighbors(algorithm="brute", **how).fit(self.X)
        self.error = _error_of_sums(X)

    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:  # noqa: ARG002
        points = self.X if Q is None else Q.astype(np.float64)
        distance, index = self.search.kneighbors(points, K + (Q is None))
        floor = distance[:, -1]
        if Q is None:
            distance, index = without_self(distance, index, np.arange(len(index)))
        after_k, less = distance[:, k] if k < K else floor, 1 - self.error
        near = index.astype(np.int64)
        return near, self.formula.of_norm(after_k * less), self.formula.of_norm(floor * less)

    def within(self, Q: Points, radius: Floats) -> Pairs:
        # one radius for all rows finds a superset, which is ranked later
        reach = float(self.formula.to_norm(radius).max()) * (1 + self.error)
        Q = Q.astype(np.float64)
        return _flat(self.search.radius_neighbors(Q, reach, return_distance=False))


class AllPairs(Engine):
    """All distances, in blocks, from a function of two matrices of points.

    The function is scikit-learn's, the user's, or the formula's own for metrics on CSR that no
    other engine supports. NaN is farther than any distance.
    """

    def __init__(self, formula: Formula | None, X: Points, table: Callable[[Points, Points], Any]):
        self.formula, self.X, self.table = formula, X, table

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        asked, n = self.X if Q is None else Q, self.X.shape[0]
        m = asked.shape[0]
        distances, indices = np.empty((m, k)), np.empty((m, k), dtype=np.int64)

        def some(part: slice) -> None:
            D = np.array(self.table(asked[part], self.X), dtype=np.float64)
            own = np.arange(m)[part]
            if Q is None:
                D[np.arange(len(D)), own] = np.nan
            last = np.partition(D, k - 1, axis=1)[:, [k - 1]]
            row, index = np.nonzero((last >= D) | np.isnan(last))
            if Q is None:  # other distances may be NaN as well
                other = index != own[row]
                row, index = row[other], index[other]
            distances[part], indices[part] = first_of_each(row, index, D[row, index], len(D), k)

        run(some, slices(m, max(1, min(256, (1 << 22) // n))))
        return distances, indices


def slices(n: int, step: int, start: int = 0) -> list[slice]:
    """Slices of ``step`` rows that cover n rows from ``start`` on."""
    return [slice(start + i, start + min(i + step, n)) for i in range(0, n, step)]


def ranked(
    formula: Formula, A: Points, rows: slice | Integers, B: Points, near: Integers, k: int
) -> Neighbors:
    """The first k of the candidates ``near`` (m, K) in B, -1 for none, for rows of A."""
    is_there = near >= 0
    if is_there.all():
        exact = formula.of_lists(A, rows, B, near)
    else:
        row, place = np.nonzero(is_there)
        exact = np.full(near.shape, np.inf)
        exact[is_there] = formula.pairs(A, np.arange(A.shape[0])[rows][row], B, near[row, place])
    order = np.argsort(exact, axis=1)
    ranks = np.take_along_axis(exact, order, axis=1)
    if (ranks[:, 1:] == ranks[:, :-1]).any():  # ties, for which lexsort is slower
        order = np.lexsort((near, exact))
        ranks = np.take_along_axis(exact, order, axis=1)
    return ranks[:, :k], np.take_along_axis(near, order[:, :k], axis=1)


def first_of_each(row: Integers, index: Integers, distance: Floats, m: int, k: int) -> Neighbors:
    """The first k of the pairs of each row, by distance, then index; every row has at least k."""
    order = np.lexsort((index, distance, row))
    start = np.searchsorted(row[order], np.arange(m))
    chosen = order[start[:, None] + np.arange(k)]
    return distance[chosen], index[chosen].astype(np.int64)


def without_self(distances: NDArray[Any], indices: NDArray[Any], own: Integers) -> Neighbors:
    """Lists without the row's own index, or without the last entry if they do not contain it."""
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(indices), indices.shape[1] - 1)
    return distances[keep].reshape(shape), indices[keep].reshape(shape)


def _first_equal(X: Points, rows: Integers, k: int) -> tuple[Integers, NDArray[np.int64]]:
    """The rows with at least k duplicates among the others, and the first k of each."""
    # A row with k duplicates is in ``rows`` with all of them: each has k others at distance 0, and
    # either found them or is uncertain.
    groups: dict[bytes, list[int]] = {}
    for row, key in zip(rows.tolist(), _keys(X, rows)):
        groups.setdefault(key, []).append(row)
    large = [group for group in groups.values() if len(group) > k]
    # one more than k, because a row may be in the list itself
    same = np.array([row for group in large for row in group], dtype=np.int64)
    first = np.array([group[: k + 1] for group in large for _ in group], dtype=np.int64)
    return same, without_self(first, first, same)[1]


def _keys(X: Points, rows: Integers) -> Iterator[bytes]:
    """Hashable rows, in which 0.0 equals -0.0 and a stored zero equals none."""
    if isinstance(X, np.ndarray):
        return ((X[row] + 0.0).tobytes() for row in rows)
    clean = X[rows]
    clean.eliminate_zeros()
    ends = clean.indptr
    return (clean.indices[a:b].tobytes() + clean.data[a:b].tobytes() for a, b in pairwise(ends))


def _error_of_sums(X: Points) -> float:
    """Error bound for sums in another order, and roots: a few units per feature."""
    return 8 * (X.shape[1] + 16) * UNIT


def _flat(balls: Any) -> Pairs:
    """Pairs (row, index) from a list of indices for each row."""
    sizes = [len(ball) for ball in balls]
    return np.repeat(np.arange(len(balls)), sizes), np.concatenate(balls).astype(np.int64)
