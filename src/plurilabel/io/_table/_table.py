"""Reading and writing tables: CSV, Parquet, JSON and data frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.dataset import Dataset, Matrix
from plurilabel._core.names import no_column
from plurilabel._core.records import write_atomic
from plurilabel._core.soft import is_soft, soft_or_hard
from plurilabel._core.unknown import known_part
from plurilabel._core.words import counted, first_repeated, listed
from plurilabel.io._table._frame import VECTORS, open_frame, table_format, table_module
from plurilabel.io._table._kinds import typed_frame, typed_like
from plurilabel.io._table._labels import label_columns, tag_column
from plurilabel.io._table._table_encoder import TableEncoder

_CELLS_AT_ONCE = 1 << 18


def read_table(
    path: str | os.PathLike[str] | Any,
    *,
    labels: str | Sequence[str],
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    text: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] | None = None,
    sep: str | None = None,
    tag_sep: str | None = None,
    label_names: Sequence[str] | None = None,
    format: Literal["csv", "tsv", "parquet", "jsonl", "json", "excel"] | None = None,
    encode: bool = True,
    name: str | None = None,
    words: Any = None,
    embeddings: str | os.PathLike[str] | Any = None,
    decimal: Literal[".", ","] | None = None,
    day_first: bool | None = None,
    empty_labels: Literal["unknown", "absent"] | None = None,
    soft: bool = False,
    group: str | None = None,
    time: str | None = None,
    sheet: str | None = None,
) -> Dataset:
    r"""Read a table: CSV, Parquet, JSON, Excel, or a data frame.

    Needs pandas: ``pip install plurilabel[table]``, and for Excel ``plurilabel[excel]``.

    Parameters
    ----------
    path : str, path, sequence of paths, or data frame
        A file or several, a folder, or a pattern such as ``rows/*.csv``; or a data frame.
    labels : sequence of str, or str
        Names of the label columns, which hold 0 and 1 (also true and false, yes and no). Or the
        name of the one column with the tags of each row: text with a separator
        (``sport;politics``), or lists in Parquet, JSON and data frames.
    features : sequence of str, default=None
        Feature columns; by default all but labels and columns that identify rows.
    drop : sequence of str, default=()
        Columns to leave out, for instance identifiers.
    text : str or sequence of str, default=None
        Columns to treat as text, where that is not detected.
    categorical : str or sequence of str, default=None
        Columns to treat as categories, such as codes written as numbers.
    sep : str, default=None
        Column separator of CSV. By default a tab in ``.tsv`` files, otherwise the one among comma,
        semicolon, tab and ``|`` that splits the first rows into the most columns.
    tag_sep : str, default=None
        Tag separator. By default ``;``, ``|`` or ``,``; required if several occur in the column.
    label_names : sequence of str, default=None
        With a column of tags: the labels in order, by default the sorted tags that occur.
    format : {"csv", "tsv", "parquet", "jsonl", "json", "excel"}, default=None
        By default the format given by the file name.
    encode : bool, default=True
        Whether to encode X as numbers. If False, X is a data frame of typed columns, for a
        pipeline that starts with :func:`table_encoder`.
    name : str, default=None
        Name of the dataset; by default that of the file.
    words : transformer, default=None
        Encodes text, see :func:`table_encoder`.
    embeddings : path or ndarray of shape (n, dimensions), default=None
        Precomputed vectors of the rows, as a ``.npy`` file or an array. They become features
        ``embeddings[0], embeddings[1], ...``.
    decimal : {".", ","}, default=None
        Decimal mark; by default detected for each column.
    day_first : bool, default=None
        Whether 03/04/2021 is 3 April; by default detected from the column, or else from others.
    empty_labels : {"unknown", "absent"}, default=None
        Meaning of an empty cell in a label column: NaN or 0 in Y. By default unknown if the label
        columns have zeros; if none of them has, empty cells are refused.
    soft : bool, default=False
        Whether labels may be probabilities: label columns of fractions, or tags such as
        ``joy:0.7;fear``, in JSON also objects such as ``{"joy": 0.7}``.
    group : str, default=None
        Column with the group of each row, such as a patient: ``groups`` of the result, no feature.
    time : str, default=None
        Column of dates or numbers to sort the rows by. It is not a feature.
    sheet : str, default=None
        Name of the sheet of an Excel file; required if it has several.

    Returns
    -------
    Dataset
        X is dense, or CSR with ``text``; without ``encode`` it is a data frame with float64
        numbers, datetime64 dates, and text for categories and ``text``. Y is dense for label
        columns, with floats if some labels are unknown, and CSR for tags. ``written`` holds the
        notation of numbers and dates.

    Notes
    -----
    *Features.* Numbers are kept. Booleans become 0 and 1, as do two words such as no and yes.
    Lists of numbers, such as embeddings in Parquet, become columns ``name[0], name[1], ...``.
    Other text columns are categories, see :func:`table_encoder`; two files with different values
    get different columns, unless they are read as one or the encoder is put in a pipeline.

    *Dates* become the year, and season, weekday and hour, see :class:`DateEncoder`. Accepted are
    ``2021-04-03``, ``2021/04/03``, ``3.4.2021``, ``03/04/2021``, ``3 Apr 2021`` and
    ``April 3, 2021``, each with or without a time, and a time or a month (``2021-04``) alone.
    Offsets from UTC are ignored.

    *Numbers* may be written ``1,234.5``, ``1.234,5``, ``1 234,5``, ``12 %``, ``-$5`` or ``(5)``;
    a percent or currency sign at either end is ignored. If most of a column are numbers, the rest
    must be too; empty cells, ``?``, ``NA``, ``N/A``, ``NaN``, ``null`` and ``none`` among them are
    missing values.

    *Text and identifiers* are detected, too, see :class:`~plurilabel.TableEncoder`. Identifiers
    are left out, unless ``features``, ``text`` or ``categorical`` names them.

    *Tags.* Blanks around tags, empty tags and repetitions are dropped. An empty cell is an empty
    label set: all labels are known to be absent.

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
    ('length', 'country_fr', 'country_uk', 'country_us')
    >>> data.label_names
    ('comedy', 'love', 'war')
    >>> data.Y.toarray()
    array([[1, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    _check_labels_given(labels, label_names, tag_sep, empty_labels)
    for parameter, names in (("features", features), ("drop", drop)):
        if isinstance(names, str):
            raise ValueError(f"{parameter} must be a sequence of names, got the text {names!r}")
    texts, codes = (
        [given] if isinstance(given, str) else list(given or ()) for given in (text, categorical)
    )
    as_text = [*texts, *codes, labels] if isinstance(labels, str) else [*texts, *codes]
    table = open_frame(
        path, sep=sep, decimal=decimal, format=format, as_text=as_text, embeddings=embeddings,
        sheet=sheet,
    )  # fmt: skip
    with table.located():
        own = [labels] if isinstance(labels, str) else labels
        aside = {"group": group, "time": time}
        for parameter, column in aside.items():
            _check_named(list(table.frame.columns), parameter, [column] if column else [], own)
        drop = [*drop, *(name for name in aside.values() if name and name not in drop)]
        used = _feature_columns(list(table.frame.columns), own, features, texts, codes, drop)
        if embeddings is not None and VECTORS not in used:
            used.append(VECTORS)
        Y: Matrix
        if isinstance(labels, str):
            Y, found, tag_sep = tag_column(table.frame[labels], labels, tag_sep, label_names, soft)
        else:
            Y = label_columns(table.frame, labels, empty_labels, soft)
            found, tag_sep = list(labels), None
        notation: Any = {"commas": table.commas, "day_first": day_first}
        X, kinds, written, left_out = typed_frame(
            table.frame, used, texts, codes, wanted=features or (), **notation
        )
        groups, times = None, None
        if group is not None:
            _check_complete(table.frame[group], "group", group)
            groups = np.asarray(table.frame[group].astype(str), dtype=str)
        if time is not None:
            times = _row_times(table.frame, time, **notation)
    data = Dataset(
        X, Y, tuple(X.columns.tolist()), tuple(found), name=table.name if name is None else name,
        tag_sep=tag_sep, written=written, kinds=kinds, left_out=left_out, groups=groups,
    )  # fmt: skip
    return in_order(encoded(data, words) if encode else data, times)


def encoded(data: Dataset, words: Any = None) -> Dataset:
    """Encode the columns of a table as numbers; other data are returned unchanged."""
    if not data.kinds:
        return data
    encoder = TableEncoder(
        numbers="passthrough", words=words, kinds=dict(data.kinds), written=dict(data.written)
    )
    X = encoder.fit_transform(data.X)
    names = tuple(encoder.get_feature_names_out().tolist())
    return replace(data, X=X, feature_names=names, kinds={})


def _check_labels_given(
    labels: str | Sequence[str], label_names: Sequence[str] | None, tag_sep: str | None,
    empty_labels: str | None,
) -> None:  # fmt: skip
    is_tags = isinstance(labels, str)
    if label_names is not None and not is_tags:
        raise ValueError("label_names is for one column of tags, but labels names label columns")
    if tag_sep == "":
        raise ValueError("tag_sep must hold at least one character, got ''")
    if empty_labels not in (None, "unknown", "absent"):
        raise ValueError(f'empty_labels must be "unknown", "absent" or None, got {empty_labels!r}')
    if empty_labels is not None and is_tags:
        raise ValueError("empty_labels is for label columns, but labels names a column of tags")


def _feature_columns(
    columns: list[str], labels: Sequence[str], features: Sequence[str] | None, text: Sequence[str],
    categorical: Sequence[str], drop: Sequence[str],
) -> list[str]:  # fmt: skip
    """Check all given names, and return the feature columns."""
    chosen = features or ()
    _check_named(columns, "labels", labels)
    _check_named(columns, "features", chosen, labels)
    _check_named(columns, "text", text, labels)
    _check_named(columns, "categorical", categorical, labels)
    if both := [name for name in text if name in categorical]:
        raise ValueError(f"a column is text or categorical, got {both[0]!r} in both")
    _check_named(columns, "drop", drop, labels, {*text, *categorical, *chosen})
    if not labels:
        raise ValueError("labels must name at least one column, got none")
    if features is None:
        features = columns
    out = {*labels, *drop}
    used = [column for column in features if column not in out]
    used += [column for column in columns if column in {*text, *categorical} - {*used}]
    if not used:
        raise ValueError("features must name at least one column, got none besides the labels")
    if features is columns and "" in used:
        problem = f"column {columns.index('') + 1} has no name, like a saved index"
        raise ValueError(f"{problem}: name it, or leave it out with drop=['']")
    return used


def _check_named(
    columns: list[str], parameter: str, names: Sequence[str], labels: Sequence[str] = (),
    chosen: Collection[str] = (),
) -> None:  # fmt: skip
    """Check that a parameter names existing columns, each once, and no forbidden ones."""
    if (twice := first_repeated(names)) is not None:
        raise ValueError(f"{parameter} must name each column once, got {twice!r} twice")
    there = set(columns)
    for column in names:
        if column not in there:
            raise ValueError(no_column(parameter, column, columns))
        if column in labels:
            raise ValueError(f"{parameter} must name no label column, got {column!r}")
        if column in chosen:
            raise ValueError(f"drop must name no column that is to be used, got {column!r}")


def _row_times(frame: Any, column: str, **reading: Any) -> Any:
    times = typed_frame(frame, [column], wanted=[column], **reading).frame[column]
    if times.dtype.kind not in "fM":
        raise ValueError(f"time must name a column of dates or numbers, got {column!r}")
    _check_complete(times, "time", column)
    return times.to_numpy()


def _check_complete(values: Any, parameter: str, column: str) -> None:
    if missing := int((values.isna() | (values.astype(str) == "")).sum()):
        raise ValueError(
            f"{parameter} must name a column without empty cells, but {column!r} has "
            f"{counted(missing, 'empty cell')}"
        )


def in_order(data: Dataset, times: Any) -> Dataset:
    """Sort the rows by time; the sort is stable."""
    if times is None:
        return data
    order = np.argsort(times, kind="stable")
    X = safe_indexing(data.X, order)
    X = X.reset_index(drop=True) if hasattr(X, "iloc") else X
    return replace(data, X=X, Y=data.Y[order], ordered=True)


class FurtherRows(NamedTuple):
    """The result of :func:`read_further`: features as typed columns, labels, the whole table."""

    X: Any
    Y: Matrix | None
    label_names: list[str]  # names of the columns of Y
    frame: Any


def read_further(
    path: str | os.PathLike[str] | Any,
    kinds: Mapping[str, str],
    *,
    labels: str | None = None,
    label_names: Sequence[str] | None = None,
    sep: str | None = None,
    tag_sep: str | None = None,
    written: Mapping[str, str] | None = None,
    embeddings: str | os.PathLike[str] | Any = None,
    empty_labels: Literal["unknown", "absent"] | None = None,
    soft: bool = False,
    sheet: str | None = None,
) -> FurtherRows:
    """Read a table for a model that was trained on another table.

    Parameters
    ----------
    path : str, path or data frame
    kinds : mapping of str to {"numbers", "dates", "categories", "text"}
        Kinds of the training columns, such as ``TableEncoder.kinds_``, matched by name.
    labels : str, default=None
        The column of tags. Without it, the table must have a 0/1 column for each label.
    label_names : sequence of str, default=None
        The labels of the model, to read Y. Unknown tags are returned, too.
    written : mapping of str to str, default=None
        Notation of numbers and dates in the training table, from its dataset.
    sep, tag_sep, embeddings, empty_labels, soft, sheet : optional
        As for :func:`read_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> from plurilabel.io import read_further
    >>> new = pd.DataFrame({"id": [7], "country": ["it"], "length": ["100"]})
    >>> read_further(new, {"length": "numbers", "country": "categories"}).X
       length country
    0   100.0      it
    """
    written = written or {}
    as_text = [name for name, kind in kinds.items() if kind != "numbers" or name in written]
    as_text += [] if labels is None else [labels]
    table = open_frame(path, sep=sep, as_text=as_text, embeddings=embeddings, sheet=sheet)
    with table.located():
        X, Y = typed_like(table.frame, kinds, written), None
        names = list(label_names or ())
        if label_names is not None and labels in table.frame.columns:
            Y, names, _ = tag_column(table.frame[labels], str(labels), tag_sep, None, soft)
        elif label_names is not None:
            if missing := [repr(name) for name in names if name not in table.frame.columns]:
                where = "columns" if labels is None else f"the column {labels!r}"
                raise ValueError(
                    f"the table must have the true labels, in {where} as in training; "
                    f"it has no {listed(missing, 5)}"
                )
            Y = label_columns(table.frame, names, empty_labels, soft)
    return FurtherRows(X, Y, names, table.frame)


def write_table(
    path: str | os.PathLike[str], dataset: Dataset, *, tags: str | None = None, tag_sep: str = ";"
) -> None:
    """Write a dataset as a table: CSV, Parquet or JSON lines, as given by the file name.

    The file is written atomically. :func:`read_table` reads exactly the same names and numbers;
    split and citation are not written. A sparse X is written with all its zeros; for many
    features, use :func:`write_xmc` or :func:`write_libsvm`. Needs ``plurilabel[table]``.

    Parameters
    ----------
    path : str or path
        Ends in ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``, optionally with ``.gz``.
    dataset : Dataset
    tags : str, default=None
        Name of one column for the labels of each row: separated text in CSV, lists in the other
        formats; soft labels as ``joy:0.7``. By default each label is a column of 0 and 1, or of
        probabilities, after the features; cells of unknown labels are empty.
    tag_sep : str, default=";"
        Tag separator in CSV, which no label name may contain.

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
    pandas, format = table_module("pandas"), table_format(path)
    if format.writer is None:
        raise ValueError(f"tables are not written as {format.name}: choose another suffix")
    if dataset.has_bags:
        raise ValueError("dataset.X must be a matrix (n, d) to be written, got bags of instances")
    if not tag_sep:
        raise ValueError("tag_sep must hold at least one character, got ''")
    features = list(dataset.feature_names)
    labels = list(dataset.label_names) if tags is None else [tags]
    is_csv = format.name in ("csv", "tsv")
    # a lone carriage return would end a line of CSV: the csv module does not quote it
    unwanted = ["\r", tag_sep] if is_csv else []
    _check_writable(features + labels, "column name", unwanted[:1])
    if tags is not None:
        _check_writable(dataset.label_names, "label name", unwanted)

    def schema(arrow: Any) -> Any:
        label_type = arrow.float64() if is_soft(dataset.Y) else arrow.int64()
        label_type = label_type if tags is None else arrow.list_(arrow.string())
        numbers = [(name, arrow.float64()) for name in features]
        return arrow.schema(numbers + [(name, label_type) for name in labels])

    label_frame = _label_frames(dataset, tags, tag_sep if is_csv else None)
    with (
        write_atomic(path) as stream,
        format.writer(stream, features + labels, schema, False) as write,
    ):
        for rows in row_blocks(dataset.X.shape[0], len(features + labels), _CELLS_AT_ONCE):
            X = pandas.DataFrame(dense(dataset.X[rows]).astype(np.float64), columns=features)
            write(pandas.concat([X, label_frame(rows)], axis=1))


def _label_frames(data: Dataset, tags: str | None, tag_sep: str | None) -> Callable[[slice], Any]:
    """A function from rows to a data frame of label columns, or of a column of tags."""
    pandas = table_module("pandas")
    filled, unknown = known_part(data.Y)
    Y = soft_or_hard(filled, name="dataset.Y")
    names = np.array(data.label_names, dtype=object)
    if unknown is not None and tags is not None:
        raise ValueError("a column of tags cannot represent unknown labels: leave out tags")

    def zeros_and_ones(rows: slice) -> Any:
        soft = Y.dtype.kind == "f"
        found = pandas.DataFrame(dense(Y[rows]), columns=names)
        found = found.astype("Float64" if soft else "Int64")
        return found if unknown is None else found.mask(dense(unknown[rows]))

    def tag_cells(rows: slice) -> Any:
        y = sparse.csr_array(Y[rows])
        own = names[y.indices]
        if y.dtype.kind == "f":
            own = np.array([f"{n}:{p!r}" if p < 1 else n for n, p in zip(own, y.data.tolist())])
        sets = [own[i:j].tolist() for i, j in pairwise(y.indptr)]
        cells = sets if tag_sep is None else [tag_sep.join(each) for each in sets]
        return pandas.DataFrame({tags: pandas.Series(cells, dtype=object)})

    return zeros_and_ones if tags is None else tag_cells


def _check_writable(names: Sequence[str], what: str, unwanted: Sequence[str]) -> None:
    """Reject names that could not be read back."""
    for name in names:
        if not name or name != name.strip():
            raise ValueError(f"a {what} must have text without blanks around it, got {name!r}")
        for part in unwanted:
            if part in name:
                raise ValueError(f"a {what} must not hold {part!r}, got {name!r}")
    if (twice := first_repeated(names)) is not None:
        raise ValueError(f"each {what} must be there once, got {twice!r} twice")
