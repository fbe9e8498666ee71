"""Engines that multiply matrices, such that rounding cannot change a neighbour.

BLAS rounds the products of :mod:`~plurilabel.neighbors._products`. There are two remedies:

:class:`Rounded` reduces h by the largest error of the sum in any order, so that a product is never
above the true squared distance.

:class:`Whole`, for whole numbers, leaves no rounding: with a factor M > 2 n and the index of each
point added to its h, the product is ``M ‖x - y‖² + i + j``, a whole number below 2**53. For each i
that sorts by distance, then index. On 0/1 data it takes a half to a quarter of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import dense
from plurilabel.neighbors._distance import (
    UNIT,
    Floats,
    Formula,
    Integers,
    Neighbors,
    Points,
    row_sums,
)
from plurilabel.neighbors._engines import (
    Candidates,
    CertifiedEngine,
    Engine,
    Pairs,
    Run,
    ranked,
    slices,
    threads,
    without_self,
)
from plurilabel.neighbors._products import Operand, all_products, below, smallest, smallest_across

FEW = 256  # points up to which float64 costs less than testing whether float32 suffices


class Blocks(CertifiedEngine):
    """Products in blocks, in float32 where that tells neighbours apart, else in float64."""

    def __init__(self, formula: Formula, X: Points, rounded: Rounded | None = None):
        self.formula, self.X = formula, X
        self.rounded = Rounded.for_points(X) if rounded is None else rounded
        self.operand = self.rounded.operand(X)

    def grown(self, X: Points, new: Points) -> Blocks | None:
        new = self.formula.prepare(new)
        if self.rounded.is_far(new):
            return None
        return self._with(X, self.operand.stack(self.rounded.operand(new)))

    def reduced(self, X: Points, stay: Integers) -> Blocks:
        return self._with(X, self.operand.take(stay))

    def _with(self, X: Points, operand: Operand) -> Blocks:
        other = copy(self)
        other.X, other.operand = self.formula.prepare(X), operand
        return other

    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:
        if Q is not None and self.rounded.is_far(Q):
            return self.precise(Q).candidates(Q, k, K, run)
        rows = None if Q is None else self.rounded.operand(Q)
        near, values, bounds = smallest(rows, self.operand, K, run, in_order=True)
        after_k = np.minimum(values[:, k], bounds) if k < K else bounds
        return near, self._floor(after_k), self._floor(bounds)

    def _floor(self, bounds: NDArray[Any]) -> Floats:
        return self.formula.of_norm(self.rounded.floor(bounds, self.X.shape[1]))

    def precise(self, Q: Points | None) -> Blocks:
        if Q is not None and self.rounded.is_far(Q):
            return Blocks(self.formula, self.X, self.rounded.scaled_to(Q))
        if self.rounded.dtype == np.float32:
            return Blocks(self.formula, self.X, replace(self.rounded, dtype=np.float64))
        return self

    def within(self, Q: Points, radius: Floats) -> Pairs:
        limits = self.rounded.ceiling(self.formula.to_norm(radius), self.X.shape[1])
        return below(self.rounded.operand(Q), self.operand, limits)


class Across:
    """Two sets of points, each searched for the neighbours of the other: a product serves both.

    The first set (n, d), prepared, is fixed; the second is given for each search. ``far`` (n,) are
    estimates of the distances of neighbours: points with similar distances are kept together.
    """

    def __init__(self, formula: Formula, first: Points, far: Any = None, rounded: Any = None):
        self.formula, self.first = formula, first
        self.rounded = Rounded.for_points(first) if rounded is None else rounded
        n = first.shape[0]
        self.order = np.arange(n) if far is None else np.argsort(far, kind="stable")
        self.operand = self.rounded.operand(first, self.order)
        self.scratch = threading.local()  # of one search, for the next

    def of_each(
        self, second: Points, k: int, run: Run, limits: tuple[Floats, Floats] | None = None
    ) -> tuple[Neighbors, Neighbors]:
        """Distances and indices of the k nearest points in the other set, for both sets."""
        # With ``limits``, neighbours beyond the distance limit of a point may be missing: their
        # places at the end of its list have distance inf.
        if self.rounded.is_far(second):
            wider = self.rounded.scaled_to(second)
            return Across(self.formula, self.first, None, wider).of_each(second, k, run, limits)
        n, (m, d) = self.first.shape[0], second.shape
        orders, bounds = (self.order, np.arange(m)), None
        if limits is not None:
            orders = self.order, np.argsort(limits[1], kind="stable")
            bounds = np.concatenate([limit[order] for limit, order in zip(limits, orders)])
            bounds = self.rounded.ceiling(self.formula.to_norm(bounds), d)
        K = min(k + max(3, k // 8), n, m)
        both = self._both(second, orders[1])
        near, _, floor = smallest_across(both, n, K, run, bounds, self.scratch)
        floor = self.formula.of_norm(self.rounded.floor(floor, d))
        found = []
        for own, other, rows, start in ((0, 1, slice(0, n), n), (1, 0, slice(n, n + m), 0)):
            back = np.argsort(orders[own])
            candidates = near[rows][back]
            is_full = (candidates >= 0).all(axis=1)
            numbers = orders[other][np.maximum(candidates - start, 0)]
            candidates = np.where(candidates >= 0, numbers, -1)
            all_seen = is_full & (len(orders[other]) == K)
            if limits is not None:  # fewer than K below the limit: these are all
                all_seen |= ~is_full
            sets = (self.first, second)[own], (self.first, second)[other]
            found.append(self._certain(*sets, candidates, floor[rows][back], all_seen, k, run))
        return found[0], found[1]

    def _both(self, second: Points, order: Integers) -> Operand:
        """Both sets as rows of a product, in reused memory."""
        n, m = self.first.shape[0], second.shape[0]
        rows = self.operand.rows
        if sparse.issparse(rows) or sparse.issparse(second):
            return self.operand.stack(self.rounded.operand(second, order))
        if len(rows) < n + m:
            room = np.empty((n + m, rows.shape[1]), dtype=rows.dtype)
            room[:n] = rows[:n]
            rows = room
            self.operand = replace(self.operand, rows=rows)
        self.rounded.operand(second, order, out=rows[n : n + m])
        return replace(self.operand, rows=rows[: n + m])

    def _certain(
        self, points: Points, others: Points, candidates: Integers, floor: Floats,
        all_seen: NDArray[np.bool_], k: int, run: Run,
    ) -> Neighbors:  # fmt: skip
        """The k nearest others of all points; uncertain ones are searched again."""
        formula, n = self.formula, points.shape[0]
        distances, indices = np.empty((n, k)), np.empty((n, k), dtype=np.int64)

        def rank(part: slice) -> None:
            found = ranked(formula, points, part, others, candidates[part], k)
            distances[part], indices[part] = found

        run(rank, slices(n, 1024))
        zero = formula.zero_rows(points)
        again = np.flatnonzero(~(distances[:, -1] < floor) & ~all_seen & ~zero)
        if len(again):
            precise = Blocks(formula, others, replace(self.rounded, dtype=np.float64))
            precise.search_wider(points, again, distances, indices, run)
        if zero.any():  # distance 1 from all others: the first are the nearest
            distances[zero], indices[zero] = 1.0, np.arange(k)
        return distances, indices


class WholeBlocks(Engine):
    """Products in blocks for whole numbers, which are exact."""

    formula = Formula()

    def __init__(self, X: Points, whole: Whole):
        self.X = X
        self.whole, self.operand = whole, whole.operand(X, index=True)

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        if Q is not None and not self.whole.fits(Q):
            return Blocks(self.formula, self.X).neighbors(Q, k, run)
        whole, n = self.whole, self.X.shape[0]
        others = n - (Q is None)
        K = k if whole.grain == 1 else min(k + max(4, k // 4), others)
        rows = None if Q is None else whole.operand(Q, index=False)
        near, keys, bounds = smallest(rows, self.operand, K, run)
        # A key is M ‖x - y‖² plus the indices of both, in units of ``grain``.
        own = np.arange(n)[:, None] // whole.grain if Q is None else 0
        squared = (keys.astype(np.float64) - own - near // whole.grain) / whole.factor
        order = np.lexsort((near, squared))[:, :k]
        indices = np.take_along_axis(near, order, axis=1)
        squared = np.take_along_axis(squared, order, axis=1)
        distances = np.sqrt(squared) / whole.scale
        if whole.grain > 1 and others > K:
            last = squared[:, -1] * whole.factor + (own + indices[:, [-1]] // whole.grain)[:, 0]
            again = np.flatnonzero(last >= bounds)
            if len(again):  # with a key for each index
                fine = WholeBlocks(self.X, cast(Whole, Whole.for_points(self.X, np.float64)))
                if Q is not None:
                    found = fine.neighbors(Q[again], k, run)
                else:
                    found = without_self(*fine.neighbors(self.X[again], k + 1, run), again)
                distances[again], indices[again] = found
        return distances, indices


@dataclass(frozen=True)
class Frame:
    """How points are centred, scaled and stored."""

    centre: Floats | None  # None for sparse points, which are not centred
    scale: float  # a power of two, which multiplies without rounding
    dtype: Any

    def moved(self, X: Points, out: Floats | None = None) -> Points:
        """Centred and scaled points in float64; ``out`` is used for dense points."""
        centre: Any = self.centre
        shifted: Any = X.astype(np.float64) if centre is None else np.subtract(X, centre, out=out)
        shifted *= self.scale
        return shifted

    def longest(self, X: Points) -> float:
        """Largest squared length of a moved row."""
        return max(float(row_sums(self.moved(X[part]), 2.0).max()) for part in _parts(X))

    def rows(
        self, X: Points, heights: Callable[[Floats, int], Any], order: Any = None, out: Any = None
    ) -> Points:
        """``(x, 1, h)`` for all points; h is a function of squared lengths and the first row."""
        n, d = X.shape
        if isinstance(X, np.ndarray):
            full = np.empty((n, d + 2), dtype=self.dtype) if out is None else out
            taken, room = _room(X, X.dtype), _room(X)
            for part in _parts(X):
                some, size = X[part], part.stop - part.start
                if order is not None:
                    some = X.take(order[part], 0, out=taken[:size], mode="clip")
                full[part, :d] = x = self.moved(some, room[:size])
                if self.dtype != np.float64:
                    x[:] = full[part, :d]  # as rounded
                squared = np.einsum("ij,ij->i", x, x)  # in any order
                full[part, d + 1] = heights(squared, part.start)
            full[:, d] = 1
            return full
        moved: Any = self.moved(X if order is None else X[order])
        x = moved.astype(self.dtype, copy=False)
        indptr = x.indptr + 2 * np.arange(n + 1, dtype=x.indptr.dtype)
        inside = np.ones(indptr[-1], dtype=bool)
        last = indptr[1:] - 1  # the place of h in each row, after the 1
        inside[last] = inside[last - 1] = False
        data, indices = np.empty(len(inside), self.dtype), np.empty(len(inside), x.indices.dtype)
        data[inside], data[last - 1], data[last] = x.data, 1, heights(row_sums(x, 2.0), 0)
        indices[inside], indices[last - 1], indices[last] = x.indices, d, d + 1
        return sparse.csr_array((data, indices, indptr), shape=(n, d + 2))


# Largest exponent of a scale. Squares of values below 2**-500 underflow in the canonical distance
# as well, and a larger scale could overflow.
_LARGEST = 500


class Rounded(Frame):
    """For any finite points: a product / ``scale**2`` is at most the true squared distance."""

    @classmethod
    def for_points(cls, X: Points) -> Rounded:
        """A frame in float32 if that tells neighbours apart, else in float64."""
        double = cls(_middle(X), np.inf, np.float64).scaled_to(X)
        single = replace(double, dtype=np.float32)
        return single if single._tells_apart(X, double) else double

    def _tells_apart(self, X: Points, double: Rounded, k: int = 10, spare: int = 4) -> bool:
        """Whether this type tells neighbour k from neighbour k + spare, for most of a sample."""
        n, d = X.shape
        if n <= (FEW if isinstance(X, np.ndarray) else 4 * FEW):
            return False
        size = min(max(n // 4, 128), 1024)
        sample = double.operand(X[np.linspace(0, n - 1, size).astype(int)])
        asked = sample.take(np.arange(0, size, 16))
        with threads(1):  # several BLAS threads are slow to start
            D = all_products(asked, slice(None), sample)
        D.partition((k, k + spare), axis=1)
        gap = D[:, k + spare] - D[:, k]
        relative, absolute = self.errors(d)
        h = dense(asked.rows[:, [-1]]).ravel()
        # a point and its neighbours have about the same length
        return bool(np.mean(gap > 4 * relative * h + 2 * absolute) > 0.75)

    def scaled_to(self, Q: Points) -> Rounded:
        """A frame in float64 with room for these points as well."""
        scale = 2.0 ** min(-int(np.frexp(self._reach(Q))[1]), _LARGEST)
        return replace(self, scale=min(self.scale, scale), dtype=np.float64)

    def is_far(self, Q: Points) -> bool:
        """Whether squares of these points could overflow at this scale."""
        return self._reach(Q) * self.scale > 2.0**20

    def _reach(self, X: Points) -> float:
        """Largest magnitude of a value, seen from the centre."""
        if not isinstance(X, np.ndarray):
            return float(np.abs(X.data).max(initial=0.0))
        assert self.centre is not None
        largest, room = 0.0, _room(X)
        for part in _parts(X):
            x = np.subtract(X[part], self.centre, out=room[: part.stop - part.start])
            largest = max(largest, float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
        return largest

    def operand(self, X: Points, order: Integers | None = None, out: Any = None) -> Operand:
        """Points as rows of a product, in another order if one is given."""
        relative, absolute = self.errors(X.shape[1])
        rows = self.rows(X, lambda h, _: h * (1 - relative) - absolute, order, out)
        return Operand(rows, -2.0)

    def errors(self, d: int) -> tuple[float, float]:
        """Largest relative (of h_x + h_y) and absolute error of a product, in any order."""
        # The error of a sum of d + 2 products is at most (d + 2) u times the sum of magnitudes,
        # itself at most 2 (h_x + h_y); rounding the points adds 4 u, and centre and h (d + 4) u of
        # float64. 4 (d + 8) u covers all of it. Each term may lose subnormal magnitudes.
        kind = np.finfo(self.dtype)
        return 4 * (d + 8) * float(kind.eps) / 2, 4 * (d + 8) * float(kind.tiny)

    def floor(self, bound: NDArray[Any], d: int) -> Floats:
        """Least canonical distance of a point with at least this bound."""
        true = np.sqrt(np.maximum(bound.astype(np.float64), 0)) / self.scale
        return true * (1 - (d + 16) * UNIT) - _underflow(d)

    def ceiling(self, distance: Floats, d: int) -> Floats:
        """Largest bound of a point within this canonical distance."""
        true = (distance + _underflow(d)) * (1 + (d + 16) * UNIT) * self.scale
        return true * true * (1 + 4 * UNIT)


def _underflow(d: int) -> float:
    """Largest error of a distance from squares that underflow to 0."""
    return float(np.sqrt(4 * (d + 1) * np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Whole(Frame):
    """For whole numbers (times a power of two): products are exact.

    ``grain`` > 1 keeps the numbers within 2**24 for float32: ``grain`` adjacent indices share one
    key, and the few rows where that matters are searched again.
    """

    factor: float  # M
    grain: int

    @classmethod
    def for_points(cls, X: Points, dtype: Any = None) -> Whole | None:
        """None if the values are not whole numbers, or too large to stay exact."""
        for scale in (1.0, 16.0, 256.0):
            if _are_whole(X[:64], scale) and _are_whole(X, scale):
                break
        else:
            return None
        centre, n = _middle(X), X.shape[0]
        if centre is not None:
            centre = np.rint(centre * scale) / scale
        longest = Frame(centre, scale, np.float64).longest(X)
        for kind, grain in ((np.float32, 1), (np.float32, 2), (np.float32, 4), (np.float64, 1)):
            if dtype in (None, kind):
                factor = 2.0 ** np.ceil(np.log2(2 * (n // grain + 1)))
                whole = cls(centre, scale, kind, factor, grain)
                if whole._has_room(longest):
                    return whole
        return None

    def operand(self, X: Points, *, index: bool) -> Operand:
        """Rows with their index in h, or without (queries)."""

        def heights(squared: Floats, first: int) -> Floats:
            h = self.factor * squared
            return h + np.arange(first, first + len(h)) // self.grain if index else h

        return Operand(self.rows(X, heights), -2 * self.factor)

    def fits(self, Q: Points) -> bool:
        """Whether products with these queries stay exact as well."""
        return _are_whole(Q, self.scale) and self._has_room(self.longest(Q))

    def _has_room(self, longest: float) -> bool:
        return bool(4 * self.factor * (longest + 1) <= 2.0 ** (np.finfo(self.dtype).nmant + 1))


def _are_whole(X: Points, scale: float) -> bool:
    parts = (X[part] for part in _parts(X)) if isinstance(X, np.ndarray) else [X.data]
    with np.errstate(over="ignore"):  # of float32: infinite, and not whole
        scaled = (values * scale for values in parts)
        return all(((np.rint(some) == some) & (abs(some) < np.inf)).all() for some in scaled)


def _middle(X: Points) -> Floats | None:
    """The median of some rows, which outliers do not move; None for sparse points."""
    if not isinstance(X, np.ndarray):
        return None
    some = np.linspace(0, len(X) - 1, min(len(X), 65)).astype(int)
    middle = np.empty(X.shape[1])
    for a in range(0, len(middle), 1000):
        columns = X[some, a : a + 1000].T.astype(np.float64, order="C")
        columns.sort(axis=1)  # contiguous
        middle[a : a + 1000] = columns[:, len(some) // 2]
    return middle


def _parts(X: Points) -> list[slice]:
    """Slices of rows that fit into the cache."""
    return slices(X.shape[0], max(1, (1 << 16) // max(X.shape[1], 1)))


def _room(X: Points, dtype: Any = np.float64) -> NDArray[Any]:
    """Memory for any of the parts: allocating it for each costs more than its use."""
    rows = max((part.stop - part.start for part in _parts(X)), default=0)
    return np.empty((rows, X.shape[1]), dtype=dtype)
