"""Numbers and dates as people write them: decimal commas, thousands, percent signs, day orders."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

from plurilabel._core.blocks import is_missing
from plurilabel._core.words import NUMBER, shortened
from plurilabel.io._table._encoder import MOST_CATEGORIES, date_numbers

MISSING = {"?", "na", "n/a", "nan", "null", "none"}
"""Words for a missing value among numbers, in lower case."""

FEWEST_ROWS = 10
"""Rows after which a column that counts them is taken for an identifier."""

_SIGNS = frozenset("$€£¥%")
_GROUPS = r"[+-]?[1-9][0-9]{{0,2}}(?:([{group}' ])[0-9]{{3}}(?:\1[0-9]{{3}})*)(?:{mark}[0-9]+)?"
_PLAIN = r"[+-]?(?:(?:[0-9]+,?[0-9]*|,[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)"
_POINT = re.compile(f"{_GROUPS.format(group=',', mark='[.]')}|{NUMBER.pattern}", NUMBER.flags)
_COMMA = re.compile(f"{_GROUPS.format(group='.', mark=',')}|{_PLAIN}", NUMBER.flags)
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})


def number_of(text: str, *, comma: bool = False) -> float | None:
    """The value of a number in text; None if it is not a number.

    Thousands separators, all of one kind, and one currency or percent sign at either end are
    ignored. With ``comma``, a comma separates decimals and a point thousands.

    Examples
    --------
    >>> number_of("1,234.5"), number_of("12 %"), number_of("(3)"), number_of("1,5")
    (1234.5, 12.0, -3.0, None)
    >>> number_of("1.234,5 €", comma=True), number_of("1 234", comma=True)
    (1234.5, 1234.0)
    >>> number_of("-$5"), number_of("5$50"), number_of("1,234 567")
    (-5.0, None, None)
    """
    if not comma and NUMBER.fullmatch(text):
        return float(text)
    text = text.translate(_BLANKS)
    negative = text.startswith("(") and text.endswith(")")  # as accountants write it
    text = _bare(text[1:-1] if negative else text)
    if not (_COMMA if comma else _POINT).fullmatch(text) or (negative and text[0] in "+-"):
        return None
    text = text.replace("'", "").replace(" ", "")
    text = text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")
    return -float(text) if negative else float(text)


def _bare(text: str) -> str:
    """Remove a currency or percent sign at either end, after a leading sign if there is one."""
    head = text[:1] if text[:1] in {"+", "-"} else ""
    rest = text[len(head) :]
    if rest[:1] in _SIGNS:
        return head + rest[1:].lstrip(" ")
    return text[:-1].rstrip(" ") if text[-1:] in _SIGNS else text


def is_number(text: str) -> bool:
    """Whether a text is a number with a decimal point or comma."""
    return number_of(text) is not None or number_of(text, comma=True) is not None


def has_comma(texts: Iterable[str], usual: bool | None = None) -> bool | None:
    """Whether most of these have a decimal comma; as usual if that is unclear."""
    votes = 0
    for text in texts:
        votes += (number_of(text, comma=True) is not None) - (number_of(text) is not None)
    return usual if votes == 0 else votes > 0


_MONTH_NAMES = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
]  # fmt: skip
_MONTHS = {n: m for m, name in enumerate(_MONTH_NAMES, 1) for n in (name[:3], name)} | {"sept": 9}
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}[.,]? )?"
_YEAR = r"(?P<y>[0-9]{4}|[0-9]{2})"
_DAYS = (
    r"(?P<y>[0-9]{4})([-/.])(?P<m>[0-9]{1,2})\2(?P<d>[0-9]{1,2})",
    r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})",
    r"(?P<a>[0-9]{1,2})(?P<sep>[/-])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>[0-9]{4}|[0-9]{2})",
    # a version such as 3.9.18 is not a date
    r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})",
    r"(?P<d>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<y>[0-9]{2})",
    rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[ -](?P<name>[a-z]{{3,9}})[.,]?[ -]{_YEAR}",
    rf"{_WEEKDAY}(?P<name>[a-z]{{3,9}})\.? (?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?,? "
    r"(?P<y>[0-9]{4})",
)
_TIME = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]{1,9})?)?"
    r" ?(?P<half>[ap]\.?m\.?)? ?(?:z|utc|gmt|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (*(rf"{day}(?:(?:t|,? ){_TIME})?" for day in _DAYS), _TIME)
]
_LONGEST = 60


@lru_cache(maxsize=1 << 17)
def date_of(text: str, *, day_first: bool | None = None) -> datetime | None:
    """Parse a date and time; None if the text is not one.

    Time zones and offsets are ignored. A time alone is on 1 January 1900. Two-digit years from 69
    on are in the 20th century. ``day_first`` decides what ``03/04/2021`` means; if None, it is not
    a date. ``03.04.2021`` is always 3 April.

    Examples
    --------
    >>> date_of("2021-04-03T22:30:00+02:00"), date_of("Apr 3, 2021")
    (datetime.datetime(2021, 4, 3, 22, 30), datetime.datetime(2021, 4, 3, 0, 0))
    >>> date_of("03/04/2021", day_first=True), date_of("03/04/2021")
    (datetime.datetime(2021, 4, 3, 0, 0), None)
    """
    found = _matched(text)
    parts: dict[str, Any] = {} if found is None else found.groupdict()
    if not parts or ("a" in parts and day_first is None):
        return None
    if "a" in parts:
        parts["d"], parts["m"] = (parts["a"], parts["b"])[:: 1 if day_first else -1]
    if parts.get("name"):
        parts["m"] = _MONTHS.get(parts["name"].lower(), 0)
    day = _year(parts.get("y", "1900")), int(parts.get("m", 1)), int(parts.get("d", 1))
    try:
        return datetime(*day, _hour(parts), int(parts["minute"] or 0), int(parts["second"] or 0))
    except ValueError:  # also for the month 0 and the hour 99
        return None


def _year(digits: str) -> int:
    century = 0 if len(digits) == 4 else (1900 if int(digits) >= 69 else 2000)
    return century + int(digits)


def _hour(parts: dict[str, Any]) -> int:
    """Hour of the day; 99 for an hour beyond 12 with am or pm."""
    hour, half = int(parts["hour"] or 0), (parts["half"] or "").lower()
    if not half:
        return hour
    return hour % 12 + 12 * half.startswith("p") if 1 <= hour <= 12 else 99


def _matched(text: str) -> re.Match[str] | None:
    if len(text) > _LONGEST or not any("0" <= letter <= "9" for letter in text):
        return None
    return next(filter(None, (pattern.fullmatch(text) for pattern in _DATES)), None)


@lru_cache(maxsize=1 << 17)
def orders_of(text: str) -> frozenset[bool]:
    """The values of ``day_first`` for which a text such as ``03/04/2021`` is a date."""
    found = _matched(text)
    if found is None or "a" not in found.groupdict():
        return frozenset()
    return frozenset(order for order in (False, True) if date_of(text, day_first=order))


Feature = tuple[str, float]


class CellReader:
    """Read numbers, dates, categories and words from a table row by row.

    The notation is that of :func:`read_table`; the results are the features of
    :class:`~plurilabel.streams.TableStream`. If a cell is ambiguous, the first unambiguous cell of
    its column decides; it is an error if an earlier cell was read otherwise. ``words`` are
    functions that split a text into words.
    """

    def __init__(
        self, *, decimal: str | None = None, day_first: bool | None = None,
        words: Iterable[Callable[[str], list[str]]] = (),
    ) -> None:  # fmt: skip
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
        self.decimal, self.day_first, self.words = decimal, day_first, tuple(words)
        self._marks: dict[str, tuple[bool, str]] = {}  # whether a comma, and what showed it
        self._doubts: dict[str, str] = {}  # what was read as with a point, but may have a comma
        self._orders: dict[str, tuple[bool, str]] = {}
        self._counting: dict[str, tuple[float, int]] = {}  # the last value, and rows
        self._texts: dict[str, set[str]] = {}  # by column, as long as there are few

    def features(self, column: str, cell: Any) -> Iterator[Feature]:
        """Features of a cell."""
        if isinstance(cell, list):
            for place, entry in enumerate(cell):
                yield from self.features(f"{column}{place}", entry)
        elif isinstance(cell, str):
            cell = cell.strip()
            if not cell or (cell.lower() in MISSING and column not in self._texts):
                return
            value = self._number(column, cell)
            number = value is not None
            yield from self._value(column, cell, value) if number else self._text(column, cell)
        elif isinstance(cell, int | float):
            try:
                yield from self._value(column, cell, float(cell))
            except OverflowError:
                yield from self._value(column, cell, math.inf)
        elif cell is not None:
            got = shortened(str(cell))
            raise ValueError(f"{column} must be a number, a text or a list, got {got}")

    def text_features(self, column: str, cell: Any) -> Iterator[Feature]:
        """The words of a text, each with its share: the squares of all add up to 1."""
        if is_missing(cell):
            return
        found = Counter(word for words in self.words for word in words(str(cell)))
        length = math.sqrt(sum(n * n for n in found.values()))
        for word, n in found.items():
            yield f"{column}={word}", n / length

    @property
    def identifiers(self) -> list[str]:
        """Columns that have numbered the rows so far, or have had very many different texts."""
        many = [name for name, texts in self._texts.items() if len(texts) > MOST_CATEGORIES]
        counting = [name for name, (_, rows) in self._counting.items() if rows >= FEWEST_ROWS]
        return [*counting, *many]

    def _value(self, column: str, cell: Any, value: Any) -> Iterator[Feature]:
        if math.isinf(value):
            raise ValueError(f"{column} must be a finite number, got {shortened(str(cell))}")
        if value == value:
            last, rows = self._counting.get(column, (value - 1, 0))
            if rows >= 0:
                # -1: it does not count the rows
                self._counting[column] = value, rows + 1 if value == last + 1 else -1
            yield column, value

    def _number(self, column: str, text: str) -> float | None:
        if self.decimal is not None:
            return number_of(text, comma=self.decimal == ",")
        as_point, as_comma = number_of(text), number_of(text, comma=True)
        if as_point == as_comma:  # none, or a whole number
            return as_point
        if as_point is not None and as_comma is not None:
            if column not in self._marks:
                self._doubts.setdefault(column, text)
            return as_comma if self._marks.get(column, (False, ""))[0] else as_point
        comma = as_point is None
        was, before = self._marks.setdefault(column, (comma, text))
        doubt = self._doubts.pop(column, None) if comma else None
        if was != comma or doubt is not None:
            problem = f"{column} must be written with one decimal mark, got {doubt or before!r}"
            advice = "; set decimal=',' or decimal='.'" if doubt else ""
            raise ValueError(f"{problem} before and now {text!r}{advice}")
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
            problem = f"{column} must have dates whose order is clear, got {text!r}"
            raise ValueError(f"{problem}; set day_first=True or day_first=False")
        order, before = self._orders.setdefault(column, (next(iter(orders)), text))
        if order not in orders:
            problem = f"{column} must have dates in one order, got {before!r} before"
            raise ValueError(f"{problem} and now {text!r}")
        return date_of(text, day_first=order)
