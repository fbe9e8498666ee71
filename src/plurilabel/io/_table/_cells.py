"""Cells of a table as features, row by row, for those who cannot look at the whole column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from plurilabel._core.words import shortened
from plurilabel.io._table._date_encoder import date_numbers
from plurilabel.io._table._kinds import MISSING, MOST_CATEGORIES
from plurilabel.io._table._written import date_of, number_of, orders_of

FEWEST_ROWS = 10
"""Rows after which a column that counts them is taken for an identifier."""

Feature = tuple[str, float]


class CellReader:
    """Numbers, dates, categories and words of a table that is read row by row.

    They are written as :func:`read_table` takes them: decimal commas, thousands, currency signs,
    dates in many forms. Only what a column has shown so far is known. So where a cell can be read
    in two ways, the first clear cell of its column decides, and a cell that was read otherwise
    before is an error, not a wrong number.

    A number is a feature with its value. A date is a decimal year, and a sine and a cosine for the
    season, the weekday and, if there is a time, the hour. Any other text is a feature of its own,
    ``column=text``, with the value 1. Cells that are missing give nothing.

    Parameters
    ----------
    decimal : {".", ","}, default=None
        The decimal mark; by default each column shows it.
    day_first : bool, default=None
        Whether 03/04/2021 is 3 April; by default each column shows it.
    words : sequence of callable, default=()
        From a text to its words, such as ``CountVectorizer().build_analyzer()``.

    Attributes
    ----------
    identifiers : list of str
        Columns that have numbered the rows so far, or have had very many different texts.

    Examples
    --------
    >>> from plurilabel.io import CellReader
    >>> reader = CellReader()
    >>> dict(reader.features("price", "1.234,50 €")), dict(reader.features("colour", "red"))
    ({'price': 1234.5}, {'colour=red': 1.0})
    >>> [name for name, value in reader.features("sent", "2021-07-02")][:3]
    ['sent_year', 'sent_season_sin', 'sent_season_cos']
    >>> list(reader.features("price", "12.5"))
    Traceback (most recent call last):
    ...
    ValueError: price must be written with one decimal mark, got '1.234,50 €' before and now '12.5'
    """

    def __init__(
        self,
        *,
        decimal: str | None = None,
        day_first: bool | None = None,
        words: Iterable[Callable[[str], list[str]]] = (),
    ) -> None:
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
        self.decimal, self.day_first, self.words = decimal, day_first, tuple(words)
        self._marks: dict[str, tuple[bool, str]] = {}  # whether a comma, and what showed it
        self._doubts: dict[str, str] = {}  # what was read as with a point, but may have a comma
        self._orders: dict[str, tuple[bool, str]] = {}
        self._counting: dict[str, tuple[float, int]] = {}  # the last value, and rows
        self._texts: dict[str, set[str]] = {}  # by column, as long as there are few

    def features(self, column: str, cell: Any) -> Iterator[Feature]:
        """What a cell of a column gives."""
        if isinstance(cell, list):
            for place, entry in enumerate(cell):
                yield from self.features(f"{column}{place}", entry)
            return
        if isinstance(cell, str):
            cell = cell.strip()
            if not cell or (cell.lower() in MISSING and column not in self._texts):
                return
            value = self._number(column, cell)
            if value is None:
                yield from self._text(column, cell)
                return
        elif isinstance(cell, int | float):
            try:
                value = float(cell)
            except OverflowError:
                value = math.inf
        elif cell is None:
            return
        else:
            raise ValueError(
                f"{column} must be a number, a text or a list, got {shortened(str(cell))}"
            )
        if math.isinf(value):
            raise ValueError(f"{column} must be a finite number, got {shortened(str(cell))}")
        if value == value:
            self._count(column, value)
            yield column, value

    def text_features(self, column: str, cell: Any) -> Iterator[Feature]:
        """The words of a text, each with its share: the squares of all add up to 1."""
        if cell is None or (isinstance(cell, float) and cell != cell):
            return
        found: dict[str, int] = {}
        for words in self.words:
            for word in words(str(cell)):
                found[word] = found.get(word, 0) + 1
        length = math.sqrt(sum(n * n for n in found.values()))
        for word, n in found.items():
            yield f"{column}={word}", n / length

    @property
    def identifiers(self) -> list[str]:
        """Columns that have numbered the rows so far, or have had very many different texts."""
        many = [name for name, texts in self._texts.items() if len(texts) > MOST_CATEGORIES]
        counting = [name for name, (_, rows) in self._counting.items() if rows >= FEWEST_ROWS]
        return [*counting, *many]

    def _number(self, column: str, text: str) -> float | None:
        if self.decimal is not None:
            return number_of(text, comma=self.decimal == ",")
        as_point, as_comma = number_of(text), number_of(text, comma=True)
        if as_point == as_comma:  # none, or a whole number
            return as_point
        if as_point is not None and as_comma is not None:
            comma = self._marks.get(column, (False, ""))[0]
            if column not in self._marks:
                self._doubts.setdefault(column, text)
            return as_comma if comma else as_point
        comma = as_point is None
        was, shown_by = self._marks.setdefault(column, (comma, text))
        doubt = self._doubts.pop(column, None) if comma else None
        if was != comma or doubt is not None:
            before = shown_by if doubt is None else doubt
            advice = "" if doubt is None else "; say decimal=',' or decimal='.'"
            raise ValueError(
                f"{column} must be written with one decimal mark, got {before!r} before and now "
                f"{text!r}{advice}"
            )
        return as_comma if comma else as_point

    def _text(self, column: str, text: str) -> Iterator[Feature]:
        date = self._date(column, text)
        if date is not None:
            for name, value in date_numbers(date, with_hour=":" in text).items():
                yield f"{column}_{name}", value
            return
        texts = self._texts.setdefault(column, set())
        if len(texts) <= MOST_CATEGORIES:
            texts.add(text)
        yield f"{column}={text}", 1.0

    def _date(self, column: str, text: str) -> datetime | None:
        orders = orders_of(text)
        if orders and self.day_first not in (None, *orders):
            how = "day" if self.day_first else "month"
            raise ValueError(f"{column} must have dates, the {how} first, got {text!r}")
        if not orders or self.day_first is not None:
            return date_of(text, day_first=self.day_first)
        if len(orders) == 2 and column not in self._orders:
            raise ValueError(
                f"{column} must have dates whose order is clear, got {text!r}; say day_first=True "
                "or day_first=False"
            )
        if len(orders) == 1:
            (order,) = orders
            was, shown_by = self._orders.setdefault(column, (order, text))
            if was != order:
                raise ValueError(
                    f"{column} must have dates in one order, got {shown_by!r} before and now "
                    f"{text!r}"
                )
        return date_of(text, day_first=self._orders[column][0])

    def _count(self, column: str, value: float) -> None:
        last, rows = self._counting.get(column, (value - 1, 0))
        if rows >= 0:
            # -1: it does not count the rows
            self._counting[column] = value, rows + 1 if value == last + 1 else -1
