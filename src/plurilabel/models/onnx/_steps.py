"""Converters of transformers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from plurilabel.io import DateEncoder, TableEncoder
from plurilabel.models.onnx._text import counted_terms, stripped, tokens, unit_length, weighted
from plurilabel.models.onnx._to_onnx import Graph, Value, converter

_VECTOR = re.compile(r"(.+)\[[0-9]+\]")  # one number of a list
BEFORE_MONTH = np.cumsum([0, -1, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30]).astype(float)
"""Days of the year before each month, minus 1 as days count from 1; there is no month 0."""
ANGLES = (
    2 * np.pi * np.arange(366.0) / 365.2425,
    2 * np.pi * np.arange(7.0) / 7,
    2 * np.pi * (np.arange(86_400.0) / 3600) / 24,
)
"""Angles of season, weekday and second of the day, as in DateEncoder.

Sines are looked up, since their last bits depend on the library, and trees are sensitive to them.
"""


def transformed(graph: Graph, step: Any, x: Any) -> Value:
    if step is None or isinstance(step, str):  # "passthrough"
        return x
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            x = transformed(graph, part, x)
        return x
    if isinstance(step, SelectorMixin):
        return x.columns(step.get_support(indices=True))
    more = (
        " and feature selection. Export the steps after it, such as pipeline[1:], and send the "
        "graph transformed rows"
    )
    value: Value = converter(STEPS, step, "the step ", more)(graph, step, x)
    return value


def as_row(numbers: Any) -> Any:
    return np.asarray(numbers, dtype=np.float64).reshape(1, -1)


def _scaled(x: Value, center: Any, scale: Any) -> Value:
    x = x if center is None else x - as_row(center)
    return x if scale is None else x / as_row(scale)


def _clipped(graph: Graph, step: Any, x: Value, low: float, high: float) -> Value:
    return graph("Clip", x, float(low), float(high)) if getattr(step, "clip", False) else x


def _imputed(graph: Graph, step: SimpleImputer, x: Value) -> Value:
    try:
        fill = step.statistics_.astype(np.float64)
        unknown = float(step.missing_values)
    except (TypeError, ValueError):
        raise ValueError("SimpleImputer can be exported for numbers only") from None
    missing = graph("IsNaN", x) if np.isnan(unknown) else x.equals(unknown)
    filled = graph("Where", missing, as_row(np.nan_to_num(fill)), x)
    kept = np.flatnonzero(~np.isnan(fill))
    if len(kept) < len(fill):  # columns without any value are dropped
        filled = filled.columns(kept)
    if step.indicator_ is None:
        return filled
    return graph.concat([filled, missing.columns(step.indicator_.features_).cast(np.float64)])


def _by_columns(graph: Graph, step: ColumnTransformer, x: Any) -> Value:
    names = getattr(step, "feature_names_in_", np.arange(step.n_features_in_))
    places = {name: j for j, name in enumerate(names)}
    parts = []
    if x is graph.x and (kinds := _kinds(step, names, places)):
        x = Table.given(graph, kinds)
    for _, part, columns in step.transformers_:
        chosen = _places(columns, places, step.n_features_in_)
        if not len(chosen) or (isinstance(part, str) and part == "drop"):
            continue
        try:
            taken = [names[j] for j in chosen]
            some = x.columns(taken if isinstance(x, Table) else chosen)
            some = some[0] if isinstance(some, list) and isinstance(columns, str) else some
            parts.append(transformed(graph, part, some))
        except ValueError as error:
            first = names.tolist()[chosen[0]]
            raise ValueError(f"column {first!r} cannot be exported: {error}") from None
    return graph.concat(parts)


def _places(columns: Any, places: dict[str, int], d: int) -> Any:
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):  # both ends are included
            first, last = (places.get(end) for end in ends)
            return np.arange(d)[first : d if last is None else last + 1]
        return np.arange(d)[columns]
    if np.asarray(columns).dtype == bool:
        return np.flatnonzero(columns)
    some = [columns] if isinstance(columns, str | int) else list(columns)
    return [places[one] if isinstance(one, str) else one % d for one in some]


def _identity(_graph: Graph, step: FunctionTransformer, x: Value) -> Value:
    if step.func is not None:
        raise ValueError("FunctionTransformer cannot be exported with a function")
    return x


class Table(NamedTuple):
    numbers: Value | None  # all columns of numbers, (n, d)
    places: dict[str, int]  # their places, by name
    texts: dict[str, Value]  # the other columns, (n,) each

    @classmethod
    def given(cls, graph: Graph, kinds: Mapping[str, str]) -> Table:
        """Add an input for each column; a column of vectors has a single one."""
        parts: dict[str, list[str]] = {}  # typed columns, by column of the table
        for name, kind in kinds.items():
            vector = _VECTOR.fullmatch(name) if kind == "numbers" else None
            parts.setdefault(vector[1] if vector else name, []).append(name)
        numbers, places, texts = [], dict[str, int](), dict[str, Value]()
        for column, names in parts.items():
            if (kind := kinds[names[0]]) != "numbers":
                texts[column] = graph.given(column, kind)
                continue
            places |= {name: len(places) + j for j, name in enumerate(names)}
            one = [len(names)] if names != [column] else []
            value = graph.given(column, kind, *one)
            numbers.append(value if one else graph("Unsqueeze", value, np.array([1])))
        together = graph("Concat", *numbers, axis=1) if numbers else None
        return cls(together, places, texts)

    def columns(self, names: Sequence[str]) -> Any:
        """Numbers as a matrix, other columns as a list."""
        if self.numbers is not None and all(name in self.places for name in names):
            return self.numbers.columns([self.places[name] for name in names])
        return [self.texts[name] for name in names]


def _kinds(step: ColumnTransformer, names: Any, places: Any) -> dict[str, str]:
    """Kinds of the columns of a table; empty if all are numbers."""
    kinds = dict.fromkeys(map(str, names), "numbers")
    for _, part, columns in step.transformers_:
        first = part.steps[0][1] if isinstance(part, Pipeline) else part
        if isinstance(first, FeatureUnion):
            first = first.transformer_list[0][1]
        if kind := TAKES_TEXT.get(type(first)):
            chosen = _places(columns, places, len(kinds))
            kinds |= {str(names[j]): kind for j in chosen}
    return kinds if set(kinds.values()) != {"numbers"} else {}


def _table(graph: Graph, step: TableEncoder, x: Any) -> Value:
    if set(step.kinds_.values()) == {"numbers"}:
        return _by_columns(graph, step.transformer_, x)
    table = Table.given(graph, step.kinds_)
    for name, text in table.texts.items():
        if step.kinds_[name] == "categories":
            table.texts[name] = stripped(graph, text)
    return _by_columns(graph, step.transformer_, table)


def _one_hot(graph: Graph, step: OneHotEncoder, x: Any) -> Value:
    if step.drop is not None:
        raise ValueError("OneHotEncoder cannot be exported with drop")
    if not isinstance(x, list):
        raise ValueError("OneHotEncoder can be exported for text only")
    rare_of = getattr(step, "infrequent_categories_", [None] * len(x))
    parts = []
    for value, known, rare in zip(x, step.categories_, rare_of):
        seldom = set() if rare is None else {_text(one) for one in rare}
        texts = [_text(one) for one in known]
        kept = [text for text in texts if text not in seldom]
        place = {text: j for j, text in enumerate(kept)} | dict.fromkeys(seldom, len(kept))
        falls_back = rare is not None and step.handle_unknown != "ignore"
        (number,) = graph.node(
            "LabelEncoder", value, outputs=1, domain="ai.onnx.ml", keys_strings=list(place),
            values_int64s=list(place.values()), default_int64=len(kept) if falls_back else -1,
        )  # fmt: skip
        width = np.arange(len(kept) + (rare is not None))[np.newaxis]
        same = graph("Unsqueeze", number, np.array([1])).equals(width)
        parts.append(same.cast(np.float64))
    return graph.concat(parts)


def _text(category: Any) -> str:
    """A category as an input of the graph: missing ones are empty."""
    if not isinstance(category, str) and category is not None and category == category:
        raise ValueError(f"OneHotEncoder can be exported for text only, got {category!r}")
    return category if isinstance(category, str) else ""


def _dates(graph: Graph, step: DateEncoder, x: Any) -> Value:
    """Numbers of dates in ISO format: year, month, day, and optionally the time of day."""
    parts = []
    for value, varies in zip(x, step.varies_):
        digits = tokens(graph, value, "[0-9]+", ["nan"] * 6)
        fields = digits.columns(range(6)).cast(np.float64)
        year, month, day, *clock = (fields.columns([j]) for j in range(6))
        month, *clock = (
            graph("Where", graph("IsNaN", one), default, one)
            for one, default in zip((month, *clock), (1.0, 0.0, 0.0, 0.0))
        )
        leaps = _leap_days(graph, year)
        length = _leap_days(graph, year + 1.0) - leaps
        late = (month > 2.0).cast(np.float64)
        before = graph("Gather", BEFORE_MONTH, month.cast(np.int64))
        season = before + late * length + day
        second = graph.concat(clock) @ 60.0 ** np.arange(2, -1, -1)[:, None]
        passed = (season * 86_400.0 + second) / 86_400.0
        parts.append(year + passed / (length + 365.0))
        # January 1 of the year 1 is a Monday in the proleptic calendar
        days = (year - 1.0) * 365.0 + leaps + season
        weekday = days - graph("Floor", days / 7.0) * 7.0
        missing = graph("IsNaN", year)
        for used, place, angles in zip(varies, (season, weekday, second), ANGLES):
            if used:
                known = graph("Where", missing, 0.0, place).cast(np.int64)
                found = [graph("Gather", way(angles), known) for way in (np.sin, np.cos)]
                parts += [graph("Where", missing, year, one) for one in found]
    return graph.concat(parts)


def _leap_days(graph: Graph, year: Value) -> Value:
    """Number of leap days from the year 1 to the year before."""
    total = year - 1.0
    parts = [graph("Floor", total / float(every)) for every in (4, 100, 400)]
    return parts[0] - parts[1] + parts[2]


def _union(graph: Graph, step: FeatureUnion, x: Any) -> Value:
    if step.transformer_weights:
        raise ValueError("FeatureUnion cannot be exported with transformer_weights")
    parts = [transformed(graph, part, x) for _, part in step.transformer_list if part != "drop"]
    return graph.concat(parts)


def _texts(graph: Graph, step: Any, x: Any) -> Value:
    return counted_terms(graph, step, graph.given("X", "text") if x is graph.x else x)


STEPS: dict[type, Callable[[Graph, Any, Value], Value]] = {
    ColumnTransformer: _by_columns,
    CountVectorizer: _texts,
    DateEncoder: _dates,
    FeatureUnion: _union,
    FunctionTransformer: _identity,
    MaxAbsScaler: lambda graph, step, x: _clipped(graph, step, x / as_row(step.scale_), -1, 1),
    MinMaxScaler: lambda graph, step, x: _clipped(
        graph, step, x * as_row(step.scale_) + as_row(step.min_), *step.feature_range
    ),
    Normalizer: lambda graph, step, x: unit_length(graph, step.norm, x),
    OneHotEncoder: _one_hot,
    RobustScaler: lambda _, step, x: _scaled(x, step.center_, step.scale_),
    SimpleImputer: _imputed,
    StandardScaler: lambda _, step, x: _scaled(
        x, step.mean_ if step.with_mean else None, step.scale_
    ),
    TableEncoder: _table,
    TfidfTransformer: weighted,
    TfidfVectorizer: _texts,
}
TAKES_TEXT = {CountVectorizer: "text", TfidfVectorizer: "text", OneHotEncoder: "categories"}
