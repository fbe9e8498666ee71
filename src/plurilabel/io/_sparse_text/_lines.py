"""Lines of ``labels index:value index:value ...``: what the XMC and LIBSVM formats share.

A block of lines is checked and parsed as a whole, by array operations over its bytes. Only a
block that turns out to be irregular is looked at line by line, to say where and what is wrong.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurilabel.io._files import FileFormatError, opened
from plurilabel.io._sparse_text._decimals import MOST_DIGITS, DecimalText

BLOCK_BYTES = 1 << 20
LARGEST_NUMBER = 2**31 - 2  # labels and features are kept as int32, and d is one more

# The text is cut into runs at newlines, commas, colons, blanks and points. What a run is follows
# from the separator before it and the one after it.
_NEWLINE, _COMMA, _COLON, _BLANK, _POINT, _DIGIT, _SIGN, _OTHER = range(8)
_CODE = bytearray([_OTHER] * 256)
for _characters, _code in (
    (b"\n", _NEWLINE),
    (b",", _COMMA),
    (b":", _COLON),
    (b" ", _BLANK),
    (b".", _POINT),
    (b"0123456789", _DIGIT),
    (b"+-eEnaifNAIF", _SIGN),  # what else is in numbers: 1e-5, nan, inf
):
    for _byte in _characters:
        _CODE[_byte] = _code
_WRONG, _LABEL, _INDEX, _WHOLE, _FRACTION, _VALUE = range(6)
_ROLE = np.array(  # rows: the separator before; columns: the separator after
    [
        # newline    comma   colon   blank      point
        [_LABEL, _LABEL, _WRONG, _LABEL, _WRONG],  # newline
        [_LABEL, _LABEL, _WRONG, _LABEL, _WRONG],  # comma
        [_VALUE, _WRONG, _WRONG, _VALUE, _WHOLE],  # colon
        [_WRONG, _WRONG, _INDEX, _WRONG, _WRONG],  # blank
        [_FRACTION, _WRONG, _WRONG, _FRACTION, _WRONG],  # point
    ],
    dtype=np.uint8,
)

_BARE_FEATURES = re.compile(rb"^(?=[0-9]+:)", re.MULTILINE)
_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf)", re.IGNORECASE)

Ints = NDArray[np.int32]


@dataclass
class Rows:
    """Consecutive lines of a file, as numbers."""

    lines: NDArray[np.int64]  # (n,) where each row stands in the file, from 1
    n_labels: NDArray[np.int64]  # (n,)
    n_features: NDArray[np.int64]  # (n,)
    labels: Ints
    columns: Ints
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Rows of lines on which nothing stands."""
        return (self.n_labels == 0) & (self.n_features == 0)

    def drop(self, blank: NDArray[np.bool_]) -> Rows:
        """The rows without some of the blank ones."""
        keep = ~blank
        return Rows(
            self.lines[keep],
            self.n_labels[keep],
            self.n_features[keep],
            self.labels,
            self.columns,
            self.values,
        )


def line_blocks(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line; every line is ended."""
    line = 1
    pieces: list[bytes] = []  # of a line that is not ended yet
    with opened(path) as stream:
        while piece := stream.read(BLOCK_BYTES):
            head, newline, tail = piece.rpartition(b"\n")
            if not newline:
                pieces.append(piece)
                continue
            block = b"".join([*pieces, head, newline])
            pieces = [tail]
            yield line, block
            line += block.count(b"\n")
    if any(pieces):
        yield line, b"".join([*pieces, b"\n"])


def parse_rows(path: str | os.PathLike[str], first_line: int, text: bytes) -> Rows:
    """Parse whole lines; every line gives a row, a blank one too."""
    text = _single_blanks(text)
    rows = _parse(text, first_line)
    if rows is None:
        # a line may also start with its features where it has no labels
        rows = _parse(_BARE_FEATURES.sub(b" ", text), first_line)
    if rows is None:
        for line, content in enumerate(text.split(b"\n"), first_line):
            if problem := _problem(content):
                raise FileFormatError(path, line, problem)
        raise AssertionError("a block was refused in which every line is right")
    return rows


def _single_blanks(text: bytes) -> bytes:
    """The same lines with single blanks between words and none at the end."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"\t" in text:
        text = text.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n")


def _parse(text: bytes, first_line: int) -> Rows | None:
    """The rows of a regular block, None if anything in it is irregular."""
    code = np.frombuffer(text.translate(_CODE), dtype=np.uint8)
    if code.max() == _OTHER:
        return None
    ends = np.flatnonzero(code < _DIGIT)  # (runs,) the separator after each run
    lengths = np.diff(ends, prepend=-1) - 1
    after = code[ends]
    before = np.empty_like(after)
    before[0], before[1:] = _NEWLINE, after[:-1]
    role = _ROLE.take(before * 5 + after)
    if not role.all():
        return None
    label, index = np.flatnonzero(role == _LABEL), np.flatnonzero(role == _INDEX)
    empty = label[lengths[label] == 0]
    if (before[empty] == _COMMA).any() or (after[empty] == _COMMA).any():
        return None
    label = label[lengths[label] > 0]

    signs = np.flatnonzero(code == _SIGN)
    if (role[np.searchsorted(ends, signs)] < _WHOLE).any():
        return None
    numbers = DecimalText(text)
    labels = _small_integers(numbers, ends[label], lengths[label])
    columns = _small_integers(numbers, ends[index], lengths[index])
    values = _values(numbers, ends, lengths, role, signs)
    if labels is None or columns is None or values is None:
        return None

    line_ends = np.flatnonzero(after == _NEWLINE)
    return Rows(
        first_line + np.arange(len(line_ends)),
        np.diff(np.searchsorted(label, line_ends, side="right"), prepend=0),
        np.diff(np.searchsorted(index, line_ends), prepend=0),
        labels,
        columns,
        values,
    )


def _small_integers(
    text: DecimalText, ends: NDArray[np.intp], lengths: NDArray[np.intp]
) -> Ints | None:
    if not len(ends):
        return np.empty(0, dtype=np.int32)
    if lengths.min() == 0 or lengths.max() > MOST_DIGITS:
        return None
    numbers = text.integers(ends, lengths)
    return None if numbers.max() > LARGEST_NUMBER else numbers.astype(np.int32)


def _values(
    text: DecimalText,
    ends: NDArray[np.intp],
    lengths: NDArray[np.intp],
    role: NDArray[np.uint8],
    signs: NDArray[np.intp],
) -> NDArray[np.float64] | None:
    """Feature values; ``signs`` are the places where they have anything but digits."""
    last = np.flatnonzero(role >= _FRACTION)  # (values,) the run at the end of each value
    has_point = role[last] == _FRACTION
    whole = lengths[last - has_point]
    fraction = np.where(has_point, lengths[last], 0)
    stops = ends[last]
    starts = stops - fraction - has_point - whole

    value = np.searchsorted(stops, signs)  # the value that each sign stands in
    minus = (signs == starts[value]) & text.holds(signs, b"-")
    negative = np.zeros(len(last), dtype=bool)
    negative[value[minus]] = True
    whole -= negative
    if (whole + fraction == 0).any():
        return None

    values, exact = text.decimals(stops, whole, fraction, has_point)
    np.negative(values, out=values, where=negative)
    exact[value[~minus]] = False
    rest = np.flatnonzero(~exact)
    if len(rest):
        others = text.floats(starts[rest], stops[rest])
        if others is None:
            return None
        values[rest] = others
    return values


def _problem(line: bytes) -> str | None:
    """What is wrong with a line, if anything: the format's definition, word by word."""
    words = line.split(b" ")
    if b":" in words[0]:
        words.insert(0, b"")
    for label in words[0].split(b",") if words[0] else ():
        if not label.isdigit():
            return f"expected a label (a number from 0 on), got {_shown(label)}"
        if len(label) > MOST_DIGITS or int(label) > LARGEST_NUMBER:
            return f"expected a label up to {LARGEST_NUMBER}, got {_shown(label)}"
    for word in words[1:]:
        column, colon, value = word.partition(b":")
        if not colon:
            return f"expected index:value, got {_shown(word)}"
        if not column.isdigit():
            return f"expected a feature number before the colon, got {_shown(word)}"
        if len(column) > MOST_DIGITS or int(column) > LARGEST_NUMBER:
            return f"expected a feature number up to {LARGEST_NUMBER}, got {_shown(column)}"
        if not _NUMBER.fullmatch(value):
            return f"expected a number after {_shown(column + b':')}, got {_shown(value)}"
    return None


def _shown(word: bytes) -> str:
    text = word.decode("utf-8", errors="replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")
