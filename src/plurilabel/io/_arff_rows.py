"""The rows of an ARFF file, read in chunks: as arrays of numbers if possible, else cell by cell.

Bags of instances are rows inside the cells of a relational attribute.

The fast path never guesses: it accepts a chunk only if it contains nothing but well-formed
numbers. Everything else takes the slow path, which handles quotes and comments and knows its line.

liac-arff takes 16 to 18 times as long on sparse files (bibtex, delicious, tmc2007-500) and 3 to 6
times as long on dense ones (yeast, image), and returns lists. With ``numpy.loadtxt`` as the fast
path, reading yeast and image takes 1.4 and 1.9 times as long.
"""

from __future__ import annotations

import io
import operator
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import csr_of_rows, stack_rows
from plurilabel._core.data.bags import Bags
from plurilabel._core.data.dataset import Matrix
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import shortened
from plurilabel.io._arff_columns import Columns
from plurilabel.io._arff_header import (
    CELL,
    NOTHING,
    PAIR,
    SPACE,
    Attribute,
    Header,
    decode,
    unquote,
)
from plurilabel.io._files import NUMBER_OR_NAN, AnyPath, FileFormatError, check_room
from plurilabel.io._sparse_lines import (
    EMPTY,
    FRACTION,
    INDEX,
    VALUE,
    WHOLE,
    Rows,
    first_repetition,
    parse_regular,
    role_table,
)

CHUNK = 1 << 18  # bytes; parsing a chunk needs about 20 times as much

_FIRST = re.compile(rb"^[ \t\r\f\v]*([^%\s])", re.MULTILINE)
_BLANKS = bytes.maketrans(b"\t\f\v\r", b"    ")
_DENSE = role_table((b"\n,", b"\n,", VALUE), (b"\n,", b".", WHOLE), (b".", b"\n,", FRACTION))
_SPARSE = role_table(
    (b"\n", b"{", EMPTY),
    (b"{", b"}", EMPTY),
    (b"}", b"\n", EMPTY),
    (b"{,", b" ", INDEX),
    (b" ", b",}", VALUE),
    (b" ", b".", WHOLE),
    (b".", b",}", FRACTION),
)


def read_rows(
    stream: BinaryIO, path: AnyPath, line: int, columns: Columns, encoding: str,
    keeper: CellKeeper | None = None,
) -> tuple[Matrix, Any]:  # fmt: skip
    """X and Y from the rest of the file; ``line`` is the number of lines already read."""
    parts: list[Any] = []
    is_sparse: bool | None = None
    n = 0
    # readline completes the last line
    while chunk := stream.read(CHUNK) + stream.readline():
        if not chunk.endswith(b"\n"):
            chunk += b"\n"
        if is_sparse is None and (first := _FIRST.search(chunk)):
            is_sparse = first[1] == b"{"
        if is_sparse is not None:  # else only comments so far
            if keeper is not None:
                keeper.line = line
                parts.append(keeper.sparse(chunk) if is_sparse else keeper.dense(chunk))
            else:
                numbers = _sparse_numbers if is_sparse else _dense_numbers
                codes = numbers(chunk, columns)
                codes = numbers(_tidy(chunk), columns) if codes is None else codes
                if codes is None:
                    slow = SlowRows(path, line, columns, encoding)
                    codes = slow.sparse(chunk) if is_sparse else slow.dense(chunk)
                parts.append(codes)
            n += parts[-1].shape[0]
            hot = columns.one_hot
            width = int((columns.flip | hot).sum() if is_sparse else columns.levels[hot].sum())
            what = f"{n:,} rows so far would get {width:,} columns for the values of nominal "
            check_room(path, 8 * n * width, f"{what}attributes (leave some out with drop=)")
        line += chunk.count(b"\n")
    if not parts:
        raise FileFormatError(path, line, "expected rows of data after @data, got none")
    codes = stack_rows(parts)
    del parts
    X, Y = columns.matrices(codes)
    if not sparse.issparse(Y):
        return X, Y if np.isnan(Y).any() else Y.astype(np.int64)
    for matrix in (X, Y):
        matrix.eliminate_zeros()
        matrix.sort_indices()
    return X, UnknownLabels.from_nan(Y) if np.isnan(Y.data).any() else Y.astype(np.int64)


# the fast path --------------------------------------------------------------------------------


def _tidy(chunk: bytes) -> bytes:
    """The same rows without blank lines and without blanks around the marks."""
    text = chunk.translate(_BLANKS)
    # runs of blanks first: then at most one blank is on either side of a mark
    for mark in (b" ", b",", b"\n", b"{", b"}"):
        for loose in (mark + b" ", b" " + mark):
            while loose in text:
                text = text.replace(loose, mark)
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text.lstrip(b" \n")


def _dense_numbers(text: bytes, columns: Columns) -> NDArray[np.float64] | None:
    """Codes (n, attributes) of the rows; None if there is anything but numbers and commas."""
    w = len(columns.attributes)
    rows = None if columns.textual.any() else _parsed(text, _DENSE)
    if rows is None or (rows.n_features != w).any():
        return None
    codes = rows.values.reshape(-1, w)
    for these, numbers in columns.lookups.values():
        codes[:, these] = _places(codes[:, these], numbers)
    return codes if columns.accepts(codes) else None


def _sparse_numbers(text: bytes, columns: Columns) -> sparse.csr_array | None:
    """Codes (n, attributes) of the rows; None unless each row is ``{i v,i v,...}`` of numbers."""
    rows, w = _parsed(text, _SPARSE), len(columns.attributes)
    if rows is None or rows.columns.max(initial=0) >= w or columns.textual[rows.columns].any():
        return None
    attribute, code = rows.columns, rows.values
    for these, numbers in columns.lookups.values():
        at = these[attribute]
        code[at] = _places(code[at], numbers)
    codes = csr_of_rows(code, attribute, rows.n_features, w)
    return codes if columns.accepts(code, attribute) and not first_repetition(codes) else None


def _parsed(text: bytes, roles: NDArray[np.uint8]) -> Rows | None:
    if b"?" in text:
        if b"-?" in text or b"+?" in text:
            return None
        text = text.replace(b"?", b"nan")
    return parse_regular(text, roles=roles)


def _places(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Position of each value among the declared numbers, -1 if it is not one, NaN for NaN."""
    order = np.argsort(numbers)
    place = order[np.searchsorted(numbers, values, sorter=order).clip(max=len(numbers) - 1)]
    found = np.where(numbers[place] == values, place, -1.0)
    return np.where(np.isnan(values), np.nan, found)


# the slow path ---------------------------------------------------------------------------------


class SlowRows:
    """Rows cell by cell: quotes, comments, values in words, and errors with their line."""

    def __init__(self, path: AnyPath, line: int, columns: Columns, encoding: str):
        self.path, self.line, self.columns, self.encoding = path, line, columns, encoding

    def fail(self, problem: str, got: str | None = None) -> FileFormatError:
        """The error for the current line; ``got`` is the text at fault."""
        problem += "" if got is None else f", got {shortened(got)!r}"
        return FileFormatError(self.path, self.line, problem)

    def lines(self, text: bytes) -> Iterator[str]:
        for raw in text.split(b"\n"):
            self.line += 1
            line = decode(raw, self.path, self.line, self.encoding).strip(SPACE)
            if line and not line.startswith("%"):
                yield line

    def dense(self, text: bytes) -> NDArray[np.float64]:
        """Codes of dense rows."""
        codes = [self._codes(self.cells(line)) for line in self.lines(text)]
        return np.array(codes, np.float64).reshape(-1, len(self.columns.attributes))

    def sparse(self, text: bytes) -> sparse.csr_array:
        """Codes of sparse rows."""
        rows = [self.pairs(line).items() for line in self.lines(text)]
        attribute = [a for row in rows for a, _ in row]
        codes = [code for row in rows for _, code in row]
        arrays = np.array(codes, np.float64), np.array(attribute, np.int32)
        return csr_of_rows(*arrays, list(map(len, rows)), len(self.columns.attributes))

    def cells(self, line: str) -> list[str]:
        """Cells of a dense row; those in quotes start with one."""
        if line.startswith("{"):
            raise self.fail("expected a dense row (a,b,...) like the first, got a sparse one")
        if not any(mark in line for mark in "'\"%"):
            blanks = any(blank in line for blank in SPACE)
            return [cell.strip(SPACE) for cell in line.split(",")] if blanks else line.split(",")
        cells: list[str] = []
        position, end = 0, ","
        while end == ",":
            match = CELL.match(line, position)
            if match is None or match[3] == "}":
                problem = f"cannot read value {len(cells) + 1} in {shortened(line[position:])!r}"
                raise self.fail(problem)
            cells.append(f"'{unquote(match[1])}" if match[1] else match[2] or "")
            position, end = match.end(), match[3]
        return cells

    def _codes(self, cells: list[str]) -> list[float]:
        converters, w = self.columns.converters, len(self.columns.converters)
        if len(cells) != w:
            raise self.fail(f"expected {w} values, one per attribute, got {len(cells)}")
        try:
            return list(map(operator.call, converters, cells))
        except ValueError:
            return [self.code(a, cell) for a, cell in enumerate(cells)]

    def code(self, a: int, cell: str) -> float:
        """Code of a cell of an attribute."""
        name = self.columns.attributes[a].name
        if cell == "":
            raise self.fail(f"attribute {name!r} has no value; write ? for a missing one")
        try:
            return self.columns.converters[a](cell)
        except ValueError as error:
            problem = f"attribute {name!r} must be {error}"
            raise self.fail(problem, cell.removeprefix("'")) from None

    def pairs(self, line: str) -> dict[int, float]:
        """Codes of a sparse row by attribute."""
        if not line.startswith("{"):
            raise self.fail("expected a sparse row {index value,...} like the first", line)
        pairs: dict[int, float] = {}
        position, end = 1, ","
        if empty := re.match(r"\{\s*\}", line):
            position, end = empty.end(), "}"
        while end == ",":
            match = PAIR.match(line, position)
            if match is None or match[4] not in (",", "}"):
                raise self.fail("expected 'index value,' or 'index value}'", line[position:])
            a = self._index(match[1])
            if a in pairs:
                name = self.columns.attributes[a].name
                raise self.fail(f"attribute {name!r} (index {a}) occurs twice in the row")
            pairs[a] = self.code(a, f"'{unquote(match[2])}" if match[2] else match[3] or "")
            position, end = match.end(), match[4]
        if not NOTHING.match(line, position):
            raise self.fail("expected the end of the row after }", line[position:])
        return pairs

    def _index(self, text: str) -> int:
        w = len(self.columns.attributes)
        if NUMBER_OR_NAN.fullmatch(text) and float(text) in range(w):
            return int(float(text))
        raise self.fail(f"expected an index from 0 to {w - 1}, one per attribute", text)


# bags of instances ----------------------------------------------------------------------------


def only_one(kind: str, header: Header, path: AnyPath) -> Attribute | None:
    """The attribute of this type, "relational" or "hierarchical"; None if there is none."""
    found = [attribute for attribute in header.attributes if attribute.type == kind]
    if len(found) > 1:
        problem = f"expected one {kind} attribute, got {found[1].name!r} as a second"
        raise FileFormatError(path, found[1].line, problem)
    return found[0] if found else None


class CellKeeper(SlowRows, ABC):
    """Rows with an attribute whose cells are not numbers: ``keep`` gets each of them."""

    def __init__(self, attribute: Attribute, *args: Any):
        super().__init__(*args)
        self.name, self.place = attribute.name, self.columns.attributes.index(attribute)
        self.sizes: list[int] = []  # of the list in each cell

    @abstractmethod
    def keep(self, cell: str) -> None:
        """Add the list in a cell; an empty string if the row does not have the cell."""

    def _codes(self, cells: list[str]) -> list[float]:
        codes = super()._codes(cells)
        self.keep(cells[self.place].removeprefix("'"))
        return codes

    def pairs(self, line: str) -> dict[int, float]:
        pairs = super().pairs(line)
        if self.place not in pairs:
            self.keep("")
        return pairs

    def code(self, a: int, cell: str) -> float:
        if a == self.place:
            self.keep(cell.removeprefix("'"))
        return super().code(a, cell)


class _BagRows(CellKeeper):
    """Rows with bags, whose instances are collected."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.instances: list[bytes] = []
        self.origins: list[int] = []  # the line of each instance

    def keep(self, cell: str) -> None:
        rows = [row.encode() for row in cell.split("\n") if row.strip(SPACE)]
        if not rows:
            raise self.fail(f"expected the bag {self.name!r} as value {self.place + 1}, got none")
        self.instances += rows
        self.origins += [self.line] * len(rows)
        self.sizes.append(len(rows))


def read_bags(
    stream: BinaryIO, path: AnyPath, header: Header, bag: Attribute, labels: set[str],
    unused: set[str], encoding: str,
) -> tuple[Bags, Matrix, list[str]]:  # fmt: skip
    """Bags, Y and the names of the labels from the rest of the file."""
    names = {attribute.name for attribute in header.attributes}
    if len(others := sorted(names - {bag.name, *labels, *unused})) > 1:
        raise ValueError(
            f"{os.fspath(path)} must have only the bag {bag.name!r}, labels and one attribute "
            f"that names the bags, got {others}; leave some out with drop"
        )
    inside = Columns(path, list(bag.inside), set(), set())
    outside = Columns(path, header.attributes, labels, names - labels)
    rows = _BagRows(bag, path, header.lines, outside, encoding)
    Y = read_rows(stream, path, header.lines, outside, encoding, rows)[1]
    try:
        X = read_rows(io.BytesIO(b"\n".join(rows.instances)), path, 0, inside, "utf-8")[0]
        bags = Bags(X, np.cumsum([0, *rows.sizes]), feature_names=inside.feature_names)
    except FileFormatError as error:
        line = None if error.line is None else rows.origins[error.line - 1]
        raise FileFormatError(path, line, f"in {bag.name!r}: {error.problem}") from None
    except ValueError as error:  # a missing value
        raise FileFormatError(path, None, str(error)) from None
    return bags, Y, outside.label_names
