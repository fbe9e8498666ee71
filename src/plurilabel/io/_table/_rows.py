"""Groups and temporal order of the rows of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.words import counted
from plurilabel.io._table._kinds import typed_frame


def row_groups(frame: Any, column: str | None) -> NDArray[Any] | None:
    if column is None:
        return None
    _check_complete(frame[column], "group", column)
    return np.asarray(frame[column].astype(str), dtype=str)


def row_times(frame: Any, column: str | None, **reading: Any) -> Any:
    if column is None:
        return None
    times = typed_frame(frame, [column], wanted=[column], **reading).frame[column]
    if times.dtype.kind not in "fM":
        raise ValueError(f"time must name a column of dates or numbers, got {column!r}")
    _check_complete(times, "time", column)
    return times.to_numpy()


def _check_complete(values: Any, parameter: str, column: str) -> None:
    if missing := int((values.isna() | (values.astype(str) == "")).sum()):
        raise ValueError(
            f"{parameter} must name a column without empty cells, but {column!r} has "
            f"{counted(missing, 'empty cell')}"
        )


def in_order(data: Dataset, times: Any) -> Dataset:
    """Sort the rows by time; the sort is stable."""
    if times is None:
        return data
    order = np.argsort(times, kind="stable")
    X = safe_indexing(data.X, order)
    X = X.reset_index(drop=True) if hasattr(X, "iloc") else X
    return replace(data, X=X, Y=data.Y[order], ordered=True)
