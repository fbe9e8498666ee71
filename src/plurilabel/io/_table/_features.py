"""What kind of feature a column of a data frame is."""

from __future__ import annotations

from typing import Any

import numpy as np

from plurilabel.io._table._cells import CellError, as_floats, cells_of, shown
from plurilabel.io._table._columns import (
    MISSING,
    NUMBER,
    PAIRS,
    Categories,
    FeatureColumn,
    Numbers,
    Vectors,
    is_number,
)

# beyond these a column of text is taken for free text, not for categories
MOST_CATEGORIES = 255
MANY_CATEGORIES = 20  # if more than half of the rows have one of their own
LONGEST_CATEGORY = 60


def learn_column(series: Any, name: str) -> FeatureColumn:
    """Numbers, categories or vectors; an error for anything doubtful."""
    if hasattr(series, "cat"):
        return Categories(name, tuple(str(value) for value in series.cat.categories))
    if as_floats(series) is not None:
        return Numbers(name)
    cells = cells_of(series)
    kinds = [None if cell is None else _kind(cell) for cell in cells]
    kind = next((k for k in kinds if k is not None), "number")
    if kind not in ("number", "text", "list"):
        row = kinds.index(kind)
        raise CellError(
            name,
            row,
            f"expected numbers or text, got {shown(cells[row])}; "
            f"turn the column into numbers, or leave it out with drop=[{name!r}]",
        )
    for row, other in enumerate(kinds):
        if other not in (None, kind):
            raise CellError(
                name, row, f"expected a {kind}, as in the rows before, got {shown(cells[row])}"
            )
    if kind == "list":
        return Vectors(name, len(next(cell for cell in cells if cell is not None)))
    return Numbers(name) if kind == "number" else _learn_text(cells, name)


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if is_number(cell):
        return "number"
    return "list" if isinstance(cell, list | tuple | np.ndarray) else type(cell).__name__


def _learn_text(cells: list[str | None], name: str) -> FeatureColumn:
    """Text that turns out to be numbers, or categories."""
    code_of = {text: code for code, text in enumerate(dict.fromkeys(c for c in cells if c))}
    texts = list(code_of)
    codes = np.array([-1 if cell is None else code_of[cell] for cell in cells])
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))

    is_number = np.array([NUMBER.fullmatch(text) is not None for text in texts])
    is_missing = np.array([text.lower() in MISSING for text in texts])
    if is_number.any() and (is_number | is_missing).all():
        return Numbers(name)
    like_number = is_number | [
        NUMBER.fullmatch(text.replace(",", ".", 1)) is not None for text in texts
    ]
    if 2 * counts[like_number].sum() > counts[~is_missing].sum():
        wrong = ~(is_number | is_missing)
        row = int(np.flatnonzero((codes >= 0) & wrong[codes])[0])
        raise CellError(name, row, f"expected a number, got {shown(cells[row])}")

    pair = tuple(sorted({text.casefold() for text in texts}))
    if pair in PAIRS:  # False and FALSE are the same
        return Categories(name, pair, folded=True)
    _refuse_free_text(texts, len(cells), name)
    return Categories(name, tuple(sorted(texts, key=lambda text: (text.casefold(), text))))


def _refuse_free_text(texts: list[str], n: int, name: str) -> None:
    longest = max(texts, key=len)
    if len(longest) > LONGEST_CATEGORY:
        what = f"values of up to {len(longest)} characters, such as {shown(longest)}"
    elif len(texts) > MOST_CATEGORIES or (len(texts) > MANY_CATEGORIES and 2 * len(texts) > n):
        what = f"{len(texts)} different values in {n} rows, such as {shown(texts[0])}"
    else:
        return
    raise CellError(
        name,
        None,
        f"expected numbers or categories, got {what}; leave it out with drop=[{name!r}], choose "
        f"the columns to use with features=[...], or turn it into words with text={name!r}",
    )
