"""The worker process: takes splits from its parent, answers with cells.

It is started as a plain ``python`` process, with nothing forked and nothing imported from the
parent's script. The job lies in a folder: datasets, splits and learners, each in a file. Orders
and answers are lines of JSON; ``null`` says that nothing is left to do. The process ends, with
all that it has started, when its input does, and so never outlives its parent.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
from scipy import sparse

from plurilabel.compare._cell import Parts, run_cell
from plurilabel.compare._data import rows_of
from plurilabel.compare._learners import most_neighbors
from plurilabel.compare._shared_index import SearchCache

MOST_ENTRIES = 5_000_000
"""Up to these, sparse labels are given as an array: most of scikit-learn takes nothing else."""


def main(folder: str) -> None:
    """Serve until the input ends."""
    orders, answers = _own_pipes()
    faulthandler.enable()
    waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders, waiting), daemon=True).start()

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content, allow_nan=False).encode() + b"\n")
        answers.flush()

    job = Job(Path(folder))
    answer(event="ready")
    while (order := waiting.get()) is not None:
        unit = Unit(job, order)
        for number in order["learners"]:
            answer(event="start", learner=number)
            cell = unit.run(number)
            answer(event="cell", learner=number, cell=cell)
        answer(event="done")


def _own_pipes() -> tuple[Any, Any]:
    """The pipes to the parent, out of reach of learners that print or ask."""
    orders = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return orders, answers


def _listen(orders: Any, waiting: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    with suppress(OSError):
        for line in orders:
            waiting.put(json.loads(line))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)  # all that it has started, and usually itself
        time.sleep(1)
    os._exit(1)


class Job:
    """What the parent left in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.measures: list[str] = json.loads((folder / "job.json").read_bytes())["measures"]
        self._data: tuple[int, Any] = (-1, None)

    def learner(self, number: int) -> Any:
        """A fresh learner."""
        return pickle.loads((self.folder / f"learner{number}").read_bytes())

    def data(self, number: int) -> Any:
        """X and Y of a dataset; the last one stays at hand."""
        if self._data[0] != number:
            self._data = number, joblib.load(self.folder / f"data{number}", mmap_mode="r")
        return self._data[1]


class Unit:
    """Some learners on one split; they share their neighbour searches."""

    def __init__(self, job: Job, order: dict[str, Any]) -> None:
        self.job, self.order = job, order
        self.cache = SearchCache()
        for number in order["learners"]:
            with suppress(Exception):  # a learner that cannot be read says so in its own cell
                for metric, k in most_neighbors(job.learner(number)).items():
                    self.cache.n_neighbors[metric] = max(self.cache.n_neighbors.get(metric, 0), k)

    def parts(self) -> Parts:
        """The training and the test part, copied anew."""
        X, Y = self.job.data(self.order["data"])
        train, test = joblib.load(self.job.folder / f"split{self.order['split']}")
        return Parts(rows_of(X, train), _labels(Y, train), rows_of(X, test), _labels(Y, test))

    def run(self, number: int) -> dict[str, Any]:
        """The cell of one learner."""
        return run_cell(
            lambda: self.job.learner(number),
            self.parts,
            measures=self.job.measures,
            seed=self.order["seed"],
            cache=self.cache,
        )


def _labels(Y: Any, rows: Any) -> Any:
    labels = rows_of(Y, rows)
    small = labels.shape[0] * labels.shape[1] <= MOST_ENTRIES
    return labels.toarray() if sparse.issparse(labels) and small else labels


if __name__ == "__main__":
    main(sys.argv[1])
