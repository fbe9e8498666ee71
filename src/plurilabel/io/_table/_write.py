"""Writing tables: CSV, Parquet and JSON lines, whole datasets or a block of rows at a time."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from plurilabel._core.base import check_labels
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import write_atomic
from plurilabel._core.unknown import known_part
from plurilabel._core.words import first_repeated, no_formula
from plurilabel.io._table._frame import table_format, table_module

_CELLS_AT_ONCE = 1 << 18


def write_table(
    path: str | os.PathLike[str], dataset: Dataset, *, tags: str | None = None, tag_sep: str = ";"
) -> None:
    """Write a dataset as a table: CSV, Parquet or JSON lines, as the name of the file says.

    The file appears whole or not at all, and is gzipped if its name ends in ``.gz``.
    :func:`read_table` gives back the same numbers, bit for bit, and the same names: those that a
    spreadsheet would take for formulas, such as ``=A1``, are written as they are. Split and
    citation have no place in a table. A sparse X is written with all its zeros, a few rows at a
    time; for many features :func:`write_xmc` and :func:`write_libsvm` are made. Needs pandas:
    ``pip install plurilabel[table]``.

    Parameters
    ----------
    path : str or path
        Ends in ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``, and perhaps ``.gz``.
    dataset : Dataset
    tags : str, default=None
        Name of one column for the names of each row's labels: separated text in CSV, lists in
        the other formats. By default each label is a column of 0 and 1, after the features,
        whose cells are empty where the label is not known.
    tag_sep : str, default=";"
        What separates the tags in CSV. No label name may hold it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from plurilabel.datasets import Dataset
    >>> from plurilabel.io import write_table
    >>> data = Dataset(np.array([[0, 0.5], [2, np.nan]]), np.array([[1, 1], [0, 0]]),
    ...                ("width", "height"), ("red", "blue"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "toy.csv")
    ...     write_table(path, data, tags="colours")
    ...     print(path.read_text())
    width,height,colours
    0.0,0.5,red;blue
    2.0,,
    """
    pandas = table_module("pandas")
    kind = table_format(path)
    if dataset.has_bags:
        raise ValueError("dataset.X must be a matrix (n, d) to be written, got bags of instances")
    filled, unknown = known_part(dataset.Y)
    Y = check_labels(filled, name="dataset.Y")
    if unknown is not None and tags is not None:
        raise ValueError("a column of tags cannot say which labels are not known: leave out tags")
    features = list(dataset.feature_names)
    labels = list(dataset.label_names) if tags is None else [tags]
    if not tag_sep:
        raise ValueError("tag_sep must hold at least one character, got ''")
    is_csv = kind in ("csv", "tsv")
    # a lone carriage return would end a line of CSV: the csv module does not quote it
    _check_writable(features + labels, "column name", ["\r"] if is_csv else [])
    if tags is not None:
        _check_writable(dataset.label_names, "label name", ["\r", tag_sep] if is_csv else [])
    label_names = np.array(dataset.label_names, dtype=object)

    def schema(arrow: Any) -> Any:
        label_type = arrow.int64() if tags is None else arrow.list_(arrow.string())
        numbers = [(name, arrow.float64()) for name in features]
        return arrow.schema(numbers + [(name, label_type) for name in labels])

    with (
        write_atomic(path) as stream,
        frame_writer(stream, kind, features + labels, schema) as write,
    ):
        for rows in row_blocks(dataset.X.shape[0], len(features + labels), _CELLS_AT_ONCE):
            X = dense(dataset.X[rows]).astype(np.float64)
            frame = pandas.DataFrame(X, columns=features)
            if tags is None:
                more = pandas.DataFrame(dense(Y[rows]).astype(np.int64), columns=labels)
                if unknown is not None:
                    more = more.astype("Int64").mask(dense(unknown[rows]))
            else:
                sets = _label_sets(Y[rows], label_names)
                cells = [tag_sep.join(names) for names in sets] if is_csv else sets
                more = pandas.DataFrame({tags: pandas.Series(cells, dtype=object)})
            write(pandas.concat([frame, more], axis=1))


def _label_sets(Y: Any, names: Any) -> list[list[str]]:
    Y = sparse.csr_array(Y)
    return [names[Y.indices[i:j]].tolist() for i, j in zip(Y.indptr[:-1], Y.indptr[1:])]


def _check_writable(names: Sequence[str], what: str, unwanted: Sequence[str]) -> None:
    """Names that a reader would not give back are refused."""
    for name in names:
        if not name or name != name.strip():
            raise ValueError(f"a {what} must have text without blanks around it, got {name!r}")
        for part in unwanted:
            if part in name:
                raise ValueError(f"a {what} must not hold {part!r}, got {name!r}")
    twice = first_repeated(names)
    if twice is not None:
        raise ValueError(f"each {what} must be there once, got {twice!r} twice")


@contextmanager
def frame_writer(
    stream: BinaryIO,
    format: str,
    names: Sequence[str],
    schema: Callable[[Any], Any],
    *,
    escape_formulas: bool = False,
) -> Iterator[Callable[[Any], object]]:
    """A function that appends data frames to a stream.

    Parameters
    ----------
    stream : binary stream
    format : {"csv", "tsv", "parquet", "jsonl"}
    names : sequence of str
        Of the columns.
    schema : callable
        Takes pyarrow and returns the schema of a Parquet file: a single block of rows may not
        show what kind of lists a column holds.
    escape_formulas : bool, default=False
        Whether text in CSV that a spreadsheet would take for a formula, because it begins with
        ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and is not a number, gets a ``'``
        before it. Without it, text is written as it is.

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> from plurilabel.io import frame_writer
    >>> stream = io.BytesIO()
    >>> with frame_writer(stream, "csv", ["a", "b"], lambda arrow: None) as write:
    ...     _ = write(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    >>> print(stream.getvalue().decode())
    a,b
    1,x
    2,
    """
    if format == "parquet":
        arrow, parquet = table_module("pyarrow"), table_module("pyarrow.parquet")
        columns = schema(arrow)
        with parquet.ParquetWriter(stream, columns) as writer:
            yield lambda frame: writer.write_table(
                arrow.Table.from_pandas(frame, schema=columns, preserve_index=False)
            )
    elif format == "jsonl":
        yield lambda frame: stream.writelines(_json_lines(frame))
    else:
        options: dict[str, Any] = {"sep": "\t" if format == "tsv" else ",", "lineterminator": "\n"}
        if escape_formulas:
            names = list(map(no_formula, names))
        head = io.StringIO()
        csv.writer(head, delimiter=options["sep"], lineterminator="\n").writerow(names)
        stream.write(head.getvalue().encode())

        def write(frame: Any) -> object:
            if escape_formulas:
                frame = frame.map(no_formula)
            return stream.write(frame.to_csv(header=False, index=False, **options).encode())

        yield write


def _json_lines(frame: Any) -> Iterator[bytes]:
    """A line for each row; JSON has no NaN, so a missing value is null."""
    columns = (
        [
            None if missing else cell
            for cell, missing in zip(frame[name].tolist(), frame[name].isna())
        ]
        for name in frame.columns
    )
    for cells in zip(*columns):
        record = dict(zip(frame.columns, cells))
        yield (json.dumps(record, ensure_ascii=False, default=str) + "\n").encode()
