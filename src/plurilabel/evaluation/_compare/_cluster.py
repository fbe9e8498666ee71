"""Units of work on a Dask cluster: a task starts a worker process, as on one machine.

The process is ours and not Dask's, so that a learner that hangs, crashes or leaves something
behind is dealt with by the same rules, and takes no worker of the cluster with it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import joblib

from plurilabel.evaluation._compare._cells import Cell
from plurilabel.evaluation._compare._pool import run_units
from plurilabel.evaluation._compare._worker import Finished, Unit


def run_on(client: Any, units: Iterable[Unit], time_limit: float | None) -> Finished:
    """Run units on the cluster of a client; datasets are sent once, not with each unit."""
    from distributed import KilledWorker, as_completed

    data: dict[int, Any] = {}
    futures: dict[Any, Unit] = {}
    try:
        for unit in units:
            if id(unit.data) not in data:
                (data[id(unit.data)],) = client.scatter([unit.data], hash=False)
            there = data[id(unit.data)], tuple(unit._replace(data=None)), time_limit
            futures[client.submit(_run_there, *there, pure=False)] = unit
        for future in as_completed(futures):
            try:
                found = future.result()
            except KilledWorker:
                found = [(number, _lost()) for number in futures[future].learners]
            yield from found
    finally:
        for future in futures:
            future.cancel()


def _lost() -> Cell:
    return {
        "status": "crashed",
        "error": "several workers of the cluster died while they ran this cell",
    }


def _run_there(data: Any, unit: tuple[Any, ...], time_limit: float | None) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="plurilabel-", ignore_cleanup_errors=True) as folder:
        (path,) = joblib.dump(data, os.path.join(folder, "data"))
        return list(run_units(Path(folder), [Unit(*unit)._replace(data=path)], 1, time_limit))
