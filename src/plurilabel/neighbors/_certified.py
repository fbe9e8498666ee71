"""From candidates to certain neighbours.

An engine proposes candidates by whatever arithmetic is fast, and vouches for a floor: no point it
left out is nearer than that. The canonical distances of the candidates decide their order; where
the k-th of them is below the floor, nothing can change it. The other rows (ties, near ties) ask
the engine for everything within their k-th distance, which holds the true neighbours for sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plurilabel.neighbors._canonical import Formula, Integers, Points

Run = Callable[..., list]
Neighbors = tuple[NDArray[np.float64], NDArray[np.int64]]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


class Engine(Protocol):
    """What a search must offer to be certified. Points are as the formula prepares them."""

    def candidates(
        self, Q: Points | None, K: int, run: Run
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """K indices for each row of Q (None: each training point, without itself), -1 for none.

        With them, for each row, a distance that no point left out can be below.
        """
        ...

    def wider(self) -> Callable[[Points, NDArray[np.float64]], Pairs]:
        """A function of rows Q and a radius for each.

        It returns pairs (row of Q, index): all training points within the radius, and perhaps
        more; a training point itself included.
        """
        ...


def certified(
    engine: Engine, formula: Formula, X: Points, Q: Points | None, k: int, run: Run
) -> Neighbors:
    """The k nearest rows of X for each row of Q, or for each row of X without itself."""
    points = X if Q is None else Q
    n, m = X.shape[0], points.shape[0]
    others = n - (Q is None)
    K = min(k + max(3, k // 8), others)
    candidates, floor = engine.candidates(Q, K, run)
    distances = np.empty((m, k))
    indices = np.empty((m, k), dtype=np.int64)

    def rank(part: slice) -> None:
        near = candidates[part]
        rows = np.repeat(np.arange(m)[part], K)
        exact = formula.pairs(points, rows, X, np.maximum(near, 0).ravel()).reshape(near.shape)
        exact[near < 0] = np.inf
        order = np.lexsort((near, exact))[:, :k]
        indices[part] = np.take_along_axis(near, order, axis=1)
        distances[part] = np.take_along_axis(exact, order, axis=1)

    run(rank, [slice(i, i + 1024) for i in range(0, m, 1024)])
    uncertain = ~(distances[:, -1] < floor)
    if others == K:
        uncertain &= (candidates < 0).any(axis=1)
    blank = formula.blank(points)
    uncertain &= ~blank
    if Q is None:
        same = np.flatnonzero((distances[:, -1] == 0) & ~blank)
        if uncertain[same].any() and formula.zero_means_equal(X):
            indices[same] = _first_equal(X, same, k)
            uncertain[same] = False
    again = np.flatnonzero(uncertain)
    if len(again):
        within = engine.wider()

        def search_wider(rows: NDArray[np.int64]) -> None:
            i, j = within(points[rows], distances[rows, -1])
            if Q is None:
                other = rows[i] != j
                i, j = i[other], j[other]
            exact = formula.pairs(points, rows[i], X, j)
            distances[rows], indices[rows] = first_of_each(i, j, exact, len(rows), k)

        some = max(1, min(256, (1 << 22) // n))
        run(search_wider, [again[i : i + some] for i in range(0, len(again), some)])
    for row in np.flatnonzero(blank):
        first = np.arange(k + 1)
        indices[row] = first[first != row][:k] if Q is None else first[:k]
        distances[row] = 1.0
    return distances, indices


def _first_equal(X: Points, rows: NDArray[np.intp], k: int) -> NDArray[np.int64]:
    """For rows that have k duplicates or more: the first k of them.

    To compare all pairs within large groups of duplicates would take long. All rows of a group
    are among ``rows``, for they all have distance 0 to k others.
    """
    groups: dict[bytes, list[int]] = {}
    of_row = []
    for row, key in zip(rows.tolist(), _keys(X, rows)):
        group = groups.setdefault(key, [])
        group.append(row)
        of_row.append(group)
    # rows ascend, so a group does; one more than k, because the row itself is in it
    first = np.array([group[: k + 1] for group in of_row], dtype=np.int64).reshape(-1, k + 1)
    others = first != rows[:, None]
    others[others.all(axis=1), -1] = False
    return first[others].reshape(-1, k)


def _keys(X: Points, rows: NDArray[np.intp]) -> Iterator[bytes]:
    """Equal for equal rows: 0.0 and -0.0 are, and so are a stored zero and none."""
    if isinstance(X, np.ndarray):
        return ((X[row] + 0.0).tobytes() for row in rows)
    clean = X[rows]
    clean.eliminate_zeros()
    ends = clean.indptr
    return (clean.indices[a:b].tobytes() + clean.data[a:b].tobytes() for a, b in pairwise(ends))


def first_of_each(
    row: Integers, index: Integers, distance: NDArray[np.float64], m: int, k: int
) -> Neighbors:
    """The first k pairs of each row by distance, then index; every row has at least k."""
    order = np.lexsort((index, distance, row))
    start = np.searchsorted(row[order], np.arange(m))
    chosen = order[start[:, None] + np.arange(k)]
    return distance[chosen], index[chosen].astype(np.int64)


def by_blocks(
    block: Callable[[slice], Any], m: int, n: int, k: int, run: Run, *, without_self: bool
) -> Neighbors:
    """The k smallest of each row, where ``block(rows)`` gives the distances (rows, n)."""
    distances = np.empty((m, k))
    indices = np.empty((m, k), dtype=np.int64)

    def some(part: slice) -> None:
        D = np.array(block(part), dtype=np.float64)
        here = np.arange(len(D))
        if without_self:
            D[here, here + part.start] = np.inf
        last = np.partition(D, k - 1, axis=1)[:, k - 1]
        row, index = np.nonzero(last[:, None] >= D)
        if without_self:
            other = index != row + part.start
            row, index = row[other], index[other]
        distances[part], indices[part] = first_of_each(row, index, D[row, index], len(D), k)

    step = max(1, min(256, (1 << 22) // n))
    run(some, [slice(i, min(i + step, m)) for i in range(0, m, step)])
    return distances, indices
