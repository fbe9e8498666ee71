"""Tables as data frames with the line on which each row starts; JSON, Parquet and Excel files."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from plurilabel._core.compat import import_extra
from plurilabel._core.records import json_bytes
from plurilabel._core.words import first_repeated, is_unicode, listed
from plurilabel.io._files import (
    AnyPath,
    FileFormatError,
    Format,
    check_room,
    file_format,
    formats,
    not_utf8,
    opened,
    part_files,
    plain_name,
)

MOST_COLUMNS = 100_000
VECTORS = "embeddings"
"""The column for vectors that come from a file of their own."""


def table_module(name: str) -> Any:
    """Import pandas or pyarrow."""
    return import_extra(name, "a table", "table")


def table_format(path: AnyPath, given: str | None = None) -> Format:
    """Format of a table file: as given, or by its suffix, before a ``.gz``."""
    tables = {name: format for name, format in formats().items() if format.frame is not None}
    names = ", ".join(tables)
    if given is not None and given not in tables:
        raise ValueError(f"format must be one of {names}, got {given!r}")
    kind = given or file_format(path)
    if kind not in tables:
        suffixes = listed([format.suffixes[0] for format in tables.values()])
        raise ValueError(
            f"the format of {os.fspath(path)!r} is unknown: the name must end in {suffixes}, or "
            f"format= must be one of {names}"
        )
    return tables[kind]


class CellError(ValueError):
    """Something wrong with a column, or with one of its rows."""

    def __init__(self, column: str, row: int | None, problem: str) -> None:
        self.column, self.row, self.problem = column, row, problem
        super().__init__(problem)


def column_names(columns: Iterable[Any], path: AnyPath | None, line: int | None) -> list[str]:
    """Column names as text; duplicates and names that pandas cannot look up are rejected."""
    names = [str(name).strip() for name in columns]
    if (twice := first_repeated(names)) is not None:
        problem = f"expected each column name once, got {twice!r} twice"
    # where pandas looks up names, they end at such a character
    elif (name := next((n for n in names if "\0" in n), None)) is not None:
        problem = f"expected column names without null characters, got {name!r}"
    elif (name := next((n for n in names if not is_unicode(n)), None)) is not None:
        problem = f"expected column names in valid Unicode, got {name!r}"
    else:
        return names
    if path is None:
        raise ValueError(f"data frame: {problem}")
    raise FileFormatError(path, line, problem)


class Frame:
    """A data frame with unique column names, and the positions of its rows in the file, if any.

    ``commas`` are the columns of a CSV file with a decimal comma; ``start`` is the place of the
    first row in a file that is read in blocks and has no lines.
    """

    def __init__(
        self, frame: Any, path: AnyPath | None = None, line_of: Callable[[int], int] | None = None,
        commas: Collection[str] = (), start: int = 0,
    ) -> None:  # fmt: skip
        self.path = None if path is None else os.fspath(path)
        self._line_of, self.commas, self._start = line_of, commas, start
        self.frame = frame.set_axis(column_names(frame.columns, path, None), axis=1)

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return "" if self.path is None else plain_name(self.path)

    def _place(self, row: int | None) -> tuple[str | None, int | None, int | None]:
        """The file of a row, and its line there, or its number if there are no lines."""
        line = self._line_of(row) if self._line_of and row is not None else None
        return self.path, line, None if line is not None or row is None else self._start + row

    @contextmanager
    def located(self) -> Iterator[None]:
        """Add file and line, or the row of a data frame, to errors about cells."""
        try:
            if not len(self.frame):
                raise CellError("", None, "expected at least one row, got none")
            yield
        except CellError as error:
            column = f"column {error.column!r}" if error.column else "table"
            path, line, row = self._place(error.row)
            if row is not None:
                # as lines of files are counted, and as rows of data frames are
                column += f", row {row + (path is not None)}"
            problem = f"{column}: {error.problem}"
            if path is None:
                raise ValueError(problem) from None
            raise FileFormatError(path, line, problem) from None


def check_same_columns(columns: Mapping[str, Iterable[str]]) -> None:
    """Check that all files have the columns of the first, in any order."""
    for path, names in columns.items():
        first = next(iter(columns))
        if odd := sorted(set(columns[first]).symmetric_difference(names)):
            problem = f"expected the columns of {first}, but {odd[0]!r} is in one of the two only"
            raise FileFormatError(path, None, problem)


class StackedFrame(Frame):
    """The rows of several files, one file after the other."""

    def __init__(self, parts: Sequence[Frame], name: str) -> None:
        first = parts[0].frame.columns
        check_same_columns({str(part.path): part.frame.columns for part in parts})
        pandas = table_module("pandas")
        frames = [part.frame[first] for part in parts]
        for column in first:
            texts = [frame[column].dtype.kind not in "biufM" for frame in frames]
            if any(texts) and not all(texts):  # read as numbers where a part has nothing else
                frames = [
                    frame if text else frame.assign(**{column: frame[column].map(str, "ignore")})
                    for frame, text in zip(frames, texts)
                ]
        frame = pandas.concat(frames, ignore_index=True)
        super().__init__(frame, name, commas={name for part in parts for name in part.commas})
        self._parts, self._ends = parts, np.cumsum([len(part.frame) for part in parts])

    def _place(self, row: int | None) -> tuple[str | None, int | None, int | None]:
        if row is None:
            return self.path, None, None
        i = int(np.searchsorted(self._ends, row, side="right"))
        return self._parts[i]._place(row - int(self._ends[i - 1] if i else 0))


def open_frame(
    source: Any, *, sep: str | None = None, decimal: str | None = None, format: str | None = None,
    as_text: Iterable[str] = (), embeddings: AnyPath | Any = None, sheet: str | None = None,
) -> Frame:  # fmt: skip
    """Read files or take a data frame; in CSV the columns ``as_text`` stay text.

    A block of rows of files opens itself: it has ``open_table(as_text)``.
    """
    if hasattr(source, "open_table"):
        return source.open_table(set(as_text))
    pandas = table_module("pandas")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
    several = source if isinstance(source, list | tuple) and source else [source]
    if all(isinstance(one, str | os.PathLike) for one in several):
        if sep is not None and (len(sep) != 1 or not sep.isascii() or sep in '"\r\n'):
            problem = "sep must be a single character of ASCII, but no quote or line end"
            raise ValueError(f"{problem}, got {sep!r}")
        paths, parts = part_files(source), []
        for path in paths:
            kind = table_format(path, format)
            if sheet is not None and kind.name != "excel":
                raise ValueError(f"sheet= is for Excel files, but {path} is not one")
            parts.append(kind.frame(path, sheet or sep, decimal, set(as_text)))  # type: ignore[misc]
        table = parts[0] if len(parts) == 1 else StackedFrame(parts, os.path.dirname(paths[0]))
    else:
        if not isinstance(source, pandas.DataFrame):
            if not hasattr(source, "to_pandas"):
                got = type(source).__name__
                raise TypeError(f"path must be a path or a data frame, got {got}")
            table_module("pyarrow")  # what polars converts with
            source = source.to_pandas()
        table = Frame(source)
    if embeddings is not None:
        _add_vectors(table, embeddings)
    return table


def _add_vectors(table: Frame, embeddings: AnyPath | Any) -> None:
    """Add a column of lists from a ``.npy`` file or an array with a row for each table row."""
    name = "embeddings"
    if isinstance(embeddings, str | os.PathLike):
        name = os.fspath(embeddings)
        embeddings = _npy_array(name)
    E, n = np.asarray(embeddings), len(table.frame)
    if E.ndim != 2 or E.dtype.kind not in "biuf" or E.shape[1] == 0:
        got = f"{E.dtype} in shape {E.shape}"
        raise ValueError(f"{name} must hold numbers in a row for each row of the table, got {got}")
    if len(E) != n:
        raise ValueError(f"{name} has {len(E):,} rows for the {n:,} rows of the table")
    if VECTORS in table.frame.columns:
        problem = f"the table has a column {VECTORS!r} of its own: rename it, or leave out {name}"
        raise ValueError(problem)
    vectors = table_module("pandas").Series(list(E), index=table.frame.index, dtype=object)
    table.frame = table.frame.assign(**{VECTORS: vectors})


def _npy_array(path: str) -> Any:
    """The array in a file of numpy, if the file is as long as its header says."""
    with open(path, "rb") as stream, format_errors(path, "an array of numpy"):
        size = os.path.getsize(path)
        # numpy would allocate the length that a header claims
        is_2 = np.lib.format.read_magic(stream)[0] >= 2
        if (length := int.from_bytes(stream.read(4 if is_2 else 2), "little")) > size:
            raise ValueError(f"its header would have {length:,} bytes, it has {size:,}")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.offset + array.nbytes != size:
            raise ValueError(f"its header is for {array.nbytes:,} bytes, but it has {size:,}")
        return np.array(array)


def check_columns(path: AnyPath, line: int | None, n: int) -> None:
    """Reject a table that would take minutes: pandas and the encoders go column by column."""
    if n > MOST_COLUMNS:
        problem = f"expected at most {MOST_COLUMNS:,} columns in a table, got {n:,}; for more "
        raise FileFormatError(path, line, f"{problem}features there are LIBSVM and XMC files")


def _read_json(path: AnyPath, *_: Any) -> Frame:
    """An array of objects, an object of columns, or an object on each line."""
    if _is_json_lines(path):
        return _read_json_lines(path)
    with opened(path) as stream:
        records = _parsed(path, None, stream.read(), "an array of JSON")
    if isinstance(records, dict) and _are_columns(records):
        rows = list(dict.fromkeys(row for column in records.values() for row in column))
        _check_keys(path, None, len(rows), len(records))
        records = [{name: cells.get(row) for name, cells in records.items()} for row in rows]
    expected = "expected an array of JSON objects"
    if not isinstance(records, list):
        got = type(records).__name__
        raise FileFormatError(path, None, f"{expected}, one for each row, got a {got}")
    names = set[str]()
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            got = type(record).__name__
            raise FileFormatError(path, None, f"{expected}, got a {got} in row {row}")
        names.update(record)
        _check_keys(path, None, row + 1, len(names))
    return Frame(table_module("pandas").DataFrame(records), path)


def _is_json_lines(path: AnyPath) -> bool:
    """Whether the first line of a ``.json`` file is an object of its own."""
    with opened(path) as stream:
        first = next((line for line in stream if line.strip()), b"")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and not _are_columns(record)


def _are_columns(table: dict[str, Any]) -> bool:
    """Whether an object has a column for each key, as pandas writes it by default."""
    return len(table) > 0 and all(isinstance(column, dict) for column in table.values())


def _read_json_lines(path: AnyPath, *_: Any) -> Frame:
    records, lines, names = [], [], set[str]()
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            if not content.strip():
                continue
            record = _parsed(path, line, content, "a JSON object")
            if not isinstance(record, dict):
                got = type(record).__name__
                raise FileFormatError(path, line, f"expected a JSON object, got a {got}")
            records.append(record)
            lines.append(line)
            names.update(record)
            _check_keys(path, line, len(records), len(names))
    return Frame(table_module("pandas").DataFrame(records), path, lines.__getitem__)


def _parsed(path: AnyPath, line: int | None, content: bytes, expected: str) -> Any:
    try:
        text = content.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_each_key_once)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, line, f"expected {expected}, got {error}") from None
    check_escapes(path, line or 1, text)
    return found


# an escape of JSON: a pair of surrogates, half of one, or any other
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)


def check_escapes(path: AnyPath, line: int, text: str) -> None:
    """Reject lone surrogates, which neither pandas nor a file can hold."""
    found = (match for match in _ESCAPE.finditer(text) if match[1])
    if "\\u" in text and (half := next(found, None)) is not None:
        line += text.count("\n", 0, half.start())
        problem = f"expected valid Unicode, got half of a pair of surrogates, \\{half[1]}"
        raise FileFormatError(path, line, problem)


def _check_keys(path: AnyPath, line: int | None, rows: int, keys: int) -> None:
    """Reject a table that would not fit into memory, since it has every column in every row."""
    check_columns(path, line, keys)
    what = f"{rows:,} rows so far have {keys:,} different keys"
    check_room(path, 8 * rows * keys, what, line)


def _each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"{first_repeated(key for key, _ in pairs)!r} twice")
    return record


@contextmanager
def _json_lines_writer(stream: BinaryIO, *_: Any) -> Iterator[Callable[[Any], object]]:
    def lines(frame: Any) -> Iterator[bytes]:
        """A line for each row; JSON has no NaN, so a missing value is null."""
        columns = (
            [None if gap else cell for cell, gap in zip(frame[name].tolist(), frame[name].isna())]
            for name in frame.columns
        )
        for cells in zip(*columns):
            record = dict(zip(frame.columns, cells))
            yield json_bytes(record, default=str) + b"\n"

    yield lambda frame: stream.writelines(lines(frame))


def _read_parquet(path: AnyPath, *_: Any) -> Frame:
    pd, parquet = table_module("pandas"), table_module("pyarrow.parquet")
    with opened(path) as stream, parquet_errors(path):
        about = parquet.ParquetFile(stream).metadata
        check_columns(path, None, about.num_columns)
        what = f"it announces {about.num_rows:,} rows of {about.num_columns:,} columns"
        check_room(path, 8 * about.num_rows * max(about.num_columns, 1), what)
        stream.seek(0)
        return Frame(pd.read_parquet(stream, engine="pyarrow"), path)


@contextmanager
def format_errors(path: AnyPath, expected: str) -> Iterator[None]:
    """Name the file in errors of libraries, which raise any kind for damaged files."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:200]
        raise FileFormatError(path, None, f"expected {expected}: {words}") from None


parquet_errors = partial(format_errors, expected="a Parquet file")


@contextmanager
def _parquet_writer(
    stream: BinaryIO, _: Sequence[str], schema: Callable[[Any], Any], __: bool
) -> Iterator[Callable[[Any], object]]:
    arrow, parquet = table_module("pyarrow"), table_module("pyarrow.parquet")
    columns = schema(arrow)
    with parquet.ParquetWriter(stream, columns) as writer:
        yield lambda frame: writer.write_table(
            arrow.Table.from_pandas(frame, schema=columns, preserve_index=False)
        )


def _read_excel(path: AnyPath, sheet: str | None, _: Any, as_text: set[str]) -> Frame:
    """A sheet as text, numbers and dates; an empty cell is missing."""
    pd = table_module("pandas")
    import_extra("openpyxl", f"reading {os.fspath(path)} (or save it as CSV)", "excel")
    with format_errors(path, "an Excel file"):
        with zipfile.ZipFile(path) as archive:  # packed XML
            size = sum(part.file_size for part in archive.infolist())
        check_room(path, size, f"it unpacks to {size:,} bytes")
        with pd.ExcelFile(path, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            there = listed([repr(name) for name in names], 10)
            if sheet is not None and sheet not in names:
                raise FileFormatError(path, None, f"there is no sheet {sheet!r}, only {there}")
            if sheet is None and len(names) > 1:
                raise FileFormatError(path, None, f"it has the sheets {there}: choose with sheet=")
            options = {"sheet_name": sheet or 0, "keep_default_na": False, "na_values": [""]}
            # pandas renames duplicate and empty names: read the original ones
            first = pd.read_excel(book, header=None, nrows=1, dtype=object, **options)
            check_columns(path, 1, first.shape[1])
            cells = first.to_numpy().ravel().tolist()
            written = column_names(["" if pd.isna(cell) else cell for cell in cells], path, 1)
            head = pd.read_excel(book, nrows=0, **options).columns
            kinds = {key: str for key, name in zip(head, written) if name in as_text}
            frame = pd.read_excel(book, dtype=kinds, **options)
            written += [""] * (frame.shape[1] - len(written))  # rows may be longer than the first
            frame = frame.set_axis(written, axis=1)
    return Frame(frame, path, lambda row: row + 2)


FORMATS = (
    Format("excel", (".xlsx", ".xlsm"), frame=_read_excel),
    Format("parquet", (".parquet", ".pq"), frame=_read_parquet, writer=_parquet_writer),
    Format("jsonl", (".jsonl", ".ndjson"), frame=_read_json_lines, writer=_json_lines_writer),
    Format("json", (".json",), frame=_read_json),
)
