"""Reading tables: CSV, Parquet, JSON lines and data frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from plurilabel._dataset import Dataset
from plurilabel.io._table._encoder import TableEncoder
from plurilabel.io._table._files import first_repeated
from plurilabel.io._table._open import open_table


def read_table(
    path: str | os.PathLike[str] | Any,
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
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
    drop : sequence of str, default=()
        Columns to leave out, for instance identifiers.
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
    one, declare the categories of a data frame, or use the :class:`TableEncoder` of the first
    for the second.

    *Free text.* A column with more than 255 different values, or more than 20 if they are more
    than half the number of rows, or with a value of more than 60 characters, is not taken for
    categories but refused: ``drop`` it, name the ``features`` to use, or give it as ``text``. The
    weights of ``text`` come from all rows. To keep those of test rows out of them, put
    scikit-learn's vectorizer in a pipeline instead.

    *Numbers with errors.* If most of a column are numbers, the rest must be too; ``?``, ``NA``,
    ``N/A``, ``NaN``, ``null`` and ``none`` among numbers are missing values.

    *Tags.* Blanks around a tag are dropped, as are empty tags and repetitions. An empty cell is
    an empty label set.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.io import read_table
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
    for parameter, names in (("features", features), ("drop", drop)):
        if isinstance(names, str):
            raise ValueError(f"{parameter} must be a sequence of names, got the text {names!r}")
    as_text = [name for name in (labels, text) if isinstance(name, str)]
    table = open_table(path, sep=sep, format=format, as_text=as_text)
    with table.located():
        used = table.feature_columns(named, features, text, drop)
        Y, found = table.labels(labels, tag_sep, label_names)
        encoder = TableEncoder().fit(table.frame, used, text)
        X = encoder.transform(table.frame)
    name = table.name if name is None else name
    return Dataset(X, Y, encoder.feature_names, tuple(found), name=name)
