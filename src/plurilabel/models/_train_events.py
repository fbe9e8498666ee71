"""What a training tells of itself, and how much time it has left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Literal, NamedTuple

Progress = Callable[["TrainingEvent"], object]


class TrainingEvent(NamedTuple):
    """A message of :func:`train` to its ``progress`` callback; ``str`` gives its text.

    Attributes
    ----------
    kind : {"step", "part", "end", "plan", "note"}
        A step begins, a part of it begins, a step ends; how the model will be learned; a remark
        about the data or the result.
    text : str
    seconds : float or None
        Expected duration of a step; for a part, the time since the step began.
    done, total : int
        For a part: how many are finished, and how many there are.
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
        """A step, with its expected duration."""
        self.tell("step", text, seconds)
        try:
            yield
        finally:
            self.tell("end", text)

    def tick(self, done: int, total: int, text: str, seconds: float) -> None:
        """The next part of a step begins, so many seconds after the first."""
        self.tell("part", text, seconds, done, total)

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the time limit is used up; None if there is no limit."""
        if self.time_limit is None:
            return None
        return share * self.time_limit - (monotonic() - self.started)
