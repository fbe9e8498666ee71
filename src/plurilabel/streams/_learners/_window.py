"""A window of rows, and the neighbours of each of them kept up to date."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.limits import check_size
from plurilabel.neighbors import Formula
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels

UNIT = 2.0**-53  # largest relative rounding error of one float64 operation

_NOTHING = (-1, None, None)

_formula = cache(Formula.of)

Slots = NDArray[np.signedinteger[Any]]


class Window:
    """The rows that are remembered, each in a slot, and exact distances to them.

    A matrix-vector product gives distances with a known error bound; only rows that could be
    among the nearest within that bound are compared by the formula of
    :class:`~plurilabel.ExactIndex`.
    """

    _fitted: ClassVar[Declared] = {
        "points": numbers("size", None),
        "squares": numbers("size"),
        "labels": numbers("size", None),
        "born": numbers("size"),
    }

    def __init__(self, size: int, metric: str) -> None:
        self.size = size
        self.metric = metric
        self.n = 0  # slots in use: the first ones
        self.seen = 0  # rows so far
        self.points = np.zeros((size, int(self._formula.cosine)))  # (size, d), prepared
        self.squares = np.zeros(size)  # squared norms of the points
        self.labels = np.zeros((size, 0), dtype=np.int8)  # (size, q)
        self.born = np.zeros(size, dtype=np.int64)  # when the row of a slot came
        self._last: Any = _NOTHING

    @property
    def _formula(self) -> Any:
        return _formula(self.metric)

    @property
    def order(self) -> Slots:
        """The slots in use, from the oldest row to the youngest."""
        return np.argsort(self.born[: self.n])

    def widen(self, x: Floats, y: Labels) -> None:
        """Make room for features and labels that the rows so far do not have."""
        d, mark = self.points.shape[1], int(self._formula.cosine)
        if (more := len(x) + mark - d) > 0:
            check_size(
                "the window",
                f"{self.size:,} rows of {len(x):,} features",
                memory=8.0 * self.size * len(x),
                instead="a smaller window",
            )
            new = np.zeros((self.size, more))
            parts = [self.points[:, : d - mark], new, self.points[:, d - mark :]]
            self.points = np.hstack(parts)  # a new array: the old one is there if learning fails
        if (more := len(y) - self.labels.shape[1]) > 0:
            new = np.full((self.size, more), UNKNOWN, dtype=np.int8)
            self.labels = np.hstack([self.labels, new])

    def put(self, slot: int, point: Floats, y: Labels) -> None:
        """Write a prepared row into a slot."""
        self.points[slot] = point
        self.squares[slot] = point @ point
        self.labels[slot, : len(y)], self.labels[slot, len(y) :] = y, UNKNOWN
        self.born[slot] = self.seen
        self.seen += 1
        self.n = max(self.n, slot + 1)

    def prepared(self, x: Floats) -> Floats:
        """A row as the distances need it; features that no row has are left out."""
        width = self.points.shape[1] - int(self._formula.cosine)
        if len(x) > width:  # features that were never learned are equal in all rows
            return self.prepared(x[:width])
        if len(x) < width:
            x = np.concatenate([x, np.zeros(width - len(x))])
        return np.asarray(self._formula.prepare(x[None]))[0]

    def bounds(self, point: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the powers of the distances to all rows, each (n,)."""
        # The power is the squared Euclidean distance of prepared points, and the distance itself
        # for other norms, whose bounds are exact.
        formula, n = self._formula, self.n
        if formula.p != 2:
            found = self.distances(point, np.arange(n))
            return found, found
        if formula.cosine and point[-1]:  # a row of zeros is at distance 1 from all, also zeros
            return np.full(n, 2.0), np.full(n, 2.0)
        scale = self.squares[:n] + point @ point
        about = scale - 2 * (self.points[:n] @ point)
        # dot products of d terms, and the same for the exact sum; twice that to be safe
        scale *= (8 * len(point) + 64) * UNIT
        scale += 1e-300  # what may be lost to underflow
        return about - scale, about + scale

    def _asked(self, point: Floats) -> tuple[Floats, Floats]:
        """The bounds, kept for the next call: a row is often predicted, and then learned."""
        seen, last, found = self._last
        if seen != self.seen or not np.array_equal(last, point):
            found = self.bounds(point)
            self._last = self.seen, point, found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": _NOTHING}

    def power(self, distance: Any) -> Any:
        """What ``bounds`` is about, from distances; not below it."""
        formula = self._formula
        if formula.cosine:
            return distance * (2 + 32 * UNIT)
        return distance * distance * (1 + 32 * UNIT) if formula.p == 2 else distance

    def distances(self, point: Floats, slots: Slots) -> Floats:
        """Exact distances of a prepared point to the rows in some slots."""
        zeros = np.zeros(len(slots), dtype=np.intp)
        return self._formula.pairs(point[None], zeros, self.points, slots)

    def nearest(self, point: Floats, k: int, without: int = -1) -> tuple[Floats, Slots]:
        """The k nearest rows, or all if there are fewer; equal distances from old to young."""
        if without < 0:
            low, high = self._asked(point)
        else:
            low, high = self.bounds(point)
            low[without] = high[without] = np.inf
        k = min(k, self.n - (without >= 0))
        if k == 0:
            return np.zeros(0), np.zeros(0, dtype=np.intp)
        slots = np.flatnonzero(low <= np.partition(high, k - 1)[k - 1])
        return self._first(self.distances(point, slots), slots, k)

    def _first(self, distances: Floats, slots: Slots, k: int) -> tuple[Floats, Slots]:
        order = np.lexsort((self.born[slots], distances))[:k]
        return distances[order], slots[order]


class Before:
    """The state of a window before it learned a row, to be restored if that fails.

    The arrays named in ``changed`` are changed in place. Others are replaced, or have a row for
    each slot: ``note`` takes the one that is overwritten.
    """

    def __init__(self, window: Window, changed: Iterable[str] = ()) -> None:
        self.window, self.held = window, vars(window).copy()
        for name in changed:
            self.held[name] = self.held[name].copy()
        self.rows: list[tuple[NDArray[Any], int, Any]] = []

    def note(self, slot: int) -> None:
        """Take the row of a slot."""
        for name in Window._fitted:
            array = getattr(self.window, name)
            self.rows.append((array, slot, array[slot].copy()))

    def restore(self) -> None:
        """Make the window what it was."""
        for array, slot, row in self.rows:
            array[slot] = row
        vars(self.window).clear()
        vars(self.window).update(self.held, _last=_NOTHING)


class NeighborWindow(Window):
    """A window in which every row knows its nearest neighbours.

    Each row has a list of its first neighbours, longer than needed: a row that leaves the window
    shortens the lists that it was in, one that comes lengthens those that it gets into, and only
    a list that became too short is searched again. A list always holds the true first neighbours,
    as many as it has.
    """

    _fitted: ClassVar[Declared] = {
        "near": numbers("size", "most", finite=False),
        "neighbors": numbers("size", "most"),
        "lengths": numbers("size"),
    }

    def __init__(self, size: int, metric: str, k: int) -> None:
        super().__init__(size, metric)
        self.k = k
        most = min(3 * k + 5, size)
        self.near = np.full((size, most), np.inf)  # distances
        self.neighbors = np.full((size, most), -1, dtype=np.int32)  # slots; -1 past the end
        self.lengths = np.zeros(size, dtype=np.int64)

    def replace(self, slot: int, x: Floats, y: Labels) -> Slots:
        """Write a row into a slot; the other slots whose first k neighbours are now others."""
        self.widen(x, y)
        point = self.prepared(x)
        low, high = self._asked(point)
        if slot == self.n:
            low, high = np.append(low, np.inf), np.append(high, np.inf)
            lost = np.zeros(0, dtype=np.intp)
        else:
            low[slot] = high[slot] = np.inf
            lost = self._drop(slot)
        self.put(slot, point, y)
        gained = self._insert(slot, point, low, high)
        short = np.flatnonzero(self.lengths[: self.n] < min(self.k, self.n - 1))
        for row in short.tolist():
            self._set_list(row, *self._search(row))
        changed = np.zeros(self.n, dtype=bool)
        changed[lost] = changed[gained] = changed[short] = True
        changed[slot] = False
        return np.flatnonzero(changed)

    def search_all(self) -> None:
        """Find the neighbours of all rows anew."""
        for row in range(self.n):
            self._set_list(row, *self._search(row))

    def _search(self, row: int) -> tuple[Floats, Slots]:
        return self.nearest(self.points[row], self.near.shape[1], without=row)

    def _set_list(self, row: int, distances: Floats, slots: Slots) -> None:
        m = self.lengths[row] = len(slots)
        self.near[row, :m], self.near[row, m:] = distances, np.inf
        self.neighbors[row, :m], self.neighbors[row, m:] = slots, -1

    def _drop(self, slot: int) -> Slots:
        """Take a slot out of all lists; the rows that had it among their first k."""
        most = self.near.shape[1]
        rows, at = np.divmod(np.flatnonzero(self.neighbors[: self.n].ravel() == slot), most)
        other = rows != slot
        rows, at = rows[other], at[other]
        place = np.arange(most)
        source = rows[:, None], np.minimum(place + (place >= at[:, None]), most - 1)
        for lists, end in ((self.near, np.inf), (self.neighbors, -1)):
            part = lists[source]
            part[:, -1] = end
            lists[rows] = part
        self.lengths[rows] -= 1
        return rows[at < self.k]

    def _insert(self, slot: int, point: Floats, low: Floats, high: Floats) -> Slots:
        """Find the list of a new row and put it into those of others; rows whose first k change.

        The new row is the youngest: among equal distances it comes last.
        """
        n, most = self.n, self.near.shape[1]
        self._set_list(slot, np.zeros(0), np.zeros(0, dtype=np.intp))
        if n == 1:
            return np.zeros(0, dtype=np.intp)
        lengths = self.lengths[:n]
        # lists that have all other rows take any new one; those that are full only a nearer one
        last = self.near[np.arange(n), np.maximum(lengths - 1, 0)]
        last[lengths == 0] = -np.inf
        last[lengths == n - 2] = np.inf
        m = min(most, n - 1)
        maybe = (low <= self.power(last)) | (low <= np.partition(high, m - 1)[m - 1])
        maybe[slot] = False
        slots = np.flatnonzero(maybe)
        distances = self.distances(point, slots)
        self._set_list(slot, *self._first(distances, slots, m))

        inside = distances < last[slots]
        rows, new = slots[inside], distances[inside]
        at = (self.near[rows] <= new[:, None]).sum(axis=1)
        rows, new, at = rows[at < most], new[at < most], at[at < most]
        place = np.arange(most)
        source = rows[:, None], place - (place > at[:, None])
        here = np.arange(len(rows)), at
        for lists, entry in ((self.near, new), (self.neighbors, slot)):
            part = lists[source]
            part[here] = entry
            lists[rows] = part
        self.lengths[rows] = np.minimum(self.lengths[rows] + 1, most)
        return rows[at < self.k]
