"""From the values of ARFF rows to the columns of X and Y.

Rows are read as *codes*: a number as it is, a nominal value as its place among the declared ones,
NaN for a missing value. Here the codes of each attribute become its column, or columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.words import NO_YES, shortened
from plurilabel.io._arff_header import Attribute
from plurilabel.io._files import NUMBER_OR_NAN, AnyPath, FileFormatError

_PAIRS = set(zip([*NO_YES][::2], [*NO_YES][1::2]))  # ("no", "yes") and the like


def as_number(text: str) -> float:
    """Turn a cell into a number; stricter than ``float``, which also takes ``1_000``."""
    text = text.removeprefix("'")
    if text == "?":
        return math.nan
    if not NUMBER_OR_NAN.fullmatch(text):
        raise ValueError("a number")
    return float(text)


Entries: TypeAlias = tuple[NDArray[Any], NDArray[np.int32], NDArray[np.intp]]
"""Values, columns and number of entries in each row, of some rows of a sparse matrix."""


class Codes(dict[str, float]):
    """Place of a cell's value among the declared ones.

    A value that is quoted in the row starts with ``'``: only a bare ``?`` is missing. Where all
    declared values are numbers, ``1.0`` means ``1``.
    """

    def __init__(self, values: tuple[str, ...]):
        for code, value in enumerate(values):
            self[f"'{value}"] = code
            if value[:1] not in ("", "'", '"'):  # else it cannot stand in a row without quotes
                self[value] = code
        self["?"] = math.nan
        self.numbers: NDArray[np.float64] | None = None
        self.place: dict[float, float] = {}
        if all(NUMBER_OR_NAN.fullmatch(value) for value in values):
            numbers = np.array([float(value) for value in values])
            if np.isfinite(numbers).all() and len(np.unique(numbers)) == len(values):
                self.numbers = numbers
                self.place = {number: float(code) for code, number in enumerate(numbers.tolist())}
        self.counting = self.numbers is not None and [*self.numbers] == [*range(len(values))]

    def __missing__(self, text: str) -> float:
        """Look a number up by its value."""
        if self.place and NUMBER_OR_NAN.fullmatch(text.removeprefix("'")):
            place = self.place.get(as_number(text))
            if place is not None:
                return place
        raise ValueError("one of its declared values")


class Columns:
    """How the attributes of a file become the columns of X and Y.

    Per attribute: ``levels`` is the number of codes (0 for a number), ``column`` the column of X
    or Y that it fills, or the first of them.
    """

    def __init__(
        self,
        path: AnyPath,
        attributes: list[Attribute],
        labels: Collection[str],
        drop: Collection[str],
    ):
        self.attributes = attributes
        self.converters: list[Callable[[str], float]] = []
        self.feature_names: list[str] = []
        self.label_names: list[str] = []
        # attributes whose values are numbers, but not 0, 1, 2, ...: where they are, the numbers
        self.lookups: dict[tuple[str, ...], tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}
        self._known: dict[tuple[str, ...], Codes] = {}
        rows: list[tuple[int, ...]] = []
        for a, attribute in enumerate(attributes):
            if attribute.name in drop:
                rows.append((True, False, False, False, False, 0, 0))
                self.converters.append(lambda _: math.nan)
                continue
            label = attribute.name in labels
            _check_type(path, attribute, attributes, label)
            names = self.label_names if label else self.feature_names
            column, levels = len(names), len(attribute.values) or 2 * label
            convert: Callable[[str], float] = as_number
            kinds = [False, False, False]
            if attribute.type == "number":
                names.append(attribute.name)
            else:
                convert, *kinds = self._add_nominal(a, attribute, names)
            rows.append((False, label, *kinds, levels, column))
            self.converters.append(_checked_label(convert) if label else convert)
        table = np.array(rows, dtype=np.int64).T
        self.dropped, self.label, self.flip, self.one_hot, self.textual = table[:5].astype(bool)
        self.levels, self.column = table[5:].astype(np.int32)
        self.fewest = self.levels[self.levels > 0].min(initial=np.iinfo(np.int32).max)

    def _add_nominal(
        self, a: int, attribute: Attribute, names: list[str]
    ) -> tuple[Callable[[str], float], bool, bool, bool]:
        """Add the columns of a nominal attribute: its converter, ``flip, one_hot, textual``."""
        name, values = attribute.name, attribute.values
        if values not in self._known:
            self._known[values] = Codes(values)
        codes = self._known[values]
        if codes.numbers is not None and not codes.counting:
            fresh = np.zeros(len(self.attributes), bool), codes.numbers
            self.lookups.setdefault(values, fresh)[0][a] = True
        no_first = truth_order(values)
        one_hot = no_first is None and len(values) != 2
        if no_first is not None:
            names.append(name)
        else:
            names.extend(f"{name}={value}" for value in values[not one_hot :])
        return codes.__getitem__, no_first is False, one_hot, codes.numbers is None

    def accepts(self, codes: NDArray[Any], attribute: Any = slice(None)) -> bool:
        """Whether all codes are among the declared ones, or missing."""
        if codes.dtype.kind == "i" and 0 <= codes.min(initial=0) <= codes.max() < self.fewest:
            return True
        levels = self.levels[attribute]
        declared = (codes >= 0) & (codes < levels) & (codes == np.floor(codes))
        return bool(((levels == 0) | declared | np.isnan(codes)).all())

    def dense(self, codes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """X and Y from codes (n, attributes); Y has floats if a label is missing."""
        n = len(codes)
        X = np.empty((n, len(self.feature_names)))
        some = np.isnan(codes[:, self.label]).any()
        Y = np.empty((n, len(self.label_names)), dtype=np.float64 if some else np.int64)
        plain = ~(self.dropped | self.one_hot)
        for out, these in ((X, plain & ~self.label), (Y, plain & self.label)):
            out[:, self.column[these]] = codes[:, these]
            flipped = self.column[these & self.flip]
            out[:, flipped] = 1 - out[:, flipped]
        for a in np.flatnonzero(self.one_hot):
            code = codes[:, a, None]
            columns = slice(self.column[a], self.column[a] + self.levels[a])
            hot = code == np.arange(self.levels[a])
            X[:, columns] = np.where(np.isnan(code), np.nan, hot)
        return X, Y

    def sparse(
        self, row: NDArray[np.int32], attribute: NDArray[np.int32], code: NDArray[Any], n: int
    ) -> tuple[Entries, Entries]:
        """Entries of X and Y from the codes in n sparse rows; an omitted code is 0."""
        # Rows are in order, the attributes of a row need not be.
        row, attribute, value, column = self._entries(row, attribute, code, n)
        label = self.label[attribute]
        stored = value != 0
        if self.dropped.any():
            stored &= ~self.dropped[attribute]

        def entries(these: NDArray[np.bool_], dtype: type) -> Entries:
            place = np.flatnonzero(these)
            sizes = np.bincount(row[place], minlength=n)
            return value[place].astype(dtype, copy=False), column[place], sizes

        kind = np.float64 if np.isnan(value[label]).any() else np.int64
        return entries(stored & ~label, np.float64), entries(stored & label, kind)

    def _entries(
        self, row: NDArray[np.int32], attribute: NDArray[np.int32], code: NDArray[Any], n: int
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Row, attribute, value and column of all that is not 0."""
        # code 0 is a 1 in the first column where that stands for the first declared value
        ones = np.flatnonzero((self.flip | self.one_hot) & ~self.dropped).astype(np.int32)
        if not ones.size:
            return row, attribute, code, self.column[attribute]
        given = np.zeros((n, len(ones)), dtype=bool)
        where = np.full(len(self.attributes), -1)
        where[ones] = np.arange(len(ones))
        mine = where[attribute] >= 0
        given[row[mine], where[attribute[mine]]] = True
        left_out, place = np.nonzero(~given)
        row = np.concatenate([row, left_out])
        attribute = np.concatenate([attribute, ones[place]])
        code = np.concatenate([code, np.zeros(len(place))])

        hot, missing = self.one_hot[attribute], np.isnan(code)
        value = np.where(self.flip[attribute], 1 - code, code)
        value[hot & ~missing] = 1
        column = self.column[attribute]
        column[hot & ~missing] += code[hot & ~missing].astype(np.int32)
        # a missing value is missing in all of its columns: the first is there, add the others
        gaps = np.flatnonzero(hot & missing)
        more = self.levels[attribute[gaps]] - 1
        gaps = np.repeat(gaps, more)
        step = np.arange(len(gaps)) - np.repeat(np.cumsum(more) - more, more) + 1
        order = np.argsort(np.concatenate([row, row[gaps]]), kind="stable")
        return (
            np.concatenate([row, row[gaps]])[order],
            np.concatenate([attribute, attribute[gaps]])[order],
            np.concatenate([value, value[gaps]])[order],
            np.concatenate([column, column[gaps] + step], dtype=np.int32)[order],
        )


@lru_cache(maxsize=64)
def truth_order(values: tuple[str, ...]) -> bool | None:
    """Whether no is declared before yes, for values that mean no and yes; None for others."""
    small = tuple(value.lower() for value in values)
    if small in (("0",), ("1",)):  # a label that never, or always, applies
        return small == ("0",)
    return True if small in _PAIRS else False if small[::-1] in _PAIRS else None


def _checked_label(convert: Callable[[str], float]) -> Callable[[str], float]:
    def label(text: str) -> float:
        code = convert(text)
        if code not in (0, 1) and not math.isnan(code):
            raise ValueError("0 or 1, because it is a label")
        return code

    return label


def _check_type(
    path: AnyPath, attribute: Attribute, attributes: list[Attribute], label: bool
) -> None:
    name = attribute.name
    if label and attribute.type != "number" and truth_order(attribute.values) is None:
        got = attribute.type
        if got == "nominal":
            got = repr(shortened(f"{{{','.join(attribute.values)}}}"))
        problem = f"label {name!r} must be {{0,1}}, {{no,yes}}, {{false,true}} or numeric"
        raise FileFormatError(path, attribute.line, f"{problem}, got {got}")
    if attribute.type in ("string", "date"):
        others = [other.name for other in attributes if other.type in ("string", "date")]
        problem = f"attribute {name!r} is of type {attribute.type}, which does not become a number"
        raise FileFormatError(path, attribute.line, f"{problem}; leave it out with drop={others}")
