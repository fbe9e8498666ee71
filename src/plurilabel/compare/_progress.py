"""How far a comparison is, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

from plurilabel.compare._cell_files import Cell
from plurilabel.compare._plan import Place

Progress: TypeAlias = Callable[[int, int, Cell, float | None], Any]
"""Called with the number of finished cells, their total, the last one, and seconds left."""


class Estimate:
    """Tells the caller how far it is, and how long the rest may take."""

    def __init__(
        self,
        places: list[Place],
        kept: dict[int, Cell],
        tell: Progress | None,
        n_jobs: int,
    ) -> None:
        self.tell, self.n_jobs, self.total, self.done = tell, n_jobs, len(places), len(kept)
        self.start, self.ran, self.ran_seconds = 0.0, 0, 0.0
        self.left: dict[tuple[str, str], int] = {}
        self.seconds: dict[tuple[str, str], list[float]] = {}
        for place in places:
            key = (place.dataset, place.learner)
            if id(place) in kept:
                self._note(key, kept[id(place)])
            else:
                self.left[key] = self.left.get(key, 0) + 1

    def __call__(self, place: Place, cell: Cell) -> None:
        key = (place.dataset, place.learner)
        self.done += 1
        self.left[key] -= 1
        self.ran += 1
        self.ran_seconds += self._note(key, cell)
        if self.ran == 1:  # that the first worker had to start is not the cell's fault
            self.start = perf_counter() - self.ran_seconds
        if self.tell is not None:
            self.tell(self.done, self.total, cell, self._estimate())

    def _note(self, key: tuple[str, str], cell: Cell) -> float:
        if cell["status"] != "ok":
            return 0.0
        seconds = cell["fit_seconds"] + cell["predict_seconds"]
        self.seconds.setdefault(key, []).append(seconds)
        return seconds

    def _estimate(self) -> float | None:
        """Seconds left: cells cost what those of their kind cost, or else the usual.

        What passed beside the learners' own time (starts of workers, measures, time limits) is
        spread over the cells.
        """
        means = {key: sum(known) / len(known) for key, known in self.seconds.items()}
        if not means:
            return None
        usual = sum(means.values()) / len(means)
        passed = (perf_counter() - self.start) * self.n_jobs
        beside = max(0.0, passed - self.ran_seconds) / self.ran
        work = sum(n * (means.get(key, usual) + beside) for key, n in self.left.items())
        return work / self.n_jobs
