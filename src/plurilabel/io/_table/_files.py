"""CSV, Parquet and JSON lines to and from data frames, and where in the file a row stands."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from plurilabel.io._files import FileFormatError, opened, write_atomic

PathLike = str | os.PathLike[str]
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = ("csv", "tsv", "parquet", "jsonl")


Record = tuple[int, list[str]]  # the line on which it starts, and its cells


class Table(NamedTuple):
    """A data frame with unique text names, and the line on which a row of it starts."""

    frame: Any
    line_of: Callable[[int], int | None]


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
    if given is not None:
        if given not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {given!r}")
        return given
    file = Path(path)
    suffix = Path(file.stem if file.suffix == ".gz" else file.name).suffix
    if suffix.lower() not in _SUFFIXES:
        raise ValueError(
            f"the format of {os.fspath(path)!r} does not show in its name: expected one of "
            f"{', '.join(_SUFFIXES)}, or format= one of {', '.join(FORMATS)}"
        )
    return _SUFFIXES[suffix.lower()]


def read_frame(path: PathLike, kind: str, sep: str | None, as_text: Sequence[str]) -> Table:
    """Read a file; in CSV the columns ``as_text`` are not looked at for numbers."""
    if kind == "parquet":
        return _read_parquet(path)
    if kind == "jsonl":
        return _read_json_lines(path)
    if sep is None:
        sep = "\t" if kind == "tsv" else ","
    elif len(sep) != 1:
        raise ValueError(f"sep must be a single character, got {sep!r}")
    return _Csv(path, sep).read(as_text)


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that was there before, None if all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def no_line(row: int) -> None:
    """Where rows have no lines."""


def with_names(frame: Any, problem: Callable[[str], Exception]) -> Any:
    """The frame with stripped text names, each of them once."""
    names = [str(name).strip() for name in frame.columns]
    twice = first_repeated(names)
    if twice is not None:
        raise problem(f"expected each column name once, got {twice!r} twice")
    return frame.set_axis(names, axis=1)


# CSV ---------------------------------------------------------------------------------------


class _Csv:
    """A CSV file: read by pandas, and looked through by the csv module where pandas guesses."""

    def __init__(self, path: PathLike, sep: str) -> None:
        self.path, self.sep = path, sep

    def read(self, as_text: Sequence[str]) -> Table:
        pd = table_module("pandas")
        records = list(islice(self._records(), 2))
        if not records:
            raise FileFormatError(self.path, None, "expected a line with column names, got none")
        line, names = records[0]
        names = [name.strip() for name in names]
        with_names(
            pd.DataFrame(columns=names), lambda text: FileFormatError(self.path, line, text)
        )
        # if the first row is longer than the header, pandas takes its first cells for an index
        self._check_widths(len(names), records)
        try:
            with opened(self.path) as stream:
                frame = pd.read_csv(
                    stream,
                    sep=self.sep,
                    header=0,
                    names=names,
                    dtype={name: str for name in as_text if name in names},
                    # a text such as NA or None may be a value: only an empty cell is missing
                    keep_default_na=False,
                    na_values=[""],
                    **_exact_floats(pd.__version__),
                    skipinitialspace=True,
                    encoding="utf-8-sig",
                    low_memory=False,
                )
        except UnicodeDecodeError:
            raise _not_utf8(self.path) from None
        except pd.errors.ParserError as error:
            self._check_widths(len(names), self._records(strict=True))
            raise FileFormatError(self.path, None, str(error)) from None
        # and it fills short rows up with missing values
        if frame.iloc[:, -1].isna().any():
            self._check_widths(len(names), self._records())
        return Table(frame, self._line_of)

    def _records(self, *, strict: bool = False) -> Iterator[Record]:
        """Records that are not blank, each with the line on which it starts."""
        with opened(self.path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            reader = csv.reader(text, delimiter=self.sep, skipinitialspace=True, strict=strict)
            line = 1
            limit = csv.field_size_limit(2**31 - 1)  # texts may be long
            try:
                for record in reader:
                    if len(record) > 1 or (record and record[0].strip()):
                        yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                raise FileFormatError(self.path, line, f"expected CSV, got {error}") from None
            except UnicodeDecodeError:
                raise _not_utf8(self.path) from None
            finally:
                csv.field_size_limit(limit)

    def _check_widths(self, width: int, records: Iterable[Record]) -> None:
        for line, record in records:
            if len(record) != width:
                raise FileFormatError(
                    self.path,
                    line,
                    f"expected {width} values, one for each column, got {len(record)}",
                )

    def _line_of(self, row: int) -> int | None:
        for i, (line, _) in enumerate(self._records(), -1):
            if i == row:
                return line
        return None


def _exact_floats(version: str) -> dict[str, str]:
    """Since pandas 3.1 numbers are read exactly without asking, and asking is deprecated."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def _not_utf8(path: PathLike) -> FileFormatError:
    """The error for the first line that is no UTF-8; decoders of whole files do not know it."""
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            try:
                content.decode()
            except UnicodeDecodeError as error:
                byte = content[error.start]
                problem = f"expected text in UTF-8, got the byte 0x{byte:02x}"
                return FileFormatError(path, line, problem)
    return FileFormatError(path, None, "expected text in UTF-8")


# JSON lines and Parquet --------------------------------------------------------------------


def _read_json_lines(path: PathLike) -> Table:
    pd = table_module("pandas")
    records, lines = [], []
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            if not content.strip():
                continue
            try:
                record = json.loads(content, object_pairs_hook=_each_key_once)
            except UnicodeDecodeError:
                raise _not_utf8(path) from None
            except ValueError as error:
                raise FileFormatError(path, line, f"expected a JSON object, got {error}") from None
            if not isinstance(record, dict):
                raise FileFormatError(
                    path, line, f"expected a JSON object, got a {type(record).__name__}"
                )
            records.append(record)
            lines.append(line)
    frame = with_names(pd.DataFrame(records), lambda text: FileFormatError(path, None, text))
    return Table(frame, lambda row: lines[row])


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(k for k in keys if keys.count(k) > 1)!r} twice")
    return record


def _read_parquet(path: PathLike) -> Table:
    pd, arrow = table_module("pandas"), table_module("pyarrow")
    with opened(path) as stream:
        try:
            frame = pd.read_parquet(stream, engine="pyarrow")
        except arrow.ArrowInvalid as error:
            raise FileFormatError(path, None, f"expected a Parquet file: {error}") from None
    frame = with_names(frame, lambda text: FileFormatError(path, None, text))
    return Table(frame, no_line)


# writing -----------------------------------------------------------------------------------


@contextmanager
def frame_writer(
    path: PathLike, features: Sequence[str], labels: Sequence[str], *, are_tags: bool
) -> Iterator[Callable[[Any], object]]:
    """Function that appends a frame to the file, with 0/1 labels or one column of tags."""

    def schema(arrow: Any) -> Any:
        label_type = arrow.list_(arrow.string()) if are_tags else arrow.int64()
        numbers = [(name, arrow.float64()) for name in features]
        return arrow.schema(numbers + [(name, label_type) for name in labels])

    with (
        write_atomic(path) as stream,
        appender(stream, table_format(path), [*features, *labels], schema) as append,
    ):
        yield append


@contextmanager
def appender(
    stream: Any, kind: str, names: Sequence[str], schema: Callable[[Any], Any]
) -> Iterator[Callable[[Any], object]]:
    """Function that appends a frame to a binary stream.

    ``schema`` makes the columns of a Parquet file; it is given pyarrow.
    """
    if kind == "parquet":
        arrow, parquet = table_module("pyarrow"), table_module("pyarrow.parquet")
        columns = schema(arrow)
        with parquet.ParquetWriter(stream, columns) as writer:
            yield lambda frame: writer.write_table(
                arrow.Table.from_pandas(frame, schema=columns, preserve_index=False)
            )
    elif kind == "jsonl":
        yield lambda frame: stream.writelines(json_lines(frame))
    else:
        sep = "\t" if kind == "tsv" else ","
        stream.write(csv_head(names, sep).encode())
        yield lambda frame: stream.write(csv_rows(frame, sep).encode())


def csv_head(names: Sequence[str], sep: str) -> str:
    """The line of column names."""
    head = io.StringIO()
    csv.writer(head, delimiter=sep, lineterminator="\n").writerow(names)
    return head.getvalue()


def csv_rows(frame: Any, sep: str) -> str:
    """The rows without the column names."""
    return str(frame.to_csv(sep=sep, header=False, index=False, lineterminator="\n"))


def json_lines(frame: Any) -> Iterable[bytes]:
    """A line for each row; JSON has no NaN, so a missing value is null."""
    names = list(frame.columns)
    columns = (
        [
            None if missing else cell
            for cell, missing in zip(frame[name].tolist(), frame[name].isna())
        ]
        for name in names
    )
    for cells in zip(*columns):
        record = dict(zip(names, cells))
        yield (json.dumps(record, ensure_ascii=False, default=str) + "\n").encode()
