"""Progress messages and the time limit of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Literal, NamedTuple

Progress = Callable[["TrainingEvent"], object]


class TrainingEvent(NamedTuple):
    """A message of :func:`train` to its ``progress`` callback; ``str`` returns the text.

    Attributes
    ----------
    kind : {"step", "part", "end", "plan", "note"}
        A step starts, a part of it starts, a step ends, a choice about the model, or a remark.
    text : str
    seconds : float or None
        Expected duration of a step; for a part, the time since the start of the step.
    done, total : int
        Number of finished parts, and of all parts.
    """

    kind: Literal["step", "part", "end", "plan", "note"]
    text: str
    seconds: float | None = None
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return self.text


class Reporting:
    """Messages to the ``progress`` callback of a run, and its time limit."""

    progress: Progress
    time_limit: float | None
    started: float

    def tell(
        self, kind: Any, text: str, seconds: float | None = None, done: int = 0, total: int = 0
    ) -> None:
        """Send an event to the callback."""
        self.progress(TrainingEvent(kind, text, seconds, done, total))

    @contextmanager
    def step(self, text: str, *, seconds: float | None = None) -> Iterator[None]:
        """Report the start and end of a step, with its expected duration."""
        self.tell("step", text, seconds)
        try:
            yield
        finally:
            self.tell("end", text)

    def tick(self, done: int, total: int, text: str, seconds: float) -> None:
        """Report the next part of a step, and the seconds since its start."""
        self.tell("part", text, seconds, done, total)

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until a share of the time limit is used up; None without a limit."""
        if self.time_limit is None:
            return None
        return share * self.time_limit - (monotonic() - self.started)
