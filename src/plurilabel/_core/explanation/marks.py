"""Texts whose words are marked by what they add to the score of a label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

_KIND = re.compile(r"(?:numbers|dates|categories|declared)__|text(?: (?P<column>.+?))?__")
"""What TableEncoder puts before a name if there is text beside other columns."""

_MADE_BY = re.compile(r"words__|vectors__|(?P<parts>parts__)|(tfidf|count)vectorizer(-\d+)?__")
"""What scikit-learn and ``word_features`` put before the name of a word, or of a part of one."""

WORD = re.compile(r"\w+|[^\w\s]+")
COLOURS = {True: "46, 125, 50", False: "198, 40, 40"}  # for and against a label


@dataclass(frozen=True, eq=False)
class MarkedText:
    """A text whose words carry what they add to the score of a label.

    Attributes
    ----------
    text, label : str
    marks : list of (int, int, float)
        Start and end of each word that adds anything, and what it adds.
    base : float
        What the label begins with.
    rest : float
        What the parts that are not words of the text add: numbers, categories, vectors.

    Notes
    -----
    Base, rest and marks add up to what the parts of the explanation add up to. A sequence of words
    is shared equally by their letters, at every place where it occurs; so are parts of words.
    """

    text: str
    label: str
    marks: list[tuple[int, int, float]]
    base: float
    rest: float

    def _pieces(self) -> Iterator[tuple[str, float | None]]:
        end = 0
        for start, stop, adds in self.marks:
            yield self.text[end:start], None
            yield self.text[start:stop], adds
            end = stop
        yield self.text[end:], None

    def __str__(self) -> str:
        marked = self._pieces()
        return "".join(one if adds is None else f"{one}[{adds:+.2f}]" for one, adds in marked)

    def _repr_html_(self) -> str:
        most = max((abs(adds) for *_, adds in self.marks), default=1.0) or 1.0
        pieces = [
            escape(piece)
            if adds is None
            else f'<mark title="{adds:+.3f}" style="color: inherit; background: '
            f'rgba({COLOURS[adds > 0]}, {0.6 * abs(adds) / most:.2f})">{escape(piece)}</mark>'
            for piece, adds in self._pieces()
        ]
        head = f"<strong>{escape(self.label)}</strong> "
        return f'<p style="white-space: pre-wrap">{head}{"".join(pieces)}</p>'


class Marker:
    """Places of the parts of an explanation in a text, found once for all labels.

    With ``column``, only words of this one among several columns of text are marked.
    """

    def __init__(self, why: Any, text: str, column: str | None = None) -> None:
        self.why, self.text = why, text
        low = lower(text)
        names = [readable(str(name)) for name in why.part_names]
        if column is None and any(name.startswith("text: ") for name in names):
            column = "text"  # beside numbers and categories
        self.places = [list(_letters(low, name, column)) for name in names]
        self.words = [word.span() for word in WORD.finditer(text)]

    def marked(self, label: str | int) -> MarkedText:
        """The words of the text with what they add to a label."""
        j = self.why._number(label)
        letters, rest = np.zeros(len(self.text)), 0.0
        for at, adds in zip(self.places, np.asarray(self.why.parts)[:, j].tolist()):
            if at:
                np.add.at(letters, at, adds / len(at))
            else:
                rest += adds
        sums = [(start, end, float(letters[start:end].sum())) for start, end in self.words]
        marks = [mark for mark in sums if mark[2]]
        base, name = float(self.why.base[j]), str(self.why.label_names[j])
        return MarkedText(self.text, name, marks, base, rest)


def lower(text: str) -> str:
    """The text in lower case, a letter for each, so that places stay."""
    return "".join(one if len(one := letter.lower()) == 1 else letter for letter in text)


def readable(name: str) -> str:
    """The name of a feature without those of its encoders.

    A word of a column is ``body: cough``, and of the only column of text beside others
    ``text: cough``; dots show where a part of a word goes on: ``cou…``, ``…oug…``, ``…ugh``.
    """
    kind = _KIND.match(name)
    name = name[kind.end() :] if kind else name
    if made_by := _MADE_BY.match(name):
        name = name[made_by.end() :]
        if made_by["parts"] or made_by[3] not in (None, "-1"):
            name = "".join(["…" * (name[:1] != " "), name.strip(), "…" * (name[-1:] != " ")])
    is_text = kind is not None and kind[0].startswith("text")
    return f"{kind['column'] or 'text'}: {name}" if kind and is_text else name


def _letters(low: str, name: str, column: str | None) -> Iterator[int]:
    """Positions of the letters of a feature in a text; none if it is not a word of it."""
    if column is not None:
        if not name.startswith(f"{column}: "):
            return
        name = name.removeprefix(f"{column}: ")
    for start, end in _places(low, name):
        yield from (i for i in range(start, end) if not low[i].isspace())


def _places(low: str, name: str) -> Iterator[tuple[int, int]]:
    part = name.removeprefix("…").removesuffix("…")
    if not part.strip():
        return
    if part != name:  # a part of a word
        pattern = re.escape(part)
        pattern = ("" if name[0] == "…" else r"(?<!\S)") + pattern
        pattern += "" if name[-1] == "…" else r"(?!\S)"
        pattern = f"(?=({pattern}))"  # places may overlap
        yield from (found.span(1) for found in re.finditer(pattern, low))
        return
    words = [re.escape(word) for word in name.split(" ")]
    # vectorizers skip words of one letter by default
    pattern = r"\W+(?:\w\W+)*?".join(words)
    edges = [r"(?<!\w)" if name[0].isalnum() else "", r"(?!\w)" if name[-1].isalnum() else ""]
    yield from (found.span() for found in re.finditer(edges[0] + pattern + edges[1], low))


def texts_of(X: Any) -> Sequence[str] | None:
    """The texts of rows, if there is one text in each; None otherwise."""
    if hasattr(X, "columns"):
        if X.shape[1] != 1:
            return None
        X = X.iloc[:, 0]
    cells = X.tolist() if hasattr(X, "tolist") and getattr(X, "ndim", 1) == 1 else X
    if isinstance(cells, list | tuple) and all(isinstance(cell, str) for cell in cells):
        return cells
    return None
