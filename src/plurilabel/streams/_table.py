"""CSV and JSON lines row by row, in constant memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any, BinaryIO, Literal, cast

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import murmurhash3_32

from plurilabel._core.words import NO_YES, first_repeated, shortened, similar
from plurilabel.io import FileFormatError, file_format
from plurilabel.io.shared import CellReader, check_escapes, header_separator, opened
from plurilabel.streams._stream import Row, Stream

LONGEST = 1 << 24  # bytes of a line
_SETTINGS = (
    "labels", "features", "drop", "tag_sep", "sep", "format", "text", "n_hashed", "decimal",
    "day_first",
)  # fmt: skip
_MISSING = {"", "?", "NA", "N/A", "NaN", "nan", "null", "None"}


@dataclass(eq=False, repr=False)
class TableStream(Stream):
    """Read CSV or JSON lines row by row, gzipped or not, from a file or standard input.

    Columns have no types, since later rows are unknown: a number is a feature with its value, a
    date becomes several numbers, and any other text a feature ``column=text`` with the value 1.
    Empty cells and ``null`` are skipped. Numbers and dates are read as by
    :func:`~plurilabel.io.read_table`. If a cell is ambiguous, the first unambiguous cell of its
    column decides; it is an error if an earlier cell was read otherwise.

    Parameters
    ----------
    source : path, "-" or binary file
        "-" is standard input, which can be read only once.
    labels : list of str, or str
        A list of label columns with 0/1, true/false or yes/no, where empty cells are unknown; or
        the name of a column of tags, each of which is a label from its first occurrence on.
    tag_sep : str, default=";"
        Separator of tags in one cell. JSON lines may hold lists instead.
    text : list of str, optional
        Columns of text, whose words are features.
    features, drop : list of str, optional
        Feature columns, by default all others, or none with ``text``; columns to leave out.
    sep : str, optional
        Separator of a CSV file: comma, semicolon, tab or bar, by default detected in the first
        line.
    decimal : {".", ","}, optional
        Decimal mark; by default detected for each column.
    day_first : bool, optional
        Whether 03/04/2021 is 3 April; by default detected for each column.
    words : list of callable, optional
        Split a text into words; by default as scikit-learn's ``CountVectorizer``.
    n_hashed : int or None, default=4096
        Number of features ``column#number`` to which the words of a column are hashed, as by
        scikit-learn's ``HashingVectorizer``, so that learners do not grow with the vocabulary.
        None for a feature ``column=word`` per word.
    format : {"csv", "jsonl"}, optional
        By default from the file name, or CSV for standard input.

    Attributes
    ----------
    identifiers : list of str
        Columns that have numbered the rows so far, or have very many distinct texts, and so are of
        little use to a learner.

    Examples
    --------
    >>> import io
    >>> from plurilabel.streams import TableStream
    >>> table = b"height,sun,tags\\n1.5,full,tall;flowers\\n0.2,,flowers\\n0.1,none,shade\\n"
    >>> for x, y in TableStream(io.BytesIO(table), "tags"):
    ...     print(x, y)
    {'height': 1.5, 'sun=full': 1.0} {'tall': True, 'flowers': True}
    {'height': 0.2} {'tall': False, 'flowers': True}
    {'height': 0.1, 'sun=none': 1.0} {'tall': False, 'flowers': False, 'shade': True}
    """

    source: str | os.PathLike[str] | BinaryIO
    labels: Sequence[str] | str
    _: KW_ONLY
    tag_sep: str = ";"
    text: Sequence[str] = ()
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    sep: str | None = None
    decimal: str | None = None
    day_first: bool | None = None
    words: Sequence[Callable[[str], list[str]]] | None = None
    n_hashed: int | None = 4096
    format: Literal["csv", "jsonl"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.labels, str):
            self.labels = list(self.labels)
        self._label_columns = [self.labels] if isinstance(self.labels, str) else self.labels
        self.text, self.drop = list(self.text), list(self.drop)
        if self.features is not None or self.text:
            self.features = list(self.features or ())
        if self.words is None and self.text:
            self.words = [CountVectorizer().build_analyzer()]
        self._reader = self._new_reader()
        self._was_read = False
        self._is_path = isinstance(self.source, str | os.PathLike) and self.source != "-"
        self.path = os.fspath(cast(str, self.source)) if self._is_path else "standard input"
        self.name = os.path.basename(self.path)
        found: Any = self.format or (file_format(self.path) if self._is_path else "csv")
        if found == "tsv":
            found, self.sep = "csv", self.sep or "\t"
        self.format = found
        if found not in ("csv", "jsonl"):
            raise ValueError(
                f"format must be 'csv' or 'jsonl' to be read row by row, got {found!r} for "
                f"{self.path}"
            )
        if self.sep is not None and len(self.sep) != 1:
            raise ValueError(f"sep must be one character, got {self.sep!r}")
        if self.n_hashed is not None and self.n_hashed < 1:
            raise ValueError(f"n_hashed must be at least 1 or None, got {self.n_hashed!r}")
        if not self.tag_sep:
            raise ValueError("tag_sep must not be empty")
        if not self.labels:
            raise ValueError("labels must name at least one column, got none")

    def _new_reader(self) -> CellReader:
        reading = {"decimal": self.decimal, "day_first": self.day_first}
        return CellReader(words=self.words or (), **reading)  # type: ignore[arg-type]

    def made_of(self) -> Any:
        """The name and size of the file, and the options."""
        return {
            "name": self.name,
            "bytes": os.path.getsize(self.path) if os.path.isfile(self.path) else None,
            **{name: getattr(self, name) for name in _SETTINGS},
        }

    @property
    def identifiers(self) -> list[str]:
        """Columns that seem to identify rows."""
        return self._reader.identifiers

    def __iter__(self) -> Iterator[Row]:
        tags: dict[Hashable, Any] = {}
        self._reader = self._new_reader()
        with self._opened() as stream:
            rows = self._csv_rows if self.format == "csv" else self._json_rows
            for line, cells in rows(stream):
                try:
                    yield self._x(cells), self._y(cells, tags)
                except (ValueError, RecursionError) as error:  # lists in lists
                    raise self._error(line, str(error)) from None

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self._is_path:
            with opened(self.path) as stream:
                yield stream
            return
        if self._was_read:
            raise ValueError(f"{self.path} can be read only once")
        self._was_read = True
        stream = sys.stdin.buffer if self.source == "-" else cast(BinaryIO, self.source)
        buffered = io.BufferedReader(cast(io.RawIOBase, stream))
        try:
            packed = buffered.peek(2)[:2] == b"\x1f\x8b"
            yield cast(BinaryIO, gzip.GzipFile(fileobj=buffered) if packed else buffered)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._error(None, f"the gzip stream is broken: {error}") from None
        finally:
            buffered.detach()  # the stream stays open: it is not ours

    def _error(self, line: int | None, why: str) -> FileFormatError:
        return FileFormatError(self.path, line, why)

    def _lines(self, stream: BinaryIO) -> Iterator[str]:
        for number, raw in enumerate(iter(lambda: stream.readline(LONGEST + 1), b""), 1):
            if len(raw) > LONGEST:
                raise self._error(number, f"the line is longer than {LONGEST:,} bytes")
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise self._error(number, "expected text in UTF-8") from None

    def _csv_rows(self, stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        lines = self._lines(stream)
        first = next(lines, "")
        try:
            sep = self.sep or header_separator(first, set(self._label_columns))
        except csv.Error as error:
            raise self._error(1, str(error)) from None
        reader = csv.reader(chain([first], lines), delimiter=sep, strict=True)
        names: list[str] | None = None
        try:
            for cells in reader:
                if not cells:
                    continue
                if names is None:
                    names = cells
                    if (twice := first_repeated(names)) is not None:
                        raise self._error(reader.line_num, f"duplicate column {twice!r}")
                    self._check_columns(names)
                elif len(cells) != len(names):
                    words = f"expected {len(names)} values, got {len(cells)}"
                    raise self._error(reader.line_num, words)
                else:
                    yield reader.line_num, dict(zip(names, cells))
        except csv.Error as error:
            raise self._error(reader.line_num, str(error)) from None

    def _json_rows(self, stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._lines(stream), 1):
            if not line.strip():
                continue
            try:
                cells = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise self._error(number, f"not JSON: {error}") from None
            if not isinstance(cells, dict):
                raise self._error(number, f"expected an object, got {shortened(line.strip(), 40)}")
            check_escapes(self.path, number, line)
            yield number, cells

    def _check_columns(self, names: list[str]) -> None:
        given = {"labels": self._label_columns, "features": self.features or (),
                 "drop": self.drop, "text": self.text}  # fmt: skip
        for what, columns in given.items():
            for column in columns:
                if column not in names:
                    near = similar(column, names)
                    hint = f"; did you mean {near!r}?" if near else ""
                    raise self._error(1, f"there is no column {column!r} ({what}){hint}")

    def _x(self, cells: dict[str, Any]) -> dict[Hashable, Any]:
        x: dict[Hashable, Any] = {}
        others = {*self._label_columns, *self.drop, *self.text}
        for name in cells if self.features is None else self.features:
            if name not in others:
                x.update(self._reader.features(name, cells.get(name)))
        for name in self.text:
            found = self._reader.text_features(name, cells.get(name))
            x.update(found if self.n_hashed is None else _hashed(name, found, self.n_hashed))
        return x

    def _y(self, cells: dict[str, Any], tags: dict[Hashable, Any]) -> dict[Hashable, Any]:
        if not isinstance(self.labels, str):
            return {name: _truth(name, cells.get(name)) for name in self.labels}
        cell = cells.get(self.labels)
        if cell is None:
            return {}
        if isinstance(cell, str):
            cell = [tag for tag in (part.strip() for part in cell.split(self.tag_sep)) if tag]
        if not isinstance(cell, list) or not all(isinstance(tag, str) for tag in cell):
            raise ValueError(f"{self.labels} must be text or a list of texts, got {cell!r}")
        tags |= dict.fromkeys(cell, False)
        return {**tags, **dict.fromkeys(cell, True)}


def _hashed(column: str, words: Iterable[tuple[str, float]], n: int) -> dict[str, float]:
    """Hash words to n features, as scikit-learn's ``FeatureHasher`` does."""
    found: dict[str, float] = {}
    for word, share in words:
        code = murmurhash3_32(word)
        name = f"{column}#{abs(code) % n}"
        found[name] = found.get(name, 0.0) + (share if code >= 0 else -share)
    return found


def _truth(name: str, cell: Any) -> bool | None:
    if cell is None or (isinstance(cell, str) and cell.strip() in _MISSING):
        return None
    text = str(cell).strip().lower()
    if text in ("0.0", "1.0"):
        return text == "1.0"
    if text not in NO_YES:
        raise ValueError(f"the label {name} must be 0 or 1, got {shortened(str(cell))!r}")
    return bool(NO_YES[text])
