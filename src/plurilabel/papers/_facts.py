"""What papers say about their data, counted again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plurilabel.datasets import Dataset

FACTS: dict[str, Callable[[Dataset], float]] = {
    "instances": lambda data: data.X.shape[0],
    "features": lambda data: data.X.shape[-1],
    "labels": lambda data: data.Y.shape[1],
    "cardinality": lambda data: float(np.mean(_sizes(data))),
    "density": lambda data: float(np.mean(_sizes(data))) / data.Y.shape[1],
    "training_instances": lambda data: _size(data.train),
    "test_instances": lambda data: _size(data.test),
    "training_cardinality": lambda data: float(np.mean(_sizes(data)[data.train])),
    "training_deviation": lambda data: float(np.std(_sizes(data)[data.train], ddof=1)),
}


def state(data: Dataset, fact: str, label_set: tuple[str, ...] | None) -> float:
    """One fact; with a label set, about the instances that have exactly these labels."""
    if label_set is None:
        return float(FACTS[fact](data))
    if fact != "instances":
        raise ValueError(f"only instances can be counted for a label set, got {fact!r}")
    wanted = np.isin(data.label_names, label_set)
    if wanted.sum() != len(label_set):
        raise ValueError(f"{data.name} has the labels {data.label_names}, got {label_set}")
    return float(np.sum((np.asarray(data.Y) == wanted).all(axis=1)))


def _sizes(data: Dataset) -> np.ndarray:
    return np.asarray(data.Y.sum(axis=1)).ravel()


def _size(rows: np.ndarray | None) -> int:
    return 0 if rows is None else len(rows)
