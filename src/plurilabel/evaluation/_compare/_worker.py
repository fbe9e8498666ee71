"""Units of work: learners on one split, run in a worker process or in this one.

A worker is a plain ``python`` process: nothing is forked, and nothing is imported from the
parent's script. Orders and answers are pickles; the order None says that nothing is left to do.
The process ends, with all that it has started, when its input does, and so never outlives its
parent.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import queue
import random
import signal
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from plurilabel.evaluation._compare._cell import Parts, run_cell
from plurilabel.evaluation._compare._cells import Cell
from plurilabel.evaluation._compare._inside import most_neighbors
from plurilabel.evaluation._compare._shared_index import SearchCache

MOST_ENTRIES = 5_000_000
"""Up to these, sparse labels are given as an array: most of scikit-learn takes nothing else."""


class Unit(NamedTuple):
    """Learners to run on one split: pickled, each by the number of its cell."""

    data: Any  # X and Y, or the file that holds them
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seed: int
    measures: list[str]
    learners: dict[int, bytes]


Finished = Generator[tuple[int, Cell], None, None]
"""Numbers and contents of cells, as they come."""


def run_here(units: Iterable[Unit]) -> Finished:
    """Run units in this process; in one thread, as in a worker, so that results are the same."""
    for unit in units:
        cells = _run_unit(unit, catch=Exception)
        for _ in unit.learners:
            before = random.getstate(), np.random.get_state()  # noqa: NPY002
            try:
                with threadpool_limits(1):
                    next(cells)
                    number, cell = next(cells)
            finally:
                random.setstate(before[0])
                np.random.set_state(before[1])  # noqa: NPY002
            assert cell is not None
            yield number, cell


def _run_unit(
    unit: Unit, catch: type[BaseException]
) -> Generator[tuple[int, Cell | None], None, None]:
    """Give each learner's number before it runs, and again with its cell."""
    cache = SearchCache()
    for i, (number, pickled) in enumerate(unit.learners.items()):
        yield number, None
        if i == 0:
            _widen(cache, unit)
        yield (
            number,
            run_cell(
                lambda pickled=pickled: pickle.loads(pickled),  # type: ignore[misc]
                lambda: _parts(unit),
                measures=unit.measures,
                seed=unit.seed,
                cache=cache,
                catch=catch,
            ),
        )


def _widen(cache: SearchCache, unit: Unit) -> None:
    """Let the cache search for the largest k that any of the learners will ask for."""
    for pickled in unit.learners.values():
        with suppress(Exception):  # a learner that cannot be read says so in its own cell
            for metric, k in most_neighbors(pickle.loads(pickled)).items():
                cache.n_neighbors[metric] = max(cache.n_neighbors.get(metric, 0), k)


def _parts(unit: Unit) -> Parts:
    """The training and the test part, copied anew."""
    X, Y = _load(unit.data) if isinstance(unit.data, str) else unit.data
    train, test = unit.train, unit.test
    return Parts(_rows(X, train), _labels(Y, train), _rows(X, test), _labels(Y, test))


@lru_cache(maxsize=1)
def _load(path: str) -> Any:
    return joblib.load(path, mmap_mode="r")


def _rows(X: Any, rows: Any) -> Any:
    """Some rows, as a copy, of an array, a sparse matrix or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    picked = X[rows]
    return np.array(picked) if isinstance(picked, np.ndarray) else picked


def _labels(Y: Any, rows: Any) -> Any:
    labels = _rows(Y, rows)
    small = labels.shape[0] * labels.shape[1] <= MOST_ENTRIES
    return labels.toarray() if sparse.issparse(labels) and small else labels


# the process ---------------------------------------------------------------------------------


def main() -> None:
    """Serve until the input ends."""
    # the pipes to the parent, out of reach of learners that print or ask
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    faulthandler.enable()
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()

    def answer(*content: Any) -> None:
        pickle.dump(content, answers)
        answers.flush()

    answer("ready", None, None)
    while (order := waiting.get()) is not None:
        for number, cell in _run_unit(Unit(*order), catch=BaseException):
            answer("start" if cell is None else "cell", number, cell)
        answer("done", None, None)


def _listen(orders: Any, waiting: queue.SimpleQueue[Any]) -> None:
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        while True:
            waiting.put(pickle.load(orders))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)  # all that it has started, and usually itself
        time.sleep(1)
    os._exit(1)
