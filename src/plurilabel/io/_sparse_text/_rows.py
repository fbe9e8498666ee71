"""From parsed lines to X and Y in CSR, and from CSR to lines: for the XMC and LIBSVM formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._dataset import Dataset
from plurilabel.base import check_labels
from plurilabel.io._files import FileFormatError
from plurilabel.io._sparse_text._lines import Ints, Rows


class _Growing:
    """An array to append to. It grows in place, where chunks to be joined would need twice."""

    def __init__(self, dtype: Any) -> None:
        self._array, self._size = np.empty(0, dtype=dtype), 0

    def append(self, values: NDArray[Any]) -> None:
        end = self._size + len(values)
        if end > len(self._array):
            self._array.resize(end + end // 4, refcheck=False)
        self._array[self._size : end] = values
        self._size = end

    def array(self) -> NDArray[Any]:
        self._array.resize(self._size, refcheck=False)
        return self._array


class Collector:
    """Gathers rows into X and Y, and checks what concerns more than one word of a line."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.n_rows = 0
        # the smallest and the largest number of each kind, and the line it stands on
        self.smallest: dict[str, tuple[int, int]] = {}
        self.largest: dict[str, tuple[int, int]] = {}
        self._n_labels, self._n_features = _Growing(np.int64), _Growing(np.int64)
        self._labels, self._columns = _Growing(np.int32), _Growing(np.int32)
        self._values = _Growing(np.float64)

    def add(self, rows: Rows) -> None:
        """Append rows; a label or a feature given twice on a line is an error."""
        for kind, numbers, counts in (
            ("label", rows.labels, rows.n_labels),
            ("feature", rows.columns, rows.n_features),
        ):
            if not len(numbers):
                continue
            where = np.repeat(rows.lines, counts)
            low, high = int(numbers.argmin()), int(numbers.argmax())
            least, most = (int(numbers[low]), where[low]), (int(numbers[high]), where[high])
            self.smallest[kind] = min(self.smallest.get(kind, least), least)
            self.largest[kind] = max(self.largest.get(kind, most), most, key=lambda m: m[0])
            order = _row_order(numbers, where)
            if order is not None:
                numbers[:], where = numbers[order], where[order]
                if kind == "feature":
                    rows.values[:] = rows.values[order]
                twice = np.flatnonzero((np.diff(numbers) == 0) & (np.diff(where) == 0))
                if len(twice):
                    at = twice[0]
                    raise FileFormatError(
                        self.path,
                        int(where[at]),
                        f"expected each {kind} once, got {kind} {numbers[at]} twice",
                    )
        self.n_rows += len(rows)
        self._n_labels.append(rows.n_labels)
        self._n_features.append(rows.n_features)
        self._labels.append(rows.labels)
        self._columns.append(rows.columns)
        self._values.append(rows.values)

    def check_below(self, kind: str, limit: int, source: str) -> None:
        """Raise if a number of this kind is not below the limit that comes from the source."""
        number, line = self.largest.get(kind, (-1, 0))
        if number >= limit:
            raise FileFormatError(
                self.path,
                int(line),
                f"expected {kind} numbers below {limit} ({source}), got {number}",
            )

    def matrices(self, d: int, q: int, *, base: int = 0) -> tuple[Any, Any]:
        """X and Y in CSR; features are numbered from ``base`` in the file."""
        columns = self._columns.array()
        columns -= np.int32(base)
        X = _csr(self._values.array(), columns, self._n_features.array(), d)
        if not X.data.all():
            X.eliminate_zeros()
        labels = self._labels.array()
        Y = _csr(np.ones(len(labels), dtype=np.int64), labels, self._n_labels.array(), q)
        return X, Y


def _row_order(numbers: Ints, rows: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """The order that sorts numbers inside their rows; None if they strictly increase already."""
    falls = np.diff(numbers) <= 0
    if not (falls & (np.diff(rows) == 0)).any():
        return None
    return np.lexsort((numbers, rows))


def _csr(data: Any, columns: Any, counts: Any, width: int) -> sparse.csr_array:
    starts = np.concatenate(([0], np.cumsum(counts)))
    return sparse.csr_array((data, columns, starts), shape=(len(counts), width))


def sparse_pair(dataset: Dataset) -> tuple[sparse.csr_array, sparse.csr_array]:
    """X and Y of a dataset in CSR, rows sorted and without stored zeros."""
    if dataset.X.ndim != 2:
        raise ValueError(
            f"dataset.X must be a matrix (n, d) to be written, got {dataset.X.ndim} dimensions"
        )
    X = sparse.csr_array(dataset.X).astype(np.float64, copy=False)
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X, sparse.csr_array(check_labels(dataset.Y, name="dataset.Y"))


def row_lines(X: sparse.csr_array, Y: sparse.csr_array, *, base: int = 0) -> Iterator[bytes]:
    """Blocks of lines for the rows; a row without any word gets a feature of value 0.

    Readers that skip blank lines, as scikit-learn's does, then keep that row.
    """
    step = 1000
    for start in range(0, X.shape[0], step):
        rows = range(start, min(start + step, X.shape[0]))
        lines = []
        for i in rows:
            labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
            at = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = (X.indices[at] + base).tolist(), X.data[at].tolist()
            words = [f"{j}:{value!r}" for j, value in zip(columns, values)]
            if not labels and not words:
                words = [f"{base}:0"] if X.shape[1] else []
            lines.append(" ".join([",".join(map(str, labels)), *words]))
        yield ("\n".join(lines) + "\n").encode()


def default_feature_names(d: int) -> tuple[str, ...]:
    """Names of features that came without names, as scikit-learn calls them.

    Examples
    --------
    >>> from plurilabel.io import default_feature_names
    >>> default_feature_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{j}" for j in range(d))
