"""How far a training is, on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from time import monotonic
from typing import Any

from joblib import effective_n_jobs
from sklearn.model_selection import GridSearchCV, ParameterGrid

from plurilabel._core.words import duration
from plurilabel.cli._output import console, echo

BETWEEN_LINES = 2.0  # seconds
SIGN_OF_LIFE = 30.0  # seconds without a line


class Steps:
    """Tells of the steps of a training, and of how long they still take.

    Parameters
    ----------
    quiet : bool
        Whether nothing is told.
    time_limit : float or None
        Seconds for all of it.
    """

    def __init__(self, *, quiet: bool = False, time_limit: float | None = None) -> None:
        self.quiet, self.time_limit, self.started = quiet, time_limit, monotonic()
        self._bar: Any = None

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the time limit is used up; None if there is no limit."""
        if self.time_limit is None:
            return None
        return share * self.time_limit - (monotonic() - self.started)

    @contextmanager
    def step(self, words: str, *, seconds: float | None = None) -> Iterator[None]:
        """A step: what is done, and how long that may take."""
        if self.quiet:
            yield
            return
        self._words, self._said = words, monotonic()
        if seconds is not None and seconds >= 1:
            words += f"; about {duration(round(seconds))}"
        if console(err=True).is_terminal:
            with self._on_terminal(words):
                yield
            return
        echo(f"{words} ...", err=True)
        ended = threading.Event()
        alive = threading.Thread(target=self._say_alive, args=(ended, monotonic()), daemon=True)
        alive.start()
        try:
            yield
        finally:
            ended.set()
            alive.join()

    def tick(self, done: int, total: int, words: str, since: float) -> None:
        """So many of a step's parts are done after so many seconds; the next is in words."""
        if self.quiet:
            return
        if done:
            words += f"; about {duration(max(1, round(since * (total - done) / done)))} left"
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, description=f"{self._words}: {done + 1} of {total}, {words}")
        elif not done or monotonic() - self._said >= BETWEEN_LINES:
            self._said = monotonic()
            echo(f"  {done + 1} of {total}: {words}", err=True)

    @contextmanager
    def _on_terminal(self, words: str) -> Iterator[None]:
        from rich import progress

        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.TimeElapsedColumn(),
        )
        with progress.Progress(*columns, console=console(err=True), transient=True) as bar:
            self._bar = bar, bar.add_task(words, total=None)
            try:
                yield
            finally:
                self._bar = None

    def _say_alive(self, ended: threading.Event, started: float) -> None:
        while not ended.wait(SIGN_OF_LIFE):
            if monotonic() - self._said >= SIGN_OF_LIFE:
                self._said = monotonic()
                echo(f"  still at it, after {duration(monotonic() - started)}", err=True)


class Search(GridSearchCV):
    """A grid search that tells how far it is and can end early, with what it has by then.

    ``tick`` is called with the candidates that are done, the number of all, words and seconds;
    ``seconds`` is how long candidates may be begun.
    """

    tick: Callable[[int, int, str, float], object] = staticmethod(lambda *_: None)
    seconds: float | None = None

    def _run_search(self, evaluate_candidates: Callable[[list[dict[str, Any]]], object]) -> None:
        """Measure the candidates, as many at a time as keep all jobs busy."""
        grid = list(ParameterGrid(self.param_grid))
        n_splits = self.cv.get_n_splits()
        jobs = effective_n_jobs(self.n_jobs)
        at_once = 1 if jobs == 1 else ceil(2 * jobs / n_splits)
        started = monotonic()
        for done in range(0, len(grid), at_once):
            if done and self.seconds is not None and monotonic() - started > self.seconds:
                break
            words = ", ".join(
                f"{name.rpartition('__')[2]}={value!r}" for name, value in grid[done].items()
            )
            self.tick(done, len(grid), words, monotonic() - started)
            evaluate_candidates(grid[done : done + at_once])
