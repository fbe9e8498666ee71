"""Progress messages of a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

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
