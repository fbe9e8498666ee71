"""Measures of a stream, row by row, beside river's.

Four measures of label sets over a window of 1,000 rows, read every 100 rows: subset accuracy, F1
by instance, micro F1 and macro F1. The same values come out of both, but for F1 by instance where
both sets are empty: river counts 0, we leave the row out.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np

from benchmarks._measure import Row, Task, beside, left_out
from plurilabel.metrics import RunningMeasures

MEASURES = ["subset_accuracy", "f1", "micro_f1", "macro_f1"]
WINDOW, EVERY = 1_000, 100


def run(quick: bool = False) -> list[Row]:
    n, q = (500, 5) if quick else (5_000, 20)
    rng = np.random.default_rng(0)
    Y, Z = rng.random((2, n, q)) < 0.3
    names = [f"label{l}" for l in range(q)]
    rows = [(dict(zip(names, y)), dict(zip(names, z))) for y, z in zip(Y.tolist(), Z.tolist())]
    what = f"running measures, {n:,} rows x {q}"
    peers: dict[str, Task] = {}
    if importlib.util.find_spec("river"):
        peers["river"] = lambda: by_river(rows)
    if not peers:
        return [left_out(what, "river", "not installed")]
    return beside(what, lambda: running(rows), peers)


def running(rows: list[Any]) -> list[float]:
    measures = RunningMeasures(MEASURES, window=WINDOW, fading=None)
    values: list[float] = []
    for i, (y, z) in enumerate(rows, 1):
        measures.update(y, labels=z)
        if i % EVERY == 0:
            values = list(measures.read()["window"].values())
    return values


def by_river(rows: list[Any]) -> list[float]:
    from river import metrics, utils

    several = metrics.multioutput
    made = [
        several.ExactMatch(),
        several.SampleAverage(metrics.F1()),
        several.MicroAverage(metrics.F1()),
        several.MacroAverage(metrics.F1()),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a change to come
        windows = [utils.Rolling(one, window_size=WINDOW) for one in made]
    values: list[float] = []
    for i, (y, z) in enumerate(rows, 1):
        for window in windows:
            window.update(y, z)
        if i % EVERY == 0:
            values = [window.get() for window in windows]
    return values
