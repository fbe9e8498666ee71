"""The parent's side: worker processes that may die, hang, or be stopped."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

# one thread each: results must not depend on how many workers there are, and rounding in BLAS
# depends on the number of its threads
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the one

START = (
    "import json, sys\n"
    "sys.path[:] = json.load(open(sys.argv[1] + '/job.json'))['path']\n"
    "from plurilabel.compare._worker import main\n"
    "main(sys.argv[1])\n"
)


class Unit(NamedTuple):
    """Learners to run on one split, by their numbers in the job's folder."""

    data: int
    split: int
    seed: int
    learners: tuple[int, ...]


class Outcome(NamedTuple):
    """How one learner of a unit ended: with a cell, or with a status and a reason."""

    unit: Unit
    learner: int
    cell: dict[str, Any]


class Worker:
    """A worker process, and the conversation with it."""

    def __init__(self, folder: Path, number: int) -> None:
        self.words = folder / f"worker{number}.txt"
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}
        with open(self.words, "wb") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", START, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                env=environment,
                # a group of its own: Ctrl-C is ours to handle, and its children go with it
                start_new_session=True,
            )
        self.timed_out = False
        self.has_served = False
        self._current: int | None = None
        self._guard = threading.Lock()
        threading.Thread(target=self._bury, daemon=True).start()

    def _bury(self) -> None:
        """When the process ends, end what it has started: that may hold our pipe open."""
        self.process.wait()
        self._signal(signal.SIGTERM)

    def check_ready(self) -> None:
        """Wait until it has started; an error if it does not."""
        if self._read() is None:
            self.stop()
            raise RuntimeError(f"a worker process did not start: {self.last_words()}")

    def run(self, unit: Unit, time_limit: float | None) -> Iterator[tuple[int, Any]]:
        """Cells of a unit's learners; None for the one in which the process ended."""
        order = {**unit._asdict(), "learners": list(unit.learners)}
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        while (answer := self._read()) is not None and answer["event"] != "done":
            if answer["event"] == "start":
                self._current = number = answer["learner"]
                alarm = self._set_alarm(number, time_limit)
            else:
                with self._guard:
                    self._current = None
                if alarm is not None:
                    alarm.cancel()
                yield number, answer["cell"]
        if answer is not None:
            self.has_served = True
        elif self._current is not None:
            yield self._current, None

    def _set_alarm(self, number: int, time_limit: float | None) -> threading.Timer | None:
        if time_limit is None:
            return None
        alarm = threading.Timer(time_limit, self._too_late, (number,))
        alarm.daemon = True
        alarm.start()
        return alarm

    def _too_late(self, number: int) -> None:
        with self._guard:
            if self._current == number:
                self.timed_out = True
                self.kill()

    def _read(self) -> dict[str, Any] | None:
        """The next answer; None at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def kill(self) -> None:
        """Tell the process and all that it has started to end, without waiting for it."""
        # not SIGKILL: joblib's resource tracker ignores SIGTERM, and clears up behind the others
        self._signal(signal.SIGTERM)
        alarm = threading.Timer(2, self._kill_for_good)
        alarm.daemon = True
        alarm.start()

    def _kill_for_good(self) -> None:
        if self.process.returncode is None:
            self._signal(_SIGKILL)

    def stop(self, gently: bool = False) -> int:
        """End the process and all that it has started; return how it ended.

        Parameters
        ----------
        gently : bool
            Let it end by itself, as it does when it is told that nothing is left to do.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        if gently:
            with suppress(OSError, subprocess.TimeoutExpired):
                self.process.stdin.write(b"null\n")
                self.process.stdin.flush()
                self.process.wait(timeout=5)
        self.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()
        end = monotonic() + 2
        while self._signal(0) and monotonic() < end:  # what it has started may take a moment
            sleep(0.01)
        self._signal(_SIGKILL)
        return code

    def _signal(self, number: int) -> bool:
        """Send a signal to the process and its children; False if there is no one left."""
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

    def last_words(self) -> str:
        """The end of what it wrote on its way."""
        words, _, _ = self.words.read_text(errors="replace").partition("\nExtension modules:")
        return words.strip()[-4000:]


class Pool:
    """Up to ``n_workers`` processes that work through units, each unit in one of them."""

    def __init__(self, folder: Path, n_workers: int, time_limit: float | None) -> None:
        self.folder, self.n_workers, self.time_limit = folder, n_workers, time_limit
        self._outcomes: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()
        self._workers: set[Worker] = set()
        self._started = 0
        self._stopped = False
        self._guard = threading.Lock()

    def run(self, units: Sequence[Unit]) -> Generator[Outcome, None, None]:
        """Outcomes as they come; workers are gone when this ends, however it ends."""
        waiting: queue.SimpleQueue[Unit] = queue.SimpleQueue()
        for unit in units:
            waiting.put(unit)
        threads = [
            threading.Thread(target=self._serve, args=(waiting,), daemon=True)
            for _ in range(min(self.n_workers, len(units)))
        ]
        for thread in threads:
            thread.start()
        try:
            running = len(threads)
            while running:
                outcome = self._outcomes.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                if outcome is None:
                    running -= 1
                else:
                    yield outcome
        finally:
            with self._guard:
                self._stopped = True
                for worker in self._workers:
                    worker.kill()
            for thread in threads:
                thread.join()

    def _serve(self, waiting: queue.SimpleQueue[Unit]) -> None:
        worker = None
        try:
            while not self._stopped:
                unit = waiting.get_nowait()
                left = list(unit.learners)
                while left and not self._stopped:
                    worker = worker or self._start()
                    for number, cell in self._cells(worker, unit, left):
                        left.remove(number)
                        self._outcomes.put(Outcome(unit, number, cell))
                    if left or worker.process.poll() is not None:  # it has ended
                        self._end(worker)
                        worker = None
        except queue.Empty:
            pass
        except BaseException as error:
            self._outcomes.put(error)
        finally:
            if worker is not None:
                self._end(worker, gently=not self._stopped)
            self._outcomes.put(None)

    def _cells(
        self, worker: Worker, unit: Unit, left: list[int]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        first = left[0]
        for number, cell in worker.run(unit._replace(learners=tuple(left)), self.time_limit):
            if cell is None and self._stopped:
                return
            yield number, self._what_happened(worker) if cell is None else cell
        # it ended before it could say what it was at; if it has been idle, that means nothing
        if first in left and not worker.has_served and not self._stopped:
            yield first, self._what_happened(worker)

    def _start(self) -> Worker:
        with self._guard:
            if self._stopped:
                raise queue.Empty
            worker = Worker(self.folder, self._started)
            self._started += 1
            self._workers.add(worker)
        worker.check_ready()
        return worker

    def _end(self, worker: Worker, gently: bool = False) -> None:
        worker.stop(gently)
        with self._guard:
            self._workers.discard(worker)

    def _what_happened(self, worker: Worker) -> dict[str, Any]:
        code = worker.stop()
        if worker.timed_out:
            limit = f"{self.time_limit:g}"
            return {"status": "timeout", "error": f"stopped at the time limit of {limit} seconds"}
        if code == -_SIGKILL:
            how = "was killed, perhaps for want of memory"
        elif code < 0:
            how = f"died of {signal.Signals(-code).name}"
        else:
            how = f"ended by itself with exit code {code}"
        return {
            "status": "crashed",
            "error": f"the process {how} while it ran this cell",
            "traceback": worker.last_words() or None,
        }
