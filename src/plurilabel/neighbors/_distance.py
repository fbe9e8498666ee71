"""The canonical distance, by which all searches are compared.

It is the result of a plain loop over the features in float64::

    total = 0.0
    for x_j, y_j in zip(x, y):  # in the order of the columns
        total += abs(x_j - y_j) ** p
    distance = total ** (1 / p)

The order of the sum is part of the formula. A feature that is zero in both points adds 0.0, so
that a loop over the stored values of two sparse rows gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Points as rows: float32 or float64, dense or CSR with sorted indices.
Points: TypeAlias = NDArray[Any] | sparse.csr_array
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.signedinteger[Any]]
Neighbors: TypeAlias = tuple[Floats, NDArray[np.int64]]  # distances and indices, each (m, k)
UNIT = 2.0**-53  # largest relative rounding error of one float64 operation
_CHUNK = 1 << 17  # numbers processed at once: small enough for the cache
WIDE = _CHUNK // 16  # features above which copies of a few points do not fit into the cache
_TURNED = 1 << 15  # numbers transposed at once: small enough for the first-level cache
_NORMS = dict(euclidean=2.0, l2=2.0, manhattan=1.0, cityblock=1.0, l1=1.0, chebyshev=np.inf)


@dataclass(frozen=True)
class Formula:
    """A canonical distance: a p-norm of differences, or the cosine distance.

    The cosine distance is half the squared Euclidean distance of rows that :meth:`prepare` scales
    to length one, which keeps digits that ``1 - x @ y`` loses. A row of zeros has distance 1 from
    every row, as in scikit-learn.
    """

    p: float = 2.0
    cosine: bool = False

    @classmethod
    def of(cls, metric: Any, p: float = 2.0) -> Formula | None:
        """The formula of a metric; None for metrics that scikit-learn computes."""
        if metric == "cosine":
            return cls(cosine=True)
        if metric == "minkowski":
            return cls(float(p))
        return cls(_NORMS[metric]) if isinstance(metric, str) and metric in _NORMS else None

    def prepare(self, X: Points) -> Points:
        """Points as the engines need them: the input itself, or rows of length one.

        Raises an error if distances would overflow.
        """
        if self.cosine:
            return _unit_rows(X)
        limit = 1e300 if np.isinf(self.p) else 10.0 ** (300 / max(self.p, 2.0))
        values = X if isinstance(X, np.ndarray) else X.data
        largest = float(max(np.max(values, initial=0), -np.min(values, initial=0)))
        if largest > limit:
            raise ValueError(
                f"X must hold values up to {limit:g} in magnitude, so that distances "
                f"are finite, got {largest:g}"
            )
        return X

    def zero_means_equal(self, X: Points) -> bool:
        """Whether points at distance 0 are equal, because no difference underflows to zero."""
        # two different numbers differ by at least 1e-16 of their magnitude
        values = np.abs(X if isinstance(X, np.ndarray) else X.data)
        least = values.min(initial=np.inf, where=values > 0)
        p = self.p if np.isfinite(self.p) else 1.0
        return bool(least > 10.0 ** (17 - 300 / p))

    def of_lists(self, A: Points, rows: Any, B: Points, near: Integers) -> Floats:
        """Distances (m, K) of ``A[rows][i]`` and each ``B[near[i, j]]``; both prepared."""
        m, K = near.shape
        if not isinstance(A, np.ndarray) or _are_wide(A):
            numbers = np.repeat(np.arange(A.shape[0])[rows], K)
            return self.pairs(A, numbers, B, near.ravel()).reshape(m, K)
        # does not repeat rows of A: a quarter faster than ``pairs``
        asked, d, out = A[rows], A.shape[1], np.empty((m, K))
        step = max(1, max(128, _TURNED // max(d, 1)) // K)
        size = min(step, m) * K * d
        memory = np.empty(size, B.dtype), np.empty(size), np.empty(size)
        for start in range(0, m, step):
            some = near[start : start + step]
            taken, difference, columns = (M[: some.size * d] for M in memory)
            taken, difference = (M.reshape(*some.shape, d) for M in (taken, difference))
            B.take(some, 0, out=taken, mode="clip")
            a = asked[start : start + step, None]
            np.subtract(a, taken, out=difference, dtype=np.float64)
            columns = columns.reshape(d, some.size)
            columns[:] = difference.reshape(some.size, d).T
            sums = _column_sums(_powers(columns, self.p, out=columns), self.p)
            out[start : start + step] = sums.reshape(some.shape)
        if not self.cosine:
            return self._root(out)
        out /= 2
        out[_is_zero(A, rows)] = 1.0
        out[_is_zero(B, near)] = 1.0
        return out

    def pairs(self, A: Points, rows: Integers, B: Points, cols: Integers) -> Floats:
        """Distances of ``A[rows[m]]`` and ``B[cols[m]]``; both prepared."""
        out = np.empty(len(rows))
        fewest, scratch = 64 if _are_wide(A) else 16, []
        step = max(fewest, int(_CHUNK / max(_row_length(A) + _row_length(B), 1)))
        if isinstance(A, np.ndarray) and not _are_wide(A):
            size = min(step, len(rows)) * A.shape[1]
            kinds = A.dtype, B.dtype, np.float64, np.float64
            scratch = [np.empty(size, dtype) for dtype in kinds]
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            out[part] = self._some_pairs(A, rows[part], B, cols[part], scratch)
        return out

    def table(self, A: Points, B: Points) -> Floats:
        """Distances of all rows of A and B; both prepared."""
        shape = (A.shape[0], B.shape[0])
        rows, cols = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
        return self.pairs(A, rows, B, cols).reshape(shape)

    def _some_pairs(
        self, A: Points, rows: Integers, B: Points, cols: Integers, scratch: list[NDArray[Any]]
    ) -> Floats:
        if _are_wide(A):
            total = _sums_by_columns(A, rows, B, cols, self.p)
        elif isinstance(A, np.ndarray):
            # Reused memory: if malloc returns large arrays to the system, as in Dask's workers,
            # allocation takes six times as long as the arithmetic.
            m, d = len(rows), A.shape[1]
            a, b, difference = (memory[: m * d].reshape(m, d) for memory in scratch[:3])
            columns = scratch[3][: m * d].reshape(d, m)
            np.take(A, rows, 0, out=a, mode="clip")
            np.take(B, cols, 0, out=b, mode="clip")
            columns[:] = np.subtract(a, b, out=difference, dtype=np.float64).T
            total = _column_sums(_powers(columns, self.p, out=columns), self.p)
        else:
            difference = A[rows].astype(np.float64) - B[cols].astype(np.float64)
            total = row_sums(difference, self.p)
        if self.cosine:
            distance = total / 2
            distance[_is_zero(A, rows) | _is_zero(B, cols)] = 1.0
            return distance
        return self._root(total)

    def _root(self, total: Floats) -> Floats:
        if self.p == 2:
            return np.sqrt(total)
        return total if self.p == 1 or np.isinf(self.p) else total ** (1 / self.p)

    def of_norm(self, distance: Floats) -> Floats:
        """A lower bound of this distance, from one of the p-norm of prepared points."""
        if not self.cosine:
            return distance
        distance = np.maximum(distance, 0)  # the square of a negative bound is not a bound
        return distance * distance / 2 * (1 - 8 * UNIT)

    def to_norm(self, distance: Floats) -> Floats:
        """An upper bound of the p-norm of prepared points, from one of this distance."""
        return np.sqrt(2 * distance) * (1 + 8 * UNIT) if self.cosine else distance

    def zero_rows(self, X: Points) -> NDArray[np.bool_]:
        """Which prepared rows have no direction (cosine only)."""
        if not self.cosine:
            return np.zeros(X.shape[0], dtype=bool)
        return _is_zero(X, np.arange(X.shape[0]))


def _unit_rows(X: Points) -> Points:
    """Rows scaled to length one, with a last column that marks rows of zeros."""
    # The mark gives rows of zeros a distance from all others in engines, which are Euclidean.
    X = _tame(X)
    norms = np.sqrt(row_sums(X, 2.0))
    zero = norms == 0
    scale = np.where(zero, 1.0, norms)
    if isinstance(X, np.ndarray):
        return np.hstack([X / scale[:, None], zero[:, None]])
    data = X.data / np.repeat(scale, np.diff(X.indptr))
    n, d = X.shape
    if not zero.any():
        return sparse.csr_array((data, X.indices, X.indptr), shape=(n, d + 1))
    unit = sparse.csr_array((data, X.indices, X.indptr), shape=(n, d))
    marks = sparse.csr_array(zero[:, None].astype(np.float64))
    return sparse.csr_array(sparse.hstack([unit, marks], format="csr"))


def _tame(X: Points) -> Points:
    """Scale rows whose squares could overflow or vanish by a power of two, which is exact."""
    if isinstance(X, np.ndarray):
        largest = np.maximum(X.max(axis=1, initial=0), -X.min(axis=1, initial=0))
    else:
        largest = row_sums(X, np.inf)
    exponent = np.frexp(largest)[1]
    exponent[np.abs(exponent) <= 400] = 0  # 2.0 ** 400 may be squared and added
    if not exponent.any():
        return X
    if isinstance(X, np.ndarray):
        return np.ldexp(X, -exponent[:, None])
    data = np.ldexp(X.data, -np.repeat(exponent, np.diff(X.indptr)))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def row_sums(X: Points, p: float) -> Floats:
    """Sum of ``abs(value) ** p`` over each row, in the order of the columns; maximum for p=inf."""
    if isinstance(X, np.ndarray):
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        # a single row, or Fortran order, was not copied and must not be overwritten
        powers = _powers(columns, p, out=None if np.may_share_memory(columns, X) else columns)
        return _column_sums(powers, p)
    values = _powers(X.data.astype(np.float64, copy=False), p)
    of_row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    if np.isinf(p):
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, of_row, values)
        return largest
    sums = np.bincount(of_row, weights=values, minlength=X.shape[0])
    return sums.astype(np.float64, copy=False)


def _column_sums(powers: Floats, p: float) -> Floats:
    """Sums (m,), or maxima, of powers (d, m), from the first row to the last."""
    if np.isinf(p):
        return powers.max(axis=0, initial=0.0)
    d, m = powers.shape
    # Adds contiguous rows in order. ``sum`` along the numbers of a point adds pairwise, as does
    # ``reduce`` if there is only one point.
    if m == 1:
        return np.add.accumulate(powers, axis=0)[-1:].ravel() if d else np.zeros(1)
    return np.add.reduce(powers, axis=0)


def _are_wide(X: Points) -> bool:
    return isinstance(X, np.ndarray) and X.shape[1] > WIDE


def _sums_by_columns(A: Any, rows: Integers, B: Any, cols: Integers, p: float) -> Floats:
    """Sums over the features of wide points, in blocks of columns."""
    m, d, step = len(rows), A.shape[1], 2048
    # 8 more, so that the numbers of a column do not compete for the same cache lines
    total, difference, columns = np.zeros(m), np.empty((m, step + 8)), np.empty((1 + step, m))
    for start in range(0, d, step):
        part = slice(start, min(start + step, d))
        width = part.stop - start
        for i, (row, col) in enumerate(zip(rows, cols)):
            np.subtract(A[row, part], B[col, part], out=difference[i, :width], dtype=np.float64)
        columns[0], powers = total, columns[1 : 1 + width]  # continue the sum
        powers[:] = difference[:, :width].T
        _powers(powers, p, out=powers)
        total = _column_sums(columns[: 1 + width], p)
    return total


def _powers(values: Floats, p: float, out: Floats | None = None) -> Floats:
    if p == 2:
        return np.multiply(values, values, out=out)
    magnitudes = np.abs(values, out=out)
    return magnitudes if p == 1 or np.isinf(p) else np.power(magnitudes, p, out=magnitudes)


def _is_zero(X: Points, rows: Integers) -> NDArray[np.bool_]:
    """Which rows, as prepared for the cosine distance, have the mark of zeros."""
    if isinstance(X, np.ndarray):
        return X[rows, -1] > 0
    # indices are sorted and no prepared row is empty: a mark is the last stored value
    return X.indices[X.indptr[1:][rows] - 1] == X.shape[1] - 1


def _row_length(X: Points) -> float:
    return X.shape[1] if isinstance(X, np.ndarray) else X.nnz / max(X.shape[0], 1)
