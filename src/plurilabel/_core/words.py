"""Text for people: numbers with nouns, lists, times, sizes."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from typing import Any

NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)",
    re.IGNORECASE | re.ASCII,  # in Unicode a dotless i is an i, too
)
"""A decimal number in a file."""

NO_YES = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "n": 0, "y": 1, "f": 0, "t": 1}
"""Words for absent and present in a file, in lower case."""

FRACTIONS = (
    "fractions are not labels: cut them, as in y >= 0.5, give a matrix of probabilities to a "
    "learner with accepts_soft_labels, or learn grades and degrees with plurilabel.graded"
)
"""What to do with numbers between 0 and 1 in the place of labels."""


def no_formula(cell: Any) -> Any:
    """A cell of a CSV file, with a ``'`` before text that would be taken for a formula."""
    is_text = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if is_text and not NUMBER.fullmatch(cell) else cell


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[str], most: int | None = None) -> str:
    """Items as a sentence has them."""
    items = list(items)
    if most is not None and len(items) > most + 1:
        items = [*items[:most], f"{len(items) - most} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def display_width(text: str) -> int:
    """The width of a text in a terminal, where East Asian letters take two columns."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
        if unicodedata.category(letter) not in ("Mn", "Me", "Cf")
    )


def filled(text: str, width: int, *, right: bool = False) -> str:
    """Pad a text with blanks to a display width, at its end or before it."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def aligned(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[str]:
    """Lines of a table: the first column aligned left, the others right."""
    widths = [max(map(display_width, column)) for column in zip(*rows)]
    widths = [max(pair) for pair in zip(widths, [*least, *[0] * len(widths)])]
    return [
        "  ".join(filled(cell, w, right=j > 0) for j, (cell, w) in enumerate(zip(row, widths)))
        for row in rows
    ]


def shortened(text: str, most: int = 60) -> str:
    """Cut a text to a display width, with an ellipsis."""
    if display_width(text) <= most:
        return text
    kept = text[: most - 1]
    while display_width(kept) > most - 1:
        kept = kept[:-1]
    return kept + "…"


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: not half of a pair of surrogates, as JSON can write it."""
    try:
        return text.isascii() or text.encode() is not None
    except UnicodeEncodeError:
        return False


def check_unicode(names: Iterable[str], what: str) -> None:
    """Refuse names that can be neither printed nor saved."""
    if (wrong := next((name for name in names if not is_unicode(name)), None)) is not None:
        raise ValueError(f"{what} must be valid Unicode, got {wrong!r}")


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs twice, None if all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def similar(name: str, names: Sequence[str]) -> str | None:
    """A name that may have been meant, None if there is none."""
    # comparing takes the square of the length: skip long names, and all after the first thousand
    short = [other for other in names[:1000] if len(other) <= 100]
    close = difflib.get_close_matches(name[:100], short, n=1)
    return close[0] if close else None


CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except line ends and tabs, and unpaired surrogates."""


def printable(text: str) -> str:
    """Escape control characters, for a terminal: names from files may hold anything."""
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def capital(text: str) -> str:
    """Capitalize a text, unless its second letter is a capital."""
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]


def duration(seconds: float) -> str:
    """A time in two units at most."""
    if seconds < 60:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def file_size(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            digits = 0 if n_bytes >= 10 or unit == "bytes" else 1
            return f"{n_bytes:.{digits}f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def unique_name(name: str, taken: Container[str], form: str = "{} ({})") -> str:
    """The name itself or, if it is taken, the first free one with a number."""
    unique, number = name, 2
    while unique in taken:
        unique, number = form.format(name, number), number + 1
    return unique


def distinct_names(short: Sequence[str], long: Sequence[str]) -> list[str]:
    """Distinct names: the long one if short ones are equal, numbered if needed."""
    names: list[str] = []
    for name, text in zip(short, long):
        is_long = short.count(name) > 1 and len(text) <= 60
        names.append(unique_name(text if is_long else name, names))
    return names
