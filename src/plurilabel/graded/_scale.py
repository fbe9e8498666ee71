"""Ordinal scales: grades as users write them, as ranks, and as cumulative probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from plurilabel._core.base import column_names
from plurilabel._core.blocks import is_missing, refuse_masked


class Grades(NamedTuple):
    """Validated grades."""

    ranks: NDArray[np.intp]  # (n, q): places on the scale, 0 for the lowest grade
    scale: NDArray[Any]  # (m,): the grades, the lowest first
    names: list[str] | None  # of the labels
    single: bool  # whether they were 1-D: the grades of one label
    declared: bool  # whether the scale was given, by ``grades`` or ordered categories


def read_grades(y: Any, grades: ArrayLike | None = None, *, name: str = "y") -> Grades:
    """Validate grades (n, q), or 1-D for a single label, and find their ranks on the scale."""
    # ``grades`` is the scale, the lowest grade first; by default the ordered categories of a data
    # frame y, or the integers in y. Error messages call y by ``name``.
    if sparse.issparse(y):
        raise ValueError(f"{name} must be dense: grades have no zero that could be left out")
    refuse_masked(y, name)
    names, scale = column_names(y), None
    if grades is not None:
        scale = check_scale(grades)
    elif (categories := _ordered_categories(y, names, name)) is not None:
        scale = check_scale(categories)
    values = np.asarray(y)
    if values.ndim not in (1, 2):
        got = f"{values.ndim} dimension(s) of shape {values.shape}"
        raise ValueError(f"{name} must be grades (instances, labels), got {got}")
    single, declared = values.ndim == 1, scale is not None
    if scale is None:
        values = _integers(values, name)
        scale = np.unique(values)
    table = values.reshape(len(values), -1) if single else values
    if table.shape[1] == 0:
        raise ValueError(f"{name} must have at least one label (column), got 0")
    return Grades(_places(table, scale, name), scale, names, single, declared)


def check_scale(grades: ArrayLike) -> NDArray[Any]:
    """A scale of distinct grades, the lowest first."""
    refuse_masked(grades, "grades")
    try:
        scale = np.asarray(grades)
    except ValueError:  # lists of different lengths
        scale = np.empty((0, 0))
    if scale.dtype.kind in "US":  # as data frames hold them
        scale = scale.astype(object)
    if scale.ndim != 1 or len(scale) == 0:
        raise ValueError(f"grades must be a sequence of grades, the lowest first, got {grades!r}")
    if any(map(is_missing, scale.tolist())):
        raise ValueError(f"grades must not have missing values, got {scale.tolist()}")
    if len(set(scale.tolist())) < len(scale):
        raise ValueError(f"grades must be distinct, got {scale.tolist()}")
    return scale


def _ordered_categories(y: Any, names: list[str] | None, name: str) -> list[Any] | None:
    """The categories that all columns share; None if there are none."""
    if names is None:
        columns: dict[str, Any] = {name: y} if hasattr(y, "dtype") else {}
    else:
        # by position: a frame of pandas may have a name twice
        by_place = y.iloc if hasattr(y, "iloc") else y
        columns = {key: by_place[:, j] for j, key in enumerate(names)}
    found: dict[str, list[Any] | None] = {}
    for key, column in columns.items():
        categories = getattr(column.dtype, "categories", None)
        if categories is not None and not getattr(column.dtype, "ordered", True):
            raise ValueError(f"the categories of {key!r} have no order: order them or pass grades")
        found[key] = None if categories is None else list(categories)
    if not found:
        return None
    (first, shared), *others = found.items()
    for key, categories in others:
        if categories != shared:
            got = f"{shared} in {first!r} and {categories} in {key!r}"
            raise ValueError(f"all labels must have the same grades, got {got}")
    return shared


def _integers(values: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Grades without a scale, which must be integers of any type."""
    if values.dtype == object:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise _not_a_number(values, name) from None
    if values.dtype.kind not in "biuf":
        raise _not_a_number(values, name)
    assert_all_finite(values, input_name=name)
    if values.ndim == 1:
        check_classification_targets(values)
    if (wrong := (values != np.floor(values)) | (np.abs(values) > 2.0**53)).any():
        at = np.argwhere(wrong)[0]
        got = f"{values[tuple(at)]:g} in {_place(at)}"
        raise ValueError(f"{name} must hold integers as grades, got {got}")
    return values.astype(np.int64)


def _not_a_number(values: NDArray[Any], name: str) -> ValueError:
    for at in np.ndindex(values.shape):
        value = values[at]
        if isinstance(value, str):
            return ValueError(
                f"{name} holds grades such as {str(value)!r}, whose order is not known: pass "
                "grades, the lowest first, or ordered categories"
            )
        if not isinstance(value, int | float | np.number | np.bool_):
            return ValueError(f"{name} must hold grades, got {value!r} in {_place(at)}")
    return ValueError(f"{name} must hold integers as grades, got values of type {values.dtype}")


def _place(at: Any) -> str:
    return f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")


def _places(table: NDArray[Any], scale: NDArray[Any], name: str) -> NDArray[np.intp]:
    ranks = np.full(table.shape, -1, dtype=np.intp)
    if table.dtype == object:  # pandas' NA is neither equal to a grade nor not
        missing = np.reshape([is_missing(value) for value in table.flat], table.shape)
        table = np.where(missing, np.nan, table)
    for rank, grade in enumerate(scale.tolist()):
        ranks[table == grade] = rank
    if (ranks < 0).any():
        i, j = np.argwhere(ranks < 0)[0]
        strange = table[i, j].item() if isinstance(table[i, j], np.generic) else table[i, j]
        what = "NaN" if strange is None or strange != strange else repr(strange)
        shown = ", ".join(map(str, scale[:8])) + (", ..." if len(scale) > 8 else "")
        got = f"{what} in {_place((i, j))}"
        raise ValueError(f"{name} must hold only the grades {shown}, got {got}")
    return ranks


def at_least(ranks: NDArray[np.intp], m: int) -> NDArray[np.int8]:
    """The cut sets: whether each rank is at least 1, ..., m - 1; shape (n, q, m - 1)."""
    return (ranks[:, :, None] >= np.arange(1, m)).astype(np.int8)


def consistent(cumulative: ArrayLike) -> NDArray[np.float64]:
    """The nearest cumulative probabilities that never increase with the grade.

    P(grade at least g) cannot grow with g, but estimates of separate models may. The antitonic
    regression of each row is the nearest non-increasing sequence in squared distance. It never
    increases the squared error, since the truth, ones and then zeros, does not increase either.

    Parameters
    ----------
    cumulative : array-like of shape (..., m - 1)
        Estimates of P(grade at least g), for the second lowest grade first.

    Examples
    --------
    >>> from plurilabel.graded import consistent
    >>> consistent([0.9, 0.4, 0.6])
    array([0.9, 0.5, 0.5])
    """
    fixed = np.array(cumulative, dtype=np.float64)
    if fixed.ndim == 0:
        raise ValueError("cumulative must be an array (..., m - 1), got a number")
    rises = (np.diff(fixed, axis=-1) > 0).any(axis=-1)
    if not rises.any():
        return fixed
    # all rows at once: min over a <= g of max over b >= g of the mean of C[a..b]
    C, size = fixed[rises], fixed.shape[-1]
    sums = np.concatenate([np.zeros((len(C), 1)), C.cumsum(axis=-1)], axis=-1)
    result = np.full_like(C, np.inf)
    for a in range(size):
        means = (sums[:, a + 1 :] - sums[:, [a]]) / np.arange(1, size - a + 1)  # b = a, ...
        largest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]  # over b >= g
        result[:, a:] = np.minimum(result[:, a:], largest)
    # rounding must neither undo the order nor leave the range of the estimates
    result = np.clip(result, C.min(axis=1, keepdims=True), C.max(axis=1, keepdims=True))
    fixed[rises] = np.minimum.accumulate(result, axis=-1)
    return fixed
