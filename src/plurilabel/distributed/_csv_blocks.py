"""CSV files in blocks of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from plurilabel.io import FileFormatError
from plurilabel.io.shared import Frame, sniff, table_module

READ_AT_ONCE = 1 << 22
_QUOTE, _NEWLINE = b'"\n'


class CsvBlock(NamedTuple):
    """Consecutive rows of a CSV file."""

    path: str
    start: int  # bytes
    stop: int
    line: int  # of its first row, from 1
    n_rows: int
    columns: tuple[str, ...]
    sep: str

    def read(self, names: list[str]) -> Any:
        """Read columns as a data frame of text."""
        arrow, arrow_csv = table_module("pyarrow"), table_module("pyarrow.csv")
        with open(self.path, "rb") as stream:
            stream.seek(self.start)
            text = stream.read(self.stop - self.start)
        try:
            table = arrow_csv.read_csv(
                io.BytesIO(text),
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, column_names=self.columns, block_size=len(text) + 1
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self.sep, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(self.columns, arrow.string()),
                    strings_can_be_null=False,
                    include_columns=names,
                ),
            )
        except arrow.ArrowInvalid as error:  # names the row, from 1
            problem = f"the {self.n_rows} rows from here on cannot be read: {error}"
            raise FileFormatError(self.path, self.line, problem) from None
        self._check(table)
        return table.to_pandas()

    def open(self, as_text: set[str], *_: Any) -> Frame:
        """Read all columns as from a whole file: as text only where that is asked for."""
        rows = sniff(self.path, self.sep).rows(self.start, self.stop, self.line)
        table = rows.read(as_text)
        self._check(table.frame)
        return table

    def _check(self, frame: Any) -> None:
        if len(frame) != self.n_rows:
            problem = f"expected {self.n_rows} rows from here on, got {len(frame)}; put cells "
            raise FileFormatError(self.path, self.line, f"{problem}that contain quotes in quotes")


def is_packed(path: str) -> bool:
    """Whether a file is gzipped or in UTF-16, so that bytes in its middle say nothing."""
    with open(path, "rb") as stream:
        return stream.read(2) in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b")


def csv_blocks(path: str, rows: int, *, before: int = 0, sep: str | None = None) -> list[CsvBlock]:
    """Split a CSV file into blocks of rows; line breaks in quotes do not end a row.

    Blocks are counted from ``before`` rows ahead of the file, so that they go on over files.
    """
    if is_packed(path):
        problem = "only UTF-8 text that is not gzipped can be read in blocks"
        raise FileFormatError(path, None, problem)
    source = sniff(path, sep)
    # rows so far, byte and next line, after the header and after each block
    ends: list[tuple[int, int, int]] = []
    n, last = 0, (0, 0, 0)
    for n, place in enumerate(islice(_ends(path, source.sep), int(source.has_sep_line), None)):
        last = (n, *place)
        if n == 0 or (n + before) % rows == 0:
            ends.append(last)
    if not ends:
        raise FileFormatError(path, None, "expected a first line with names, got an empty file")
    if ends[-1] != last:
        ends.append(last)
    columns = tuple(source.header())
    return [
        CsvBlock(path, a, b, line, stop - start, columns, source.sep)
        for (start, a, line), (stop, b, _) in pairwise(ends)
    ]


def _ends(path: str, sep: str) -> Iterator[tuple[int, int]]:
    """The end of each nonblank record, and the line after it."""
    line, quotes, at, before = 1, 0, 0, _NEWLINE
    filled = 0  # bytes of the record so far that are not blank
    blank = np.isin(np.arange(256), list(b" \t\r\n")) & (np.arange(256) != ord(sep))
    # a quote inside a cell that does not begin with one does not quote
    opening = np.isin(np.arange(256), list(b' \r\n"\xbf' + sep.encode()))
    with open(path, "rb") as stream:
        while text := stream.read(READ_AT_ONCE):
            code = np.frombuffer(text, dtype=np.uint8)
            is_quote = code == _QUOTE
            inside = (quotes + np.cumsum(is_quote, dtype=np.uint8)) & 1
            opened = np.flatnonzero(is_quote & (inside == 1))
            last = np.where(opened > 0, code[opened - 1], before)
            if not opening[last].all():
                problem = "cells that contain quotes must be in quotes to be read in blocks"
                raise FileFormatError(path, None, problem)
            breaks = np.flatnonzero(code == _NEWLINE)
            outside = np.flatnonzero(inside[breaks] == 0)
            ends = breaks[outside] + 1
            so_far = np.cumsum(~blank[code], dtype=np.int32)
            solid = np.diff(so_far[ends - 1], prepend=-filled)
            for end, lines, n in zip((at + ends).tolist(), outside.tolist(), solid.tolist()):
                if n:
                    yield end, line + lines + 1
            filled = int(so_far[-1]) - (int(so_far[ends[-1] - 1]) if len(ends) else -filled)
            line, quotes, at = line + len(breaks), int(inside[-1]), at + len(text)
            before = int(code[-1])
    if quotes:
        raise FileFormatError(path, None, "a quoted cell has no end")
    if filled:  # the last line need not have an end
        yield at, line + 1
