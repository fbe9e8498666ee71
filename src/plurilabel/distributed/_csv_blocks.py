"""CSV files in blocks of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from plurilabel.io import FileFormatError
from plurilabel.io.shared import sniff, table_module

READ_AT_ONCE = 1 << 23
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


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
        if len(table) != self.n_rows:
            problem = f"expected {self.n_rows} rows from here on, got {len(table)}"
            raise FileFormatError(self.path, self.line, problem)
        return table.to_pandas()


def csv_blocks(path: str, rows: int) -> list[CsvBlock]:
    """Split a CSV file into blocks of rows; line breaks in quotes do not end a row."""
    source = sniff(path)
    ends: list[tuple[int, int]] = []  # byte and next line, after the header and after each block
    n, last = 0, (0, 0)
    for n, last in enumerate(islice(_ends(path), int(source.has_sep_line), None)):
        if n % rows == 0:
            ends.append(last)
    if not ends:
        raise FileFormatError(path, None, "expected a first line with names, got an empty file")
    if ends[-1] != last:
        ends.append(last)
    columns = tuple(source.header())
    return [
        CsvBlock(path, a, b, line, min(rows, n - i * rows), columns, source.sep)
        for i, ((a, line), (b, _)) in enumerate(pairwise(ends))
    ]


def _ends(path: str) -> Iterator[tuple[int, int]]:
    """The end of each nonblank record, and the line after it."""
    begin, line, quotes, at, before = 0, 1, 0, 0, 0
    with open(path, "rb") as stream:
        while text := stream.read(READ_AT_ONCE):
            if at == 0 and text[:2] in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"):
                problem = "only UTF-8 text that is not gzipped can be read in blocks"
                raise FileFormatError(path, None, problem)
            code = np.frombuffer(text, dtype=np.uint8)
            inside = (quotes + np.cumsum(code == _QUOTE)) & 1
            breaks = np.flatnonzero(code == _NEWLINE)
            outside = np.flatnonzero(inside[breaks] == 0)
            for end, lines in zip((at + breaks[outside] + 1).tolist(), outside.tolist()):
                # a blank line is a line break, and perhaps a carriage return before it
                i = end - 2 - at
                blank = end - begin == 2 and (code[i] if i >= 0 else before) == _RETURN
                if end - begin > 1 and not blank:
                    yield end, line + lines + 1
                begin = end
            line, quotes, at = line + len(breaks), int(inside[-1]), at + len(text)
            before = int(code[-1])
    if quotes:
        raise FileFormatError(path, None, "a quoted cell has no end")
    if begin < at:  # the last line need not have an end
        yield at, line + 1
