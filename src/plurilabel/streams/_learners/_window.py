"""A window of rows, with the nearest neighbors of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.fitted import Declared, count, numbers, places
from plurilabel._core.limits import check_size
from plurilabel.neighbors import Formula
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels

UNIT = 2.0**-53  # largest relative rounding error of one float64 operation
FEW = 64  # features below which rows are always dense
MODERATE = 1e140  # below this, no distance overflows

Slots = NDArray[np.signedinteger[Any]]
_formula = cache(Formula.of)


class Window:
    """Rows in memory, each in a slot.

    If rows are sparse, ``points`` holds their nonzero values and ``stored`` the columns of these,
    both padded with zeros.
    """

    _fitted: ClassVar[Declared] = {
        "d_": count(),
        "points": numbers("size", None),
        "stored": places("size", None, below="d_"),
        "squares": numbers("size"),
        "labels": numbers("size", None),
        "born": numbers("size"),
    }

    def __init__(self, size: int, metric: str) -> None:
        self.size = size
        self.metric = metric
        self.n = 0  # slots in use: the first ones
        self.seen = 0  # rows so far
        self.d_ = int(self._formula.cosine)  # columns of the points, which are prepared
        self.points = np.zeros((size, self.d_))
        self.stored = np.zeros((size, 0), dtype=np.intp)  # (size, 0) if rows are dense
        self.squares = np.zeros(size)  # squared norms of the points
        self.labels = np.zeros((size, 0), dtype=np.int8)  # (size, q)
        self.born = np.zeros(size, dtype=np.int64)  # when the row of a slot came
        self._last: Any = None  # what was found for the last point, and when

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_last": None})

    def kept(self, find: Callable[[Floats], Any], point: Floats) -> Any:
        """Call ``find``, with a cache of one: a row is often predicted and then learned."""
        key = self.seen, self.labels.shape[1], point.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, find(point)
        return self._last[1]

    @property
    def _formula(self) -> Any:
        return _formula(self.metric)

    @property
    def is_sparse(self) -> bool:
        return self.stored.shape[1] > 0

    def dense(self, slots: Any) -> Floats:
        """Points in some slots, (m, d_)."""
        points = self.points[slots]
        if not self.is_sparse:
            return points
        places = self.stored[slots] + self.d_ * np.arange(len(points))[:, None]
        size = len(points) * self.d_
        flat: Any = np.bincount(places.ravel(), weights=points.ravel(), minlength=size)
        return np.asarray(flat.reshape(-1, self.d_), dtype=np.float64)

    def widen(self, x: Floats, y: Labels) -> None:
        """Make room for new features and labels."""
        mark = int(self._formula.cosine)
        if (d := len(x) + mark) > self.d_:
            to_sparse = self._suits_sparse(x)
            if to_sparse and self.is_sparse:
                # the mark of rows of zeros is the last column
                stored = self.stored + (self.stored == self.d_ - mark) * (d - self.d_)
                self.stored, self.d_ = stored, d
            else:
                self._rewrite(d, mark, to_sparse=to_sparse)
        if (more := len(y) - self.labels.shape[1]) > 0:
            new = np.full((self.size, more), UNKNOWN, dtype=np.int8)
            self.labels = np.hstack([self.labels, new])

    def _suits_sparse(self, x: Floats) -> bool:
        """Whether rows like this are better stored sparsely."""
        return bool(len(x) >= FEW and 4 * np.count_nonzero(x) < len(x))

    def _rewrite(self, d: int, mark: int, *, to_sparse: bool) -> None:
        """Rewrite the rows with d columns; the last one still marks rows of zeros."""
        rows = self.n if to_sparse else self.size
        sizes = f"{rows:,} rows of {d - mark:,} features"
        check_size("the window", sizes, memory=8.0 * rows * d, instead="a smaller window")
        before, points = self.dense(slice(self.n)), np.zeros((rows, d))
        points[: self.n, : self.d_ - mark] = before[:, : self.d_ - mark]
        points[: self.n, d - mark :] = before[:, self.d_ - mark :]
        stored = np.zeros((self.size, 0), dtype=np.intp)
        if to_sparse:
            lengths = np.count_nonzero(points, axis=1)
            here = np.arange(max(lengths.max(initial=1), 1)) < lengths[:, None]
            stored = np.zeros((self.size, here.shape[1]), dtype=np.intp)
            values = np.zeros(stored.shape)
            stored[: self.n][here] = points.nonzero()[1]
            values[: self.n][here] = points[points != 0]
            points = values
        # new arrays, so that the old ones can be restored if learning fails
        self.points, self.stored, self.d_ = points, stored, d

    def put(self, slot: int, point: Floats, y: Labels, before: Before) -> None:
        """Write a prepared row into a slot."""
        at: Any = slice(None)
        if self.is_sparse:
            at = np.flatnonzero(point)
            if (more := len(at) - self.stored.shape[1]) > 0:
                self.stored = np.pad(self.stored, ((0, 0), (0, more)))
                self.points = np.pad(self.points, ((0, 0), (0, more)))
            before.note(slot)
            self.stored[slot] = self.points[slot] = 0
            self.stored[slot, : len(at)] = at
        else:
            before.note(slot)
        self.points[slot, : len(point[at])] = point[at]
        self.squares[slot] = point @ point
        self.labels[slot] = UNKNOWN
        self.labels[slot, : len(y)] = y
        self.born[slot] = self.seen
        self.seen += 1
        self.n = max(self.n, slot + 1)

    def prepared(self, x: Floats) -> Floats:
        """A row for the distances, without features that no row has."""
        width = self.d_ - int(self._formula.cosine)
        if len(x) > width:  # features that were never learned are equal in all rows
            x = x[:width]
        elif len(x) < width:
            x = np.concatenate([x, np.zeros(width - len(x))])
        largest = max(x.max(initial=0.0), -x.min(initial=0.0))
        if largest < MODERATE and not self._formula.cosine:
            return x
        return np.asarray(self._formula.prepare(x[None]))[0]

    def dots(self, point: Floats) -> Floats:
        """Dot products of a prepared point with all rows, (n,)."""
        if not self.is_sparse:
            return self.points[: self.n] @ point
        return np.einsum("ij,ij->i", point.take(self.stored[: self.n]), self.points[: self.n])

    def distances(self, point: Floats, slots: Slots) -> Floats:
        """Exact distances of a prepared point to the rows in some slots."""
        formula = self._formula
        if self.is_sparse and formula.p == 2:
            return self._sparse_distances(point, slots)
        if formula.p == 2 and not formula.cosine and len(slots) > 1:
            # as below, with a quarter of the calls
            columns = np.ascontiguousarray((self.points.take(slots, axis=0) - point).T)
            columns *= columns
            return np.sqrt(np.add.reduce(columns, axis=0))
        zeros, rows = np.zeros(len(slots), dtype=np.intp), np.arange(len(slots))
        return formula.pairs(point[None], zeros, self.dense(slots), rows)

    def _sparse_distances(self, point: Floats, slots: Slots) -> Floats:
        """The same for sparse rows, from non-zero values only, in the order of the columns."""
        values, columns, at = self.points[slots], self.stored[slots], np.flatnonzero(point)
        row, entry = values.nonzero()
        column = columns[row, entry]
        # which features of the point each row lacks
        place = np.full(self.d_, len(at))
        place[at] = np.arange(len(at))
        lacks = np.ones((len(slots), len(at) + 1), dtype=bool)
        lacks[row, place[column]] = False
        other, j = lacks[:, :-1].nonzero()
        difference = np.concatenate([values[row, entry] - point[column], point[at[j]]])
        column, row = np.concatenate([column, at[j]]), np.concatenate([row, other])
        # bincount adds the terms of a row in their order; 16 bits are sorted much faster
        kind = np.uint16 if self.d_ < 1 << 16 else np.int64
        order = column.astype(kind).argsort(kind="stable")
        squares = difference[order] ** 2
        total = np.bincount(row[order], weights=squares, minlength=len(slots))
        if not self._formula.cosine:
            return np.sqrt(total)
        is_zero = (values * (columns == self.d_ - 1)).any(axis=1) | (point[-1] != 0)
        return np.where(is_zero, 1.0, total / 2)


class Before:
    """The state of a window before learning a row, to be restored if that fails.

    The arrays named in ``changed`` are modified in place. Others are replaced, or have a row per
    slot, which ``note`` saves before it is overwritten.
    """

    def __init__(self, window: Window, changed: Iterable[str] = ()) -> None:
        self.window, self.held = window, vars(window).copy()
        for name in changed:
            self.held[name] = self.held[name].copy()
        self.rows: list[tuple[NDArray[Any], int, Any]] = []

    def note(self, slot: int) -> None:
        for name in ("points", "stored", "squares", "labels", "born"):
            array = getattr(self.window, name)
            self.rows.append((array, slot, array[slot].copy()))

    def restore(self) -> None:
        for array, slot, row in self.rows:
            array[slot] = row
        vars(self.window).clear()
        vars(self.window).update(self.held)


class NeighborWindow(Window):
    """A window with a list of the nearest neighbors of each row.

    The lists are longer than needed. A row that leaves the window is removed from the lists of
    others, and a new one is inserted into them; only lists that become too short are searched
    again. A list of m entries always holds the true m nearest neighbors.
    """

    _fitted: ClassVar[Declared] = {
        "near": numbers("size", "most", finite=False),
        "neighbors": numbers("size", "most"),
        "lengths": numbers("size"),
        "ends": numbers("size", finite=False),
    }

    def __init__(self, size: int, metric: str, k: int) -> None:
        super().__init__(size, metric)
        self.k = k
        most = min(2 * k + 4, size)
        self.near = np.full((size, most), np.inf)  # distances
        self.neighbors = np.full((size, most), -1, dtype=np.int32)  # slots; -1 past the end
        self.lengths = np.zeros(size, dtype=np.int64)
        self.ends = np.full(size, -np.inf)  # the last distance of each list

    def around(self, point: Floats) -> tuple[Floats, Slots]:
        """Distances and slots of the rows around a point, ties from old to new."""
        # They include all rows whose lists the point would enter, and more than a list holds.
        n, most, formula = self.n, self.near.shape[1], self._formula
        if not n:
            return np.zeros(0), np.zeros(0, dtype=np.intp)
        takes_all = min(n + 1, self.size) - 2 < most  # lists of all other rows take any new one
        if takes_all or formula.p != 2:
            slots = np.arange(n)
        else:
            own, squares, ends = point @ point, self.squares[:n], self.ends[:n]
            if formula.cosine and point[-1]:  # a row of zeros is at distance 1 from all others
                about = np.zeros(n)
            else:  # squared distances, less that of the origin
                about = self.dots(point)
                about *= -2
                about += squares
            # errors of dot products of d terms, and of the exact sum; twice that to be safe, and
            # what may be lost to underflow
            error = (16 * len(point) + 256) * UNIT * (own + squares.max()) + 2e-300
            reach = 2 * ends if formula.cosine else ends * ends
            reach -= own
            np.maximum(reach, np.partition(about, most)[most], out=reach)
            reach += error
            slots = np.flatnonzero(about <= reach)
        distances = self.distances(point, slots)
        order = np.lexsort((self.born[slots], distances))
        return distances[order], slots[order]

    def replace(self, slot: int, x: Floats, y: Labels, before: Before) -> Slots:
        """Write a row into a slot; return the slots whose first k neighbors have changed."""
        self.widen(x, y)
        point = self.prepared(x)
        distances, slots = _without(slot, *self.kept(self.around, point))
        self.put(slot, point, y, before)
        changed = self._revise(slot, distances, slots)
        for row in changed[self.lengths[changed] < min(self.k, self.n - 1)].tolist():
            self._search(row)
        self._set_list(slot, distances, slots)
        return np.append(changed, slot)

    def search_all(self) -> None:
        for row in range(self.n):
            self._search(row)

    def _search(self, row: int) -> None:
        self._set_list(row, *_without(row, *self.around(self.dense([row])[0])))

    def _set_list(self, row: int, distances: Floats, slots: Slots) -> None:
        m = self.lengths[row] = min(len(slots), self.near.shape[1])
        self.near[row, :m], self.near[row, m:] = distances[:m], np.inf
        self.neighbors[row, :m], self.neighbors[row, m:] = slots[:m], -1
        self.ends[row] = distances[m - 1] if m else -np.inf

    def _revise(self, slot: int, distances: Floats, slots: Slots) -> Slots:
        """Replace the row of a slot in all lists; return those whose first k change."""
        n, most = self.n, self.near.shape[1]
        places = np.flatnonzero(self.neighbors[:n].ravel() == slot)
        self.near.reshape(-1)[places], self.neighbors.reshape(-1)[places] = np.inf, -1
        if n - 2 >= most:  # else lists have all other rows, and take any new one
            near_enough = distances < self.ends.take(slots)
            distances, slots = distances[near_enough], slots[near_enough]
        new = np.full(n, np.inf)
        new[slots] = distances
        touched, changed = np.zeros((2, n), dtype=bool)
        touched[slots] = touched[places // most] = True
        changed[places[places % most < self.k] // most] = True
        touched[slot] = False
        rows = np.flatnonzero(touched)
        # The new row comes last, as the newest of ties, and the sort is stable; at distance inf it
        # is cut off.
        near = np.empty((len(rows), most + 1))
        neighbors = np.full((len(rows), most + 1), slot, np.int32)
        near[:, :most], near[:, most] = self.near.take(rows, axis=0), new.take(rows)
        neighbors[:, :most] = self.neighbors.take(rows, axis=0)
        order = near.argsort(axis=1, kind="stable")[:, :most]
        order += (most + 1) * np.arange(len(rows))[:, None]
        near, neighbors = near.take(order), neighbors.take(order)
        lengths = (near < np.inf).sum(axis=1)
        self.near[rows], self.neighbors[rows], self.lengths[rows] = near, neighbors, lengths
        last = near[np.arange(len(rows)), lengths - 1]
        self.ends[rows] = np.where(lengths > 0, last, -np.inf)
        return rows[changed.take(rows) | (neighbors[:, : self.k] == slot).any(axis=1)]


def _without(slot: int, distances: Floats, slots: Slots) -> tuple[Floats, Slots]:
    other = slots != slot
    return distances[other], slots[other]
