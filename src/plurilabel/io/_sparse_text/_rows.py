"""From parsed lines to X and Y in CSR, and from CSR to lines: for the XMC and LIBSVM formats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel._blocks import csr_of_rows, row_blocks
from plurilabel._dataset import Dataset
from plurilabel.base import check_labels
from plurilabel.io._files import AnyPath, FileFormatError
from plurilabel.io._sparse_text._lines import Rows


class Collector:
    """Gathers rows into X and Y, and checks what concerns more than one word of a line."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        self.n_rows = 0
        # the smallest and the largest number of each kind, and the line it stands on
        self.smallest: dict[str, tuple[int, int]] = {}
        self.largest: dict[str, tuple[int, int]] = {}
        # bytearrays grow in place, where chunks to be joined would need twice the memory
        self._parts = {part: bytearray() for part in Rows._fields[1:]}

    def add(self, rows: Rows) -> None:
        """Append rows; a label or a feature given twice on a line is an error."""
        for kind, numbers, counts in (
            ("label", rows.labels, rows.n_labels),
            ("feature", rows.columns, rows.n_features),
        ):
            if not len(numbers):
                continue
            where = np.repeat(rows.lines, counts)
            for i, found, extreme in (
                (numbers.argmin(), self.smallest, min),
                (numbers.argmax(), self.largest, max),
            ):
                at = int(numbers[i]), int(where[i])
                found[kind] = extreme(found.get(kind, at), at, key=itemgetter(0))
            same_row = np.diff(where) == 0
            if not (same_row & (np.diff(numbers) <= 0)).any():
                continue  # in order already
            order = np.lexsort((numbers, where))
            numbers[:] = numbers[order]
            if kind == "feature":
                rows.values[:] = rows.values[order]
            # the rows keep their places in the sorted order
            twice = np.flatnonzero(same_row & (np.diff(numbers) == 0))
            if len(twice):
                problem = f"expected each {kind} once, got {kind} {numbers[twice[0]]} twice"
                raise FileFormatError(self.path, int(where[twice[0]]), problem)
        self.n_rows += len(rows.lines)
        for part, grown in self._parts.items():
            grown += getattr(rows, part).data

    def check_below(self, kind: str, limit: int, source: str) -> None:
        """Raise if a number of this kind is not below the limit that comes from the source."""
        number, line = self.largest.get(kind, (-1, 0))
        if number >= limit:
            problem = f"expected {kind} numbers below {limit} ({source}), got {number}"
            raise FileFormatError(self.path, line, problem)

    def matrices(self, d: int, q: int, *, base: int = 0) -> tuple[Any, Any]:
        """X and Y in CSR; features are numbered from ``base`` in the file."""
        types = (np.int64, np.int64, np.int32, np.int32, np.float64)
        n_labels, n_features, labels, columns, values = map(
            np.frombuffer, self._parts.values(), types
        )
        columns -= np.int32(base)
        X = csr_of_rows(values, columns, n_features, d)
        if not X.data.all():
            X.eliminate_zeros()
        return X, csr_of_rows(np.ones(len(labels), dtype=np.int64), labels, n_labels, q)


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
    blank = f" {base}:0" if X.shape[1] else ""
    for rows in row_blocks(X.shape[0], width=1, at_once=1000):
        x, y = X[rows], Y[rows]
        labels = list(map(str, y.indices.tolist()))
        words = [f" {j}:{v!r}" for j, v in zip((x.indices + base).tolist(), x.data.tolist())]
        lines = [
            ",".join(labels[a:b]) + "".join(words[i:j]) or blank
            for (a, b), (i, j) in zip(pairwise(y.indptr.tolist()), pairwise(x.indptr.tolist()))
        ]
        yield "\n".join([*lines, ""]).encode()
