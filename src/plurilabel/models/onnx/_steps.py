"""Steps of a pipeline before the learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from plurilabel.io import TableEncoder
from plurilabel.models.onnx._to_onnx import Graph, Value


def transformed(graph: Graph, step: Any, x: Value) -> Value:
    """The output of a fitted transformer for x."""
    if step is None or isinstance(step, str):  # "passthrough"
        return x
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            x = transformed(graph, part, x)
        return x
    if isinstance(step, SelectorMixin):
        return graph.columns(x, step.get_support(indices=True))
    write = STEPS.get(type(step))
    if write is None:
        names = ", ".join(sorted(kind.__name__ for kind in STEPS))
        raise ValueError(
            f"the step {type(step).__name__} cannot be exported; those that can are {names} and "
            "feature selection. Export what comes after it, such as pipeline[1:], and send the "
            "graph rows that it has transformed"
        )
    return write(graph, step, x)


def _row(numbers: Any) -> Any:
    return np.asarray(numbers, dtype=np.float64)[np.newaxis]


def _standard(graph: Graph, step: StandardScaler, x: Value) -> Value:
    if step.with_mean:
        x = graph("Sub", x, _row(step.mean_))
    return graph("Div", x, _row(step.scale_)) if step.with_std else x


def _min_max(graph: Graph, step: MinMaxScaler, x: Value) -> Value:
    x = graph("Add", graph("Mul", x, _row(step.scale_)), _row(step.min_))
    if not step.clip:
        return x
    return graph("Clip", x, *(np.float64(end) for end in step.feature_range))


def _max_abs(graph: Graph, step: MaxAbsScaler, x: Value) -> Value:
    x = graph("Div", x, _row(step.scale_))
    return graph("Clip", x, np.float64(-1), np.float64(1)) if getattr(step, "clip", False) else x


def _robust(graph: Graph, step: RobustScaler, x: Value) -> Value:
    if step.with_centering:
        x = graph("Sub", x, _row(step.center_))
    return graph("Div", x, _row(step.scale_)) if step.with_scaling else x


def _unit_length(graph: Graph, step: Normalizer, x: Value) -> Value:
    if step.norm == "max":
        length = graph("ReduceMax", graph("Abs", x), axes=[1], keepdims=1)
    else:
        sizes = graph("Abs", x) if step.norm == "l1" else graph("Mul", x, x)
        length = graph("ReduceSum", sizes, np.array([1]), keepdims=1)
        length = graph("Sqrt", length) if step.norm == "l2" else length
    zero = graph("Equal", length, np.float64(0))
    return graph("Div", x, graph("Where", zero, np.float64(1), length))


def _imputed(graph: Graph, step: SimpleImputer, x: Value) -> Value:
    try:
        fill = step.statistics_.astype(np.float64)
        unknown = float(step.missing_values)
    except (TypeError, ValueError):
        raise ValueError("SimpleImputer can be exported for numbers only") from None
    missing = graph("IsNaN", x) if np.isnan(unknown) else graph("Equal", x, np.float64(unknown))
    filled = graph("Where", missing, _row(np.nan_to_num(fill)), x)
    kept = np.flatnonzero(~np.isnan(fill))
    if len(kept) < len(fill):  # of columns without a value nothing is left
        filled = graph.columns(filled, kept)
    if step.indicator_ is None:
        return filled
    marks = graph.cast(graph.columns(missing, step.indicator_.features_), np.float64)
    return graph("Concat", filled, marks, axis=1)


def _by_columns(graph: Graph, step: ColumnTransformer, x: Value) -> Value:
    names = getattr(step, "feature_names_in_", np.arange(step.n_features_in_))
    places = {name: j for j, name in enumerate(names)}
    parts = []
    for _, part, columns in step.transformers_:
        chosen = _places(columns, places, step.n_features_in_)
        if not len(chosen) or (isinstance(part, str) and part == "drop"):
            continue
        try:
            parts.append(transformed(graph, part, graph.columns(x, chosen)))
        except ValueError as error:
            first = names.tolist()[chosen[0]]
            raise ValueError(f"column {first!r} cannot be exported: {error}") from None
    return graph("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _places(columns: Any, places: dict[str, int], d: int) -> Any:
    """Numbers of the columns that a part of a ColumnTransformer takes."""
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):  # both ends are in
            first, last = (places.get(end) for end in ends)
            return np.arange(d)[first : d if last is None else last + 1]
        return np.arange(d)[columns]
    if np.asarray(columns).dtype == bool:
        return np.flatnonzero(columns)
    some = [columns] if isinstance(columns, str | int) else list(columns)
    return [places[one] if isinstance(one, str) else one % d for one in some]


def _identity(graph: Graph, step: FunctionTransformer, x: Value) -> Value:
    del graph
    if step.func is not None:
        raise ValueError("FunctionTransformer cannot be exported with a function")
    return x


def _table(graph: Graph, step: TableEncoder, x: Value) -> Value:
    return _by_columns(graph, step.transformer_, x)


STEPS: dict[type, Callable[[Graph, Any, Value], Value]] = {
    TableEncoder: _table,
    ColumnTransformer: _by_columns,
    FunctionTransformer: _identity,
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    Normalizer: _unit_length,
    RobustScaler: _robust,
    SimpleImputer: _imputed,
    StandardScaler: _standard,
}
