"""Trials of the learners, one after the other while there is time."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from plurilabel._core.scores import score_method
from plurilabel._core.words import duration, file_size
from plurilabel.wrappers.automatic._ensemble import HeldOut
from plurilabel.wrappers.automatic._pool import Pool
from plurilabel.wrappers.automatic._portfolio import Candidate
from plurilabel.wrappers.automatic._race import folds_of_race

Progress = Callable[[int, int, str, float], object]

LONGEST = 40.0  # seconds of a fit: without a time limit, learners that take longer are not tried
LARGEST = 2e9  # bytes: nor are those whose model may be larger
UNSURE = 3.0  # a learner may take so many times less than is guessed
MARGIN = 0.03  # of the time limit: for what is not measured
NO_TIME = "no time left"
NO_LAST_FIT = "no time left for its last fit"


@dataclass
class Tried:
    """A learner that was tried: its scores and the seconds of a fold, or why it was left out."""

    candidate: Candidate
    held: HeldOut | None = None
    seconds: float = 0.0
    why_not: str = ""
    error: Exception | None = None
    parts: list[tuple[HeldOut, float]] = field(default_factory=list)  # of folds that are done
    calibrator: Any = None
    fitted: Any = None  # on all rows
    nested: HeldOut | None = None  # without two folds each
    value: float = np.nan  # of the measure, by itself
    dropped: str = ""  # why it does not go on after the first folds
    weight: float = 0.0
    costs: tuple[float, float] = (0.0, 0.0)  # bytes and seconds for a row, once fitted

    @property
    def last(self) -> float:
        """Seconds of a fit with all trees."""
        return self.seconds / self.candidate.share

    def fails(self, error: Exception) -> None:
        """Leave it out, and say why."""
        self.error, self.why_not = error, f"it failed: {said(error)}"


@dataclass(frozen=True)
class Limits:
    """What the chosen learners may need together: how many, their bytes, and their seconds."""

    models: int | None = None
    bytes: float | None = None
    latency: float | None = None

    def room(self, members: Sequence[Tried]) -> Callable[[set[int]], bool]:
        """Whether members, by number, are within the limits together, as far as is known."""

        def has_room(taken: set[int]) -> bool:
            if self.models is not None and len(taken) > self.models:
                return False
            return not self.exceeded([members[j] for j in taken])

        return has_room

    def exceeded(self, members: Sequence[Tried]) -> str:
        """How members exceed the limits together, or ""."""
        size, latency = (sum(part) for part in zip((0.0, 0.0), *(one.costs for one in members)))
        if self.bytes is not None and size > self.bytes:
            return f"{file_size(size)}, more than max_bytes"
        if self.latency is not None and latency > self.latency:
            return f"{latency:.2g} s for a row, more than max_latency"
        return ""

    def measure(self, one: Tried, X: Any) -> None:
        """Set the costs of a fitted learner, if they are limited."""
        if self.bytes is not None or self.latency is not None:
            size, method, seconds = Counter(), score_method(one.fitted), []
            pickle.dump(one.fitted, size, protocol=5)
            for _ in range(3):
                started = perf_counter()
                getattr(one.fitted, method)(X[:1])
                seconds.append(perf_counter() - started)
            one.costs = size.bytes, min(seconds)


class Counter:
    """A stream that only counts what is written."""

    bytes = 0.0

    def write(self, data: Any) -> int:
        """Count the bytes."""
        size = memoryview(data).nbytes
        self.bytes += size
        return size


def said(error: Exception) -> str:
    """Class and message of an error, in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def none_left(tried: Sequence[Tried]) -> ValueError:
    """The error if every learner failed; it says why each did."""
    why = "; ".join(f"{one.candidate.name}: {one.why_not}" for one in tried if one.why_not)
    return ValueError(f"none of the learners can take the data: {why}")


class Clock:
    """Time since the beginning, and what is left of a limit."""

    def __init__(self, limit: float | None) -> None:
        self.started, self.limit = perf_counter(), limit

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return perf_counter() - self.started

    def left(self) -> float:
        """Seconds that are left, without a margin."""
        return np.inf if self.limit is None else self.limit * (1 - MARGIN) - self.seconds()

    def allows(self, seconds: float) -> bool:
        """Whether there is so much time left."""
        return seconds <= self.left()


class Trials:
    """Out-of-fold scores of the candidates, those that cost less first.

    What a learner may take is guessed before it has run, and corrected by the times of those that
    have. First all are tried for which there is enough time, even if every learner has to be
    fitted again on all rows in the end. Then time is left, if guesses were too high, or if some
    learners have no weight: whatever fits into it by a third of the guess is begun, and ended
    after a fold that shows that it does not.
    """

    def __init__(
        self, pool: Pool, clock: Clock, selection: Any, progress: Progress | None, most: int | None
    ) -> None:
        self.pool, self.clock, self.selection = pool, clock, selection
        self.progress, self.most = progress, most
        self.refit = pool.refit
        self.tried: list[Tried] = []

    def run(self, candidates: Sequence[Candidate]) -> list[Tried]:
        """All that were tried or left out, in the order of the candidates."""
        self.tried = [Tried(one, why_not=_too_costly(one, self.clock)) for one in candidates]
        if all(one.why_not for one in self.tried):
            self.tried[0].why_not = ""
        self._race([one for one in self.tried if one.candidate.family and not one.why_not])
        alive = [one for one in self.tried if not one.why_not]
        for one in sorted(alive, key=lambda one: -np.nan_to_num(one.value, nan=np.inf)):
            guess = self._guess(one)
            self._try(one, guess, guess, [other.last for other in self._finished()])
        if self.clock.limit is not None and len(self._finished()) > 1 and self._waiting():
            self._try_again()
        return self.tried

    def _race(self, racing: Sequence[Tried]) -> None:
        """Try all in the first folds, and drop those that cannot win (:func:`dropped`).

        Of a path of values of C, each begins at the weights of the one before. With a time limit,
        a learner is begun if there is time for it and for all folds of the best of each family.
        """
        folds = folds_of_race([len(test) for _, test in self.pool.splits])
        if not folds or len(racing) < 2:
            return
        units: list[list[Tried]] = []
        for one in racing:
            same = units and one.candidate.path and units[-1][0].candidate.path
            if same and units[-1][0].candidate.family == one.candidate.family:
                units[-1].append(one)
            else:
                units.append([one])
        for batch in gen_batches(len(units), self.pool.workers):
            some = [unit for unit in units[batch] if self._begins(unit, folds)]
            asked = self.pool.ask_first([[one.candidate for one in unit] for unit in some], folds)
            for one, answer in zip(chain(*some), asked):
                if isinstance(answer, Exception):
                    one.fails(answer)
                else:
                    one.parts = answer
                    one.seconds = float(np.mean([seconds for _, seconds in answer]))
        begun = [one for one in racing if one.parts]
        if len(begun) > 1:
            self.selection.drop(begun)

    def _begins(self, unit: Sequence[Tried], folds: int) -> bool:
        """Whether there is time for the first folds of these; progress is told."""
        leaders: dict[str, float] = {}  # the seconds of a fold, by family
        for one in self.tried:
            if one.parts:
                family = one.candidate.family
                leaders[family] = max(one.seconds, leaders.get(family, 0.0))
        new, rest = sum(map(self._guess, unit)), self.pool.rounds(len(self.pool.splits) - folds)
        wanted = folds * new + (rest + self.refit) * sum(leaders.values())
        if leaders and not self.clock.allows(wanted + self.selection.seconds(unit)):
            for one in unit:
                one.why_not = NO_TIME
            return False
        for one in unit:
            self._tell(one)
        return True

    def _tell(self, one: Tried) -> None:
        if self.progress is not None:
            decided = sum(
                other.held is not None or bool(other.why_not or other.parts)
                for other in self.tried
                if other is not one
            )
            self.progress(decided, len(self.tried), one.candidate.name, self.clock.seconds())

    def _try_again(self) -> None:
        """Use what is left of the time, now that it is known which learners have a weight."""
        finished = self._finished()
        weights = self.selection.choose(finished).weights.sum(axis=1)
        fits = [one.last for one, weight in zip(finished, weights) if weight > 0]
        for one in self._waiting():
            one.why_not, guess = "", self._guess(one)
            self._try(one, guess if one.parts else guess / UNSURE, guess, fits)
            if one.held is not None:
                fits.append(one.last)

    def _try(self, one: Tried, guess: float, first: float, fits: list[float]) -> None:
        """Try one if there is time, by a guess for all its folds, and another for the first.

        ``fits`` are the seconds of those that have to be fitted again on all rows.
        """
        selection = self.selection.seconds([*self._finished(), one])

        def is_in_time(rounds: int, fold: float, least: float = 0.0) -> bool:
            own = fold / one.candidate.share
            last = self.refit * sum(sorted([*fits, own], reverse=True)[: self.most])
            return self.clock.allows(selection + max(rounds * fold + last, least))

        # something has to be tried, as long as there is any time
        some = self.clock.left() < 0 or any(other.seconds > 0 for other in self.tried)
        rounds = self.pool.rounds(len(self.pool.splits) - len(one.parts))
        if some and not self.pool.is_kept(one.candidate) and not is_in_time(rounds, guess, first):
            one.why_not = NO_TIME
            return
        self._tell(one)
        try:
            answer = self.pool.ask(one.candidate, one.parts, is_in_time)
            one.seconds = float(np.mean([seconds for _, seconds in one.parts] or [0.0]))
            if answer is None:
                one.why_not = NO_TIME
            else:
                one.held, one.seconds = answer
                one.parts.clear()
                self.selection.calibrate(one)
        except Exception as error:  # whatever a learner raises
            one.held = None
            one.fails(error)

    def _finished(self) -> list[Tried]:
        return [one for one in self.tried if one.held is not None]

    def _waiting(self) -> list[Tried]:
        return [one for one in self.tried if one.why_not == NO_TIME]

    def _guess(self, one: Tried) -> float:
        """Seconds of a fold, corrected by how much longer others took than estimated."""
        if one.parts:
            return one.seconds
        ratios = [
            other.last / other.candidate.seconds
            for other in self.tried
            if other.seconds > 0 and other.candidate.seconds > 0.05
        ]
        guess = one.candidate.seconds * float(np.median(ratios or [1.0]))
        return guess * one.candidate.share


def _too_costly(candidate: Candidate, clock: Clock) -> str:
    """The reason not to try a learner at all, or ""."""
    if candidate.memory > LARGEST:
        return f"its model may take {file_size(candidate.memory)}"
    if clock.limit is None and candidate.seconds > LONGEST:
        return f"a fit may take {duration(candidate.seconds)}"
    return ""
