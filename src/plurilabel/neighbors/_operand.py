"""Points made ready for products that give lower bounds of all squared distances.

For points x and y with squared lengths h, one product of rows with two columns added gives

    (-2 x, h_x, 1) · (y, 1, h_y)  =  h_x + h_y - 2 x·y  =  ‖x - y‖²

and BLAS rounds it. Two ways to rule out that rounding changes a neighbour:

:class:`Rounded` shrinks the h by the largest error that any order of the sum can make. What comes
out is then never above the true squared distance.

:class:`Whole`, for whole numbers, leaves no rounding at all: with a factor M > 2 n and the index
of each point added to its h, the product is ``M ‖x - y‖² + i + j``, all whole numbers below
2**53. For each i that sorts by distance and equal distances by index: no ties are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.neighbors._canonical import UNIT, Points, row_sums

DENSE_ABOVE = 0.08
"""Share of stored values above which BLAS on dense blocks is faster than a sparse product."""


@dataclass(frozen=True)
class Operand:
    """Rows ``(x, 1, h)`` of a product; its left side ``(factor x, h, 1)`` comes from the same."""

    rows: Points  # (n, d + 2)
    factor: float

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    def take(self, order: NDArray[np.intp]) -> Operand:
        return Operand(self.rows[order], self.factor)

    def width(self, wanted: int) -> int:
        """How many rows may be made dense at once."""
        if isinstance(self.rows, np.ndarray):
            return wanted
        return max(16, min(wanted, (1 << 25) // (self.dtype.itemsize * self.rows.shape[1])))

    def stack(self, other: Operand) -> Operand:
        dense = isinstance(self.rows, np.ndarray)
        both = [self.rows, other.rows]
        rows = np.vstack(both) if dense else sparse.csr_array(sparse.vstack(both, format="csr"))
        return Operand(rows, self.factor)

    def left(self, part: slice) -> Points:
        """Dense, or CSR where few values are stored."""
        d = self.rows.shape[1] - 2
        if isinstance(self.rows, np.ndarray):
            rows = self.rows[part]
            left = rows * self.dtype.type(self.factor)
            left[:, d], left[:, d + 1] = rows[:, d + 1], 1
            return left
        start, stop, _ = part.indices(self.n)
        pointers = self.rows.indptr[start : stop + 1]
        data, indices = self._sparse_left
        stored = slice(pointers[0], pointers[-1])
        left = sparse.csr_array(
            (data[stored], indices[stored], pointers - pointers[0]), shape=(stop - start, d + 2)
        )
        return left.toarray() if _crowded(self.rows) else left

    @cached_property
    def _sparse_left(self) -> tuple[NDArray[Any], NDArray[Any]]:
        rows: Any = self.rows
        data, indices, d = rows.data, rows.indices, rows.shape[1] - 2
        swapped = np.where(indices < d, indices, 2 * d + 1 - indices)
        return np.where(indices < d, data * self.dtype.type(self.factor), data), swapped

    def right(self, part: slice) -> NDArray[Any]:
        """Dense (d + 2, width): a scratch block, the points stay as they are."""
        if isinstance(self.rows, np.ndarray):
            return self.rows[part].T
        start, stop, _ = part.indices(self.n)
        pointers = self.rows.indptr[start : stop + 1]
        stored = slice(pointers[0], pointers[-1])
        block = np.zeros((self.rows.shape[1], stop - start), dtype=self.dtype)
        column = np.repeat(np.arange(stop - start), np.diff(pointers))
        block[self.rows.indices[stored], column] = self.rows.data[stored]
        return block


def product(left: Points, right: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Products (rows, width) of all pairs; ``out`` is used where BLAS does the work."""
    return np.matmul(left, right, out=out) if isinstance(left, np.ndarray) else left @ right


@dataclass(frozen=True)
class Rounded:
    """Centre, scale and error bound for any finite points.

    What the product gives, divided by ``scale**2``, is at most the true squared distance.
    """

    centre: NDArray[np.float64] | None  # None for sparse points, that stay where they are
    scale: float
    dtype: Any

    @classmethod
    def for_points(cls, X: Points, dtype: Any = np.float64) -> Rounded:
        """The median of some rows as centre: near the bulk, whatever single rows do."""
        centre = None
        if isinstance(X, np.ndarray):
            some = np.linspace(0, len(X) - 1, min(len(X), 257)).astype(int)
            centre = np.median(X[some].astype(np.float64), axis=0)
        # A power of two is multiplied without rounding.
        return cls(centre, 2.0 ** -float(np.frexp(reach(X, centre))[1]), dtype)

    def with_type(self, dtype: Any) -> Rounded:
        return Rounded(self.centre, self.scale, dtype)

    def scaled_to(self, Q: Points) -> Rounded:
        """In float64, and with room for these queries as well."""
        exponent = float(np.frexp(reach(Q, self.centre))[1])
        return Rounded(self.centre, min(self.scale, 2.0**-exponent), np.float64)

    def operand(self, X: Points) -> Operand:
        relative, absolute = self.errors(X.shape[1])

        def rows(part: slice) -> tuple[Points, NDArray[np.float64]]:
            rounded = _moved(X[part], self.centre, self.scale).astype(self.dtype)
            return rounded, row_sums(rounded, 2.0) * (1 - relative) - absolute

        return Operand(_assemble(X, self.dtype, rows), -2.0)

    def errors(self, d: int) -> tuple[float, float]:
        """Largest relative (of h_x + h_y) and absolute error of a product, in any order.

        Rounding of a sum of d + 2 products is at most (d + 2) u times the sum of magnitudes,
        itself at most 2 (h_x + h_y); rounding the points to the type adds 4 u, centre and h in
        float64 (d + 4) u of float64. 4 (d + 8) u covers all of it. Magnitudes below the
        smallest normal number may be lost in each term.
        """
        kind = np.finfo(self.dtype)
        return 4 * (d + 8) * float(kind.eps) / 2, 4 * (d + 8) * float(kind.tiny)

    def floor(self, bound: NDArray[Any], d: int) -> NDArray[np.float64]:
        """Least canonical distance that a point with at least this bound can have."""
        true = np.sqrt(np.maximum(bound.astype(np.float64), 0)) / self.scale
        return true * (1 - (d + 16) * UNIT) - _underflow(d)

    def ceiling(self, distance: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        """Largest bound that a point within this canonical distance can have."""
        true = (distance + _underflow(d)) * (1 + (d + 16) * UNIT) * self.scale
        return true * true * (1 + 4 * UNIT)


def _underflow(d: int) -> float:
    """What squares that vanish below the smallest number may take from a distance."""
    return float(np.sqrt(4 * (d + 1) * np.finfo(np.float64).tiny))


def single_precision_is_enough(X: Points, rounded: Rounded, k: int = 10, spare: int = 4) -> bool:
    """Whether float32 tells neighbour k from neighbour k + spare, for most of a sample."""
    n, d = X.shape
    if n <= 1024:
        return False  # so few that float64 costs less than to find out
    some = np.linspace(0, n - 1, 1024).astype(int)
    exact = rounded.operand(X[some])
    ask = np.arange(0, len(some), max(1, len(some) // 32))
    D = np.sort(product(exact.take(ask).left(slice(None)), exact.right(slice(None))), axis=1)
    gap = D[:, k + spare] - D[:, k]
    relative, absolute = rounded.with_type(np.float32).errors(d)
    last: Any = exact.rows[:, [-1]]
    h = (last.toarray() if sparse.issparse(last) else last).ravel()
    # A point and its neighbours are of much the same length.
    doubt = 4 * relative * h[ask] + 2 * absolute
    return bool(np.mean(gap > doubt) > 0.75)


@dataclass(frozen=True)
class Whole:
    """Centre, scale and factor for points that are whole numbers (times a power of two).

    ``grain`` > 1 keeps the numbers within 2**24 for float32: ``grain`` neighbouring indices
    share one key, and the few rows where that matters are searched again.
    """

    centre: NDArray[np.float64] | None
    scale: float
    factor: float  # M
    grain: int
    dtype: Any

    @classmethod
    def for_points(cls, X: Points, dtype: Any = None) -> Whole | None:
        """None if the values are not whole numbers, or too large to stay exact."""
        scale = _whole_scale(X)
        if scale is None:
            return None
        centre = None
        if isinstance(X, np.ndarray):
            some = np.linspace(0, len(X) - 1, min(len(X), 257)).astype(int)
            centre = np.rint(np.median(X[some].astype(np.float64), axis=0) * scale) / scale
        longest, n = _longest(X, centre, scale), X.shape[0]
        for kind, digits, grains in ((np.float32, 24, (1, 2, 4)), (np.float64, 53, (1,))):
            for grain in grains if dtype in (None, kind) else ():
                factor = 2.0 ** np.ceil(np.log2(2 * (n // grain + 1)))
                if 4 * factor * (longest + 1) <= 2.0**digits:
                    return cls(centre, scale, factor, grain, kind)
        return None

    def operand(self, X: Points, *, index: bool) -> Operand:
        """Rows with their index in h, or without (queries)."""

        def rows(part: slice) -> tuple[Points, NDArray[np.float64]]:
            whole = _moved(X[part], self.centre, self.scale)
            h = self.factor * row_sums(whole, 2.0)
            if index:
                h += np.arange(part.start, part.start + len(h)) // self.grain
            return whole.astype(self.dtype), h

        return Operand(_assemble(X, self.dtype, rows), -2 * self.factor)

    def fits(self, queries: Points) -> bool:
        """Whether products with these queries stay exact as well."""
        whole = _whole(queries, self.scale)
        digits = np.finfo(self.dtype).nmant + 1
        return whole and bool(
            4 * self.factor * (_longest(queries, self.centre, self.scale) + 1) <= 2.0**digits
        )


def _whole_scale(X: Points) -> float | None:
    """The smallest of 1, 16, 256 by which all values become whole numbers, or None."""
    for scale in (1.0, 16.0, 256.0):
        if _whole(X[:64], scale) and _whole(X, scale):
            return scale
    return None


def _whole(X: Points, scale: float) -> bool:
    values = X if isinstance(X, np.ndarray) else X.data
    return bool((np.rint(values * scale) == values * scale).all())


def _longest(X: Points, centre: NDArray[np.float64] | None, scale: float) -> float:
    """Largest squared length of a row."""
    return max(
        float(row_sums(_moved(X[part], centre, scale), 2.0).max()) for part in _row_parts(X)
    )


def reach(X: Points, centre: NDArray[np.float64] | None) -> float:
    """Largest magnitude of a value, seen from the centre."""
    if not isinstance(X, np.ndarray):
        return float(np.abs(X.data).max(initial=0.0))
    return max(
        float(np.abs(_moved(X[part], centre, 1.0)).max(initial=0.0)) for part in _row_parts(X)
    )


def _moved(X: Points, centre: NDArray[np.float64] | None, scale: float) -> Points:
    shifted = X.astype(np.float64) if centre is None else X - centre
    shifted *= scale
    return shifted


def _row_parts(X: Points) -> list[slice]:
    step = max(1, (1 << 20) // max(X.shape[1], 1))
    return [slice(i, i + step) for i in range(0, X.shape[0], step)]


def _assemble(
    X: Points, dtype: Any, rows: Callable[[slice], tuple[Points, NDArray[np.float64]]]
) -> Points:
    """``(x, 1, h)`` for all points, from a function that gives x and h for a slice of them."""
    n, d = X.shape
    if isinstance(X, np.ndarray):
        full = np.empty((n, d + 2), dtype=dtype)
        for part in _row_parts(X):
            full[part, :d], full[part, d + 1] = rows(part)
        full[:, d] = 1
        return full
    x, h = rows(slice(0, n))
    columns = np.column_stack([np.ones(n), h]).astype(dtype)
    return sparse.csr_array(sparse.hstack([x, sparse.csr_array(columns)], format="csr"))


def _crowded(X: sparse.csr_array) -> bool:
    return X.nnz > DENSE_ABOVE * X.shape[0] * X.shape[1]
