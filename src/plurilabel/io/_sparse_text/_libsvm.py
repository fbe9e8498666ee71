"""LIBSVM's multi-label text format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import write_atomic
from plurilabel.io._files import AnyPath, FileFormatError, plain_name
from plurilabel.io._sparse_text._lines import line_blocks, parse_rows
from plurilabel.io._sparse_text._rows import Rows, joined, row_lines, sparse_pair

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

    Each line is a row: its labels with commas between them, then ``feature:value`` pairs. Both
    may be missing. What follows a ``#`` is a comment, and blank lines are skipped::

        1,5 3:0.5 4:2   # two labels
         1:1            # none

    Parameters
    ----------
    path : str or path
        The file, gzipped or not.
    n_features, n_labels : int, default=None
        Numbers of columns; by default as many as the file needs. Pass them if several files,
        such as training and test data, must have the same columns.
    zero_based : bool or "auto", default="auto"
        Whether features are numbered from 0 or from 1 in the file. "auto" assumes that a
        file without a feature 0 is numbered from 1, as LIBSVM's own files are.
    label_names : sequence of str, default=None
        Names for the labels 0, 1, ...; by default ``label0, label1, ...``.
    name : str, default=None
        Name of the dataset; by default that of the file.

    Returns
    -------
    Dataset
        X and Y in CSR, sorted and without stored zeros. Features are named ``x0, x1, ...`` after
        their columns.

    Raises
    ------
    FileFormatError
        With the line and what was expected there.

    See Also
    --------
    write_libsvm : Writes this format.
    read_xmc : The same lines after a header that gives the numbers of columns.

    Notes
    -----
    Labels keep their numbers: column j of Y is label j of the file, whichever other labels occur,
    so that the columns of two files always agree. LIBSVM's own multi-label files number labels
    from 0; in a file that numbers them from 1, column 0 of Y is empty.

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
    if label_names is not None and n_labels is not None and n_labels != len(label_names):
        raise ValueError(f"n_labels is {n_labels}, but label_names has {len(label_names)} entries")
    for what, size in (("n_features", n_features), ("n_labels", n_labels)):
        if size is not None and size < 0:
            raise ValueError(f"{what} must be at least 0, got {size}")
    rows = joined(_rows(path))
    if not len(rows.lines):
        raise FileFormatError(path, None, "expected at least one row, got none")
    base = 1 if zero_based is False or (zero_based == "auto" and rows.columns.all()) else 0
    if base and not rows.columns.all():
        problem = "expected feature numbers from 1 (zero_based=False), got 0"
        raise FileFormatError(path, rows.line("feature", rows.columns.argmin()), problem)
    d, q = max(rows.width("feature") - base, 0), rows.width("label")
    if n_features is not None:
        rows.check_below(path, "feature", n_features + base, f"n_features={n_features}")
        d = n_features
    if label_names is not None:
        rows.check_below(path, "label", len(label_names), "the number of label_names")
        q = len(label_names)
    elif n_labels is not None:
        rows.check_below(path, "label", n_labels, f"n_labels={n_labels}")
        q = n_labels
    X, Y = rows.matrices(path, d, q, base=base)
    return Dataset(
        X, Y, label_names=label_names or (), name=plain_name(path) if name is None else name
    )


def _rows(path: AnyPath) -> Iterator[Rows]:
    for first_line, text in line_blocks(path):
        rows = parse_rows(path, first_line, _COMMENT.sub(b"", text) if b"#" in text else text)
        yield rows.drop(rows.blank)


def write_libsvm(path: AnyPath, dataset: Dataset, *, zero_based: bool = False) -> None:
    """Write a dataset in LIBSVM's multi-label format.

    The file appears whole or not at all, and is gzipped if its name ends in ``.gz``. Numbers
    are written so that :func:`read_libsvm` reads the same X and Y back, bit for bit, given the
    numbers of features and labels: the format does not hold them, nor any names.

    Parameters
    ----------
    path : str or path
    dataset : Dataset
        X and Y may be dense or sparse.
    zero_based : bool, default=False
        Number the features from 0 instead of 1. LIBSVM itself expects 1.

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
