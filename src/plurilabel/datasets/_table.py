"""Reading tables: CSV, Parquet, JSON lines and data frames."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any, Literal

from scipy import sparse

from plurilabel.datasets._dataset import Dataset
from plurilabel.datasets._files import FileFormatError, plain_name
from plurilabel.datasets._table_cells import CellError
from plurilabel.datasets._table_features import feature_columns, word_features
from plurilabel.datasets._table_files import (
    Table,
    first_repeated,
    no_line,
    read_frame,
    table_format,
    table_module,
    with_names,
)
from plurilabel.datasets._table_labels import label_columns, tag_column


def read_table(
    path: str | os.PathLike[str] | Any,
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    text: str | None = None,
    sep: str | None = None,
    tag_sep: str | None = None,
    label_names: Sequence[str] | None = None,
    format: Literal["csv", "tsv", "parquet", "jsonl"] | None = None,
    name: str | None = None,
) -> Dataset:
    r"""Read a table: CSV, Parquet, JSON lines, or a data frame.

    Needs pandas: ``pip install plurilabel[table]``.

    Parameters
    ----------
    path : str, path or data frame
        A file, gzipped or not; or a data frame of pandas or polars.
    labels : sequence of str, or str
        Names of the label columns, which hold 0 and 1 (also true and false, yes and no). Or the
        name of the one column that holds the tags of each row: as text with a separator
        (``sport;politics``), or, in Parquet, JSON lines and data frames, as lists.
    features : sequence of str, default=None
        Columns to use as features. By default all but the labels; with ``text``, none.
    text : str, default=None
        A column of text to turn into features, one for each word, with
        :class:`~sklearn.feature_extraction.text.TfidfVectorizer`.
    sep : str, default=None
        What separates columns in CSV; by default a comma, or a tab in a ``.tsv`` file.
    tag_sep : str, default=None
        What separates tags in one cell of text. By default ``;``, ``|`` or ``,``, whichever
        occurs in the column; if more than one does, this must be given.
    label_names : sequence of str, default=None
        With a column of tags: the labels, in the order wanted. By default the tags that occur,
        sorted. Give it where several files are to have the same columns.
    format : {"csv", "tsv", "parquet", "jsonl"}, default=None
        By default what the name of the file says.
    name : str, default=None
        Name of the dataset; by default that of the file.

    Returns
    -------
    Dataset
        X is dense, or CSR with ``text``. Y is dense for label columns and CSR for tags.

    Raises
    ------
    FileFormatError
        If the file is broken: with the line, where there is one, and what was expected.
    ValueError
        If a parameter does not fit the table, or, for a data frame, a cell; its row is counted
        from 0.

    See Also
    --------
    write_table : Write a dataset as a table.

    Notes
    -----
    *Features.* Numbers stay as they are, and booleans become 0 and 1. A column of text becomes
    0/1 columns ``name=value``, sorted by value; one column, for the second value, if there are
    only two, and with the plain name if they are false and true, or no and yes. A column of
    pandas' categorical type has its own order of values. Lists of numbers, as embeddings are
    kept in Parquet, become columns ``name[0], name[1], ...``. An empty cell is a missing value,
    NaN. Two files may differ in the values that occur, and so in their columns: read them as
    one, or declare the categories of a data frame.

    *Free text.* A column with more than 255 different values, or more than 20 if they are more
    than half the number of rows, or with a value of more than 60 characters, is not taken for
    categories but refused: name the ``features`` to use, or give it as ``text``. The weights of
    ``text`` come from all rows. To keep those of test rows out of them, put scikit-learn's
    vectorizer in a pipeline instead.

    *Numbers with errors.* If most of a column are numbers, the rest must be too; ``?``, ``NA``,
    ``N/A``, ``NaN``, ``null`` and ``none`` among numbers are missing values.

    *Tags.* Blanks around a tag are dropped, as are empty tags and repetitions. An empty cell is
    an empty label set.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "films.csv")
    ...     _ = path.write_text("length,country,tags\n90,fr,comedy;love\n143,us,war\n71,uk,\n")
    ...     data = read_table(path, labels="tags")
    >>> data
    Dataset 'films': 3 instances, 4 features, 3 labels
    >>> data.feature_names
    ('length', 'country=fr', 'country=uk', 'country=us')
    >>> data.label_names
    ('comedy', 'love', 'war')
    >>> data.Y.toarray()
    array([[1, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    named = [labels] if isinstance(labels, str) else list(labels)
    if not isinstance(labels, str) and label_names is not None:
        raise ValueError("label_names is for one column of tags, but labels names label columns")
    if label_names is not None and (twice := first_repeated(label_names)) is not None:
        raise ValueError(f"label_names must name each label once, got {twice!r} twice")
    if tag_sep == "":
        raise ValueError("tag_sep must hold at least one character, got ''")
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of names, got the text {features!r}")
    is_file = isinstance(path, str | os.PathLike)
    if is_file:
        as_text = [labels] if isinstance(labels, str) else []
        as_text += [text] if text is not None else []
        table = read_frame(path, table_format(path, format), sep, as_text)
    else:
        table = _from_frame(path)
    try:
        frame = table.frame
        if not len(frame):
            raise CellError("", None, "expected at least one row, got none")
        used = _feature_names(frame, named, features, text)
        if isinstance(labels, str):
            Y, label_columns_ = tag_column(frame[labels], labels, tag_sep, label_names)
        else:
            Y, label_columns_ = label_columns(frame, named), named
        X, feature_names = _features(frame, used, text)
    except CellError as error:
        raise _located(error, path if is_file else None, table) from None
    if name is None:
        name = plain_name(path) if is_file else ""
    return Dataset(X, Y, tuple(feature_names), tuple(label_columns_), name=name)


def _from_frame(frame: Any) -> Table:
    pandas = table_module("pandas")
    if not isinstance(frame, pandas.DataFrame):
        if not hasattr(frame, "to_pandas"):
            raise TypeError(f"path must be a path or a data frame, got {type(frame).__name__}")
        table_module("pyarrow")  # what polars converts with
        frame = frame.to_pandas()
    return Table(with_names(frame, lambda text: ValueError(f"data frame: {text}")), no_line)


def _feature_names(
    frame: Any, labels: list[str], features: Sequence[str] | None, text: str | None
) -> list[str]:
    """The feature columns, after a check of all names that were given."""
    columns = list(frame.columns)
    there = set(columns)
    asked = {"labels": labels, "features": features or (), "text": [] if text is None else [text]}
    for parameter, names in asked.items():
        twice = first_repeated(names)
        if twice is not None:
            raise ValueError(f"{parameter} must name each column once, got {twice!r} twice")
        for column in names:
            if column not in there:
                instead = _instead(column, columns)
                raise ValueError(f"{parameter} names a column {column!r}: {instead}")
            if parameter != "labels" and column in labels:
                raise ValueError(f"{parameter} must name no label column, got {column!r}")
    if not labels:
        raise ValueError("labels must name at least one column, got none")
    if features is not None:
        return list(features)
    used = [] if text is not None else [column for column in columns if column not in labels]
    if "" in used:
        raise ValueError(
            f"column {columns.index('') + 1} has no name, as that of an index which was saved "
            "with the table: give it one, or choose the columns to use with features=[...]"
        )
    return used


def _instead(column: str, columns: list[str]) -> str:
    close = difflib.get_close_matches(column, columns, n=1)
    if close:
        return f"expected one of the table's, such as {close[0]!r}"
    if len(columns) == 1:
        return f"the table has only one, {columns[0]!r}; is sep= right?"
    shown = ", ".join(map(repr, columns[:10])) + (", ..." if len(columns) > 10 else "")
    return f"expected one of the table's {len(columns)}, {shown}"


def _features(frame: Any, used: list[str], text: str | None) -> tuple[Any, list[str]]:
    if not used and text is None:
        raise ValueError("features must name at least one column, got none besides the labels")
    X, names = feature_columns(frame, used)
    if text is not None:
        words, vocabulary = word_features(frame[text], text)
        if not used:
            return words, vocabulary
        X = sparse.csr_array(sparse.hstack([sparse.csr_array(X), words]))
        names = names + [f"{text}:{word}" for word in vocabulary]
    twice = first_repeated(names)
    if twice is not None:
        raise ValueError(f"two columns would give a feature {twice!r}: rename one of them")
    return X, names


def _located(error: CellError, path: Any, table: Table) -> ValueError:
    """The error of a cell, with file and line, or with the row of a data frame."""
    column = f"column {error.column!r}" if error.column else "table"
    if path is None:
        row = "" if error.row is None else f", row {error.row}"
        return ValueError(f"{column}{row}: {error.problem}")
    line = None if error.row is None else table.line_of(error.row)
    if error.row is not None and line is None:
        column += f", row {error.row}"
    return FileFormatError(path, line, f"{column}: {error.problem}")
