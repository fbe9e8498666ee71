"""CSV, Parquet and JSON lines as data frames, with the line on which each row starts."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from plurilabel._core.words import first_repeated
from plurilabel.io._files import (
    MOST_UNPACKED,
    FileFormatError,
    file_format,
    most_unpacked,
    opened,
    plain_name,
)
from plurilabel.io._table._written import has_comma, is_number

PathLike = str | os.PathLike[str]
MOST_COLUMNS = 100_000
FORMATS = ("csv", "tsv", "parquet", "jsonl", "json")
SEPARATORS = ",;\t|"

_LOOKED_AT = 1000  # values of a column
_SEP_LINE = re.compile(r"sep=([^\w\s]|\t)")
Record = tuple[int, list[str]]  # the line on which it starts, and its cells


def table_module(name: str) -> Any:
    """Import pandas or pyarrow, which come with an extra."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(
            f"tables need {package}: install it with `pip install plurilabel[table]`"
        ) from None


def table_format(path: PathLike, given: str | None = None) -> str:
    """Format of a table file: as given, or by its suffix, before a ``.gz``."""
    kind = given or file_format(path)
    if given is not None and given not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {given!r}")
    if kind not in FORMATS:
        raise ValueError(
            f"the format of {os.fspath(path)!r} does not show in its name: expected one of "
            f".csv, .tsv, .parquet, .jsonl and .json, or format= one of {', '.join(FORMATS)}"
        )
    return str(kind)


class CellError(ValueError):
    """Something wrong with a column, or with one of its rows."""

    def __init__(self, column: str, row: int | None, problem: str) -> None:
        self.column, self.row, self.problem = column, row, problem
        super().__init__(problem)


class Frame:
    """A data frame with unique text names, and where its rows stand in a file.

    Attributes
    ----------
    frame : pandas data frame
    path : str or None
        The file; None for a data frame.
    comma : bool
        Whether a comma separates the decimals of a CSV file.
    points : set of str
        Columns of such a file that have points all the same.
    """

    comma = False

    def __init__(
        self,
        frame: Any,
        path: PathLike | None = None,
        line_of: Callable[[int], int] | None = None,
        head: int | None = None,
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        self._line_of = line_of
        self.points: set[str] = set()
        names = [str(name).strip() for name in frame.columns]
        problem = None
        if (twice := first_repeated(names)) is not None:
            problem = f"expected each column name once, got {twice!r} twice"
        # where pandas looks up names, they end at such a character
        elif (name := next((n for n in names if "\0" in n), None)) is not None:
            problem = f"expected column names without null characters, got {name!r}"
        if problem is not None:
            if path is None:
                raise ValueError(f"data frame: {problem}")
            raise FileFormatError(path, head, problem)
        self.frame = frame.set_axis(names, axis=1)

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return "" if self.path is None else plain_name(self.path)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors of cells get file and line, or the row of a data frame."""
        try:
            if not len(self.frame):
                raise CellError("", None, "expected at least one row, got none")
            yield
        except CellError as error:
            column = f"column {error.column!r}" if error.column else "table"
            line = self._line_of(error.row) if self._line_of and error.row is not None else None
            if error.row is not None and line is None:
                # as lines of files are counted, and as rows of data frames are
                column += f", row {error.row + (self.path is not None)}"
            problem = f"{column}: {error.problem}"
            if self.path is None:
                raise ValueError(problem) from None
            raise FileFormatError(self.path, line, problem) from None


def open_frame(
    source: PathLike | Any,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    format: str | None = None,
    as_text: Iterable[str] = (),
    embeddings: PathLike | Any = None,
) -> Frame:
    """Read a file or take a data frame; in CSV the columns ``as_text`` stay text."""
    table_module("pandas")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
    table = _opened_frame(source, sep, decimal, format, set(as_text))
    if embeddings is not None:
        _add_vectors(table, embeddings)
    return table


def _opened_frame(
    source: PathLike | Any,
    sep: str | None,
    decimal: str | None,
    format: str | None,
    as_text: set[str],
) -> Frame:
    if isinstance(source, str | os.PathLike):
        kind = table_format(source, format)
        if sep is not None and len(sep) != 1:
            raise ValueError(f"sep must be a single character, got {sep!r}")
        if kind == "parquet":
            return _read_parquet(source)
        if kind == "jsonl" or (kind == "json" and _is_json_lines(source)):
            return _read_json_lines(source)
        if kind == "json":
            return _read_json(source)
        sep = sep or ("\t" if kind == "tsv" else csv_separator(source))
        if decimal is not None:
            return _read_csv(source, sep, as_text, decimal)
        table = _read_csv(source, sep, as_text, ".")
        texts = (table.frame[name] for name in table.frame.columns if name not in as_text)
        return _again_with_comma(table, sep, as_text) if any(map(_has_commas, texts)) else table
    if not isinstance(source, table_module("pandas").DataFrame):
        if not hasattr(source, "to_pandas"):
            raise TypeError(f"path must be a path or a data frame, got {type(source).__name__}")
        table_module("pyarrow")  # what polars converts with
        source = source.to_pandas()
    return Frame(source)


VECTORS = "embeddings"
"""The column for vectors that come from a file of their own."""


def _add_vectors(table: Frame, embeddings: PathLike | Any) -> None:
    """A column of lists from a ``.npy`` file or an array with a row for each row of the table."""
    name = "embeddings"
    if isinstance(embeddings, str | os.PathLike):
        name = os.fspath(embeddings)
        try:
            with open(name, "rb") as stream:
                embeddings = np.lib.format.read_array(stream, allow_pickle=False)
        except (ValueError, EOFError, MemoryError) as error:
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(name, None, f"expected an array of numpy: {words}") from None
    E, n = np.asarray(embeddings), len(table.frame)
    if E.ndim != 2 or E.dtype.kind not in "biuf" or E.shape[1] == 0:
        got = f"{E.dtype} in shape {E.shape}"
        raise ValueError(f"{name} must hold numbers in a row for each row of the table, got {got}")
    if len(E) != n:
        raise ValueError(f"{name} has {len(E):,} rows for the {n:,} rows of the table")
    if VECTORS in table.frame.columns:
        raise ValueError(
            f"the table has a column {VECTORS!r} of its own: rename it, or leave out {name}"
        )
    vectors = table_module("pandas").Series(list(E), index=table.frame.index, dtype=object)
    table.frame = table.frame.assign(**{VECTORS: vectors})


# CSV: read by pandas, and looked through by the csv module where pandas guesses -----------------


def csv_separator(path: PathLike) -> str:
    """What separates the columns: of those that make rows of equal length, the one with most."""
    if (named := _named_separator(path)) is not None:
        return named
    best, most = ",", 1
    for sep in SEPARATORS:
        try:
            widths = {len(record) for _, record in islice(_records(path, sep), 50)}
        except FileFormatError:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = sep, width
    return best


def _named_separator(path: PathLike) -> str | None:
    """What a first line such as ``sep=;`` says, which Excel writes and leaves out."""
    with opened(path) as stream:
        first = stream.readline(20).decode(_encoding(path), errors="ignore").strip("\r\n\0")
    found = _SEP_LINE.fullmatch(first)
    return found[1] if found else None


def _encoding(path: PathLike) -> str:
    """UTF-8, or UTF-16 if the file begins with the mark of it."""
    with opened(path) as stream:
        return "utf-16" if stream.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _has_commas(series: Any) -> bool:
    """Whether a column that stayed text holds numbers with decimal commas."""
    if series.dtype.kind in "biufM":
        return False
    texts = [text.strip() for text in series.dropna().unique() if isinstance(text, str)]
    if not any("," in text for text in texts):
        return False
    numbers = [text for text in texts if is_number(text)]
    return 2 * len(numbers) > len(texts) and has_comma(numbers) is True


def _again_with_comma(table: Frame, sep: str, as_text: set[str]) -> Frame:
    """A file read again, since commas separate decimals in one of its columns.

    Then ``1.234`` may be a number of thousands, which was read as a decimal one: such columns are
    left as text. Those that can only have points keep what was read first.
    """
    again = _read_csv(str(table.path), sep, as_text, ",")
    for name, series in table.frame.items():
        if series.dtype.kind == "f" and again.frame[name].dtype.kind not in "iuf":
            texts = again.frame[name].dropna().unique()[:_LOOKED_AT]
            if has_comma(str(text).strip() for text in texts) is False:
                again.frame[name] = series
                again.points.add(name)
    return again


def _read_csv(path: PathLike, sep: str, as_text: set[str], decimal: str) -> Frame:
    pd = table_module("pandas")
    first = list(islice(_records(path, sep), 2))
    if not first:
        raise FileFormatError(path, None, "expected a line with column names, got none")
    line, names = first[0]
    _check_columns(path, line, len(names))
    names = Frame(pd.DataFrame(columns=names), path, head=line).frame.columns.tolist()
    # if the first row is longer than the header, pandas takes its first cells for an index
    _check_widths(path, len(names), first)
    # since pandas 3.1 numbers are read exactly without asking, and asking is deprecated
    old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    try:
        with opened(path) as stream:
            frame = pd.read_csv(
                stream,
                sep=sep,
                decimal=decimal,
                header=0,
                names=names,
                dtype=dict.fromkeys(as_text.intersection(names), str),
                # a text such as NA or None may be a value: only an empty cell is missing
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
                encoding=_encoding(path),
                skiprows=int(_named_separator(path) is not None),
                low_memory=False,
                **({"float_precision": "round_trip"} if old else {}),
            )
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except pd.errors.ParserError as error:
        _check_widths(path, len(names), _records(path, sep, strict=True))
        raise FileFormatError(path, None, str(error)) from None
    # and it fills short rows up with missing values
    if frame.iloc[:, -1].isna().any():
        _check_widths(path, len(names), _records(path, sep))

    def line_of(row: int) -> int:
        return next(islice(_records(path, sep), row + 1, None))[0]

    table = Frame(frame, path, line_of)
    table.comma = decimal == ","
    return table


def _records(path: PathLike, sep: str, *, strict: bool = False) -> Iterator[Record]:
    """Records that are not blank, each with the line on which it starts."""
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding=_encoding(path), newline="")
        reader = csv.reader(text, delimiter=sep, skipinitialspace=True, strict=strict)
        line, is_first = 1, True
        limit = csv.field_size_limit(2**31 - 1)  # texts may be long
        try:
            for record in reader:
                # what separates columns is said there, not a record
                said = is_first and bool(_SEP_LINE.fullmatch(sep.join(record)))
                if not said and (len(record) > 1 or (record and record[0].strip())):
                    yield line, record
                is_first = False
                line = reader.line_num + 1
        except csv.Error as error:
            raise FileFormatError(path, line, f"expected CSV, got {error}") from None
        except UnicodeDecodeError:
            raise _not_utf8(path) from None
        finally:
            csv.field_size_limit(limit)


def _check_columns(path: PathLike, line: int | None, n: int) -> None:
    """Refuse a table that would take minutes: pandas and the encoders go column by column."""
    if n > MOST_COLUMNS:
        problem = f"expected at most {MOST_COLUMNS:,} columns in a table, got {n:,}; for more "
        raise FileFormatError(path, line, f"{problem}features there are LIBSVM and XMC files")


def _check_widths(path: PathLike, width: int, records: Iterable[Record]) -> None:
    for line, record in records:
        if len(record) != width:
            problem = f"expected {width} values, one for each column, got {len(record)}"
            raise FileFormatError(path, line, problem)


def _not_utf8(path: PathLike) -> FileFormatError:
    """The error for the first line that is not UTF-8; decoders of whole files do not know it."""
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            try:
                content.decode()
            except UnicodeDecodeError as error:
                byte = content[error.start]
                problem = f"expected text in UTF-8, got the byte 0x{byte:02x}; save it as UTF-8"
                return FileFormatError(path, line, problem)
    return FileFormatError(path, None, "expected text in UTF-8")


# JSON lines and Parquet -----------------------------------------------------------------------


def _is_json_lines(path: PathLike) -> bool:
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


def _read_json(path: PathLike) -> Frame:
    with opened(path) as stream:
        content = stream.read()
    try:
        records = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_key_once)
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, None, f"expected an array of JSON, got {error}") from None
    if isinstance(records, dict) and _are_columns(records):
        rows = list(dict.fromkeys(row for column in records.values() for row in column))
        _check_keys(path, None, len(rows), len(records))
        records = [{name: column.get(row) for name, column in records.items()} for row in rows]
    if not isinstance(records, list):
        problem = (
            f"expected an array of JSON objects, one for each row, got a {type(records).__name__}"
        )
        raise FileFormatError(path, None, problem)
    names = set[str]()
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            problem = f"expected an array of JSON objects, got a {type(record).__name__} in row "
            raise FileFormatError(path, None, f"{problem}{row}")
        names.update(record)
        _check_keys(path, None, row + 1, len(names))
    return Frame(table_module("pandas").DataFrame(records), path)


def _check_keys(path: PathLike, line: int | None, rows: int, keys: int) -> None:
    """Refuse what would not fit: a table has every column in every row."""
    _check_columns(path, line, keys)
    if 8 * rows * keys > (limit := most_unpacked(os.path.getsize(path))):
        problem = f"{rows:,} rows so far have {keys:,} different keys, "
        problem += f"beyond {limit:,} bytes; {MOST_UNPACKED} may set another limit"
        raise FileFormatError(path, line, problem)


def _read_json_lines(path: PathLike) -> Frame:
    records, lines, names = [], [], set[str]()
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            if not content.strip():
                continue
            try:
                record = json.loads(content, object_pairs_hook=_each_key_once)
            except UnicodeDecodeError:
                raise _not_utf8(path) from None
            except (ValueError, RecursionError) as error:
                raise FileFormatError(path, line, f"expected a JSON object, got {error}") from None
            if not isinstance(record, dict):
                problem = f"expected a JSON object, got a {type(record).__name__}"
                raise FileFormatError(path, line, problem)
            records.append(record)
            lines.append(line)
            names.update(record)
            _check_keys(path, line, len(records), len(names))
    return Frame(table_module("pandas").DataFrame(records), path, lines.__getitem__)


def _each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"{first_repeated(key for key, _ in pairs)!r} twice")
    return record


def _read_parquet(path: PathLike) -> Frame:
    pd, parquet = table_module("pandas"), table_module("pyarrow.parquet")
    with opened(path) as stream:
        try:
            about = parquet.ParquetFile(stream).metadata
            _check_columns(path, None, about.num_columns)
            size = 8 * about.num_rows * max(about.num_columns, 1)
            if size > (limit := most_unpacked(os.path.getsize(path))):
                cells = f"{about.num_rows:,} rows of {about.num_columns:,} columns"
                problem = f"it announces {cells}, beyond {limit:,} bytes; {MOST_UNPACKED} may"
                raise FileFormatError(path, None, f"{problem} set another limit")
            stream.seek(0)
            frame = pd.read_parquet(stream, engine="pyarrow")
        except FileFormatError:
            raise
        except Exception as error:  # damaged files lead pyarrow and pandas to all kinds of them
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(path, None, f"expected a Parquet file: {words}") from None
    return Frame(frame, path)
