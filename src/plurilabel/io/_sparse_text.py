"""LIBSVM's multi-label format, and that of the extreme-classification repository (XMC)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from scipy import sparse

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import write_atomic
from plurilabel._core.words import shortened
from plurilabel.io._files import AnyPath, FileFormatError, Format, plain_name
from plurilabel.io._sparse_lines import (
    LARGEST_NUMBER,
    MOST_DIGITS,
    Kind,
    Rows,
    joined,
    line_blocks,
    parse_rows,
    row_lines,
    sparse_pair,
)

_COMMENT = re.compile(rb"#[^\n]*")


def read_libsvm(
    path: AnyPath,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    label_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Dataset:
    r"""Read a file in LIBSVM's multi-label format.

    Each line is a row: comma-separated labels, then ``feature:value`` pairs. Both are optional.
    Text after a ``#`` is a comment, and blank lines are skipped::

        1,5 3:0.5 4:2   # two labels
         1:1            # none

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    n_features, n_labels : int, default=None
        Number of columns; by default as many as the file needs. Pass them to give several files,
        such as training and test data, the same columns.
    zero_based : bool or "auto", default="auto"
        Whether features are numbered from 0 or from 1. "auto" assumes 1, as in LIBSVM's own
        files, unless the file has a feature 0.
    label_names : sequence of str, default=None
        Names for the labels 0, 1, ...; by default ``label0, label1, ...``.
    name : str, default=None
        Name of the dataset; by default that of the file.

    Returns
    -------
    Dataset
        X and Y in CSR, sorted and without stored zeros. Features are named ``x0, x1, ...``.

    Notes
    -----
    Column j of Y is label j of the file. LIBSVM's own files number labels from 0; if a file
    numbers them from 1, column 0 of Y is empty.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.io import read_libsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.svm")
    ...     _ = path.write_text("0,2 1:0.5 3:2   # two labels\n 2:1\n")
    ...     data = read_libsvm(path)
    >>> data
    Dataset 'toy': 2 instances, 3 features, 3 labels
    >>> data.X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    """
    if not (isinstance(zero_based, bool) or zero_based == "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    q, source = n_labels, f"n_labels={n_labels}"
    if label_names is not None:
        q, source = len(label_names), "the number of label_names"
        if n_labels not in (None, q):
            raise ValueError(f"n_labels is {n_labels}, but label_names has {q} entries")
    for what, size in (("n_features", n_features), ("n_labels", n_labels)):
        if (size or 0) < 0:
            raise ValueError(f"{what} must be at least 0, got {size}")
    rows = joined(_rows(path))
    if not len(rows.lines):
        raise FileFormatError(path, None, "expected at least one row, got none")
    base = int(rows.columns.all()) if zero_based == "auto" else int(not zero_based)
    if base and not rows.columns.all():
        problem = "expected feature numbers from 1 (zero_based=False), got 0"
        raise FileFormatError(path, rows.line("feature", rows.columns.argmin()), problem)
    d = _width(path, rows, "feature", n_features, f"n_features={n_features}", base)
    q = _width(path, rows, "label", q, source)
    X, Y = rows.matrices(path, d, q, base=base)
    name = plain_name(path) if name is None else name
    return Dataset(X, Y, label_names=label_names or (), name=name)


def _width(
    path: AnyPath, rows: Rows, kind: Kind, given: int | None, source: str, base: int = 0
) -> int:
    """The number of columns given, or that the file needs; an error if it needs more."""
    if given is None:
        return max(rows.width(kind) - base, 0)
    rows.check_below(path, kind, given + base, source)
    return given


def _rows(path: AnyPath) -> Iterator[Rows]:
    for first_line, text in line_blocks(path):
        rows = parse_rows(path, first_line, _COMMENT.sub(b"", text) if b"#" in text else text)
        yield rows.drop(rows.blank)


def write_libsvm(path: AnyPath, dataset: Dataset, *, zero_based: bool = False) -> None:
    """Write a dataset in LIBSVM's multi-label format.

    The file is written atomically, and gzipped if its name ends in ``.gz``. The format has no room
    for names and numbers of columns: pass the latter to :func:`read_libsvm` to get the same X, Y.

    Parameters
    ----------
    path : str or path
    dataset : Dataset
        X and Y may be dense or sparse.
    zero_based : bool, default=False
        Whether to number the features from 0. LIBSVM itself expects 1.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from plurilabel.datasets import Dataset
    >>> from plurilabel.io import write_libsvm
    >>> data = Dataset(np.array([[0, 0.5], [2, 0]]), np.array([[1, 1], [0, 0]]),
    ...                ("width", "height"), ("red", "blue"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.svm")
    ...     write_libsvm(path, data)
    ...     print(path.read_text())
    0,1 2:0.5
     1:2.0
    """
    X, Y = sparse_pair(dataset)
    if X.shape[1] == 0:
        raise ValueError("dataset.X must have at least one feature to be written, got 0")
    with write_atomic(path) as stream:
        for lines in row_lines(X, Y, base=0 if zero_based else 1):
            stream.write(lines)


def read_xmc(path: AnyPath, *, name: str | None = None) -> Dataset:
    r"""Read a file in the text format of the extreme-classification repository.

    The first line has the number of rows, features and labels. Each further line is a row:
    comma-separated labels, then ``feature:value`` pairs, both optional and numbered from 0. Blank
    lines are rows, except at the end of the file::

        3 5 4
        0,3 1:0.5 4:2
        2
         0:1.5

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    name : str, default=None
        Name of the dataset; by default that of the file.

    Returns
    -------
    Dataset
        X and Y in CSR, sorted and without stored zeros. Features are named ``x0, x1, ...`` and
        labels ``label0, label1, ...``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.io import read_xmc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.txt")
    ...     _ = path.write_text("3 5 4\n0,3 1:0.5 4:2\n2\n 0:1.5\n")
    ...     data = read_xmc(path)
    >>> data
    Dataset 'toy': 3 instances, 5 features, 4 labels
    >>> data.Y.toarray()
    array([[1, 0, 0, 1],
           [0, 0, 1, 0],
           [0, 0, 0, 0]])
    """
    blocks = line_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise FileFormatError(path, None, f"{_HEADER_EXPECTED}, got an empty file")
    header, _, text = first[1].partition(b"\n")
    n, d, q = _header(path, header)
    rows = joined(_announced_rows(path, chain([(2, text)], blocks), n))
    _check_enough(path, n, len(rows.lines))
    X, Y = _announced_matrices(path, rows, d, q)
    return Dataset(X, Y, name=plain_name(path) if name is None else name)


class XmcBlock(NamedTuple):
    """Consecutive rows of a file in the text format."""

    path: AnyPath
    start: int  # bytes
    stop: int
    first_line: int
    n_rows: int
    n_features: int
    n_labels: int

    def read(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """X and Y of these rows."""
        with open(self.path, "rb") as stream:
            stream.seek(self.start)
            text = stream.read(self.stop - self.start)
        rows = parse_rows(self.path, self.first_line, text if text[-1:] == b"\n" else text + b"\n")
        if len(rows.lines) != self.n_rows:
            raise FileFormatError(self.path, None, "the file changed while it was read")
        return _announced_matrices(self.path, rows, self.n_features, self.n_labels)


def xmc_blocks(path: AnyPath, n_rows: int) -> list[XmcBlock]:
    """The rows of a file in the text format, ``n_rows`` at a time."""
    # This only finds the ends of lines; the rows are parsed when a block is read.
    with open(path, "rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            problem = "a gzipped file cannot be read in blocks: unpack it first"
            raise FileFormatError(path, None, problem)
        stream.seek(0)
        n, d, q = _header(path, header := stream.readline())
        at, lines = len(header), 0
        ends = [at]
        for lines, text in enumerate(stream, 1):
            at += len(text)
            if lines <= n and (lines % n_rows == 0 or lines == n):
                ends.append(at)
            if lines > n and text.strip():
                raise FileFormatError(path, lines + 1, _TOO_MANY.format(n))
    _check_enough(path, n, lines)
    return [
        XmcBlock(path, a, b, 2 + i * n_rows, min(n_rows, n - i * n_rows), d, q)
        for i, (a, b) in enumerate(pairwise(ends))
    ]


def _check_enough(path: AnyPath, n: int, lines: int) -> None:
    if lines < n:
        raise FileFormatError(path, None, f"expected {n} rows (as in the header), got {lines}")


def _announced_matrices(
    path: AnyPath, rows: Rows, d: int, q: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    rows.check_below(path, "feature", d, "the header's second number")
    rows.check_below(path, "label", q, "the header's third number")
    return rows.matrices(path, d, q)


_HEADER_EXPECTED = "expected a first line with the numbers of rows, features and labels"
_TOO_MANY = "expected no more than {} rows (as in the header), got another"


def _header(path: AnyPath, line: bytes) -> tuple[int, int, int]:
    words = line.split()
    if len(words) != 3 or not all(word.isdigit() for word in words):
        shown = shortened(line.decode("utf-8", errors="replace").strip())
        raise FileFormatError(path, 1, f"{_HEADER_EXPECTED}, got {shown!r}")
    n, d, q = (int(word[:MOST_DIGITS]) for word in words)
    if max(n, d, q) > LARGEST_NUMBER + 1 or max(map(len, words)) > MOST_DIGITS:
        shown = shortened(line.decode("latin-1").strip())
        problem = f"expected up to {LARGEST_NUMBER + 1} rows, features and labels, got {shown}"
        raise FileFormatError(path, 1, problem)
    return n, d, q


def _announced_rows(path: AnyPath, blocks: Iterable[tuple[int, bytes]], n: int) -> Iterator[Rows]:
    """The rows that the header announces, on lines 2 to n + 1; what follows must be blank."""
    for first_line, text in blocks:
        if not text:
            continue
        rows = parse_rows(path, first_line, text)
        surplus = rows.lines > n + 1
        unexpected = surplus & ~rows.blank
        if unexpected.any():
            line = int(rows.lines[unexpected.argmax()])
            raise FileFormatError(path, line, _TOO_MANY.format(n))
        yield rows.drop(surplus)


def write_xmc(path: AnyPath, dataset: Dataset) -> None:
    """Write a dataset in the text format of the extreme-classification repository.

    The file is written atomically, and gzipped if its name ends in ``.gz``. :func:`read_xmc` reads
    exactly the same X and Y; names, split and citation are not written.

    Parameters
    ----------
    path : str or path
    dataset : Dataset
        X and Y may be dense or sparse.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from plurilabel.datasets import Dataset
    >>> from plurilabel.io import write_xmc
    >>> data = Dataset(np.array([[0, 0.5], [2, 0]]), np.array([[1, 1], [0, 0]]),
    ...                ("width", "height"), ("red", "blue"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.txt")
    ...     write_xmc(path, data)
    ...     print(path.read_text())
    2 2 2
    0,1 1:0.5
     0:2.0
    """
    X, Y = sparse_pair(dataset)
    with write_atomic(path) as stream:
        stream.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for lines in row_lines(X, Y):
            stream.write(lines)


FORMATS = (
    Format(
        "libsvm", (".svm", ".libsvm"), read_libsvm, True,
        lambda path, d, names: read_libsvm(path, n_features=d, n_labels=len(names)), False,
    ),
    Format("xmc", (".txt", ".xmc"), read_xmc, True, lambda path, *_: read_xmc(path), False),
)  # fmt: skip
