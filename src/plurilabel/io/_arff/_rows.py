"""The rows of an ARFF file, in chunks: numbers by numpy where possible, else cell by cell.

The quick way must never guess. It takes a chunk only if nothing but well-formed numbers is in it;
anything else goes the slow way, which understands quotes and comments and knows its line.
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._dataset import Matrix
from plurilabel.io._arff._columns import Columns, Entries
from plurilabel.io._arff._slow import Cells, SlowRows
from plurilabel.io._files import FileFormatError

CHUNK = 1 << 18  # bytes; a chunk needs about 20 times that while it is parsed

_FIRST = re.compile(rb"^[ \t\r\f\v]*([^%\s])", re.MULTILINE)
_BLANKS = bytes.maketrans(b"\t\f\v\r", b"    ")
_DIGITS, _OTHERS = b"0123456789", b"+-.eE?"  # letters of numbers
_TO_SPACE = bytes.maketrans(b",{}\n", b"    ")


def read_rows(
    stream: BinaryIO,
    path: str | os.PathLike[str],
    line: int,
    columns: Columns,
    encoding: str,
) -> tuple[Matrix, Matrix]:
    """X and Y from the rest of the file; ``line`` is the number of lines already read."""
    parts: list[tuple[Any, Any]] = []
    is_sparse: bool | None = None
    # whole lines: what readline adds completes the last one
    while chunk := stream.read(CHUNK) + stream.readline():
        if not chunk.endswith(b"\n"):
            chunk += b"\n"
        if is_sparse is None and (first := _FIRST.search(chunk)):
            is_sparse = first[1] == b"{"
        if is_sparse is None:
            pass  # comments only
        elif is_sparse:
            cells = _sparse_numbers(chunk, columns) or _sparse_numbers(_tidy(chunk), columns)
            cells = cells or SlowRows(path, line, columns, encoding).sparse(chunk)
            parts.append(columns.sparse(*cells))
        else:
            codes = None
            if not columns.textual.any():
                codes = _dense_numbers(chunk, columns)
                codes = _dense_numbers(_tidy(chunk), columns) if codes is None else codes
            if codes is None:
                codes = SlowRows(path, line, columns, encoding).dense(chunk)
            parts.append(columns.dense(codes))
        line += chunk.count(b"\n")
    if not parts:
        raise FileFormatError(path, line, "expected rows of data after @data, got none")
    # one side after the other, so that never more than twice the result is in memory
    Xs, Ys = [list(side) for side in zip(*parts)]
    del parts
    if not is_sparse:
        return _stacked(Xs), _stacked(Ys)
    return _csr(Xs, len(columns.feature_names)), _csr(Ys, len(columns.label_names))


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    whole = np.vstack(parts) if len(parts) > 1 else parts[0]
    parts.clear()
    return whole


def _csr(parts: list[Entries], width: int) -> sparse.csr_array:
    values, columns, sizes = (np.concatenate(arrays) for arrays in zip(*parts))
    parts.clear()
    ends = np.concatenate([[0], np.cumsum(sizes)])
    if ends[-1] <= np.iinfo(np.int32).max:
        ends = ends.astype(np.int32)
    matrix = sparse.csr_array((values, columns, ends), shape=(len(sizes), width))
    matrix.sort_indices()
    return matrix


# the quick way --------------------------------------------------------------------------------


def _tidy(chunk: bytes) -> bytes:
    """The same rows without blank lines and without blanks around the marks."""
    text = chunk.translate(_BLANKS)
    for mark in (b",", b"\n", b"{", b"}", b" "):
        for loose in (mark + b" ", b" " + mark):
            while loose in text:
                text = text.replace(loose, mark)
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text.lstrip(b" \n")


def _numbers(text: bytes, digits: bool, expected: int) -> NDArray[Any] | None:
    """All numbers of a text whose marks are in order; None if there are not as many as expected.

    Between two marks numpy finds one number, or none and then there are too few, or it stops.
    """
    spaced = text.translate(_TO_SPACE)
    if not expected:
        return None if spaced.strip() else np.empty(0)
    try:
        with warnings.catch_warnings():
            # older numpy only warns when it stops in the middle of the text
            warnings.simplefilter("error", DeprecationWarning)
            if digits:
                whole = np.fromstring(spaced, dtype=np.int64, sep=" ")
                # larger ones may have been cut off; as floats they are right
                if whole.size == expected and whole.max() < 2**53:
                    return whole
            if b"?" in spaced:
                if b"-?" in spaced or b"+?" in spaced:  # -nan is a number to numpy
                    return None
                spaced = spaced.replace(b"?", b"nan")
            found = np.fromstring(spaced, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    return found if found.size == expected else None


def _dense_numbers(text: bytes, columns: Columns) -> NDArray[np.float64] | None:
    """Codes (n, attributes) of the rows; None if there is anything but numbers and commas."""
    w, n = len(columns.attributes), text.count(b"\n")
    in_order = (b"," * (w - 1) + b"\n") * n
    marks = text.translate(None, _DIGITS)
    digits = marks == in_order
    if not digits and marks.translate(None, _OTHERS) != in_order:
        return None
    found = _numbers(text, digits, n * w)
    if found is None:
        return None
    codes = found.reshape(n, w).astype(np.float64, copy=False)
    for these, numbers in columns.lookups.values():
        codes[:, these] = _places(codes[:, these], numbers)
    return codes if columns.accepts(codes) else None


def _sparse_numbers(text: bytes, columns: Columns) -> Cells | None:
    """Row, attribute and code of what the rows give; None if a row is not ``{i v,i v,...}``."""
    marks = text.translate(None, _DIGITS)
    pairs = _pairs_per_row(text, marks)
    digits = pairs is not None
    if pairs is None:
        pairs = _pairs_per_row(text, marks.translate(None, _OTHERS))
    if pairs is None:
        return None
    n_pairs = int(pairs.sum())
    index: NDArray[Any] | None = _indices_of_ones(text) if digits and n_pairs else None
    code: NDArray[Any] = np.ones(n_pairs, np.int64)
    if index is None:
        found = _numbers(text, digits, 2 * n_pairs)
        if found is None:
            return None
        index, code = found[0::2], found[1::2]
    # min and max are NaN if there is one, and that is not in order either
    if index.size and not (index.min() >= 0 and index.max() < len(columns.attributes)):
        return None
    attribute = index.astype(np.int32, copy=False)
    if not digits and (attribute != index).any():
        return None
    if columns.textual.any() and columns.textual[attribute].any():
        return None
    row = np.repeat(np.arange(len(pairs), dtype=np.int32), pairs)
    if not _all_different(row, attribute):
        return None
    for attributes, numbers in columns.lookups.values():
        these = attributes[attribute]
        code = code.astype(np.float64)
        code[these] = _places(code[these], numbers)
    return (row, attribute, code, len(pairs)) if columns.accepts(code, attribute) else None


def _indices_of_ones(text: bytes) -> NDArray[np.int32] | None:
    """Indices of rows with no other value than 1, the most common kind; None if there is one.

    The marks are in order and the rest is digits, so an index ends at each blank.
    """
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
        if place == 0 and not inside.all():
            return None
        if not inside.any():
            return index
        index += (digit * inside).astype(np.int32) * 10**place
    return None


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
    # the words are counted, the first of each row is as it should be: so are the others
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


def _all_different(row: NDArray[np.int32], attribute: NDArray[np.int32]) -> bool:
    """Whether no attribute comes twice in a row."""
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
