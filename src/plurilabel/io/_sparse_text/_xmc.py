"""The text format of the extreme-classification repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import write_atomic
from plurilabel._core.words import shortened
from plurilabel.io._files import AnyPath, FileFormatError, plain_name
from plurilabel.io._numbers import MOST_DIGITS
from plurilabel.io._sparse_text._lines import (
    BLOCK_BYTES,
    LARGEST_NUMBER,
    line_blocks,
    parse_rows,
)
from plurilabel.io._sparse_text._rows import Rows, joined, row_lines, sparse_pair


def read_xmc(path: AnyPath, *, name: str | None = None) -> Dataset:
    r"""Read a file in the text format of the extreme-classification repository.

    The first line holds the numbers of rows, features and labels. Each further line is a row:
    its labels with commas between them, then ``feature:value`` pairs. Both are numbered from 0,
    and both may be missing::

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
        labels ``label0, label1, ...``, after their numbers in the file.

    Raises
    ------
    FileFormatError
        With the line and what was expected there: a word that is not a number, a number that the
        header excludes, a label or a feature twice in one row, more or fewer rows than
        announced. Blank lines count as rows, except at the end of the file.

    See Also
    --------
    write_xmc : Writes this format.
    read_libsvm : The same lines without the header.

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
    rows.check_below(path, "feature", d, "the header's second number")
    rows.check_below(path, "label", q, "the header's third number")
    if len(rows.lines) < n:
        problem = f"expected {n} rows (the header's first number), got {len(rows.lines)}"
        raise FileFormatError(path, None, problem)
    X, Y = rows.matrices(path, d, q)
    return Dataset(X, Y, name=plain_name(path) if name is None else name)


class XmcBlock(NamedTuple):
    """Rows of a file in the text format that can be read by themselves."""

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
            raise FileFormatError(self.path, None, "the file has changed while it was read")
        rows.check_below(self.path, "feature", self.n_features, "the header's second number")
        rows.check_below(self.path, "label", self.n_labels, "the header's third number")
        return rows.matrices(self.path, self.n_features, self.n_labels)


def xmc_blocks(path: AnyPath, n_rows: int) -> list[XmcBlock]:
    """The rows of a file in the text format, a number of them at a time.

    The file is read once for the ends of its lines; the rows are parsed when a block is read.
    """
    with open(path, "rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            problem = "a gzipped file cannot be read in blocks: unpack it first"
            raise FileFormatError(path, None, problem)
        stream.seek(0)
        n, d, q = _header(path, stream.readline())
        ends = [stream.tell()]  # of the header, and of every n_rows lines
        lines, at = 0, stream.tell()
        while text := stream.read(BLOCK_BYTES):
            found = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1
            wanted = range(-lines % n_rows or n_rows, len(found) + 1, n_rows)
            ends += [at + int(found[i - 1]) for i in wanted if lines + i < n]
            if lines < n <= lines + len(found):
                last = at + int(found[n - lines - 1])
            lines, at = lines + len(found), at + len(text)
        if lines < n and at > ends[0] and not _ends_a_line(stream, at):
            lines, last = lines + 1, at  # the last line need not have an end
        if lines < n:
            problem = f"expected {n} rows (the header's first number), got {lines}"
            raise FileFormatError(path, None, problem)
        if n == 0:
            return []
        stream.seek(last)
        line = n + 1
        while text := stream.readline():
            line += 1
            if text.strip():
                problem = (
                    f"expected no more than {n} rows (the header's first number), got another"
                )
                raise FileFormatError(path, line, problem)
    ends.append(last)
    return [
        XmcBlock(path, a, b, 2 + i * n_rows, min(n_rows, n - i * n_rows), d, q)
        for i, (a, b) in enumerate(pairwise(ends))
    ]


def _ends_a_line(stream: BinaryIO, end: int) -> bool:
    stream.seek(end - 1)
    return stream.read(1) == b"\n"


_HEADER_EXPECTED = "expected a first line with the numbers of rows, features and labels"


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
            problem = f"expected no more than {n} rows (the header's first number), got another"
            raise FileFormatError(path, int(rows.lines[unexpected.argmax()]), problem)
        yield rows.drop(surplus)


def write_xmc(path: AnyPath, dataset: Dataset) -> None:
    """Write a dataset in the text format of the extreme-classification repository.

    The file appears whole or not at all, and is gzipped if its name ends in ``.gz``. Numbers
    are written so that :func:`read_xmc` reads the same X and Y back, bit for bit; the format
    has no place for names, split and citation.

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
