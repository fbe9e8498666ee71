"""From parsed lines to X and Y in CSR, and from CSR to lines: for the XMC and LIBSVM formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import check_labels
from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel._core.data.dataset import Dataset
from plurilabel.io._files import AnyPath, FileFormatError

Kind: TypeAlias = Literal["label", "feature"]


class Rows(NamedTuple):
    """Consecutive lines of a file, as numbers."""

    lines: NDArray[np.int64]  # (n,) line of each row in the file, from 1
    n_labels: NDArray[np.int64]  # (n,)
    n_features: NDArray[np.int64]  # (n,)
    labels: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Which rows come from blank lines."""
        return (self.n_labels == 0) & (self.n_features == 0)

    def drop(self, blank: NDArray[np.bool_]) -> Rows:
        """The rows without some of the blank ones."""
        keep = ~blank
        return self._replace(
            lines=self.lines[keep], n_labels=self.n_labels[keep], n_features=self.n_features[keep]
        )

    def numbers(self, kind: Kind) -> NDArray[np.int32]:
        """All numbers of labels, or of features."""
        return self.labels if kind == "label" else self.columns

    def line(self, kind: Kind, at: np.integer) -> int:
        """The line of one of these numbers."""
        sizes = self.n_labels if kind == "label" else self.n_features
        return int(self.lines[np.searchsorted(np.cumsum(sizes), at, side="right")])

    def width(self, kind: Kind) -> int:
        """The number of columns that these numbers need, counted from 0."""
        return int(self.numbers(kind).max(initial=-1)) + 1

    def check_below(self, path: AnyPath, kind: Kind, limit: int, source: str) -> None:
        """Raise if a number of this kind is not below the limit that comes from the source."""
        if self.width(kind) > limit:
            at = self.numbers(kind).argmax()
            problem = f"expected {kind} numbers below {limit} ({source})"
            problem += f", got {self.numbers(kind)[at]}"
            raise FileFormatError(path, self.line(kind, at), problem)

    def matrices(
        self, path: AnyPath, d: int, q: int, *, base: int = 0
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """X and Y; features are numbered from ``base``. A number twice on a line is an error."""
        self.columns[:] -= np.int32(base)
        X = csr_of_rows(self.values, self.columns, self.n_features, d)
        Y = csr_of_rows(np.ones(len(self.labels), np.int64), self.labels, self.n_labels, q)
        for kind, matrix in (("feature", X), ("label", Y)):
            if matrix.has_canonical_format:
                continue
            matrix.sort_indices()
            row = np.repeat(np.arange(len(self.lines)), np.diff(matrix.indptr))
            twice = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(row) == 0))
            if len(twice):
                number = matrix.indices[twice[0]] + (base if kind == "feature" else 0)
                problem = f"expected each {kind} once, got {kind} {number} twice"
                raise FileFormatError(path, int(self.lines[row[twice[0]]]), problem)
            matrix.has_canonical_format = True
        if not X.data.all():
            X.eliminate_zeros()
        return X, Y


def joined(blocks: Iterable[Rows]) -> Rows:
    """All rows of a file."""
    # bytearrays grow in place, where blocks that are joined in the end need twice the memory
    parts = [bytearray() for _ in Rows._fields]
    for block in blocks:
        for grown, part in zip(parts, block):
            grown += np.asarray(part).data
    types = [np.int64, np.int64, np.int64, np.int32, np.int32, np.float64]
    return Rows(*map(np.frombuffer, parts, types))


def sparse_pair(dataset: Dataset) -> tuple[sparse.csr_array, sparse.csr_array]:
    """X and Y of a dataset in CSR, rows sorted and without stored zeros."""
    if dataset.has_bags:
        raise ValueError("dataset.X must be a matrix (n, d) to be written, got bags of instances")
    X = sparse.csr_array(dataset.X).astype(np.float64, copy=False)
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X, sparse.csr_array(check_labels(dataset.Y, name="dataset.Y"))


def row_lines(X: sparse.csr_array, Y: sparse.csr_array, *, base: int = 0) -> Iterator[bytes]:
    """Blocks of lines for the rows; a row without labels and features gets a feature of value 0.

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
