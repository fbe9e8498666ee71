"""The rows of an ARFF file cell by cell: quotes, comments, words, and errors with their line."""

from __future__ import annotations

import itertools
import operator
import os
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel.io._arff._columns import NUMBER, Columns
from plurilabel.io._arff._header import CELL, NOTHING, PAIR, SPACE, decode, shorten, unquote
from plurilabel.io._files import FileFormatError

Cells: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any], int]
"""Row, attribute and code of all that some sparse rows give, and the number of rows."""


class SlowRows:
    """Rows cell by cell: quotes, comments, values in words, and errors with their line."""

    def __init__(self, path: str | os.PathLike[str], line: int, columns: Columns, encoding: str):
        self.path, self.line, self.columns, self.encoding = path, line, columns, encoding

    def fail(self, problem: str) -> FileFormatError:
        return FileFormatError(self.path, self.line, problem)

    def lines(self, chunk: bytes) -> Iterator[str]:
        for raw in chunk.split(b"\n"):
            self.line += 1
            text = decode(raw, self.path, self.line, self.encoding).strip(SPACE)
            if text and not text.startswith("%"):
                yield text

    def dense(self, chunk: bytes) -> NDArray[np.float64]:
        w = len(self.columns.attributes)
        codes = [self._codes(self._cells(text)) for text in self.lines(chunk)]
        flat = itertools.chain.from_iterable(codes)
        return np.fromiter(flat, np.float64, count=len(codes) * w).reshape(-1, w)

    def sparse(self, chunk: bytes) -> Cells:
        row: list[int] = []
        attribute: list[int] = []
        code: list[float] = []
        n = 0
        for text in self.lines(chunk):
            pairs = self._pairs(text)
            row.extend([n] * len(pairs))
            attribute.extend(pairs)
            code.extend(self._code(a, cell) for a, cell in pairs.items())
            n += 1
        return (
            np.array(row, dtype=np.int32),
            np.array(attribute, dtype=np.int32),
            np.array(code, dtype=np.float64),
            n,
        )

    def _cells(self, text: str) -> list[str]:
        if text.startswith("{"):
            raise self.fail("expected a dense row (a,b,...) like the first, got a sparse one")
        if not any(mark in text for mark in "'\"%"):
            cells = text.split(",")
            blanks = any(blank in text for blank in SPACE)
            return [cell.strip(SPACE) for cell in cells] if blanks else cells
        cells = []
        position, end = 0, ","
        while end == ",":
            match = CELL.match(text, position)
            if match is None or match[3] == "}":
                raise self.fail(
                    f"cannot read value {len(cells) + 1} in {shorten(text[position:])}"
                )
            cells.append(f"'{unquote(match[1])}" if match[1] else match[2] or "")
            position, end = match.end(), match[3]
        return cells

    def _codes(self, cells: list[str]) -> list[float]:
        converters = self.columns.converters
        if len(cells) != len(converters):
            raise self.fail(
                f"expected {len(converters)} values, one per attribute, got {len(cells)}"
            )
        try:
            return list(map(operator.call, converters, cells))
        except ValueError:
            return [self._code(a, cell) for a, cell in enumerate(cells)]

    def _code(self, a: int, cell: str) -> float:
        if cell == "":
            name = self.columns.attributes[a].name
            raise self.fail(f"attribute {name!r} has no value; a missing one is written ?")
        try:
            return self.columns.converters[a](cell)
        except ValueError as error:
            name, got = self.columns.attributes[a].name, shorten(cell.removeprefix("'"))
            raise self.fail(f"attribute {name!r} must be {error}, got {got}") from None

    def _pairs(self, text: str) -> dict[int, str]:
        """Attribute and cell of a sparse row."""
        if not text.startswith("{"):
            raise self.fail(
                f"expected a sparse row {{index value,...}} like the first, got {shorten(text)}"
            )
        pairs: dict[int, str] = {}
        position, end = 1, ","
        if empty := re.match(r"\{\s*\}", text):
            position, end = empty.end(), "}"
        while end == ",":
            match = PAIR.match(text, position)
            if match is None or match[4] not in (",", "}"):
                raise self.fail(
                    f"expected 'index value,' or 'index value}}', got {shorten(text[position:])}"
                )
            a = self._index(match[1])
            if a in pairs:
                name = self.columns.attributes[a].name
                raise self.fail(f"attribute {name!r} (index {a}) comes twice in the row")
            pairs[a] = f"'{unquote(match[2])}" if match[2] else match[3] or ""
            position, end = match.end(), match[4]
        if not NOTHING.match(text, position):
            raise self.fail(
                f"expected the end of the row after }}, got {shorten(text[position:])}"
            )
        return pairs

    def _index(self, text: str) -> int:
        w = len(self.columns.attributes)
        if NUMBER.fullmatch(text) and float(text) in range(w):
            return int(float(text))
        raise self.fail(
            f"expected an index from 0 to {w - 1}, one per attribute, got {shorten(text)}"
        )
