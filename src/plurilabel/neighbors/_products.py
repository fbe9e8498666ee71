"""Nearest neighbours by blocks of products.

For points x and y with squared lengths h, one product of rows with two columns added gives

    (-2 x, h_x, 1) · (y, 1, h_y)  =  h_x + h_y - 2 x·y  =  ‖x - y‖²

:mod:`~plurilabel.neighbors._blocks` chooses x and h such that rounding is harmless. This module
finds the smallest products of each row.

Nothing of size (n, n) is kept. A sample gives an upper bound of each row's K-th smallest value.
Then matrices are multiplied in blocks, and one comparison with the largest bound of the block
leaves few numbers. They go to a table of the K smallest so far, which lowers the bounds. Among the
training points themselves, one block serves its rows and its columns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import stack_rows
from plurilabel.neighbors._distance import Points
from plurilabel.neighbors._engines import Pairs, Run, slices

DENSE_ABOVE = 0.08  # fraction of stored values from which BLAS is faster than a sparse product
DIRECT_BELOW = 5000  # training points up to which selection is faster than a sample and a filter
SAMPLE = 1024
BLOCK = 512  # edge of a block, at most 65,536: 512 x 512 floats stay in the cache of a core
COPIED = 1 << 25  # bytes of rows copied, or made dense, for a side of a product; at least 16 rows
_CACHE = 1 << 20  # bytes
_FEW = 1 << 22  # products that may be kept at once
Best: TypeAlias = tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Operand:
    """Rows ``(x, 1, h)`` of a product, from which its left side ``(factor x, h, 1)`` is made."""

    rows: Points  # (n, d + 2)
    factor: float

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    def take(self, order: NDArray[np.intp] | slice) -> Operand:
        return Operand(self.rows[order], self.factor)

    def stack(self, other: Operand) -> Operand:
        return Operand(stack_rows([self.rows, other.rows]), self.factor)

    def width(self, wanted: int) -> int:
        """The number of rows that may be copied, or made dense, at once."""
        return max(16, min(wanted, COPIED // (self.dtype.itemsize * self.rows.shape[1])))

    def left(self, part: slice, out: NDArray[Any] | None = None) -> Points:
        """Dense, or CSR if few values are stored; ``out`` is used for dense rows."""
        d = self.rows.shape[1] - 2
        if isinstance(self.rows, np.ndarray):
            rows = self.rows[part]
            left = np.multiply(rows, self.dtype.type(self.factor), out=out)
            left[:, d], left[:, d + 1] = rows[:, d + 1], 1
            return left
        left = self._sparse_left[part]
        crowded = self.rows.nnz > DENSE_ABOVE * self.n * (d + 2)
        return left.toarray() if crowded else left

    @cached_property
    def _sparse_left(self) -> sparse.csr_array:
        rows: Any = self.rows
        data, indices, d = rows.data, rows.indices, rows.shape[1] - 2
        data = np.where(indices < d, data * self.dtype.type(self.factor), data)
        swapped = np.where(indices < d, indices, 2 * d + 1 - indices)  # the last two columns
        return sparse.csr_array((data, swapped, rows.indptr), rows.shape)

    def right(self, part: slice) -> NDArray[Any]:
        """Dense (d + 2, width)."""
        rows = self.rows[part].T
        return rows if isinstance(rows, np.ndarray) else rows.toarray(order="C")


def product(left: Points, right: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Products (rows, width) of all pairs; ``out`` is used where BLAS does the work."""
    return np.matmul(left, right, out=out) if isinstance(left, np.ndarray) else left @ right


def smallest(rows: Any, columns: Operand, K: int, run: Run, *, in_order: bool = False) -> Best:
    """The K columns with the smallest products for each row."""
    # If rows is None, they are the columns, each without itself. Returns indices (m, K), -1 where
    # fewer than K columns are below the bound, their products (m, K), and bounds (m,): no column
    # left out has a smaller product. With ``in_order``, columns are in ascending order, and
    # products and bounds may be a little too low.
    asked, n = columns if rows is None else rows, columns.n
    if n <= DIRECT_BELOW or n < 8 * K or asked.n * n <= _FEW:
        bits_left = 10 if columns.dtype == np.float32 else 24
        by_bits = in_order and _bits(n, K) <= bits_left
        found = _direct(rows, columns, K, run, _first if by_bits else _partitioned)
        if by_bits or not in_order:
            return found
    else:
        bounds = _bounds_from_sample(rows, columns, K, run)
        # rows with similar bounds go together: one number then serves a whole block
        order = np.argsort(bounds, kind="stable")
        asked, bounds, back = asked.take(order), bounds[order], np.argsort(order)
        own = rows is None
        search = (_Symmetric if own else _Search)(asked, asked if own else columns, K, bounds)
        search.go(run)
        indices = search.indices[back].astype(np.int64)
        if own:
            indices = np.where(indices >= 0, order[indices], -1)
        found = indices, search.values[back], search.bounds[back]
        if not in_order:
            return found
    order = np.argsort(found[1], axis=1)
    near, values = (np.take_along_axis(part, order, axis=1) for part in found[:2])
    return near, values, found[2]


def smallest_across(
    both: Operand, cut: int, K: int, run: Run, limits: Any = None, scratch: Any = None
) -> Best:
    """Like ``smallest``, between the first ``cut`` rows and the others: a product serves both."""
    # With ``limits`` (n,), products above the limit of a row may be missing; rows with similar
    # limits should be together. ``scratch`` is memory of an earlier search.
    if limits is not None:
        above = np.nextafter(limits.astype(both.dtype), np.inf, dtype=both.dtype)
        search = _Across(both, cut, K, above)
        search.scratch = scratch or search.scratch
        search.go(run)
        return search.indices.astype(np.int64), search.values, search.bounds
    sets, fewest = (both.take(slice(cut)), both.take(slice(cut, None))), min(cut, both.n - cut)
    if fewest <= DIRECT_BELOW or fewest < 8 * K:
        found = smallest(*sets, K, run), smallest(*sets[::-1], K, run)
        near = np.concatenate([np.where(found[0][0] >= 0, found[0][0] + cut, -1), found[1][0]])
        values, bounds = (np.concatenate([found[0][i], found[1][i]]) for i in (1, 2))
        return near, values, bounds
    of_each = [_bounds_from_sample(*pair, K, run) for pair in (sets, sets[::-1])]
    first, second = (np.argsort(bounds, kind="stable") for bounds in of_each)
    order = np.concatenate([first, second + cut])
    search = _Across(both.take(order), cut, K, np.concatenate(of_each)[order])
    search.go(run)
    back = np.argsort(order)
    indices = search.indices[back].astype(np.int64)
    indices = np.where(indices >= 0, order[indices], -1)
    return indices, search.values[back], search.bounds[back]


def below(rows: Operand, columns: Operand, limits: NDArray[Any]) -> Pairs:
    """All pairs (row, column) whose product is at most the limit of the row."""
    found = []
    for part in slices(rows.n, columns.width(256)):
        i, j = np.nonzero(all_products(rows, part, columns) <= limits[part, None])
        found.append((i + part.start, j))
    return np.concatenate([i for i, _ in found]), np.concatenate([j for _, j in found])


def all_products(
    rows: Operand, part: slice, columns: Operand, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Products (rows in part, all columns); only the part of a sparse operand is made dense."""
    if isinstance(columns.rows, np.ndarray):
        return product(rows.left(part), columns.right(slice(None)), out)
    return np.ascontiguousarray(product(columns.left(slice(None)), rows.right(part)).T)


def _direct(rows: Operand | None, columns: Operand, K: int, run: Run, first: Any) -> Best:
    asked = columns if rows is None else rows
    m, n = asked.n, columns.n
    indices = np.empty((m, K), dtype=np.int64)
    values = np.empty((m, K), dtype=columns.dtype)
    bounds = np.empty(m, dtype=columns.dtype)

    height = columns.width(256)
    if is_dense := isinstance(columns.rows, np.ndarray):
        height = min(height, max(64, _CACHE // (n * columns.dtype.itemsize)))
    height = max(1, min(height, _FEW // n, m))
    scratch = threading.local()  # memory for a block, used again

    def some(part: slice) -> None:
        out = None
        if is_dense:
            if not hasattr(scratch, "block"):
                scratch.block = np.empty((height, n), dtype=columns.dtype)
            out = scratch.block[: part.stop - part.start]
        L = all_products(asked, part, columns, out)
        if rows is None:
            L[np.arange(len(L)), np.arange(m)[part]] = np.finfo(L.dtype).max
        indices[part], values[part], bounds[part] = _least(L, K, first)

    run(some, slices(m, height))
    if n - (rows is None) == K:
        bounds[:] = np.inf
    return indices, values, bounds


def _shares(n: int, K: int) -> tuple[int, int]:
    """The size of parts of n columns that are reduced to their minima, and their number."""
    # Columns i, i + parts, i + 2 parts and so on are one part. The K smallest values are in the K
    # parts with the smallest minima.
    together = int(np.sqrt(n / K))
    return (1, n) if together < 3 else (together, n // together)


def _columns_of(best: NDArray[Any], together: int, parts: int, n: int) -> NDArray[np.intp]:
    """All columns in these parts (m, K), and the last columns, which are in no part."""
    m, K = best.shape
    end, wide = parts * together, K * together
    columns = np.empty((m, wide + n - end), dtype=np.intp)
    inside = columns[:, :wide].reshape(m, together, K)
    np.add(best[:, None], np.arange(0, end, parts)[:, None], out=inside)
    columns[:, wide:] = np.arange(end, n)
    return columns


def _least(L: NDArray[Any], K: int, first: Callable[..., Best]) -> Best:
    """Columns and values of the K smallest of each row, and a bound of all others."""
    m, n = L.shape
    together, parts = _shares(n, K)
    if together == 1:
        return first(L, K)
    best, _, after = first(L[:, : parts * together].reshape(m, together, parts).min(axis=1), K)
    columns = _columns_of(best, together, parts, n)
    chosen, values, bounds = first(L.ravel().take(columns + n * np.arange(m)[:, None]), K)
    chosen += columns.shape[1] * np.arange(m)[:, None]
    return columns.ravel().take(chosen), values, np.minimum(bounds, after)


def _partitioned(L: NDArray[Any], K: int) -> Best:
    """The K smallest of each row, unordered."""
    columns = np.argpartition(L, K - 1, axis=1)[:, :K]
    values = np.take_along_axis(L, columns, axis=1)
    return columns, values, values.max(axis=1)


def _first(L: NDArray[Any], K: int) -> Best:
    """The K smallest of each row, ascending, with values a little too low; L is overwritten."""
    # The last bits of each value hold its column, so that the values themselves are partitioned,
    # which processors do several at a time: ``argpartition`` takes three times as long.
    n = L.shape[1]
    mask = (1 << (n - 1).bit_length()) - 1
    bits: NDArray[Any] = L.view(np.int32 if L.itemsize == 4 else np.int64)
    np.bitwise_and(bits, ~mask, out=bits)
    np.bitwise_or(bits, np.arange(n, dtype=bits.dtype), out=bits)
    L.partition(K - 1, axis=1)
    values = np.sort(L[:, :K], axis=1)
    bits = values.view(bits.dtype)
    columns = (bits & mask).astype(np.intp)
    np.bitwise_and(bits, ~mask, out=bits)  # at most what it was; or 0, if that was negative
    return columns, values, values[:, -1]


def _bits(n: int, K: int) -> int:
    """Bits of the number of a column or part in ``_first``."""
    together, parts = _shares(n, K)
    most = max(parts, K * together + n - parts * together)
    return (most - 1).bit_length()


def _bounds_from_sample(rows: Operand | None, columns: Operand, K: int, run: Run) -> NDArray[Any]:
    """For each row an upper bound of its K-th smallest product."""
    asked = columns if rows is None else rows
    size = min(columns.n, max(SAMPLE, 4 * K))
    some = np.random.default_rng(0).choice(columns.n, size, replace=False)
    sample = columns.take(np.sort(some))
    # one more than K for a training point, which may be in the sample itself
    rank = K if rows is None else K - 1
    bounds = np.empty(asked.n, dtype=columns.dtype)

    def part_bounds(part: slice) -> None:
        L = all_products(asked, part, sample)
        L.partition(rank, axis=1)
        bounds[part] = L[:, rank]

    run(part_bounds, slices(asked.n, columns.width(256)))
    return bounds


class _Search:
    """Tables of the K smallest products of blocks of rows, filled from blocks of columns."""

    def __init__(self, rows: Operand, columns: Operand, K: int, bounds: Any):
        self.rows, self.columns, self.K, self.bounds = rows, columns, K, bounds
        block = columns.width(BLOCK)
        self.parts = slices(rows.n, block)
        self.enough = K * block
        self.values = np.full((rows.n, K), np.inf, dtype=columns.dtype)
        self.indices = np.full((rows.n, K), -1, dtype=np.int32)
        self.pending: list[list[tuple[Any, Any, Any]]] = [[] for _ in self.parts]
        self.scratch = threading.local()

    def go(self, run: Run) -> None:
        def one(i: int) -> None:
            right = self.rows.right(self.parts[i])
            for part in slices(self.columns.n, self.columns.width(BLOCK)):
                self.compare(part, i, right)
                self.settle(i, self.enough)
            self.settle(i)

        run(one, range(len(self.parts)))

    def in_rounds(
        self, n_rows: int, n_steps: int, partner: Callable[[int, int], int | None], run: Run
    ) -> None:
        """In step r, block i of the first ``n_rows`` meets block ``partner(i, r)``, if any."""
        step = 0
        while step < n_steps:
            # rounds of 1, 1, 2, 4, 8 steps: the bounds fall fast at first
            steps = range(step, min(max(step * 2, 1), step + 8, n_steps))

            def one(i: int, steps: range = steps) -> None:
                right = self.rows.right(self.parts[i])
                for r in steps:
                    if (j := partner(i, r)) is not None:
                        self.compare(self.parts[j], i, right, other=None if j == i else j)

            run(one, range(n_rows))
            run(lambda i: self.settle(i, self.enough), range(len(self.parts)))
            step = steps.stop
        run(self.settle, range(len(self.parts)))

    def compare(self, part: slice, i: int, right: Any, other: int | None = None) -> None:
        """Keep the products of columns ``part`` below the bounds of the rows in block i."""
        # If the columns are also rows, of block ``other``, keep those below their bounds as well.
        width = right.shape[1]
        bounds = self.bounds[self.parts[i]]
        step = max(64, _CACHE // (width * self.columns.dtype.itemsize))
        for some in slices(part.stop - part.start, step, part.start):
            product_, mask, left = self.workspace(some.stop - some.start, width)
            L = product(self.columns.left(some, left), right, product_).ravel()
            limit = bounds.max()
            if other is not None:
                limit = max(limit, self.bounds[some].max())
            hits = np.flatnonzero(np.less_equal(L, limit, out=mask))
            if not len(hits):
                continue
            value = L[hits]
            column, row = np.divmod(hits, width)
            column += some.start
            keep = value <= bounds[row]
            self.add(i, row[keep], column[keep], value[keep])
            if other is not None:
                keep = value <= self.bounds[column]
                of_block = column[keep] - self.parts[other].start
                self.add(other, of_block, row[keep] + self.parts[i].start, value[keep])

    def workspace(self, height: int, width: int) -> tuple[Any, Any, Any]:
        """Reused memory for a block: allocating it costs as much as filling it."""
        size, columns, scratch = height * width, self.columns, self.scratch
        if not hasattr(scratch, "floats") or len(scratch.floats) < size:
            scratch.floats = np.empty(size, dtype=columns.dtype)
            scratch.mask = np.empty(size, dtype=bool)
        left = None
        if isinstance(columns.rows, np.ndarray):
            if not hasattr(scratch, "left") or len(scratch.left) < height:
                scratch.left = np.empty((height, columns.rows.shape[1]), dtype=columns.dtype)
            left = scratch.left[:height]
        return scratch.floats[:size].reshape(height, width), scratch.mask[:size], left

    def add(self, i: int, row: Any, column: Any, value: Any) -> None:
        self.pending[i].append((row.astype(np.uint16), column.astype(np.int32), value))

    def settle(self, i: int, at_least: int = 1) -> None:
        """Merge the findings of block i into its table, and lower its bounds."""
        if sum(len(found[0]) for found in self.pending[i]) < at_least:
            return
        found, self.pending[i] = self.pending[i], []
        row, column, value = (np.concatenate(parts) for parts in zip(*found))
        part, K = self.parts[i], self.K
        size = part.stop - part.start
        order = np.argsort(row, kind="stable")
        row, column, value = row[order], column[order], value[order]
        count = np.bincount(row, minlength=size)
        slot = K + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        values = np.full((size, K + count.max()), np.inf, dtype=value.dtype)
        indices = np.full(values.shape, -1, dtype=np.int32)
        values[:, :K], indices[:, :K] = self.values[part], self.indices[part]
        values[row, slot], indices[row, slot] = value, column
        chosen = np.argpartition(values, K - 1, axis=1)[:, :K]
        self.values[part] = np.take_along_axis(values, chosen, axis=1)
        self.indices[part] = np.take_along_axis(indices, chosen, axis=1)
        self.bounds[part] = np.minimum(self.bounds[part], self.values[part].max(axis=1))


class _Symmetric(_Search):
    """The training points among themselves: in step r, block i meets block i + r."""

    def go(self, run: Run) -> None:
        n = len(self.parts)

        def partner(i: int, r: int) -> int | None:
            # with an even number of blocks, pairs half-way round would meet twice
            return None if 2 * r == n and i >= r else (i + r) % n

        self.in_rounds(n, n // 2 + 1, partner, run)

    def add(self, i: int, row: Any, column: Any, value: Any) -> None:
        other = column != row + self.parts[i].start
        super().add(i, row[other], column[other], value[other])


class _Across(_Search):
    """Two sets of points: in step r, block i of the first meets block i + r of the second."""

    def __init__(self, both: Operand, cut: int, K: int, bounds: Any):
        super().__init__(both, both, K, bounds)
        block = both.width(BLOCK)
        self.parts = slices(cut, block)
        self.n_first = len(self.parts)
        self.parts += slices(both.n - cut, block, cut)
        self.pending = [[] for _ in self.parts]

    def go(self, run: Run) -> None:
        first, second = self.n_first, len(self.parts) - self.n_first
        self.in_rounds(first, second, lambda i, r: first + (i + r) % second, run)
