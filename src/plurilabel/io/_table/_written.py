"""Numbers and dates as people write them: decimal commas, thousands, percent signs, day orders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from plurilabel._core.words import NUMBER

# numbers ----------------------------------------------------------------------------------------

_SIGNS = re.compile(r"[$€£¥%]")
_GROUPS = r"[+-]?(?:[1-9][0-9]{{0,2}}(?:[{group}' ][0-9]{{3}})+)(?:{mark}[0-9]+)?"
_PLAIN = r"[+-]?(?:[0-9]+{mark}?[0-9]*|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
_POINT = re.compile(f"{_GROUPS.format(group=',', mark='[.]')}|{NUMBER.pattern}", re.IGNORECASE)
_COMMA = re.compile(f"{_GROUPS.format(group='.', mark=',')}|{_PLAIN.format(mark=',')}")
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})


def number_of(text: str, *, comma: bool = False) -> float | None:
    """The value of a number in text, None if it is not one.

    There may be separators of thousands, and one sign of a currency or percent, which is left out.

    Parameters
    ----------
    text : str
    comma : bool, default=False
        Whether a comma separates the decimals, and a point thousands; else it is the other way.

    Examples
    --------
    >>> number_of("1,234.5"), number_of("12 %"), number_of("(3)"), number_of("1,5")
    (1234.5, 12.0, -3.0, None)
    >>> number_of("1.234,5 €", comma=True), number_of("1 234", comma=True)
    (1234.5, 1234.0)
    """
    if not comma and NUMBER.fullmatch(text):
        return float(text)
    if text.startswith("(") and text.endswith(")"):  # as accountants write what is negative
        value = number_of(text[1:-1], comma=comma) if text[1:2].strip("(") else None
        return None if value is None or value < 0 else -value
    text = _bare(text)
    if not (_COMMA if comma else _POINT).fullmatch(text):
        return None
    text = text.replace("'", "").replace(" ", "")
    text = text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")
    return float(text)


def _bare(text: str) -> str:
    text = text.translate(_BLANKS)
    return _SIGNS.sub("", text, count=1).strip() if _SIGNS.search(text) else text


def is_number(text: str) -> bool:
    """Whether a text is a number in either way of writing."""
    return number_of(text) is not None or number_of(text, comma=True) is not None


def has_comma(texts: Iterable[str]) -> bool | None:
    """Whether a comma separates decimals in most of these; None if that does not show.

    Examples
    --------
    >>> has_comma(["1,5", "12"]), has_comma(["1.5"]), has_comma(["1,234"])
    (True, False, None)
    """
    votes = 0
    for text in texts:
        as_comma, as_point = number_of(text, comma=True), number_of(text)
        votes += (as_point is None and as_comma is not None) - (
            as_comma is None and as_point is not None
        )
    return None if votes == 0 else votes > 0


# dates ------------------------------------------------------------------------------------------

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LONG_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
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
    """The date and time in a text, as it is written; None if there is none.

    A zone or offset is left out: what counts is the clock where it was written. A time alone is
    one of 1 January 1900. Of two digits for a year, 69 and above are of the 20th century.

    Parameters
    ----------
    text : str
    day_first : bool or None
        What ``03/04/2021`` means; if None, it is not a date. ``03.04.2021`` is 3 April, always.

    Examples
    --------
    >>> date_of("2021-04-03T22:30:00+02:00"), date_of("Apr 3, 2021")
    (datetime.datetime(2021, 4, 3, 22, 30), datetime.datetime(2021, 4, 3, 0, 0))
    >>> date_of("03/04/2021", day_first=True), date_of("03/04/2021")
    (datetime.datetime(2021, 4, 3, 0, 0), None)
    """
    found = _matched(text)
    if found is None:
        return None
    parts = found.groupdict()
    day, month, year = parts.get("d", "1"), parts.get("m", "1"), parts.get("y", "1900")
    if "a" in parts:
        if day_first is None:
            return None
        day, month = (parts["a"], parts["b"]) if day_first else (parts["b"], parts["a"])
    if name := (parts.get("name") or "").lower():
        if name[:3] not in _MONTHS or not (
            name in ("sept", name[:3]) or name == _LONG_MONTHS[_MONTHS.index(name[:3])]
        ):
            return None
        month = str(_MONTHS.index(name[:3]) + 1)
    century = 0 if len(year) == 4 else (1900 if int(year) >= 69 else 2000)
    hour, half = int(parts["hour"] or 0), (parts["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.startswith("p")
    clock = hour, int(parts["minute"] or 0), int(parts["second"] or 0)
    try:
        return datetime(century + int(year), int(month), int(day), *clock)
    except ValueError:
        return None


def _matched(text: str) -> re.Match[str] | None:
    if len(text) > _LONGEST or not any("0" <= letter <= "9" for letter in text):
        return None
    return next(filter(None, (pattern.fullmatch(text) for pattern in _DATES)), None)


@lru_cache(maxsize=1 << 17)
def orders_of(text: str) -> frozenset[bool]:
    """Which values of ``day_first`` make a date of a text whose order is to be found out.

    Examples
    --------
    >>> orders_of("03/04/2021"), orders_of("13/04/2021"), orders_of("2021-04-03")
    (frozenset({False, True}), frozenset({True}), frozenset())
    """
    found = _matched(text)
    if found is None or "a" not in found.groupdict():
        return frozenset()
    return frozenset(order for order in (False, True) if date_of(text, day_first=order))
