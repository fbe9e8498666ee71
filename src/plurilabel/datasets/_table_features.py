"""From the columns of a data frame to X."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.datasets._table_cells import CellError, as_floats, cells_of, shown

# beyond these a column of text is taken for free text, not for categories
MOST_CATEGORIES = 255
MANY_CATEGORIES = 20  # if more than half of the rows have one of their own
LONGEST_CATEGORY = 60

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf)", re.IGNORECASE)
_MISSING = {"?", "na", "n/a", "nan", "null", "none"}  # among numbers
_PAIRS = {("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t")}

Block = tuple[NDArray[np.float64], list[str]]  # (n, k) values and the k names


def feature_columns(frame: Any, names: Sequence[str]) -> Block:
    """X for these columns: numbers as they are, categories as 0/1 columns."""
    blocks = [_feature(frame[name], name) for name in names]
    n_columns = sum(values.shape[1] for values, _ in blocks)
    X = np.empty((len(frame), n_columns))
    column_names: list[str] = []
    for values, block_names in blocks:
        X[:, len(column_names) : len(column_names) + len(block_names)] = values
        column_names += block_names
    return X, column_names


def _feature(series: Any, name: str) -> Block:
    if hasattr(series, "cat"):
        return _one_hot(name, series.cat.codes.to_numpy(), [str(c) for c in series.cat.categories])
    numbers = as_floats(series)
    if numbers is not None:
        return numbers[:, None], [name]
    cells = cells_of(series)
    kinds = [None if cell is None else _kind(cell) for cell in cells]
    kind = next((k for k in kinds if k is not None), "number")
    if kind not in ("number", "text", "list"):
        row = kinds.index(kind)
        raise CellError(
            name,
            row,
            f"expected numbers or text, got {shown(cells[row])}; "
            "turn the column into numbers, or choose other columns with features=[...]",
        )
    for row, other in enumerate(kinds):
        if other not in (None, kind):
            raise CellError(
                name, row, f"expected a {kind}, as in the rows before, got {shown(cells[row])}"
            )
    if kind == "list":
        return _vectors(cells, name)
    if kind == "number":
        values = np.array([np.nan if cell is None else float(cell) for cell in cells])
        return values[:, None], [name]
    return _text_feature(cells, name)


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, Real | Decimal | np.bool_):
        return "number"
    return "list" if isinstance(cell, list | tuple | np.ndarray) else type(cell).__name__


def _vectors(cells: list[Any], name: str) -> Block:
    """Lists of numbers, all of one length: embeddings."""
    length = len(next(cell for cell in cells if cell is not None))
    X = np.full((len(cells), length), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        if len(cell) != length or not all(_kind(value) == "number" for value in cell):
            raise CellError(name, row, f"expected a list of {length} numbers, got {shown(cell)}")
        X[row] = cell
    return X, [f"{name}[{j}]" for j in range(length)]


def _text_feature(cells: list[str | None], name: str) -> Block:
    """Text that turns out to be numbers, or categories; anything doubtful is an error."""
    code_of = {text: code for code, text in enumerate(dict.fromkeys(c for c in cells if c))}
    texts = list(code_of)
    codes = np.array([-1 if cell is None else code_of[cell] for cell in cells])
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))

    is_number = np.array([_NUMBER.fullmatch(text) is not None for text in texts])
    is_missing = np.array([text.lower() in _MISSING for text in texts])
    if is_number.any() and (is_number | is_missing).all():
        numbers = [float(text) if ok else np.nan for text, ok in zip(texts, is_number)]
        return np.array([*numbers, np.nan])[codes][:, None], [name]
    like_number = is_number | [
        _NUMBER.fullmatch(text.replace(",", ".", 1)) is not None for text in texts
    ]
    if 2 * counts[like_number].sum() > counts[~is_missing].sum():
        wrong = ~(is_number | is_missing)
        row = int(np.flatnonzero((codes >= 0) & wrong[codes])[0])
        raise CellError(name, row, f"expected a number, got {shown(cells[row])}")

    folded = [text.casefold() for text in texts]
    pair = tuple(sorted(set(folded)))
    if pair in _PAIRS:  # False and FALSE are the same
        is_second = np.array([text == pair[1] for text in folded] + [False])
        return _one_hot(name, np.where(codes < 0, -1, is_second[codes]), list(pair))
    _refuse_free_text(texts, len(cells), name)
    order = sorted(range(len(texts)), key=lambda code: (texts[code].casefold(), texts[code]))
    place = np.empty(len(texts) + 1, dtype=np.intp)
    place[order], place[-1] = np.arange(len(texts)), -1
    return _one_hot(name, place[codes], [texts[code] for code in order])


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
        f"expected numbers or categories, got {what}; choose the columns to use with "
        f"features=[...], or turn this one into word features with text={name!r}",
    )


def _one_hot(name: str, codes: NDArray[Any], values: list[str]) -> Block:
    """0/1 columns ``name=value``; for two values one column, 1 for the second. As in ARFF."""
    if len(values) == 2:
        plain = (values[0].casefold(), values[1].casefold()) in _PAIRS
        X, names = (codes == 1)[:, None], [name if plain else f"{name}={values[1]}"]
    else:
        X = codes[:, None] == np.arange(len(values))
        names = [f"{name}={value}" for value in values]
    X = X.astype(np.float64)
    X[codes < 0] = np.nan
    return X, names


def word_features(series: Any, name: str) -> tuple[sparse.csr_array, list[str]]:
    """TF-IDF of the words of a text column, and the words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    texts = ["" if cell is None else str(cell) for cell in cells_of(series)]
    try:
        X = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise CellError(name, None, f"expected text, got no words ({error})") from None
    return sparse.csr_array(X), [str(word) for word in vectorizer.get_feature_names_out()]
