"""Read data for training in any form, and describe them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from plurilabel import datasets, io, metrics
from plurilabel._core.blocks import csr_of_rows
from plurilabel._core.compat import import_extra
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import counted, listed
from plurilabel._core.writable import not_writable
from plurilabel.io.shared import as_table, in_order, is_table, is_texts

FEWEST_HELD_OUT = 10  # rows needed to hold some out
MOST_BYTES = 2**26  # size up to which a CSV file of texts is read as a whole
MOST_DENSE = 1e7  # rows times labels up to which labels are made dense
MOST_SCORES = 5e7  # rows times labels up to which the constant prediction has scores


def check_report(report: Any, holdout: float | None) -> None:
    """Raise an error if a report cannot be written."""
    if holdout == 0:
        raise ValueError("a report needs held-out rows: holdout must be above 0, got 0")
    import_extra("jinja2", "a report", "cli")
    place = Path(report)
    if why := "it is a folder" if place.is_dir() else not_writable(place.parent):
        raise ValueError(f"report cannot be written to {place}: {why}")


def is_large_file(data: Any) -> bool:
    """Whether data are a CSV file that may be read in blocks."""
    is_file = isinstance(data, str | os.PathLike) and os.path.isfile(data)
    return is_file and os.path.getsize(data) > MOST_BYTES and io.file_format(data) == "csv"


def are_names(labels: Any) -> bool:
    if isinstance(labels, list | tuple):
        return all(isinstance(name, str) for name in labels)
    return isinstance(labels, str)


def are_paths(data: Any) -> bool:
    if not isinstance(data, list | tuple) or not data:
        return False
    return all(isinstance(one, str | os.PathLike) and os.path.exists(one) for one in data)


def read_data(
    data: Any, labels: Any, columns: dict[str, Any], options: dict[str, Any], rows: Any
) -> Dataset:
    """Convert data to a dataset, tables to typed columns; ``rows`` are group and time."""
    named = {key: one for key, one in zip(("group", "time"), rows) if isinstance(one, str)}
    found = _read(data, labels, columns, options | named)
    values = [np.asarray(one) for one in rows if one is not None and not isinstance(one, str)]
    for one in values:
        if len(one) != found.X.shape[0]:
            name = "group" if rows[0] is not None else "time"
            raise ValueError(f"{name} must have one value per row, {found.X.shape[0]} in total")
    if rows[0] is not None and "group" not in named:
        found = replace(found, groups=values[0])
    return in_order(found, values[-1]) if rows[1] is not None and "time" not in named else found


def _read(data: Any, labels: Any, columns: dict[str, Any], options: dict[str, Any]) -> Dataset:
    columns, options = _without_none(columns), _without_none(options)
    if isinstance(data, str) and not Path(data).is_file() and data in datasets.dataset_names():
        data = datasets.load(data)
    is_path = isinstance(data, str | os.PathLike)
    if is_path or (are_paths(data) and are_names(labels)):
        encode = {"encode": False} if is_table(data if is_path else data[0]) else {}
        return io.read(data, labels=labels, **columns, **options, **encode)
    if hasattr(data, "columns") and are_names(labels):
        return io.read_table(data, labels=labels, encode=False, **columns, **options)
    if (hasattr(data, "columns") or is_texts(data)) and "drop" in options:
        columns["drop"] = options.pop("drop")
    if options:
        name = next(iter(options))
        raise ValueError(f"{name}= can only be given for files and tables with label columns")
    return _in_memory(data, labels, columns)


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _in_memory(X: Any, Y: Any, columns: dict[str, Any]) -> Dataset:
    """Convert features and labels, or a dataset, to a dataset with a label matrix."""
    if isinstance(X, Dataset):
        if Y is not None:
            raise ValueError(f"a dataset has its own labels, got labels={Y!r}")
        data = X
    elif Y is None or are_names(Y):
        raise ValueError("labels must be a 0/1 matrix with as many rows as the features")
    else:
        if is_texts(X):
            X = as_table(X).frame
            columns = {**columns, "text": list(X.columns)}
        data = Dataset(
            X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64),
            Y if hasattr(Y, "shape") else np.asarray(Y),
            feature_names=getattr(X, "columns", ()),
            label_names=getattr(Y, "columns", ()),
        )
    if hasattr(data.X, "columns") and not data.kinds:
        typed = io.TableEncoder(**columns).typed_rows(data.X)
        kinds: Any = {"kinds": typed.kinds, "written": typed.written, "left_out": typed.left_out}
        data = replace(data, X=typed.frame, feature_names=tuple(typed.frame.columns), **kinds)
    labels: Any = data.Y
    return replace(data, Y=labels.to_numpy()) if hasattr(labels, "iloc") else data


def _counts_rows(series: Any) -> bool:
    """Whether a column numbers the rows."""
    if series.dtype.kind not in "iuf" or len(series) < FEWEST_HELD_OUT:
        return False
    return bool((np.diff(series.to_numpy()) == 1).all())


def dense_if_small(Y: Any) -> Any:
    """Make small Y dense: not all classifiers of scikit-learn accept sparse labels."""
    is_sparse = sparse.issparse(Y) or (isinstance(Y, UnknownLabels) and sparse.issparse(Y.Y))
    return Y.toarray() if is_sparse and np.prod(Y.shape) <= MOST_DENSE else Y


def text_columns(data: Dataset) -> list[str]:
    return [name for name, kind in data.kinds.items() if kind == "text"]


def label_notes(data: Dataset, columns: Any) -> Iterator[str]:
    """Remarks about unknown labels and rows without labels."""
    Y, unknown = known_part(data.Y)
    empty = np.asarray(Y.sum(axis=1)).ravel() == 0
    if unknown is not None:
        gaps = np.asarray(unknown.sum(axis=1)).ravel()
        empty &= gaps == 0
        yield (
            f"{int(gaps.sum()):,} of {Y.shape[0] * Y.shape[1]:,} label values unknown, and "
            "ignored in training and evaluation"
        )
    if without := int(empty.sum()):
        have, are = ("has", "is") if without == 1 else ("have", "are")
        what = "no label"
        if isinstance(columns, str):
            what = f"an empty cell in {columns!r} and {are} assumed to have no label"
        yield f"{counted(without, 'row')} {have} {what}"


def column_notes(data: Dataset, X: Any) -> Iterator[str]:
    """Remarks about the columns of a table with rows X."""
    if not hasattr(X, "iloc"):
        return
    texts = text_columns(data)
    if texts:
        are = "is" if len(texts) == 1 else "are"
        yield f"{listed([repr(name) for name in texts], 5)} {are} used as text"
    for name, why in data.left_out.items():
        yield f"{name!r} is ignored as an identifier: {why}; use it with features=[...]"
    if counters := [name for name in X.columns if _counts_rows(X[name])]:
        named = listed([repr(name) for name in counters], 5)
        number = "numbers" if len(counters) == 1 else "number"
        yield f"{named} {number} the rows, like identifiers; ignore with drop={counters}"


def guessed(Y: Any, Y_test: Any) -> metrics.Evaluation:
    """Measures of predicting the most frequent labels for every row."""
    filled, unknown = known_part(Y)
    if unknown is None:
        frequency = np.asarray(Y.sum(axis=0)).ravel() / Y.shape[0]
    else:
        frequency = UnknownLabels(filled, unknown).shares()
    n, q = Y_test.shape
    first = np.sort(most_frequent(frequency))
    ones, sizes = np.ones(n * len(first), dtype=np.int64), np.full(n, len(first))
    labels = csr_of_rows(ones, np.tile(first, n), sizes, q)
    scores = None if n * q > MOST_SCORES else np.broadcast_to(frequency, (n, q))
    return metrics.evaluate(Y_test, scores, labels)


def most_frequent(frequency: Any) -> Any:
    """The most frequent labels, as many as a row has on average."""
    return np.argsort(-frequency, kind="stable")[: max(1, round(float(frequency.sum())))]
