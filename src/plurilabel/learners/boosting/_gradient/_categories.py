"""Categorical features: which ones there are, and their categories as numbers from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.blocks import on_host, refuse_masked
from plurilabel._core.words import listed

MOST = 255
"""Categories of a feature."""


def as_columns(X: Any) -> Any:
    """X in a form whose columns may hold anything: a frame of pandas, or an array."""
    X = on_host(X)
    refuse_masked(X, "X")
    if sparse.issparse(X):
        raise TypeError("categorical features need dense X, got a sparse matrix")
    if hasattr(X, "iloc") or isinstance(X, np.ndarray):
        return X
    return X.to_pandas() if hasattr(X, "to_pandas") else np.array(X, dtype=object)


def has_categories(X: Any) -> bool:
    """Whether X is a data frame, of pandas or polars, with categorical columns."""
    dtypes = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
    return any(map(_is_categorical, dtypes))


def _is_categorical(dtype: Any) -> bool:
    # "category" in pandas; "Categorical" and "Enum(categories=...)" in polars
    return str(dtype).lower().startswith(("categor", "enum"))


def find_categorical(asked: ArrayLike | str, X: Any) -> NDArray[np.intp]:
    """The categorical columns of X, by ``categorical_features``."""
    none = np.empty(0, dtype=np.intp)
    if isinstance(asked, str):  # "from_dtype"
        return np.flatnonzero([_is_categorical(dtype) for dtype in X.dtypes])
    wanted = np.atleast_1d(np.asarray(asked))
    if wanted.size == 0:
        return none
    d = X.shape[1] if np.ndim(X) == 2 else 0
    if wanted.dtype == bool:
        if wanted.shape != (d,):
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {d} "
                f"features, got shape {wanted.shape}"
            )
        return np.flatnonzero(wanted)
    if wanted.dtype.kind in "iu":
        if wanted.min() < 0 or wanted.max() >= d:
            raise ValueError(
                f"categorical_features must be from 0 to {d - 1}, got {wanted.tolist()}"
            )
        return np.unique(wanted)
    names = [str(name) for name in wanted.ravel()]
    if not hasattr(X, "columns"):
        raise ValueError("categorical_features are names, but X is not a data frame")
    columns = [str(name) for name in X.columns]
    if unknown := [name for name in names if name not in columns]:
        raise ValueError(f"categorical_features has {listed(unknown, 5)}, which X does not have")
    return np.unique([columns.index(name) for name in names])


def categories_of(X: Any, columns: NDArray[np.intp]) -> list[list[Any]]:
    """The categories of some columns of X, in order."""
    found = []
    for j in columns:
        distinct = {cell for cell in _cells(X, int(j)) if cell is not None}
        if len(distinct) > MOST:
            raise ValueError(
                f"a categorical feature has at most {MOST} categories, got {len(distinct)} in "
                f"column {X.columns[j] if hasattr(X, 'columns') else j}"
            )
        found.append(sorted(distinct, key=lambda cell: (isinstance(cell, str), cell)))
    return found


def with_codes(X: Any, columns: NDArray[np.intp], categories: Sequence[Sequence[Any]]) -> Any:
    """X with the numbers of the categories in some columns, NaN for those that are not known."""
    if np.ndim(X) != 2 or X.shape[1] <= columns.max(initial=-1):
        return X  # refused at the door, with its own words
    coded: Any
    if hasattr(X, "iloc"):
        coded = X.copy()
    else:
        coded = np.array(X, dtype=float if X.dtype.kind in "biuf" else object)
    for j, known in zip(columns, categories):
        number = {category: float(code) for code, category in enumerate(known)}
        codes = np.array([number.get(cell, np.nan) for cell in _cells(X, int(j))], dtype=float)
        if hasattr(X, "iloc"):
            coded.isetitem(int(j), codes)
        else:
            coded[:, j] = codes
    return coded


def text_in(X: Any) -> tuple[Any, str] | None:
    """The name or place of the first column of X with text that is no number, and the text."""
    if sparse.issparse(X) or np.ndim(X := as_columns(X)) != 2:
        return None
    for j in range(X.shape[1]):
        for cell in _cells(X, j):
            if isinstance(cell, str) and not _is_number(cell):
                return (X.columns[j] if hasattr(X, "columns") else j), cell
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _cells(X: Any, j: int) -> list[Any]:
    """A column as text, numbers, or None where missing."""
    cells = (X.iloc[:, j].astype(object) if hasattr(X, "iloc") else X[:, j]).tolist()
    return [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    if isinstance(cell, str | bool | int):
        return cell
    if isinstance(cell, float):
        return None if np.isnan(cell) else cell
    if isinstance(cell, np.generic):
        return _plain(cell.item())
    # NA and NaT of pandas are not equal to themselves, and NA does not even say so
    if cell is None or (cell == cell) is not True:
        return None
    return str(cell)
