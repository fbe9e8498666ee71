"""From the values of ARFF rows to the columns of X and Y.

Rows are read as *codes*: a number stays a number, a nominal value becomes its position among the
declared values, and a missing value is NaN. Here the codes of each attribute become its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import dense
from plurilabel._core.words import NO_YES, shortened
from plurilabel.io._arff_header import Attribute
from plurilabel.io._files import NUMBER_OR_NAN, AnyPath, FileFormatError

_PAIRS = set(zip([*NO_YES][::2], [*NO_YES][1::2]))  # ("no", "yes") and so on


def as_number(text: str) -> float:
    """Convert a cell to a number; stricter than ``float``, which accepts ``1_000``."""
    text = text.removeprefix("'")
    if text == "?":
        return math.nan
    if not NUMBER_OR_NAN.fullmatch(text):
        raise ValueError("a number")
    return float(text)


class Codes(dict[str, float]):
    """Position of a cell's value among the declared values.

    A cell that was quoted in the row starts with ``'``: only a bare ``?`` is missing. If all
    declared values are numbers, ``1.0`` is the same as ``1``.
    """

    def __init__(self, values: tuple[str, ...]):
        for code, value in enumerate(values):
            self[f"'{value}"] = code
            if value[:1] not in ("", "'", '"'):  # such a value needs quotes
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
        """Look up a number by its value."""
        if self.place and NUMBER_OR_NAN.fullmatch(text.removeprefix("'")):
            place = self.place.get(as_number(text))
            if place is not None:
                return place
        raise ValueError("one of its declared values")


class Columns:
    """How the attributes of a file become the columns of X and Y.

    For each attribute, ``levels`` is the number of codes (0 for a number), and ``column`` is its
    column of X or Y, or the first of several. ``textual`` attributes have values that are not
    numbers.
    """

    def __init__(
        self, path: AnyPath, attributes: list[Attribute], labels: Collection[str],
        drop: Collection[str],
    ):  # fmt: skip
        w = len(attributes)
        self.attributes = attributes
        self.converters: list[Callable[[str], float]] = []
        self.feature_names: list[str] = []
        self.label_names: list[str] = []
        self.dropped, self.label, self.flip, self.one_hot, self.textual = np.zeros((5, w), bool)
        self.levels, self.column = np.zeros((2, w), np.int32)
        # attributes whose values are numbers other than 0, 1, 2, ...: a mask, and the numbers
        self.lookups: dict[tuple[str, ...], tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}
        known: dict[tuple[str, ...], Codes] = {}  # thousands of attributes may share {0,1}
        for a, attribute in enumerate(attributes):
            name, values = attribute.name, attribute.values
            if name in drop:
                self.dropped[a] = True
                self.converters.append(lambda _: math.nan)
                continue
            label = self.label[a] = name in labels
            _check_type(path, attribute, attributes, label)
            names = self.label_names if label else self.feature_names
            self.column[a], self.levels[a] = len(names), len(values) or 2 * label
            convert: Callable[[str], float] = as_number
            no_first: bool | None = True
            if values:
                codes = known.setdefault(values, known.get(values) or Codes(values))
                convert, self.textual[a] = codes.__getitem__, codes.numbers is None
                if codes.numbers is not None and not codes.counting:
                    self.lookups.setdefault(values, (np.zeros(w, bool), codes.numbers))[0][a] = (
                        True
                    )
                no_first = truth_order(values)
                self.flip[a] = no_first is False
                self.one_hot[a] = no_first is None and len(values) != 2
            if no_first is not None:
                names.append(name)
            else:
                names.extend(f"{name}={value}" for value in values[not self.one_hot[a] :])
            self.converters.append(_checked_label(convert) if label else convert)

    def accepts(self, codes: NDArray[Any], attribute: Any = slice(None)) -> bool:
        """Whether all codes are declared or missing."""
        levels = self.levels[attribute]
        declared = (codes >= 0) & (codes < levels) & (codes == np.floor(codes))
        return bool(((levels == 0) | declared | np.isnan(codes)).all())

    def matrices(self, codes: Any) -> tuple[Any, Any]:
        """X and Y from codes (n, attributes), dense or CSR; missing labels are NaN."""
        return self._columns(codes, ~self.label), self._columns(codes, self.label)

    def _columns(self, codes: Any, which: NDArray[np.bool_]) -> Any:
        which = which & ~self.dropped
        flip, hot = which & self.flip, which & self.one_hot
        plain = which & ~flip & ~hot
        if not (flip | hot).any():
            return codes[:, plain]
        blocks = [codes[:, plain], 1 - dense(codes[:, flip])]
        places = [self.column[plain], self.column[flip]]
        for a in np.flatnonzero(hot):
            code, levels = dense(codes[:, [a]]), np.arange(self.levels[a])
            blocks.append(np.where(np.isnan(code), np.nan, code == levels))
            places.append(self.column[a] + levels)
        order = np.argsort(np.concatenate(places))
        if sparse.issparse(codes):
            return sparse.hstack([sparse.csr_array(b) for b in blocks], format="csr")[:, order]
        return np.hstack(blocks)[:, order]


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
        problem = f"attribute {name!r} is of type {attribute.type}, which cannot become a number"
        raise FileFormatError(path, attribute.line, f"{problem}; leave it out with drop={others}")
