"""Dense and sparse matrices: conversions, checks, and blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def row_blocks(n: int, width: float, at_once: float) -> list[slice]:
    """Slices that cover n rows, each with about ``at_once`` numbers where a row has ``width``."""
    step = max(1, int(at_once / max(width, 1)))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def dense(matrix: Any) -> NDArray[Any]:
    """A matrix as an ndarray; one that is dense already is not copied."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def on_host(values: Any) -> Any:
    """Convert an array of torch, JAX or CuPy to numpy; return anything else as it is."""
    # bfloat16, which numpy does not have, becomes float32.
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack_device__"):
        return values
    if hasattr(values, "detach"):  # torch
        values = values.detach().cpu()
        return (values.float() if "bfloat16" in str(values.dtype) else values).numpy()
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError):  # on a GPU, or of another type
        return np.asarray(values.get() if hasattr(values, "get") else values)


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, or the NA of pandas."""
    if isinstance(value, np.ndarray) and value.ndim:
        return False
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA is neither equal to itself nor not
        return True
    except ValueError:  # an array
        return False


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array with masked values: the mask would be ignored."""
    if isinstance(values, np.ma.MaskedArray) and (masked := np.ma.count_masked(values)):
        raise ValueError(
            f"{name} must not have masked values, got {masked}: fill them in, or drop their rows"
        )


TEMPORAL = {
    "M": ("dates", "plurilabel.DateEncoder turns them into numbers"),
    "m": ("durations", "divide them by a unit such as numpy.timedelta64(1, 'D')"),
}


def refuse_dates(values: Any, name: str) -> None:
    """Refuse dates and durations, which numpy would read as integers."""
    for column, part in _columns(values):
        is_object = getattr(part, "dtype", None) == np.dtype(object)
        if kind := _object_kind(part) if is_object else _temporal_kind(part):
            what, instead = TEMPORAL[kind]
            raise ValueError(f"{name} must hold numbers, got {what} in column {column}: {instead}")


def _columns(values: Any) -> Iterator[tuple[str, Any]]:
    """The columns to check, by name or number; only the first of an array of one type."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for j, (column, dtype) in enumerate(zip(values.columns, values.dtypes)):
            is_object = hasattr(values, "iloc") and dtype == np.dtype(object)
            yield repr(column), values.iloc[:, j] if is_object else dtype
        return
    if isinstance(values, list | tuple):
        try:
            values = np.asarray(values)
        except (TypeError, ValueError):  # rows of different lengths: not for this check
            return
    dtype = getattr(values, "dtype", None)
    if dtype == np.dtype(object) and np.ndim(values) == 2:
        yield from ((str(j), column) for j, column in enumerate(np.asarray(values).T))
    elif dtype is not None:
        yield "0", values if dtype == np.dtype(object) else dtype


def _temporal_kind(dtype: Any) -> str:
    """``"M"`` for dates, ``"m"`` for durations, else ``""``; of numpy, pandas and polars."""
    if (kind := getattr(dtype, "kind", "")) in ("M", "m"):
        return str(kind)
    text = str(dtype).lower()
    if text.startswith("duration"):
        return "m"
    return "M" if text.startswith(("date", "time", "period")) else ""


def _object_kind(values: Any) -> str:
    """The same for an array or column of objects."""
    for value in np.asarray(values, dtype=object).ravel():
        if isinstance(value, timedelta | np.timedelta64):
            return "m"
        if isinstance(value, date | time | np.datetime64):
            return "M"
    return ""


@contextmanager
def naming_text(X: Any, columns: Iterable[str] | None = None) -> Iterator[None]:
    """Make errors about text in numeric ``columns`` of a data frame name column, row and value."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error) or not hasattr(X, "iloc"):
            raise
        for name in X.columns if columns is None else columns:
            if (row := _first_text(X[name])) is not None:
                problem = f"expected a number, got {X[name].iloc[row]!r:.60}"
                raise ValueError(f"column {name!r}, row {row}: {problem}") from None
        raise


def _first_text(column: Any) -> int | None:
    """The first row with a text that is not a number."""
    for row, cell in enumerate(column if column.ndim == 1 and column.dtype.kind in "OSUT" else ()):
        try:
            float(cell) if isinstance(cell, str) else None
        except ValueError:
            return row
    return None


def huge_numbers() -> Any:
    """A context without overflow warnings: scikit-learn checks for NaN by a sum of all values."""
    return np.errstate(over="ignore", invalid="ignore")


def canonical(matrix: Any) -> Any:
    """Return CSR and CSC matrices with duplicate entries as copies without, others as they are."""
    # COO sums duplicates when it becomes CSR. SciPy's ``astype`` would do so in place.
    if not sparse.issparse(matrix) or matrix.format not in ("csr", "csc"):
        return matrix
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def short_indices(matrix: Any) -> Any:
    """Convert 64-bit indices of a CSR matrix to 32 bits if they fit; entries are not copied."""
    # Some functions of SciPy make 64-bit indices, which many of scikit-learn's do not accept.
    if not sparse.issparse(matrix) or matrix.format != "csr":
        return matrix
    if matrix.indices.dtype == matrix.indptr.dtype == np.intc:
        return matrix
    if max(matrix.nnz, *matrix.shape) > np.iinfo(np.intc).max:
        return matrix
    parts = (matrix.data, matrix.indices.astype(np.intc), matrix.indptr.astype(np.intc))
    return type(matrix)(parts, shape=matrix.shape)


def squared_norms(matrix: Any) -> NDArray[np.float64]:
    """Squared length of each row."""
    if sparse.issparse(matrix):
        return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", matrix, matrix)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Matrices below each other: CSR if the first is sparse, else dense."""
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(list(map(sparse.csr_array, parts)), format="csr"))
    return np.vstack([dense(part) for part in parts])


def own(matrix: Any, given: Any) -> Any:
    """A validated matrix; a copy of it if it shares memory with what the caller passed."""
    if sparse.issparse(matrix):
        # Only CSR becomes CSR without new arrays.
        shared = sparse.issparse(given) and given.format == matrix.format
    else:
        shared = matrix is given or matrix.base is not None
    return matrix.copy() if shared else matrix


def rows_without(n: int, indices: Any) -> NDArray[np.intp]:
    """The row numbers from 0 to n - 1 that are not among ``indices``."""
    gone = np.atleast_1d(np.asarray(indices))
    if gone.size and (gone.dtype.kind not in "iu" or gone.min() < 0 or gone.max() >= n):
        raise ValueError(f"indices must be row numbers from 0 to {n - 1}, got {gone}")
    return np.setdiff1d(np.arange(n), gone)


def has_missing(X: Any) -> bool:
    """Whether there is a NaN in a matrix of numbers."""
    return bool(np.isnan(X.data if sparse.issparse(X) else np.asarray(X)).any())


def csr_of_rows(data: Any, columns: Any, sizes: Any, width: int) -> sparse.csr_array:
    """A CSR matrix from its entries, row after row, and the number of entries in each row."""
    ends = np.concatenate(([0], np.cumsum(sizes)))
    if max(ends[-1], width) <= np.iinfo(np.int32).max:  # else SciPy would widen the columns too
        ends = ends.astype(np.int32)
    return sparse.csr_array((data, columns, ends), shape=(len(sizes), width))


def ranges(start: Any, length: Any) -> NDArray[np.intp]:
    """``start[0], start[0] + 1, ..., start[1], ...``: ``length[i]`` numbers from ``start[i]``."""
    before = np.cumsum(length) - length
    return np.repeat(start - before, length) + np.arange(length.sum())


def only_used(X: sparse.csr_array) -> tuple[NDArray[np.intp], sparse.csr_array]:
    """The columns of X with stored values, and X with only these columns."""
    used, columns = np.unique(X.indices, return_inverse=True)
    columns = columns.astype(X.indices.dtype)
    return used, sparse.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], len(used)))


def entries_above(matrix: sparse.csr_array, cut: float) -> sparse.csr_array:
    """A 0/1 matrix of the stored entries above ``cut``."""
    n, q = matrix.shape
    kept = matrix.data > cut
    row = np.repeat(np.arange(n), np.diff(matrix.indptr))[kept]
    sizes = np.bincount(row, minlength=n)
    return csr_of_rows(np.ones(len(row), dtype=np.int8), matrix.indices[kept], sizes, q)


def top_entries(matrix: sparse.csr_array, k: int) -> sparse.csr_array:
    """The k highest stored entries of each row; among equal ones the first."""
    matrix.sort_indices()
    sizes = np.diff(matrix.indptr)
    if sizes.max(initial=0) <= k:
        return matrix
    there = np.arange(sizes.max()) < sizes[:, None]
    padded = np.full(there.shape, -np.inf)
    padded[there] = matrix.data
    least = np.partition(padded, -k, axis=1)[:, [-k]]
    above, equal = padded > least, padded == least
    room = k - above.sum(axis=1, keepdims=True)
    kept = ((above | (equal & (np.cumsum(equal, axis=1) <= room))) & there)[there]
    sizes = np.minimum(sizes, k)
    return csr_of_rows(matrix.data[kept], matrix.indices[kept], sizes, matrix.shape[1])
