"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from plurilabel._core.words import duration
from plurilabel.cli import _output as ui

if TYPE_CHECKING:
    from plurilabel.models import TrainingEvent

BETWEEN_LINES = 2.0  # seconds
SIGN_OF_LIFE = 30.0  # seconds without a line


class Steps:
    """Progress callback of a training: prints notes, steps and the remaining time.

    With ``as_json``, notes are printed on stderr. Events of the kinds ``without`` are ignored.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.without: Sequence[str] = ()
        self._bar: Any = None
        self._step = ExitStack()

    def __call__(self, event: TrainingEvent) -> None:
        if event.kind == "step":
            self._step.enter_context(self.step(event.text, seconds=event.seconds))
        elif event.kind == "end":
            self._step.close()
        elif event.kind == "part":
            self.tick(event.done, event.total, event.text, event.seconds or 0.0)
        elif event.kind not in self.without:
            self.say(ui.in_options(event.text) if event.text.startswith("Note: ") else event.text)

    def say(self, *lines: str) -> None:
        """Print lines, on stderr if stdout is for JSON."""
        with ui.heard_or_not():
            ui.say(*lines, as_json=self.as_json)

    @contextmanager
    def step(self, words: str, *, seconds: float | None = None) -> Iterator[None]:
        """Report a step, and how long it may take."""
        if self.quiet:
            yield
            return
        self._words, self._said = words, monotonic()
        if seconds is not None and seconds >= 1:
            words += f"; about {duration(round(seconds))}"
        if ui.console(err=True).is_terminal:
            with self._on_terminal(words):
                yield
            return
        ui.echo(f"{words} ...", err=True)
        ended = threading.Event()
        alive = threading.Thread(target=self._say_alive, args=(ended, monotonic()), daemon=True)
        alive.start()
        try:
            yield
        finally:
            ended.set()
            alive.join()

    def tick(self, done: int, total: int, words: str, since: float) -> None:
        """Report the next part of a step, and the seconds since its start."""
        if self.quiet:
            return
        if done:
            words += f"; about {duration(max(1, round(since * (total - done) / done)))} left"
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, description=f"{self._words}: {done + 1} of {total}, {words}")
        elif not done or monotonic() - self._said >= BETWEEN_LINES:
            self._said = monotonic()
            ui.echo(f"  {done + 1} of {total}: {words}", err=True)

    @contextmanager
    def _on_terminal(self, words: str) -> Iterator[None]:
        from rich import progress

        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.TimeElapsedColumn(),
        )
        with progress.Progress(*columns, console=ui.console(err=True), transient=True) as bar:
            self._bar = bar, bar.add_task(words, total=None)
            try:
                yield
            finally:
                self._bar = None

    def _say_alive(self, ended: threading.Event, started: float) -> None:
        while not ended.wait(SIGN_OF_LIFE):
            if monotonic() - self._said >= SIGN_OF_LIFE:
                self._said = monotonic()
                ui.echo(f"  still running after {duration(monotonic() - started)}", err=True)


class ComparisonProgress:
    """Progress callback of a comparison: a bar on a terminal, occasional lines elsewhere."""

    def __init__(self) -> None:
        self.console, self.said = ui.console(err=True), monotonic()
        self.bar: Any = None

    def __enter__(self) -> ComparisonProgress:
        if self.console.is_terminal:
            from rich import progress

            columns = (progress.BarColumn(), progress.MofNCompleteColumn())
            text = progress.TextColumn("{task.description}")
            self.bar = progress.Progress(*columns, text, console=self.console, transient=True)
            self.task = self.bar.add_task("starting", total=None)
            self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, total: int, cell: dict[str, Any], left: float | None) -> None:
        words = f"{cell['dataset']}, {cell['learner']}"
        if cell["status"] != "ok" and self.bar is None:
            words += f" failed: {cell['error']}"
        if left is not None and done < total:
            words += f"; about {duration(left)} left"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total, description=words)
            return
        if cell["status"] == "ok" and done < total and monotonic() - self.said < 5:
            return
        self.said = monotonic()
        ui.echo(f"{done} of {total}: {words}", err=True)
