"""What kind of feature a column of a data frame is, and the column with the type of its kind."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._text import NO_YES, NUMBER, first_repeated
from plurilabel.io._table._frame import CellError

NUMBERS = (Real, Decimal, np.bool_)
MISSING = {"?", "na", "n/a", "nan", "null", "none"}  # among numbers
# false and true, no and yes, ...: a column of two such words is a column of 0 and 1
PAIRS = [set(pair) for pair in zip(list(NO_YES)[::2], list(NO_YES)[1::2])]
# beyond these a column of text is taken for free text, not for categories
MOST_CATEGORIES = 255
MANY_CATEGORIES = 20  # if more than half of the rows have one of their own
LONGEST_CATEGORY = 60

_VECTOR = re.compile(r"(.+)\[[0-9]+\]")  # one number of a list


# cells ------------------------------------------------------------------------------------------


def cells_of(series: Any) -> list[Any]:
    """Cells as Python objects, text stripped; None for what is missing or empty."""
    import pandas as pd

    cells = []
    for cell in series.tolist():
        if isinstance(cell, str):
            cell = cell.strip() or None
        elif cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell):
            cell = None
        cells.append(cell)
    return cells


def as_floats(series: Any) -> NDArray[np.float64] | None:
    """Values of a column of numbers or booleans with NaN for missing; None for other columns."""
    from pandas.api import types

    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return np.asarray(series.to_numpy(), dtype=np.float64)
    if hasattr(series, "cat") or types.is_complex_dtype(dtype):
        return None
    if not (types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype)):
        return None
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def text_of(cell: Any) -> str:
    """A cell as it would stand in a CSV file: 3.0 in a column with gaps was 3."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def shown(cell: Any) -> str:
    """A cell as error messages show it."""
    text = "an empty cell" if cell is None else repr(cell)
    return text if len(text) <= 50 else text[:47] + "..."


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, NUMBERS):
        return "number"
    return "list" if isinstance(cell, list | tuple | np.ndarray) else type(cell).__name__


# columns ----------------------------------------------------------------------------------------


def typed_frame(frame: Any, columns: Sequence[str], text: str | None = None) -> Any:
    """The features of a table; an error for a column whose kind is in doubt.

    Numbers are float64, categories are text with NaN where missing, or of pandas' categorical
    type where they were, ``text`` is text, and a column of lists is a column for each number.
    """
    parts = [_learned(frame[name], name) for name in columns]
    if text is not None:
        texts = _texts(cells_of(frame[text]))
        if not any(re.search(r"\b\w\w", cell) for cell in texts):  # what scikit-learn calls words
            raise CellError(text, None, "expected text, got no words")
        parts.append({text: texts})
    if (twice := first_repeated([name for part in parts for name in part])) is not None:
        raise ValueError(f"two columns would give a feature {twice!r}: rename one of them")
    return _frame(parts)


def typed_like(frame: Any, kinds: Mapping[str, str]) -> Any:
    """Columns of a further table, with the kinds that those of a first one had.

    Parameters
    ----------
    frame : pandas data frame
    kinds : mapping of str to str
        "numbers", "categories" or "text" by the names of the typed columns.
    """
    there = set(frame.columns)
    parts_of: dict[str, list[str]] = {}  # by column of the table: its typed columns
    for name in kinds:
        vector = None if name in there else _VECTOR.fullmatch(name)
        parts_of.setdefault(vector[1] if vector else name, []).append(name)
    if missing := [name for name in parts_of if name not in there]:
        few = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        columns = "the column" if len(missing) == 1 else f"{len(missing)} columns,"
        what = f"the {len(parts_of)} feature columns of the training table"
        if len(there) == 1:
            what += f", but has only one, {frame.columns[0]!r}; is sep= right?"
        raise ValueError(f"the table lacks {columns} {few}; it must have {what}")
    parts = []
    for name, names in parts_of.items():
        if names != [name]:
            parts.append(_vectors(cells_of(frame[name]), name, names))
        elif kinds[name] == "numbers":
            parts.append({name: numbers_of(frame[name], name)})
        elif kinds[name] == "categories":
            parts.append({name: _categories(cells_of(frame[name]), name)})
        else:
            parts.append({name: _texts(cells_of(frame[name]))})
    return _frame(parts)[list(kinds)]


def _frame(parts: list[dict[str, Any]]) -> Any:
    import pandas as pd

    columns = {name: values for part in parts for name, values in part.items()}
    for name, values in columns.items():
        if isinstance(values, list):  # object, not what this version of pandas takes text for
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def _learned(series: Any, name: str) -> dict[str, Any]:
    """The typed columns of a column whose kind is to be found out."""
    if hasattr(series, "cat"):
        texts = [str(value).strip() for value in series.cat.categories]
        if {text.casefold() for text in texts} in PAIRS:
            return {name: numbers_of(series, name)}
        return {name: series.cat.rename_categories(texts).reset_index(drop=True)}
    if (values := as_floats(series)) is not None:
        return {name: values}
    cells = cells_of(series)
    kinds = [None if cell is None else _kind(cell) for cell in cells]
    kind = next(filter(None, kinds), "number")
    for row, other in enumerate(kinds):
        if other not in (None, kind):
            problem = f"expected a {kind}, as in the rows before, got {shown(cells[row])}"
            raise CellError(name, row, problem)
        if other not in (None, "number", "text", "list"):
            raise CellError(
                name,
                row,
                f"expected numbers or text, got {shown(cells[row])}; turn the column into "
                f"numbers, or leave it out with drop=[{name!r}]",
            )
    if kind == "list":
        first = next(cell for cell in cells if cell is not None)
        return _vectors(cells, name, [f"{name}[{j}]" for j in range(len(first))])
    if kind == "number" or _texts_are_numbers(cells):
        return {name: numbers_of(series, name)}
    _refuse_free_text(cells, name)
    return {name: _categories(cells, name)}


def _texts_are_numbers(cells: list[str | None]) -> bool:
    """Whether most are written as numbers, if perhaps with a comma, or all as no and yes."""
    counts = Counter(cell for cell in cells if cell is not None)
    numbers = sum(counts[text] for text in counts if NUMBER.fullmatch(text.replace(",", ".", 1)))
    known = sum(counts[text] for text in counts if text.lower() not in MISSING)
    return 2 * numbers > known or {text.casefold() for text in counts} in PAIRS


def _refuse_free_text(cells: list[str | None], name: str) -> None:
    texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
    longest = max(texts, key=len)
    if len(longest) > LONGEST_CATEGORY:
        what = f"values of up to {len(longest)} characters, such as {shown(longest)}"
    elif len(texts) > MOST_CATEGORIES or len(texts) > max(MANY_CATEGORIES, len(cells) / 2):
        what = f"{len(texts)} different values in {len(cells)} rows, such as {shown(texts[0])}"
    else:
        return
    raise CellError(
        name,
        None,
        f"expected numbers or categories, got {what}; leave it out with drop=[{name!r}], choose "
        f"the columns to use with features=[...], or turn it into words with text={name!r}",
    )


def numbers_of(series: Any, name: str, expected: str = "a number") -> NDArray[np.float64]:
    """Values of numbers, or of words for no and yes, but not of both; NaN where missing."""
    if (values := as_floats(series)) is not None:
        return values
    cells = cells_of(series)
    words = {cell.lower() for cell in cells if isinstance(cell, str)} - MISSING
    is_no_yes = words <= NO_YES.keys()
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and cell.lower() in MISSING):
            continue
        if isinstance(cell, str) and is_no_yes:
            values[row] = NO_YES[cell.lower()]
        elif NUMBER.fullmatch(cell) if isinstance(cell, str) else _kind(cell) == "number":
            try:
                values[row] = float(cell)
            except OverflowError:  # a whole number of JSON, beyond the range
                values[row] = math.inf if cell > 0 else -math.inf
        else:
            raise CellError(name, row, f"expected {expected}, got {shown(cell)}")
    return values


def _categories(cells: list[Any], name: str) -> list[Any]:
    for row, cell in enumerate(cells):
        if cell is not None and _kind(cell) not in ("number", "text"):
            raise CellError(name, row, f"expected a number or text, got {shown(cell)}")
    return [np.nan if cell is None else text_of(cell) for cell in cells]


def _texts(cells: list[Any]) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells]


def _vectors(cells: list[Any], name: str, names: list[str]) -> dict[str, Any]:
    """A column for each number of the lists, which are all of one length."""
    length = len(names)
    X = np.full((length, len(cells)), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        is_array = isinstance(cell, np.ndarray) and cell.dtype.kind in "biuf"
        fits = _kind(cell) == "list" and len(cell) == length
        if not fits or not (is_array or all(isinstance(value, NUMBERS) for value in cell)):
            problem = f"expected a list of {length} numbers, got {shown(cell)}"
            raise CellError(name, row, problem)
        try:
            X[:, row] = cell
        except (OverflowError, ValueError, TypeError):  # beyond the range, or lists in the list
            raise CellError(name, row, f"expected {length} numbers, got {shown(cell)}") from None
    return dict(zip(names, X))
