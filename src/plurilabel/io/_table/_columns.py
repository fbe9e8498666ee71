"""From a column of a data frame to columns of X, once it is known what kind it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.io._table._cells import CellError, as_floats, cells_of, shown

NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)", re.IGNORECASE)
MISSING = {"?", "na", "n/a", "nan", "null", "none"}  # among numbers
PAIRS = {("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t")}


class FeatureColumn(Protocol):
    """A column whose kind is known."""

    kind: ClassVar[str]

    @property
    def column(self) -> str:
        """Its name in the table."""

    @property
    def names(self) -> list[str]:
        """Names of the features that it becomes."""

    def encode(self, series: Any) -> NDArray[np.float64]:
        """Values of the features, NaN where missing."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, as they are; booleans are 0 and 1."""

    kind: ClassVar[str] = "numbers"
    column: str

    @property
    def names(self) -> list[str]:
        return [self.column]

    def encode(self, series: Any) -> NDArray[np.float64]:
        values = as_floats(series)
        if values is None:
            cells = cells_of(series)
            number_of = {cell: self._number(cell, cells) for cell in _distinct(cells, self.column)}
            values = np.array([number_of[cell] for cell in cells], dtype=np.float64)
        return values[:, None]

    def _number(self, cell: Any, cells: list[Any]) -> float:
        if cell is None:
            return np.nan
        if isinstance(cell, str):
            text = cell.lower()
            if text in MISSING:
                return np.nan
            if text in ("false", "true"):
                return float(text == "true")
            if NUMBER.fullmatch(text):
                return float(text)
        elif is_number(cell):
            return float(cell)
        raise CellError(self.column, cells.index(cell), f"expected a number, got {shown(cell)}")


@dataclass(frozen=True)
class Categories:
    """A column of categories, as 0/1 columns ``name=value``. A value never seen is missing."""

    kind: ClassVar[str] = "categories"
    column: str
    values: tuple[str, ...]
    folded: bool = False  # upper and lower case are the same

    @property
    def names(self) -> list[str]:
        if len(self.values) != 2:
            return [f"{self.column}={value}" for value in self.values]
        # for two values one column, 1 for the second. As in ARFF
        first, second = self.values
        plain = (first.casefold(), second.casefold()) in PAIRS
        return [self.column if plain else f"{self.column}={second}"]

    def encode(self, series: Any) -> NDArray[np.float64]:
        codes = self._codes(series)
        if len(self.values) == 2:
            hot = (codes == 1)[:, None].astype(np.float64)
        else:
            hot = (codes[:, None] == np.arange(len(self.values))).astype(np.float64)
        hot[codes < 0] = np.nan
        return hot

    def unseen(self, series: Any) -> list[str]:
        """Values that are none of the known ones, in the order in which they come."""
        texts = dict.fromkeys(_text(cell) for cell in cells_of(series) if cell is not None)
        return [text for text in texts if self._code_of().get(self._key(text), -1) < 0]

    def _codes(self, series: Any) -> NDArray[np.intp]:
        code_of = self._code_of()
        if hasattr(series, "cat"):
            known = [code_of.get(self._key(str(value)), -1) for value in series.cat.categories]
            return np.array([*known, -1], dtype=np.intp)[series.cat.codes.to_numpy()]
        cells = cells_of(series)
        code = {
            cell: -1 if cell is None else code_of.get(self._key(_text(cell)), -1)
            for cell in _distinct(cells, self.column)
        }
        return np.array([code[cell] for cell in cells], dtype=np.intp)

    def _code_of(self) -> dict[str, int]:
        # values that were declared may have blanks around them, but cells are stripped
        stripped = {self._key(value.strip()): code for code, value in enumerate(self.values)}
        return stripped | {self._key(value): code for code, value in enumerate(self.values)}

    def _key(self, text: str) -> str:
        return text.casefold() if self.folded else text


@dataclass(frozen=True)
class Vectors:
    """A column of lists of numbers, all of one length: embeddings."""

    kind: ClassVar[str] = "vectors"
    column: str
    length: int

    @property
    def names(self) -> list[str]:
        return [f"{self.column}[{j}]" for j in range(self.length)]

    def encode(self, series: Any) -> NDArray[np.float64]:
        cells = cells_of(series)
        X = np.full((len(cells), self.length), np.nan)
        for row, cell in enumerate(cells):
            if cell is None:
                continue
            if not self._fits(cell):
                problem = f"expected a list of {self.length} numbers, got {shown(cell)}"
                raise CellError(self.column, row, problem)
            X[row] = cell
        return X

    def _fits(self, cell: Any) -> bool:
        if not isinstance(cell, list | tuple | np.ndarray) or len(cell) != self.length:
            return False
        return all(is_number(value) for value in cell)


@dataclass(frozen=True, eq=False)
class Words:
    """A column of text as the TF-IDF of its words."""

    column: str
    vocabulary: tuple[str, ...]
    idf: NDArray[np.float64]

    @classmethod
    def learn(cls, series: Any, name: str) -> Words:
        """Words that occur, and their weights."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer()
        try:
            vectorizer.fit(_texts(series))
        except ValueError as error:
            raise CellError(name, None, f"expected text, got no words ({error})") from None
        words = tuple(str(word) for word in vectorizer.get_feature_names_out())
        return cls(name, words, np.asarray(vectorizer.idf_, dtype=np.float64))

    def encode(self, series: Any) -> sparse.csr_array:
        """One row for each text; words that are not in the vocabulary do not count."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.vocabulary)
        vectorizer.idf_ = self.idf
        return sparse.csr_array(vectorizer.transform(_texts(series)))


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, of Python or of numpy."""
    return isinstance(cell, Real | Decimal | np.bool_)


def _texts(series: Any) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells_of(series)]


def _text(cell: Any) -> str:
    """A cell as it would stand in a CSV file: 3.0 in a column with gaps was 3."""
    is_whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell) if is_whole else cell)


def _distinct(cells: Sequence[Any], column: str) -> set[Any]:
    try:
        return set(cells)
    except TypeError:
        row = next(i for i, cell in enumerate(cells) if cell.__hash__ is None)
        raise CellError(
            column, row, f"expected a number or text, got {shown(cells[row])}"
        ) from None
