"""Worker processes that may crash, hang, or be stopped.

In ``concurrent.futures`` and joblib's loky, a process that dies breaks the pool, and a running
task cannot be stopped. Pebble can do both, but it neither stops the children of a process nor
keeps the last output of a dying one.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias
from uuid import uuid4

import joblib

from plurilabel.evaluation._compare._plan import Cell
from plurilabel.evaluation._compare._worker import Finished, Unit

# rounding in BLAS depends on the number of its threads, and results must not
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows only has the latter

# The worker watches for the end of its input while it still imports, so that it never outlives
# a parent that was killed. Windows has no poll().
START = """\
import json, os, select, signal, sys, threading
def watch(orders):
    end = select.poll()
    end.register(orders, 0)
    end.poll()
    os.killpg(os.getpid(), signal.SIGTERM)
if hasattr(select, 'poll') and os.getpgrp() == os.getpid():
    threading.Thread(target=watch, args=(os.dup(0),), daemon=True).start()
sys.path[:] = json.loads(sys.argv[1])
from plurilabel.evaluation._compare._worker import main
main()
"""

News: TypeAlias = "queue.SimpleQueue[tuple[Worker, str, int, Any]]"


def run_units(
    folder: Path, units: Iterable[Unit], n_workers: int, time_limit: float | None
) -> Finished:
    """Run each unit in one of several worker processes."""
    # If a learner takes too long or ends its process, its cell holds the error, and the rest of
    # the unit goes to a new process. All workers end with this generator.
    waiting, numbers = deque(units), count()
    workers: list[Worker] = []
    news: News = queue.SimpleQueue()
    try:
        while waiting or workers:
            while waiting and len(workers) < n_workers:
                workers.append(Worker(folder, next(numbers), news, waiting.popleft()))
            with suppress(queue.Empty):
                worker, event, number, cell = news.get(timeout=0.1)
                if event == "ready":  # earlier, a large unit would fill the pipe and block us
                    worker.is_ready = True
                    worker.take(worker.unit)
                elif event == "start":
                    worker.begin(number, time_limit)
                elif event == "cell":
                    yield worker.finish(number), cell
                elif event == "done":
                    worker.take(waiting.popleft() if waiting else None)
            if news.empty():  # handle the messages of a worker before its end
                yield from _remove_ended(workers, waiting, time_limit)
    finally:
        for worker in workers:
            worker.signal(signal.SIGTERM)  # to all of them before waiting for any
        for worker in workers:
            worker.stop()


def _remove_ended(
    workers: list[Worker], waiting: deque[Unit], time_limit: float | None
) -> Finished:
    """Stop overdue workers, remove ended ones, and put the rest of their units back."""
    for worker in [worker for worker in workers if worker.is_over()]:
        if not worker.is_stopped:
            worker.stop()
            continue
        workers.remove(worker)
        if not worker.is_ready:
            raise RuntimeError(f"a worker process did not start: {worker.last_words()}")
        if worker.current is not None:
            yield worker.finish(worker.current), worker.obituary(time_limit)
        if worker.unit and worker.unit.learners:
            waiting.appendleft(worker.unit)


class Worker:
    """A worker process and its current unit."""

    def __init__(self, folder: Path, number: int, news: News, unit: Unit) -> None:
        self.words = folder / f"worker{number}.txt"
        self.is_ready = self.is_stopped = self.is_late = False
        self.unit: Unit | None = unit
        self.current: int | None = None
        self.deadline = inf
        with open(self.words, "wb") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", START, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                env={**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"},
                # in its own group: Ctrl-C only reaches us, and its children end with it
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._listen, args=(news,), daemon=True)
        self._listener.start()

    def _listen(self, news: News) -> None:
        assert self.process.stdout is not None
        with suppress(EOFError, pickle.UnpicklingError), self.process.stdout as answers:
            while True:
                news.put((self, *pickle.load(answers)))
        news.put((self, "end", -1, None))

    def take(self, unit: Unit | None) -> None:
        """Send the next unit; None ends the process."""
        assert self.process.stdin is not None
        self.unit = unit
        self.deadline = inf if unit else monotonic() + 5
        with suppress(BrokenPipeError):
            pickle.dump(None if unit is None else tuple(unit), self.process.stdin)
            self.process.stdin.flush()

    def begin(self, number: int, time_limit: float | None) -> None:
        self.current = number
        self.deadline = inf if time_limit is None else monotonic() + time_limit

    def finish(self, number: int) -> int:
        """Remove a learner that has ended from the unit; return its number."""
        assert self.unit is not None
        self.current, self.deadline = None, inf
        left = {n: learner for n, learner in self.unit.learners.items() if n != number}
        self.unit = self.unit._replace(learners=left)
        return number

    def is_over(self) -> bool:
        return self.process.poll() is not None or monotonic() > self.deadline

    def stop(self) -> None:
        self.is_late = self.process.poll() is None
        # joblib's resource tracker ignores SIGTERM and cleans up after the others
        end = monotonic() + 2
        running = self.signal(signal.SIGTERM)
        while running and monotonic() < end:
            sleep(0.01)
            self.process.poll()
            running = self.signal(0)
        self.signal(_SIGKILL)
        self.process.wait()
        self._listener.join(timeout=1)  # a process that left the group may still have our pipe
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.is_stopped = True

    def signal(self, number: int) -> bool:
        """Send a signal to the process and its children; False if none is left."""
        if not hasattr(os, "killpg"):
            running = self.process.poll() is None
            if running and number:
                self.process.kill()
            return running
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def obituary(self, time_limit: float | None) -> Cell:
        """How the process ended, as fields of a cell."""
        code = self.process.returncode
        if self.is_late:
            words = f"stopped at the time limit of {time_limit:g} seconds"
            return {"status": "timeout", "error": words}
        if code == -_SIGKILL:
            how = "was killed, possibly out of memory,"
        elif code < 0:
            how = f"died of {signal.Signals(-code).name}"
        else:
            how = f"ended with exit code {code}"
        return {
            "status": "crashed",
            "error": f"the process {how} while running this cell",
            "traceback": self.last_words() or None,
        }

    def last_words(self) -> str:
        words, _, _ = self.words.read_text(errors="replace").partition("\nExtension modules:")
        return words.strip()[-4000:]


def run_on(client: Any, units: Iterable[Unit], time_limit: float | None) -> Finished:
    """Run units on a Dask cluster; each dataset is sent once."""
    # A task starts a worker process of ours, so that learners that hang or crash are handled as on
    # one machine and do not cost Dask a worker.
    from distributed import KilledWorker, as_completed

    data: dict[int, Any] = {}
    futures: dict[Any, Unit] = {}
    try:
        for unit in units:
            if id(unit.data) not in data:
                (data[id(unit.data)],) = client.scatter([unit.data], hash=False)
            there = data[id(unit.data)], tuple(unit._replace(data=None)), time_limit
            key = f"{unit.name}-{uuid4().hex}"  # the dashboard shows what comes before the number
            futures[client.submit(_run_there, *there, key=key)] = unit
        for future in as_completed(futures):
            try:
                yield from future.result()
            except KilledWorker:
                words = "several workers of the cluster died while running this cell"
                for number in futures[future].learners:
                    yield number, {"status": "crashed", "error": words}
    finally:
        for future in futures:
            future.cancel()


def _run_there(data: Any, unit: tuple[Any, ...], time_limit: float | None) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="plurilabel-", ignore_cleanup_errors=True) as folder:
        (path,) = joblib.dump(data, os.path.join(folder, "data"))
        return list(run_units(Path(folder), [Unit(*unit)._replace(data=path)], 1, time_limit))
