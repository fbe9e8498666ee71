"""Cells of data frames, and what is said when one is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.io._table._files import table_module


class CellError(ValueError):
    """Something wrong with a column, or with one of its rows."""

    def __init__(self, column: str, row: int | None, problem: str) -> None:
        self.column, self.row, self.problem = column, row, problem
        super().__init__(problem)


def cells_of(series: Any) -> list[Any]:
    """Cells as Python objects, text stripped; None for what is missing or empty."""
    pd = table_module("pandas")
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
    types = table_module("pandas").api.types
    if not (types.is_bool_dtype(series.dtype) or types.is_numeric_dtype(series.dtype)):
        return None
    if types.is_complex_dtype(series.dtype) or hasattr(series, "cat"):
        return None
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def shown(cell: Any) -> str:
    """A cell as error messages show it."""
    if cell is None:
        return "an empty cell"
    text = repr(cell)
    return text if len(text) <= 50 else text[:47] + "..."
