"""The rows of an ARFF file, in chunks: numbers as arrays where possible, else cell by cell.

Bags of instances are rows inside the cells of a relational attribute.

The fast path never guesses. It takes a chunk only if it contains nothing but well-formed numbers;
anything else takes the slow path, which handles quotes and comments and knows its line.

By hand, because liac-arff takes 16 to 18 times as long for sparse files (bibtex, delicious,
tmc2007-500) and 3 to 6 times for dense ones (yeast, image), its lists not yet made arrays.
"""

from __future__ import annotations

import io
import itertools
import operator
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import csr_of_rows
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
from plurilabel.io._decimal_text import DecimalText, byte_classes
from plurilabel.io._files import (
    MOST_UNPACKED,
    NUMBER_OR_NAN,
    AnyPath,
    FileFormatError,
    most_unpacked,
)

CHUNK = 1 << 18  # bytes; a chunk needs about 20 times that while it is parsed

Cells: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any], int]
"""Row, attribute and code of the entries of some sparse rows, and the number of rows."""

_FIRST = re.compile(rb"^[ \t\r\f\v]*([^%\s])", re.MULTILINE)
_BLANKS = bytes.maketrans(b"\t\f\v\r", b"    ")
_IN_NUMBERS = b"0123456789.+-eE?"
_POINT, _MARK, _DIGIT, _LETTER, _MISSING = range(5)
_CODE = byte_classes(b".", b",{} \n", b"0123456789", b"+-eE", b"?")


def read_rows(
    stream: BinaryIO, path: AnyPath, line: int, columns: Columns, encoding: str
) -> tuple[Matrix, Any]:
    """X and Y from the rest of the file; ``line`` is the number of lines already read."""
    parts: list[tuple[Any, Any]] = []
    is_sparse: bool | None = None
    n, limit = 0, most_unpacked(os.path.getsize(path))
    # whole lines: what readline adds completes the last one
    while chunk := stream.read(CHUNK) + stream.readline():
        if not chunk.endswith(b"\n"):
            chunk += b"\n"
        if is_sparse is None and (first := _FIRST.search(chunk)):
            is_sparse = first[1] == b"{"
        if is_sparse is not None:  # else comments only
            slow = _SlowRows(path, line, columns, encoding)
            if is_sparse:
                cells = _sparse_cells(chunk, columns, slow)
                size, width = cells[3], int((columns.flip | columns.one_hot).sum())
            else:
                codes = _dense_codes(chunk, columns, slow)
                # columns that are more than an attribute
                size, width = len(codes), int(columns.levels[columns.one_hot].sum())
            n += size
            _check_room(path, n, width, limit)
            parts.append(columns.sparse(*cells) if is_sparse else columns.dense(codes))
        line += chunk.count(b"\n")
    if not parts:
        raise FileFormatError(path, line, "expected rows of data after @data, got none")
    Xs, Ys = (list(side) for side in zip(*parts))
    del parts
    if not is_sparse:
        return np.vstack(Xs), np.vstack(Ys)
    # one after the other, so that never more than twice the result is in memory
    X, Y = _csr(Xs, len(columns.feature_names)), _csr(Ys, len(columns.label_names))
    return X, UnknownLabels.from_nan(Y) if np.isnan(Y.data).any() else Y


def _csr(parts: list[Any], width: int) -> Any:
    """One matrix from the entries of consecutive rows; ``parts`` are consumed."""
    values, places, sizes = map(np.concatenate, zip(*parts))
    parts.clear()
    matrix = csr_of_rows(values, places, sizes, width)
    matrix.sort_indices()
    return matrix


def _dense_codes(chunk: bytes, columns: Columns, slow: _SlowRows) -> NDArray[np.float64]:
    codes = None
    if not columns.textual.any():
        codes = _dense_numbers(chunk, columns)
        codes = _dense_numbers(_tidy(chunk), columns) if codes is None else codes
    return slow.dense(chunk) if codes is None else codes


def _sparse_cells(chunk: bytes, columns: Columns, slow: _SlowRows) -> Cells:
    fast = _sparse_numbers(chunk, columns) or _sparse_numbers(_tidy(chunk), columns)
    return fast or slow.sparse(chunk)


def _check_room(path: AnyPath, n: int, width: int, limit: int) -> None:
    """Refuse to make more columns from nominal attributes than the size of the file warrants."""
    if 8 * n * width > limit:
        problem = f"{n:,} rows so far would get {width:,} columns for the values of nominal "
        problem += f"attributes, beyond {limit:,} bytes; leave some out with drop=, or set "
        raise FileFormatError(path, None, f"{problem}another limit in {MOST_UNPACKED}")


# the fast path --------------------------------------------------------------------------------


def _tidy(chunk: bytes) -> bytes:
    """The same rows without blank lines and without blanks around the marks."""
    text = chunk.translate(_BLANKS)
    # blanks first: what is around a mark then is one of them, and is gone at once
    for mark in (b" ", b",", b"\n", b"{", b"}"):
        for loose in (mark + b" ", b" " + mark):
            while loose in text:
                text = text.replace(loose, mark)
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text.lstrip(b" \n")


def _numbers(text: bytes, expected: int) -> NDArray[np.float64] | None:
    """All numbers of a text whose marks are in order; None if there are not as many as expected.

    Between two marks there is one number, or none, and then there are too few.
    """
    code = np.frombuffer(text.translate(_CODE), np.uint8)
    ends = np.flatnonzero(code < _DIGIT)  # the text is cut into runs at marks and points
    lengths = np.diff(ends, prepend=-1) - 1
    at_point = code[ends] == _POINT
    after_point = np.concatenate([[False], at_point[:-1]])
    last = np.flatnonzero(~at_point & (after_point | (lengths > 0)))
    if len(last) != expected or (at_point & after_point).any():
        return None
    letters, missing = np.flatnonzero(code == _LETTER), np.flatnonzero(code == _MISSING)
    gaps = np.searchsorted(ends, missing)
    if (lengths[gaps] > 1).any() or at_point[gaps].any() or after_point[gaps].any():
        return None
    digits = DecimalText(text.replace(b"?", b"0") if missing.size else text)
    if letters.size or at_point.any() or lengths.max(initial=0) > 15:
        found = digits.numbers(ends, lengths, last, after_point[last], letters)
    else:
        found = digits.integers(ends[last], lengths[last]).astype(np.float64)
    if found is not None:
        found[np.searchsorted(last, gaps)] = np.nan
    return found


def _dense_numbers(text: bytes, columns: Columns) -> NDArray[np.float64] | None:
    """Codes (n, attributes) of the rows; None if there is anything but numbers and commas."""
    w, n = len(columns.attributes), text.count(b"\n")
    if text.translate(None, _IN_NUMBERS) != (b"," * (w - 1) + b"\n") * n:
        return None
    found = _numbers(text, n * w)
    if found is None:
        return None
    codes = found.reshape(n, w)
    for these, numbers in columns.lookups.values():
        codes[:, these] = _places(codes[:, these], numbers)
    return codes if columns.accepts(codes) else None


def _sparse_numbers(text: bytes, columns: Columns) -> Cells | None:
    """Row, attribute and code of all entries; None if a row is not ``{i v,i v,...}``."""
    other_than_digits = text.translate(None, b"0123456789")
    marks = other_than_digits.translate(None, _IN_NUMBERS)
    pairs = _pairs_per_row(text, marks)
    if pairs is None:
        return None
    index: NDArray[Any] | None = _indices_of_ones(text) if marks == other_than_digits else None
    code: NDArray[Any] = np.ones(int(pairs.sum()), np.int8)
    if index is None:
        found = _numbers(text, 2 * len(code))
        if found is None:
            return None
        index, code = found[0::2], found[1::2]
    row = np.repeat(np.arange(len(pairs), dtype=np.int32), pairs)
    attribute = _attributes(index, row, columns)
    if attribute is None:
        return None
    for attributes, numbers in columns.lookups.values():
        these = attributes[attribute]
        code = code.astype(np.float64)
        code[these] = _places(code[these], numbers)
    return (row, attribute, code, len(pairs)) if columns.accepts(code, attribute) else None


def _attributes(
    index: NDArray[Any], row: NDArray[np.int32], columns: Columns
) -> NDArray[np.int32] | None:
    """Attributes at these indices; None if one is out of range, textual, or twice in a row."""
    # min and max are NaN if there is one, and that is not in order either
    if index.size and not (index.min() >= 0 and index.max() < len(columns.attributes)):
        return None
    attribute = index.astype(np.int32, copy=False)
    textual = columns.textual.any() and columns.textual[attribute].any()
    if textual or (attribute != index).any() or not _all_different(row, attribute):
        return None
    return attribute


def _pairs_per_row(text: bytes, marks: bytes) -> NDArray[np.intp] | None:
    """Number of ``i v`` in each row, from the marks; None if they are not in order."""
    # The marks of a row with three pairs are `{ , , }` and a newline, in words of two letters:
    # `{ ` `, ` `, ` `}n`. An empty row gets a letter more, to be in words too: `{}` `}n`.
    marks = marks.replace(b"{}\n", b"{}}\n")
    if len(marks) % 2:
        return None
    words = np.frombuffer(marks, np.uint16)
    full, bare, comma, close = np.frombuffer(b"{ {}, }\n", np.uint16)
    ends = np.flatnonzero(words == close)
    if not ends.size or ends[-1] != words.size - 1:
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    pairs, empty = ends - starts, words[starts] == bare
    if np.count_nonzero(words == comma) + 2 * len(ends) != words.size:
        return None
    # the words are counted and the first of each row is right: so are the others
    if not ((words[starts] == full) | (empty & (pairs == 1))).all():
        return None
    pairs[empty] = 0
    # nothing may stand outside of the brackets, or in those of an empty row
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (letters[starts] != ord("{")).any() or (letters[ends - 1] != ord("}")).any():
        return None
    return None if (empty & (ends - starts > len("{}"))).any() else pairs


def _indices_of_ones(text: bytes) -> NDArray[np.int32] | None:
    """Indices of rows with no other value than 1, the most common kind; None for any others."""
    # The marks are in order and the rest is digits, so an index ends at each blank.
    letters = np.frombuffer(text, np.uint8)
    blank = np.flatnonzero(letters == ord(" "))
    after = letters[blank + 2]
    ones = (letters[blank + 1] == ord("1")) & ((after == ord(",")) | (after == ord("}")))
    if not ones.all():
        return None
    index, inside = np.zeros(blank.size, np.int32), np.ones(blank.size, bool)
    for place in range(9):
        digit = letters[blank - 1 - place] - ord("0")  # more than 9 for a mark
        inside &= digit < 10
        if not inside.any():
            return index if place else None
        if not place and not inside.all():
            return None
        index += (digit * inside).astype(np.int32) * 10**place
    return None


def _all_different(row: NDArray[np.int32], attribute: NDArray[np.int32]) -> bool:
    """Whether no attribute occurs twice in a row."""
    if ((np.diff(attribute) > 0) | (np.diff(row) > 0)).all():
        return True
    order = np.lexsort((attribute, row))
    return bool(((np.diff(attribute[order]) > 0) | (np.diff(row[order]) > 0)).all())


def _places(values: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place of each value among the declared numbers, -1 if it is not, NaN for NaN."""
    order = np.argsort(numbers)
    place = order[np.searchsorted(numbers, values, sorter=order).clip(max=len(numbers) - 1)]
    found = np.where(numbers[place] == values, place, -1.0)
    return np.where(np.isnan(values), np.nan, found)


# the slow path ---------------------------------------------------------------------------------


class _SlowRows:
    """Rows cell by cell: quotes, comments, values in words, and errors with their line."""

    def __init__(self, path: AnyPath, line: int, columns: Columns, encoding: str):
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
        rows = [
            [(a, self._code(a, cell)) for a, cell in self._pairs(text).items()]
            for text in self.lines(chunk)
        ]
        row = np.repeat(np.arange(len(rows), dtype=np.int32), [len(pairs) for pairs in rows])
        pairs = np.array([*itertools.chain.from_iterable(rows)]).reshape(-1, 2)
        return row, pairs[:, 0].astype(np.int32), pairs[:, 1], len(rows)

    def _cells(self, text: str) -> list[str]:
        if text.startswith("{"):
            raise self.fail("expected a dense row (a,b,...) like the first, got a sparse one")
        if not any(mark in text for mark in "'\"%"):
            blanks = any(blank in text for blank in SPACE)
            return [cell.strip(SPACE) for cell in text.split(",")] if blanks else text.split(",")
        cells: list[str] = []
        position, end = 0, ","
        while end == ",":
            match = CELL.match(text, position)
            if match is None or match[3] == "}":
                got = shortened(text[position:])
                raise self.fail(f"cannot read value {len(cells) + 1} in {got!r}")
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
            return [self._code(a, cell) for a, cell in enumerate(cells)]

    def _code(self, a: int, cell: str) -> float:
        name = self.columns.attributes[a].name
        if cell == "":
            raise self.fail(f"attribute {name!r} has no value; a missing one is written ?")
        try:
            return self.columns.converters[a](cell)
        except ValueError as error:
            got = shortened(cell.removeprefix("'"))
            raise self.fail(f"attribute {name!r} must be {error}, got {got!r}") from None

    def _pairs(self, text: str) -> dict[int, str]:
        """Attribute and cell of a sparse row."""
        if not text.startswith("{"):
            got = shortened(text)
            raise self.fail(
                f"expected a sparse row {{index value,...}} like the first, got {got!r}"
            )
        pairs: dict[int, str] = {}
        position, end = 1, ","
        if empty := re.match(r"\{\s*\}", text):
            position, end = empty.end(), "}"
        while end == ",":
            match = PAIR.match(text, position)
            if match is None or match[4] not in (",", "}"):
                got = shortened(text[position:])
                raise self.fail(f"expected 'index value,' or 'index value}}', got {got!r}")
            a = self._index(match[1])
            if a in pairs:
                name = self.columns.attributes[a].name
                raise self.fail(f"attribute {name!r} (index {a}) occurs twice in the row")
            pairs[a] = f"'{unquote(match[2])}" if match[2] else match[3] or ""
            position, end = match.end(), match[4]
        if not NOTHING.match(text, position):
            got = shortened(text[position:])
            raise self.fail(f"expected the end of the row after }}, got {got!r}")
        return pairs

    def _index(self, text: str) -> int:
        w = len(self.columns.attributes)
        if NUMBER_OR_NAN.fullmatch(text) and float(text) in range(w):
            return int(float(text))
        got = shortened(text)
        raise self.fail(f"expected an index from 0 to {w - 1}, one per attribute, got {got!r}")


# bags of instances ----------------------------------------------------------------------------


def only_one(kind: str, header: Header, path: AnyPath) -> Attribute | None:
    """The attribute of this type, "relational" or "hierarchical"; None if there is none."""
    found = [attribute for attribute in header.attributes if attribute.type == kind]
    if len(found) > 1:
        problem = f"expected one {kind} attribute, got {found[1].name!r} as a second"
        raise FileFormatError(path, found[1].line, problem)
    return found[0] if found else None


def read_bags(
    stream: BinaryIO,
    path: AnyPath,
    header: Header,
    bag: Attribute,
    labels: set[str],
    unused: set[str],
    encoding: str,
) -> tuple[Bags, Matrix, list[str]]:
    """Bags, Y and the names of the labels from the rest of the file."""
    names = [attribute.name for attribute in header.attributes]
    _check_only_bags(path, names, {bag.name, *labels, *unused}, bag.name)
    inside = Columns(path, list(bag.inside), set(), set())
    outside = Columns(path, header.attributes, labels, {*names} - labels)
    place = header.attributes.index(bag)
    rows: list[bytes] = []  # all instances
    lines: list[int] = []  # the line that each is from
    sizes: list[int] = []
    outer = io.BytesIO()
    for number, raw in enumerate(stream, header.lines + 1):
        text = decode(raw, path, number, encoding).strip(SPACE)
        if not text or text.startswith("%"):
            outer.write(b"\n")
            continue
        start, end = cell_span(text, place, f"the bag {bag.name!r}, in quotes,", path, number)
        cell = text[start:end]
        content = unquote(cell) if cell[:1] in ("'", '"') else cell
        instances = [row.encode() for row in content.split("\n") if row.strip(SPACE)]
        if not instances:
            raise FileFormatError(path, number, f"the bag {bag.name!r} has no instances")
        rows += instances
        sizes.append(len(instances))
        lines += [number] * len(instances)
        # what is left is a usual row, of the same line
        outer.write(f"{text[:start]}?{text[end:]}\n".encode())
    if not rows:
        raise FileFormatError(path, header.lines, "expected rows of data after @data, got none")
    outer.seek(0)
    Y = read_rows(outer, path, header.lines, outside, "utf-8")[1]
    try:
        X = read_rows(io.BytesIO(b"\n".join(rows)), path, 0, inside, "utf-8")[0]
    except FileFormatError as error:
        line = None if error.line is None else lines[error.line - 1]
        raise FileFormatError(path, line, f"in {bag.name!r}: {error.problem}") from None
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    try:
        bags = Bags(X, offsets, feature_names=inside.feature_names)
    except ValueError as error:  # a missing value
        raise FileFormatError(path, None, str(error)) from None
    return bags, Y, outside.label_names


def _check_only_bags(path: AnyPath, names: list[str], known: set[str], bag: str) -> None:
    if len(others := [name for name in names if name not in known]) > 1:
        raise ValueError(
            f"{os.fspath(path)} must have only the bag {bag!r}, labels and one attribute that "
            f"names the bags, got {others}; leave some out with drop"
        )


def cell_span(text: str, place: int, what: str, path: AnyPath, line: int) -> tuple[int, int]:
    """Where the cell of an attribute begins and ends in a row, dense or sparse."""
    shift = int(text.startswith("{"))  # a sparse row has an index before each cell
    position, cell, pattern = shift, -1, PAIR if shift else CELL
    while position < len(text):
        if not shift and cell == place - 1 and (end := _end_of_quotes(text, position)):
            return position, end
        match = pattern.match(text, position)
        if match is None:
            break
        index = match[1] if shift else str(cell + 1)
        cell = int(index) if index.isdecimal() else -1
        group = (1 if match[1 + shift] else 2) + shift
        if cell == place and match[group]:
            return match.span(group)
        position = match.end()
    problem = f"expected {what} as value {place + 1}, got {shortened(text)!r}"
    raise FileFormatError(path, line, problem)


def _end_of_quotes(text: str, start: int) -> int:
    """Where quotes end that have none inside, the usual case, much faster than a pattern; or 0."""
    end = text.find(text[start], start + 1) if text[start] in "'\"" else -1
    return end + 1 if end > 0 and text[end - 1] != "\\" else 0
