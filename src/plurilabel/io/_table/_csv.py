"""CSV files: read by pandas, and inspected by the csv module where pandas guesses."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, tee
from typing import Any, BinaryIO

from plurilabel._core.words import no_formula
from plurilabel.io._files import AnyPath, FileFormatError, Format, not_utf8, opened
from plurilabel.io._table._frame import Frame, check_columns, column_names, table_module
from plurilabel.io._table._notation import has_comma, is_number

SEPARATORS = ",;\t|"

_LOOKED_AT = 1000  # values of a column
_SEP_LINE = re.compile(r"sep=([!#-/:-@[-`{-~\t])")  # in ASCII, and not a quote
Record = tuple[int, list[str]]  # the line on which it starts, and its cells


@dataclass
class CsvSource:
    """A CSV file and how it is written, found by :func:`sniff` in one look at its beginning."""

    path: str
    encoding: str  # UTF-16 if the file begins with its mark, else UTF-8
    sep: str
    has_sep_line: bool  # the first line only names the separator, sep=;, as Excel writes it
    first: list[Record]  # the header and the first row, if any
    part: tuple[int, int, int] | None = None  # first and last byte, and line; without a header

    def rows(self, start: int, stop: int, line: int) -> CsvSource:
        """Some rows of a file that is not packed: the bytes from start to stop."""
        rows = replace(self, has_sep_line=False, part=(start, stop, line))
        return replace(rows, first=[self.first[0], *islice(rows.records(), 1)])

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with opened(self.path) as stream:
            if self.part is None:
                yield stream
            else:
                stream.seek(self.part[0])
                yield io.BytesIO(stream.read(self.part[1] - self.part[0]))

    def records(self, *, strict: bool = False) -> Iterator[Record]:
        """Records that are not blank, each with the line on which it starts."""
        before = 0 if self.part is None else self.part[2] - 1
        with self._opened() as stream:
            text = io.TextIOWrapper(stream, encoding=self.encoding, newline="")
            try:
                found = _records(self.path, text, self.sep, self.has_sep_line, strict=strict)
                yield from ((before + line, record) for line, record in found)
            except UnicodeDecodeError:
                raise not_utf8(self.path) from None

    def header(self) -> list[str]:
        if not self.first:
            raise FileFormatError(self.path, None, "expected a line with column names, got none")
        line, names = self.first[0]
        check_columns(self.path, line, len(names))
        return column_names(names, self.path, line)

    def read(self, as_text: set[str], decimal: str | None = None) -> Frame:
        """Read the whole file; the columns ``as_text`` stay text.

        Without ``decimal``, the file is read again with decimal commas if a column has them. A
        column with values such as ``1.234`` then stays text, since these may be thousands, unless
        its values can only have decimal points.
        """
        frame = self._read(as_text, decimal or ".")
        names = frame.columns.tolist()
        commas = set(names) if decimal == "," else set[str]()
        others = (frame[name] for name in names if name not in as_text)
        if decimal is None and any(map(_shows_commas, others)):
            with_points, frame, commas = frame, self._read(as_text, ","), set(names)
            for name, series in with_points.items():
                if series.dtype.kind == "f" and frame[name].dtype.kind not in "iuf":
                    texts = frame[name].dropna().unique()[:_LOOKED_AT]
                    if has_comma(str(text).strip() for text in texts) is False:
                        frame[name] = series
                        commas.remove(name)
        return Frame(frame, self.path, self._line_of, commas)

    def _read(self, as_text: set[str], decimal: str) -> Any:
        pd, names = table_module("pandas"), self.header()
        # if the first row is longer than the header, pandas takes its first cells for an index
        self._check_widths(len(names), self.first)
        # since pandas 3.1 numbers are read exactly without asking, and asking is deprecated
        old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
        try:
            with self._opened() as stream:
                frame = pd.read_csv(
                    stream,
                    sep=self.sep,
                    decimal=decimal,
                    header=0 if self.part is None else None,
                    names=names,
                    dtype=dict.fromkeys(as_text.intersection(names), str),
                    # a text such as NA or None may be a value: only an empty cell is missing
                    keep_default_na=False,
                    na_values=[""],
                    skipinitialspace=True,
                    encoding=self.encoding,
                    skiprows=int(self.has_sep_line),
                    low_memory=False,
                    **({"float_precision": "round_trip"} if old else {}),
                )
        except UnicodeDecodeError:
            raise not_utf8(self.path) from None
        except pd.errors.ParserError as error:
            self._check_widths(len(names), self.records(strict=True))
            raise FileFormatError(self.path, None, str(error)) from None
        # and it fills short rows up with missing values
        if frame.iloc[:, -1].isna().any():
            self._check_widths(len(names), self.records())
        return frame

    def _check_widths(self, width: int, records: Iterable[Record]) -> None:
        for line, record in records:
            if len(record) != width:
                problem = f"expected {width} values, one for each column, got {len(record)}"
                raise FileFormatError(self.path, line, problem)

    def _line_of(self, row: int) -> int:
        return next(islice(self.records(), row + (self.part is None), None))[0]


def sniff(path: AnyPath, sep: str | None = None) -> CsvSource:
    """Find out how a CSV file is written, reading its beginning once."""
    path = os.fspath(path)
    with opened(path) as stream:
        encoding = "utf-16" if stream.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        stream.seek(0)
        # the lines are read and decoded once, however often they are looked at
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        first, again, *tries = tee(text, 2 + len(SEPARATORS))
        try:
            named = _SEP_LINE.fullmatch(next(first, "")[:20].strip("\r\n"))
            sep = sep or (named[1] if named else _separator(path, tries))
            head = list(islice(_records(path, again, sep, named is not None), 2))
        except UnicodeDecodeError:
            raise not_utf8(path) from None
    return CsvSource(path, encoding, sep, named is not None, head)


def _separator(path: str, tries: Sequence[Iterator[str]]) -> str:
    """The separator for which all rows have equal length, and the most columns."""
    best, most = ",", 1
    for sep, lines in zip(SEPARATORS, tries):
        try:
            widths = {len(record) for _, record in islice(_records(path, lines, sep), 50)}
        except FileFormatError:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = sep, width
    return best


def header_separator(header: str, wanted: set[str]) -> str:
    """The separator of a stream, of which only the header is known.

    It gives the most columns, including the wanted ones if possible.
    """
    columns = {sep: next(csv.reader([header], delimiter=sep), list[str]()) for sep in SEPARATORS}
    return max(SEPARATORS, key=lambda sep: (wanted <= {*columns[sep]}, len(columns[sep])))


def _records(
    path: str, lines: Iterable[str], sep: str, skip_first: bool = False, *, strict: bool = False
) -> Iterator[Record]:
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=True, strict=strict)
    line, limit = 1, csv.field_size_limit(2**31 - 1)  # texts may be long
    try:
        for record in reader:
            skipped = skip_first and line == 1
            if not skipped and (len(record) > 1 or (record and record[0].strip())):
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(path, line, f"expected CSV, got {error}") from None
    finally:
        csv.field_size_limit(limit)


def _shows_commas(series: Any) -> bool:
    """Whether a column that stayed text holds numbers with decimal commas."""
    if series.dtype.kind in "biufM":
        return False
    texts = [text.strip() for text in series.dropna().unique() if isinstance(text, str)]
    if not any("," in text for text in texts):
        return False
    numbers = [text for text in texts if is_number(text)]
    return 2 * len(numbers) > len(texts) and has_comma(numbers) is True


def _format(name: str, suffixes: tuple[str, ...], usual: str | None) -> Format:
    def frame(path: AnyPath, sep: str | None, decimal: str | None, as_text: set[str]) -> Frame:
        return sniff(path, sep or usual).read(as_text, decimal)

    @contextmanager
    def writer(
        stream: BinaryIO, names: Sequence[str], _: Any, escape_formulas: bool
    ) -> Iterator[Callable[[Any], object]]:
        head, sep = io.StringIO(), usual or ","
        names = list(map(no_formula, names)) if escape_formulas else names
        csv.writer(head, delimiter=sep, lineterminator="\n").writerow(names)
        stream.write(head.getvalue().encode())

        def write(frame: Any) -> object:
            frame = frame.map(no_formula) if escape_formulas else frame
            text = frame.to_csv(header=False, index=False, sep=sep, lineterminator="\n")
            return stream.write(text.encode())

        yield write

    return Format(name, suffixes, frame=frame, writer=writer)


FORMATS = (_format("csv", (".csv",), None), _format("tsv", (".tsv", ".tab"), "\t"))
