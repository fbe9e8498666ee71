"""The parent's side: worker processes that may die, hang, or be stopped.

In ``concurrent.futures`` and joblib's loky one process that dies breaks the pool, and a running
task cannot be stopped. Pebble can do both, but does not stop the children of a process, keep the
learners of one split together to share their searches, or keep the last words of a dying process.
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
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias

import joblib

from plurilabel.evaluation._compare._plan import Cell
from plurilabel.evaluation._compare._worker import Finished, Unit

# one thread each: results must not depend on how many workers there are, and rounding in BLAS
# depends on the number of its threads
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter

# The end of the input is watched from the start, not only when all is imported: a process that was
# killed has no worker left. Windows cannot wait for it in this way.
START = (
    "import json, os, select, signal, sys, threading\n"
    "def watch(orders):\n"
    "    end = select.poll()\n"
    "    end.register(orders, 0)\n"
    "    end.poll()\n"
    "    os.killpg(os.getpid(), signal.SIGTERM)\n"
    "if hasattr(select, 'poll') and os.getpgrp() == os.getpid():\n"
    "    threading.Thread(target=watch, args=(os.dup(0),), daemon=True).start()\n"
    "sys.path[:] = json.loads(sys.argv[1])\n"
    "from plurilabel.evaluation._compare._worker import main\n"
    "main()\n"
)

News: TypeAlias = "queue.SimpleQueue[tuple[Worker, str, int, Any]]"


def run_units(
    folder: Path, units: Iterable[Unit], n_workers: int, time_limit: float | None
) -> Finished:
    """Run units in worker processes, each unit in one of them.

    A learner that takes too long or ends its process gets a cell that says so, and the rest of its
    unit goes to a new process. However this generator ends, all workers have ended then.
    """
    waiting, started = deque(units), 0
    workers: list[Worker] = []
    news: News = queue.SimpleQueue()
    try:
        while waiting or workers:
            while waiting and len(workers) < n_workers:
                workers.append(Worker(folder, started, news, waiting.popleft()))
                started += 1
            with suppress(queue.Empty):
                worker, event, number, cell = news.get(timeout=0.1)
                if event == "done":
                    worker.take(waiting.popleft() if waiting else None)
                else:
                    yield from worker.hear(event, number, cell, time_limit)
            if news.empty():  # messages of a worker are handled before its end
                yield from _remove_ended(workers, waiting, time_limit)
    finally:
        for worker in workers:
            worker.signal(signal.SIGTERM)  # all of them, before waiting for any
        for worker in workers:
            worker.stop()


def _remove_ended(
    workers: list[Worker], waiting: deque[Unit], time_limit: float | None
) -> Finished:
    """Stop workers that are over, then remove them; the rest of their units waits again."""
    for worker in [worker for worker in workers if worker.is_over()]:
        if not worker.is_stopped:
            worker.stop()
            continue
        workers.remove(worker)
        if not worker.is_ready:
            raise RuntimeError(f"a worker process did not start: {worker.last_words()}")
        if worker.current is not None:
            yield worker.ended(worker.current), worker.obituary(time_limit)
        if worker.unit and worker.unit.learners:
            waiting.appendleft(worker.unit)


class Worker:
    """A worker process, and the conversation with it."""

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
                # a group of its own: Ctrl-C is ours to handle, and its children go with it
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

    def hear(self, event: str, number: int, cell: Any, time_limit: float | None) -> Finished:
        """Handle a message of the process; yield the cell that it has finished, if any."""
        if event == "ready":  # before, a large order would fill the pipe and block us
            self.is_ready = True
            self.take(self.unit)
        elif event == "start":
            self.current = number
            self.deadline = inf if time_limit is None else monotonic() + time_limit
        elif event == "cell":
            self.deadline = inf
            yield self.ended(number), cell

    def take(self, unit: Unit | None) -> None:
        """Send the next unit; without one, let the process end by itself."""
        assert self.process.stdin is not None
        self.unit = unit
        self.deadline = inf if unit else monotonic() + 5
        with suppress(BrokenPipeError):
            pickle.dump(None if unit is None else tuple(unit), self.process.stdin)
            self.process.stdin.flush()

    def ended(self, number: int) -> int:
        """Remove a learner that has ended from the unit; returns its number."""
        assert self.unit is not None
        self.current = None
        left = {n: learner for n, learner in self.unit.learners.items() if n != number}
        self.unit = self.unit._replace(learners=left)
        return number

    def is_over(self) -> bool:
        """Whether the process has ended, or has to."""
        return self.process.poll() is not None or monotonic() > self.deadline

    def stop(self) -> None:
        """End the process and all that it has started."""
        self.is_late = self.process.poll() is None
        # first SIGTERM: joblib's resource tracker ignores it, and clears up behind the others
        end = monotonic() + 2
        running = self.signal(signal.SIGTERM)
        while running and monotonic() < end:
            sleep(0.01)
            self.process.poll()
            running = self.signal(0)
        self.signal(_SIGKILL)
        self.process.wait()
        self._listener.join(timeout=1)  # longer only if a process that left the group has our pipe
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.is_stopped = True

    def signal(self, number: int) -> bool:
        """Send a signal to the process and its children; False if there is none left."""
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
        """How the process ended, as part of a cell."""
        code = self.process.returncode
        if self.is_late:
            words = f"stopped at the time limit of {time_limit:g} seconds"
            return {"status": "timeout", "error": words}
        if code == -_SIGKILL:
            how = "was killed, possibly out of memory,"
        elif code < 0:
            how = f"died of {signal.Signals(-code).name}"
        else:
            how = f"ended by itself with exit code {code}"
        return {
            "status": "crashed",
            "error": f"the process {how} while it ran this cell",
            "traceback": self.last_words() or None,
        }

    def last_words(self) -> str:
        """The end of what the process wrote to its error stream."""
        words, _, _ = self.words.read_text(errors="replace").partition("\nExtension modules:")
        return words.strip()[-4000:]


def run_on(client: Any, units: Iterable[Unit], time_limit: float | None) -> Finished:
    """Run units on the Dask cluster of a client; datasets are sent once, not with each unit.

    A task starts a worker process of ours, as on one machine, so that a learner that hangs,
    crashes or leaves something behind is handled by the same rules and costs Dask no worker.
    """
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
                words = "several workers of the cluster died while they ran this cell"
                lost = {"status": "crashed", "error": words}
                found = [(number, lost.copy()) for number in futures[future].learners]
            yield from found
    finally:
        for future in futures:
            future.cancel()


def _run_there(data: Any, unit: tuple[Any, ...], time_limit: float | None) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="plurilabel-", ignore_cleanup_errors=True) as folder:
        (path,) = joblib.dump(data, os.path.join(folder, "data"))
        return list(run_units(Path(folder), [Unit(*unit)._replace(data=path)], 1, time_limit))
