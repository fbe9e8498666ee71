"""Kinds of feature columns, detected or as in a first table, and conversion to their types."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.words import NO_YES, first_repeated, is_unicode, listed
from plurilabel.io._table._encoder import MOST_CATEGORIES
from plurilabel.io._table._frame import VECTORS, CellError
from plurilabel.io._table._notation import (
    FEWEST_ROWS,
    MISSING,
    date_of,
    has_comma,
    is_number,
    number_of,
    orders_of,
)

NUMBERS = (Real, Decimal, np.bool_)
# false and true, no and yes, ...: a column of two such words is a column of 0 and 1
PAIRS = [set(pair) for pair in zip(list(NO_YES)[::2], list(NO_YES)[1::2])]
# beyond these, a text column is free text instead of categories
MANY_CATEGORIES = 20  # if there are more than half as many as rows
LONGEST_CATEGORY = 60

# unusual notation of the numbers or dates of a column
COMMA = "decimal comma"
_ORDERS = {None: None, True: "day first", False: "month first"}

_VECTOR = re.compile(r"(.+)\[[0-9]+\]")  # one number of a list
# letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which have no spaces between words
_UNSPACED = re.compile(r"(?:[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff].*?){6}")
_ID = re.compile(r"|(.*[\W_])?(id|nr|no|key|index|row|unnamed: 0)", re.I)  # names of identifiers


def cells_of(series: Any) -> list[Any]:
    """Cells as Python objects, text stripped; None for what is missing or empty."""
    import pandas as pd

    cells: list[Any] = []
    for cell in series.tolist():
        if isinstance(cell, str):
            if not is_unicode(cell):
                problem = f"expected valid Unicode, got {shown(cell)}"
                raise CellError(str(series.name), len(cells), problem)
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


def shown(cell: Any) -> str:
    """A cell for error messages."""
    text = "an empty cell" if cell is None else repr(cell)
    return text if len(text) <= 50 else text[:47] + "..."


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, NUMBERS):
        return "number"
    if isinstance(cell, date):
        return "date"
    return "list" if isinstance(cell, list | tuple | np.ndarray) else type(cell).__name__


class Typed(NamedTuple):
    """Typed columns of a table.

    In ``frame``, numbers are float64, dates datetime64, categories text or NaN, or pandas'
    categorical type as given, and lists have a column for each number.
    """

    frame: Any
    kinds: dict[str, str]  # "numbers", "dates", "categories" or "text", by column of the frame
    written: dict[str, str]  # notation of numbers or dates by column, for typed_like
    left_out: dict[str, str]  # columns that identify rows, with the reason


def typed_frame(
    frame: Any, columns: Sequence[str], text: Container[str] = (),
    categorical: Container[str] = (), *, commas: Container[str] = (),
    day_first: bool | None = None, wanted: Container[str] = (),
) -> Typed:  # fmt: skip
    """Detect the kinds of the feature columns of a table, and convert them.

    ``commas`` usually have a decimal comma; ``wanted`` are used even if they identify rows.
    """
    parts: list[dict[str, Any]] = []
    kinds: dict[str, str] = {}
    written, left_out = dict[str, str](), dict[str, str]()
    for name in columns:
        series, way = frame[name], None
        if name in text:
            kind, part = "text", {name: _words(series, name)}
        elif name in categorical:
            kind, part = "categories", {name: _categories_like(series, name, None)}
        elif name not in wanted and (why := _identifies(series, name, frame)):
            left_out[name] = why
            continue
        else:
            order = partial(_clear_order, frame, columns)
            kind, part, way = _learned(series, name, name in commas, day_first, order)
        parts.append(part)
        if (twice := first_repeated([*kinds, *part])) is not None:
            raise ValueError(f"two columns would give a feature {twice!r}: rename one of them")
        kinds |= dict.fromkeys(part, kind)
        written |= {} if way is None else {name: way}
    if not parts:
        few = listed([f"{name!r} ({why})" for name, why in left_out.items()], 5)
        problem = f"expected columns to learn from, got only identifiers: {few}; name those to use"
        raise CellError("", None, f"{problem} with text=[...] or categorical=[...]")
    return Typed(_frame(parts), kinds, written, left_out)


def _clear_order(frame: Any, columns: Sequence[str]) -> bool | None:
    """The order of dates in all columns; None if it is unclear or differs."""
    orders = (orders_of(text) for name in columns for text in _texts_in(frame[name]))
    clear = {order for found in orders if len(found) == 1 for order in found}
    return clear.pop() if len(clear) == 1 else None


def _words(series: Any, name: str) -> list[str]:
    texts = _texts(cells_of(series))
    if not any(re.search(r"\b\w\w", cell) for cell in texts):  # what scikit-learn calls words
        raise CellError(name, None, "expected text, got no words")
    return texts


def typed_like(frame: Any, kinds: Mapping[str, str], written: Mapping[str, str]) -> Any:
    """Convert the columns of another table to the kinds and the notation of the first."""
    there = set(frame.columns)
    parts_of: dict[str, list[str]] = {}  # by column of the table: its typed columns
    for name in kinds:
        vector = None if name in there else _VECTOR.fullmatch(name)
        parts_of.setdefault(vector[1] if vector else name, []).append(name)
    _require_columns(frame, list(parts_of))
    parts = []
    for name, names in parts_of.items():
        if names == [name]:
            parts.append({name: _LIKE[kinds[name]](frame[name], name, written.get(name))})
        else:
            parts.append(_vectors(cells_of(frame[name]), name, names))
    return _frame(parts)[list(kinds)]


def _require_columns(frame: Any, names: list[str]) -> None:
    there = set(frame.columns)
    missing = [name for name in names if name not in there]
    if VECTORS in missing:
        raise ValueError(
            "the model was trained with vectors: pass embeddings=, a .npy file with a row for "
            "each row of the table"
        )
    if missing:
        few = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        columns = "the column" if len(missing) == 1 else f"{len(missing)} columns,"
        what = f"the {len(names)} feature columns of the training table"
        if len(frame.columns) == 1:
            what += f", but has only one, {frame.columns[0]!r}; is sep= right?"
        raise ValueError(f"the table lacks {columns} {few}; it must have {what}")


def _frame(parts: list[dict[str, Any]]) -> Any:
    import pandas as pd

    columns = {name: values for part in parts for name, values in part.items()}
    for name, values in columns.items():
        if isinstance(values, list):  # object, not what this version of pandas takes text for
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def _texts_in(series: Any) -> list[str]:
    """Distinct texts of a column, without words for a missing value."""
    if series.dtype.kind not in "OSUT":  # T: text of numpy; pandas' own is O
        return []
    found = (cell.strip() for cell in series.tolist() if isinstance(cell, str))
    return [text for text in dict.fromkeys(found) if text and text.lower() not in MISSING]


def _learned(
    series: Any, name: str, comma: bool, day_first: bool | None,
    order_elsewhere: Callable[[], bool | None],
) -> tuple[str, dict[str, Any], str | None]:  # fmt: skip
    """The kind of a column, its typed columns, and how it is written."""
    if (found := _by_type(series, name, comma)) is not None:
        return found
    cells, texts = cells_of(series), _texts_in(series)
    kind = _one_kind(cells, name)
    if kind == "date":
        return "dates", {name: _seconds_of(cells)}, None
    if kind == "list" or (texts and all(map(_LIST.fullmatch, texts))):
        first = _list_of(next(cell for cell in cells if cell is not None))
        names = [f"{name}[{j}]" for j in range(len(first))]
        return "numbers", _vectors(cells, name, names), None
    if kind == "number" or _texts_are_numbers(cells):
        _refuse_some_percents(texts, cells, name)
        comma = bool(has_comma(texts, comma))
        values = numbers_of(series, name, comma=comma)
        return "numbers", {name: values}, COMMA if comma else None
    if _most(cells, _is_date):
        order = _order(cells, name, texts, day_first, order_elsewhere)
        return "dates", {name: _parsed_dates(cells, name, order)}, _ORDERS[order]
    if _is_free_text(cells):
        return "text", {name: _words(series, name)}, None
    return "categories", {name: _categories(cells, name)}, None


def _by_type(series: Any, name: str, comma: bool) -> tuple[str, dict[str, Any], str | None] | None:
    """The result of :func:`_learned` if the type of the column determines it, else None."""
    if hasattr(series, "cat"):
        pair = {str(value).strip().casefold() for value in series.cat.categories}
        if pair in PAIRS:
            return "numbers", {name: numbers_of(series, name)}, None
        return "categories", {name: _categories_like(series, name, None)}, None
    if (values := as_floats(series)) is not None:
        return "numbers", {name: values}, COMMA if comma else None
    return ("dates", {name: _seconds(series)}, None) if series.dtype.kind == "M" else None


def _one_kind(cells: list[Any], name: str) -> str:
    """The kind of all cells that are not missing."""
    kinds = [None if cell is None else _kind(cell) for cell in cells]
    kind = next(filter(None, kinds), "number")
    if kind not in ("number", "text", "list", "date"):
        row = next(row for row, other in enumerate(kinds) if other is not None)
        problem = f"expected numbers, dates or text, got {shown(cells[row])}; turn the column into"
        raise CellError(name, row, f"{problem} numbers, or leave it out with drop=[{name!r}]")
    for row, other in enumerate(kinds):
        if other not in (None, kind):
            problem = f"expected a {kind}, as in the rows before, got {shown(cells[row])}"
            raise CellError(name, row, problem)
    return kind


def _refuse_some_percents(texts: list[str], cells: list[Any], name: str) -> None:
    """Reject a mix of 5% and plain numbers, in which it may mean 5 or 0.05."""
    numbers = [text for text in texts if number_of(text) or number_of(text, comma=True)]
    signed = [text for text in numbers if "%" in text]
    plain = [text for text in numbers if "%" not in text]
    if signed and plain:
        problem = f"expected a percent sign in all or none, got {signed[0]!r} and {plain[0]!r}"
        raise CellError(name, cells.index(plain[0]), problem)


def _most(cells: list[str | None], holds: Callable[[str], bool]) -> bool:
    """Whether a predicate holds for most cells, ignoring missing ones."""
    counts = Counter(cell for cell in cells if cell is not None and cell.lower() not in MISSING)
    return 2 * sum(n for text, n in counts.items() if holds(text)) > sum(counts.values())


def _is_date(text: str) -> bool:
    return bool(orders_of(text)) or date_of(text) is not None


def _texts_are_numbers(cells: list[str | None]) -> bool:
    """Whether most cells are numbers, or all are no and yes."""
    pair = {cell.casefold() for cell in cells if cell is not None}
    return _most(cells, is_number) or pair in PAIRS


def _is_free_text(cells: list[str | None]) -> bool:
    """Whether most cells have several words, and they are long or diverse."""
    texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
    return _have_words(texts) and (
        len(max(texts, key=len)) > LONGEST_CATEGORY
        or len(texts) > min(MOST_CATEGORIES, max(MANY_CATEGORIES, len(cells) / 2))
    )


def _have_words(texts: list[str]) -> bool:
    """Whether most texts have several words."""
    return 2 * sum(" " in one or bool(_UNSPACED.search(one)) for one in texts) > len(texts)


def needs_encoding(X: Any) -> bool:
    """Whether X is a data frame with columns other than numbers, or that number the rows."""
    if not hasattr(X, "iloc"):
        return False
    columns = range(X.shape[1])
    return any(dtype.kind not in "biuf" for dtype in X.dtypes) or any(
        _identifies(X.iloc[:, j], str(X.columns[j]), X) for j in columns
    )


def _counts(cells: NDArray[Any], frame: Any) -> bool:
    """Whether cells number the rows of a frame, apart from duplicate rows."""
    if (np.diff(cells) == 1).all():
        return True
    _, first, which = np.unique(cells, return_index=True, return_inverse=True)
    if not (np.diff(cells[np.sort(first)]) == 1).all():
        return False
    copied = np.flatnonzero(first[which] != np.arange(len(cells)))
    once, again = (frame.iloc[at].reset_index(drop=True) for at in (first[which][copied], copied))
    return bool(once.equals(again))


def _identifies(series: Any, name: str, frame: Any) -> str:
    """Why a column seems to identify the rows; empty if it does not."""
    if _ID.fullmatch(name.strip()) and len(series) >= FEWEST_ROWS:
        cells = series.to_numpy()
        if series.dtype.kind not in "iuf" and all(str(cell).isdecimal() for cell in cells):
            cells = cells.astype(float)  # numbers as text, from a file that is read in blocks
        if cells.dtype.kind in "iuf" and _counts(cells, frame):
            return "it numbers the rows"
    if series.dtype.kind in "iuf":
        return ""
    texts = _texts_in(series)
    if hasattr(series, "cat") or len(texts) <= max(MANY_CATEGORIES, len(series) / 2):
        return ""
    if _have_words(texts) or any(map(_LIST.fullmatch, texts[:10])):
        return ""
    cells = cells_of(series)
    if _texts_are_numbers(cells) or _most(cells, _is_date):
        return ""
    return f"{len(texts):,} different values in {len(cells):,} rows, such as {shown(texts[0])}"


def _seconds(series: Any) -> NDArray[np.datetime64]:
    """A column of dates as datetime64 in local time."""
    if "pyarrow" in str(series.dtype):  # whose zones older versions of pandas change to UTC
        return _seconds_of(cells_of(series))
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_localize(None)
    return np.asarray(series.to_numpy(), dtype="datetime64[s]")


def _seconds_of(cells: Sequence[date | None]) -> NDArray[np.datetime64]:
    times = ["NaT" if cell is None else cell.isoformat()[:19] for cell in cells]
    return np.array(times, dtype="datetime64[s]")


def _order(
    cells: list[Any], name: str, texts: list[str], day_first: bool | None,
    order_elsewhere: Callable[[], bool | None] = lambda: None,
) -> bool | None:  # fmt: skip
    """Whether the day comes first; None if no date of the column is ambiguous."""
    orders = {text: found for text in texts if (found := orders_of(text))}
    if not orders or day_first is not None:
        return day_first if orders else None
    clear = {next(iter(found)): text for text, found in orders.items() if len(found) == 1}
    if len(clear) == 2:
        problem = f"expected dates in one order, got {clear[True]!r} and {clear[False]!r}"
        raise CellError(name, cells.index(clear[False]), problem)
    order = next(iter(clear)) if clear else order_elsewhere()
    if order is None:
        problem = f"expected dates whose order is clear, got only such as {next(iter(orders))!r}"
        raise CellError(name, None, f"{problem}; set day_first=True or day_first=False")
    return order


def _parsed_dates(cells: list[Any], name: str, day_first: bool | None) -> NDArray[np.datetime64]:
    known: dict[str, Any] = {}
    for row, cell in enumerate(cells):
        if cell is None or cell in known:
            continue
        known[cell] = date_of(cell, day_first=day_first)
        if known[cell] is None and cell.lower() not in MISSING:
            how = {None: "", True: ", the day first", False: ", the month first"}[day_first]
            raise CellError(name, row, f"expected a date{how}, got {shown(cell)}")
    return _seconds_of([known.get(cell) for cell in cells])


def _dates_like(series: Any, name: str, written: str | None) -> NDArray[np.datetime64]:
    day_first = {way: order for order, way in _ORDERS.items()}.get(written)
    if series.dtype.kind == "M":
        return _seconds(series)
    cells = cells_of(series)
    for row, cell in enumerate(cells):
        if cell is not None and _kind(cell) not in ("text", "date"):
            raise CellError(name, row, f"expected a date, got {shown(cell)}")
    cells = [cell.isoformat()[:19] if isinstance(cell, date) else cell for cell in cells]
    texts = [text for text in dict.fromkeys(filter(None, cells)) if text.lower() not in MISSING]
    return _parsed_dates(cells, name, _order(cells, name, texts, day_first))


def numbers_of(
    series: Any, name: str, expected: str = "a number", *, comma: bool = False
) -> NDArray[np.float64]:
    """Values of numbers, or of words for no and yes, but not both; NaN where missing."""
    if (values := as_floats(series)) is not None:
        return values
    cells = cells_of(series)
    known = _text_values({cell for cell in cells if isinstance(cell, str)}, comma)
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = known[cell] if isinstance(cell, str) else _float_of(cell)
        if value is None:
            raise CellError(name, row, f"expected {expected}, got {shown(cell)}")
        values[row] = value
    return values


def _text_values(texts: set[str], comma: bool) -> dict[str, float | None]:
    """Numbers in text, NaN for words for a missing value, None for what is not a number."""
    words = {text.lower() for text in texts} - MISSING
    of_word = dict.fromkeys(MISSING, np.nan) | (NO_YES if words <= NO_YES.keys() else {})
    return {
        text: of_word[word] if (word := text.lower()) in of_word else number_of(text, comma=comma)
        for text in texts
    }


def _float_of(cell: Any) -> float | None:
    if cell is None:
        return math.nan
    try:
        return float(cell) if _kind(cell) == "number" else None
    except OverflowError:  # a whole number of JSON, beyond the range
        return math.inf if cell > 0 else -math.inf


def _categories(cells: list[Any], name: str) -> list[Any]:
    for row, cell in enumerate(cells):
        if cell is not None and _kind(cell) not in ("number", "text"):
            raise CellError(name, row, f"expected a number or text, got {shown(cell)}")
    # as in a CSV file: 3.0 in a column with gaps was 3
    whole = (int(c) if isinstance(c, float) and c.is_integer() else c for c in cells)
    return [np.nan if cell is None else str(cell) for cell in whole]


def _categories_like(series: Any, name: str, _: str | None) -> Any:
    """Categories as text; pandas' categorical type is kept."""
    if not hasattr(series, "cat"):
        return _categories(cells_of(series), name)
    texts = [str(value).strip() for value in series.cat.categories]
    return series.cat.rename_categories(texts).reset_index(drop=True)


def _texts(cells: list[Any]) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells]


_LIST = re.compile(r"\[[-+0-9.eE,\s]*\]")  # numbers of a list in a cell of text
_BETWEEN = re.compile(r",\s*|\s+,?\s*")  # a comma, blanks, or both


def _list_of(cell: Any) -> Any:
    """Parse a list that was printed to a cell of text; other cells are returned unchanged."""
    if not isinstance(cell, str) or not _LIST.fullmatch(cell):
        return cell
    inner = cell[1:-1].strip()
    try:
        return [float(number) for number in _BETWEEN.split(inner)] if inner else []
    except ValueError:
        return cell


def _vectors(cells: list[Any], name: str, names: list[str]) -> dict[str, Any]:
    """Columns of the numbers of lists, which must have equal lengths."""
    length = len(names)
    X = np.full((length, len(cells)), np.nan)
    for row, cell in enumerate(map(_list_of, cells)):
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


_LIKE: dict[str, Callable[[Any, str, str | None], Any]] = {
    "numbers": lambda series, name, written: numbers_of(
        series, name, comma=bool(has_comma(_texts_in(series), written == COMMA))
    ),
    "dates": _dates_like,
    "categories": _categories_like,
    "text": lambda series, _, __: _texts(cells_of(series)),
}
"""Conversions of a column of another table, by kind."""
