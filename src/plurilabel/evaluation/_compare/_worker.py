"""Units of work: learners on one split, run in a worker process or in this one.

A worker is a plain ``python`` process: nothing is forked, and nothing is imported from the
parent's script. It gets units, sends cells as pickles, and with its children ends when its
input does.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import queue
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from plurilabel import metrics
from plurilabel._core.records import plain
from plurilabel._core.scores import score_method, scores_or_none
from plurilabel._core.words import shortened
from plurilabel.evaluation._compare import _shared_search
from plurilabel.evaluation._compare._plan import Cell, empty_cell
from plurilabel.evaluation._compare._shared_search import SearchCache
from plurilabel.learners import set_seeds
from plurilabel.learners.lazy import MLkNNCV

MOST_LABELS = 2000  # with more labels, a cell has no counts per label
MOST_ENTRIES = 5_000_000  # up to this size, sparse labels become an array


class Unit(NamedTuple):
    """Learners to run on one split: pickled, each by the number of its cell."""

    data: Any  # X and Y, or the file that holds them
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seed: int
    measures: list[str]
    name: str  # of dataset, fold and learner, for the dashboard of a cluster
    learners: dict[int, bytes]


Finished = Generator[tuple[int, Cell], None, None]  # numbers and contents of finished cells


def run_here(units: Iterable[Unit]) -> Finished:
    """Run units in this process, with one thread as in a worker."""
    for unit in units:
        cells = _run_unit(unit, catch=Exception)
        for _ in unit.learners:
            before = random.getstate(), np.random.get_state()  # noqa: NPY002
            try:
                with threadpool_limits(1):
                    found = next(cells)
            finally:
                random.setstate(before[0])
                np.random.set_state(before[1])  # noqa: NPY002
            yield found


def _run_unit(
    unit: Unit, catch: type[BaseException], begin: Callable[[int], None] = lambda _: None
) -> Finished:
    """Run the learners of a unit, with a shared cache of searches; ``begin`` gets each number."""
    cache = None
    for number, pickled in unit.learners.items():
        begin(number)
        if cache is None:
            cache = SearchCache()
            for one in unit.learners.values():  # search for the largest k that any of them needs
                with suppress(Exception):  # a learner that cannot be unpickled fails in its cell
                    for metric, k in _shared_search.most_neighbors(pickle.loads(one)).items():
                        cache.n_neighbors[metric] = max(cache.n_neighbors.get(metric, 0), k)
        yield number, _run_cell(unit, pickled, cache, catch)


def _run_cell(unit: Unit, pickled: bytes, cache: SearchCache, catch: type[BaseException]) -> Cell:
    """Train, predict and measure; errors of type ``catch`` go into the cell."""
    cell = empty_cell(unit.measures) | {"status": "ok", "error": None}
    of_this_cell = _reset_peak()
    cache.begin()
    random.seed(unit.seed)
    np.random.seed(unit.seed)  # noqa: NPY002 - for learners that use it
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            _fill(cell, unit, pickle.loads(pickled), cache)
        except catch as error:
            cell |= empty_cell(unit.measures) | {
                "status": "error",
                "error": _sentence(error),
                "traceback": traceback.format_exc(),
            }
    cell["search_seconds"] = cache.unpaid_seconds()
    cell["peak_mb"] = _peak_mb()
    if not of_this_cell:
        cell["peak_note"] = "since the worker process started, not of this cell alone"
    cell["warnings"] = list(dict.fromkeys(_sentence(one.message) for one in caught))[:20]
    return cell


def _fill(cell: Cell, unit: Unit, learner: Any, cache: SearchCache) -> None:
    """Fit and predict, and put times and measures into the cell."""
    X, Y = _load(unit.data) if isinstance(unit.data, str) else unit.data
    X_train, Y_train = _rows(X, unit.train), _labels(Y, unit.train)
    X_test, Y_test = _rows(X, unit.test), _labels(Y, unit.test)
    set_seeds(learner, unit.seed)
    _shared_search.share_searches(learner, cache)
    start = perf_counter()
    learner.fit(X_train, Y_train)
    cell["fit_seconds"] = perf_counter() - start

    q = Y_test.shape[1]
    start = perf_counter()
    labels = learner.predict(X_test)
    scores = scores_or_none(learner, X_test, q)
    cell["predict_seconds"] = perf_counter() - start

    if q == 1 and not sparse.issparse(labels):
        labels = np.reshape(labels, (-1, 1))
    cell["scores"] = plain(_measured(unit.measures, Y_train, Y_test, scores, labels))
    cell["best_params"] = plain(_best_params(learner))
    if q <= MOST_LABELS:
        found = {"auc": [None] * q} | metrics.per_label(Y_test, scores, labels)
        cell["per_label"] = {name: plain(found[name]) for name in ("tp", "fp", "fn", "tn", "auc")}
    probabilities = scores is not None and score_method(learner) == "predict_proba"
    if probabilities and not sparse.issparse(scores) and scores.min() >= 0 and scores.max() <= 1:
        cell["calibration_error"] = plain(metrics.expected_calibration_error(Y_test, scores))


def _measured(
    measures: Sequence[str], Y_train: Any, Y_test: Any, scores: Any, labels: Any
) -> dict[str, float | None]:
    known = {name: metrics.get_measure(name) for name in measures}
    top = {int(name.rpartition("@")[2]) for name in measures if "@" in name}
    top = {k for k in top if k <= Y_test.shape[1]}
    weighted = any("propensities" in measure.parameters for measure in known.values())
    p = metrics.propensities(Y_train) if weighted else None
    found = metrics.evaluate(Y_test, scores, labels, top=sorted(top), propensities=p)
    values: dict[str, float | None] = dict.fromkeys(measures)
    for name, measure in known.items():
        if name in found:
            values[name] = found[name]
        elif "@" not in name and (measure.kind != "scores" or scores is not None):
            values[name] = measure.function(Y_test, labels if measure.kind == "labels" else scores)
    return values


def _best_params(learner: Any) -> dict[str, Any] | None:
    if isinstance(learner, Pipeline):
        return _best_params(learner.steps[-1][1])
    if hasattr(learner, "best_params_"):
        return dict(learner.best_params_)
    if isinstance(learner, MLkNNCV):
        return {"n_neighbors": learner.n_neighbors_, "smoothing": learner.smoothing_}
    inner = getattr(learner, "estimator_", None)
    return None if inner is None else _best_params(inner)


def _sentence(error: Any) -> str:
    """An error or warning in one line."""
    text = " ".join(str(error).split())
    return shortened(f"{type(error).__name__}: {text}" if text else type(error).__name__, 500)


@lru_cache(maxsize=1)
def _load(path: str) -> Any:
    return joblib.load(path, mmap_mode="r")


def _rows(X: Any, rows: Any) -> Any:
    """A copy of some rows of an array, sparse matrix or data frame: learners may change it."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    picked = X[rows]
    return np.array(picked) if isinstance(picked, np.ndarray) else picked


def _labels(Y: Any, rows: Any) -> Any:
    labels = _rows(Y, rows)
    small = labels.shape[0] * labels.shape[1] <= MOST_ENTRIES
    return labels.toarray() if sparse.issparse(labels) and small else labels


def _reset_peak() -> bool:
    """Reset the peak memory of the process; False where this is not possible."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux only
    except OSError:
        return False
    return True


def _peak_mb() -> float | None:
    """Largest resident size since ``_reset_peak`` or the start, in MB; None if unknown."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def main() -> None:
    """Run units until None arrives or the input ends."""
    # learners that print or read must not reach the pipes to the parent
    orders, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    faulthandler.enable()
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()

    def reply(event: str, number: int | None = None, cell: Cell | None = None) -> None:
        pickle.dump((event, number, cell), replies)
        replies.flush()

    reply("ready")
    while (order := waiting.get()) is not None:
        for number, cell in _run_unit(Unit(*order), BaseException, lambda n: reply("start", n)):
            reply("cell", number, cell)
        reply("done")


def _listen(orders: Any, waiting: queue.SimpleQueue[Any]) -> None:
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        while True:
            waiting.put(pickle.load(orders))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)  # all children, and usually this process
        time.sleep(1)
    os._exit(1)
