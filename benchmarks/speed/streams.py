"""Streams, row by row: our measures compared with river's, and the cost of a row for a learner.

Measures: subset accuracy, F1 by instance, micro F1 and macro F1 over a window of 1,000 rows, read
every 100 rows. Both give the same values, except for F1 by instance if both label sets are empty:
river counts 0, we leave the row out.

Learners: WindowMLkNN with a full window of 1,000 rows, 100 features and 20 labels predicts and
learns further rows, like river's chain of logistic regressions. Fitting MLkNN for each row gives
the same answers; it is measured on fewer rows.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np

from benchmarks.harness.measure import Row, Task, beside, left_out
from plurilabel import MLkNN, WindowMLkNN
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
        return [left_out(what, "river", "not installed"), *learners(quick)]
    return [*beside(what, lambda: running(rows), peers), *learners(quick)]


def learners(quick: bool) -> list[Row]:
    """WindowMLkNN beside river's chain, and beside a fit for each row."""
    window, n, d, q = (60, 20, 5, 3) if quick else (1_000, 500, 100, 20)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(window + n, d)), rng.random((window + n, q)) < 0.15
    rows = [(dict(enumerate(x)), dict(enumerate(y))) for x, y in zip(X.tolist(), Y.tolist())]
    what = f"predict and learn {n:,} rows, window of {window:,} x {d} x {q}"
    kept = WindowMLkNN(window_size=window).fit(X[:window], Y[:window].astype(np.int8))
    peers: dict[str, Task] = {}
    if importlib.util.find_spec("river"):
        from river import linear_model, multioutput

        chain = multioutput.ClassifierChain(linear_model.LogisticRegression())
        for x, y in rows[:window]:
            chain.learn_one(x, y)
        peers["river's ClassifierChain"] = lambda: one_by_one(chain, rows[window:])
    found = beside(what, lambda: one_by_one(kept, rows[window:]), peers)

    few = max(n // 100, 1)
    return [
        *found,
        *beside(
            f"predict and learn {few} rows, window of {window:,} x {d} x {q}",
            lambda: one_by_one(kept, rows[window : window + few]),
            selves={"MLkNN, a fit for each row": lambda: fitted_anew(X, Y, window, few)},
        ),
    ]


def one_by_one(learner: Any, rows: list[Any]) -> None:
    for x, y in rows:
        learner.predict_one(x)
        learner.learn_one(x, y)


def fitted_anew(X: Any, Y: Any, window: int, n: int) -> None:
    for i in range(n):
        learner = MLkNN().fit(X[i : i + window], Y[i : i + window].astype(np.int8))
        learner.predict(X[i + window : i + window + 1])


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
