"""The choice among learners that were tried, in the time that is left, and their last fits."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from plurilabel.metrics import Measure
from plurilabel.wrappers.automatic._ensemble import (
    FEWEST_ENTRIES,
    LOOKS,
    MOST_ENTRIES,
    MOST_FORMS,
    Choice,
    Cost,
    Cut,
    calibrated,
    choose,
    cuts_for,
    entries_for,
    estimate,
)
from plurilabel.wrappers.automatic._pool import Pool, joined
from plurilabel.wrappers.automatic._race import dropped
from plurilabel.wrappers.automatic._trials import (
    MARGIN,
    NO_LAST_FIT,
    Clock,
    Limits,
    Tried,
    none_left,
)

NESTED_SECONDS = 1.0  # guessed, for a fit of every learner: only then the estimate is nested
SELECTION = 0.1  # of the time limit: for choice and estimate, if they may take more than they must


class Selection:
    """Chooses among learners that were tried, for a measure of known labels Y.

    What that takes is measured with the first learner. With a time limit, as many rows are looked
    at, and as many folds estimated, as there is time for.
    """

    def __init__(
        self, Y: Any, rows: NDArray[np.intp], measure: Measure, folds: NDArray[np.intp],
        clock: Clock, cut: Cut | None, limits: Limits, random_state: int,
    ) -> None:  # fmt: skip
        self.Y, self.rows = Y[rows], rows  # of the predictions
        self.measure, self.folds, self.clock, self.cut = measure, folds, clock, cut
        self.limits, self.seed = limits, random_state
        self.n_folds = len(np.unique(folds))
        self.costs: tuple[Cost, Cost] | None = None  # with many scores, and with few
        self.calibration: dict[int, float] = {}  # seconds, by learner

    def calibrate(self, one: Tried) -> None:
        """Bring the scores of a learner to a scale, which the choice needs."""
        started, held = perf_counter(), one.held
        assert held is not None
        one.calibrator = calibrated(held.scores, self.Y)
        self.calibration[id(one)] = perf_counter() - started
        if self.costs is None and self.clock.limit is not None:
            scores = held.scores if held.probabilities else expit(held.scores)
            given = scores, self.Y, self.measure, self.folds, self.cut
            self.costs = Cost.of(*given, MOST_ENTRIES), Cost.of(*given, FEWEST_ENTRIES)

    def drop(self, begun: Sequence[Tried]) -> None:
        """Leave out what cannot win by the predictions for the first folds."""
        held = [joined([part for part, _ in one.parts]) for one in begun]
        families = [one.candidate.family for one in begun]
        n = len(held[0].scores)
        Y, cut = self.Y[:n], self.cut or cuts_for(self.measure, labelled=False)[0]
        why, values = dropped(held, families, Y, self.measure, cut)
        for one, reason, value in zip(begun, why, values):
            one.value = value
            if reason:
                one.why_not = one.dropped = reason
                one.parts = []

    def seconds(self, members: Sequence[Tried]) -> float:
        """Seconds to be reserved: for all rows and folds, or some if that takes too long."""
        if self.clock.limit is None:
            return 0.0
        if self.costs is None:
            return SELECTION * self.clock.limit
        once, (many, few) = self._once(members), self._looks(len(members))
        wanted = many + self.n_folds * (once + many)
        return min(wanted, max(few + once + few, SELECTION * self.clock.limit))

    def choose(self, members: Sequence[Tried], reserved: float = 0.0) -> Choice:
        """Weights and cut, with so many seconds reserved for what comes after."""
        return choose(
            [one.held for one in members], self.Y, self.measure, self.folds,  # type: ignore[misc]
            calibrators=[one.calibrator for one in members],
            **self._options(members, self.clock.left() - reserved),
        )  # fmt: skip

    def estimate(self, members: Sequence[Tried]) -> tuple[float, int]:
        """The measure to be expected, and by how many folds; NaN by none if there is no time."""
        once = self._once(members)
        if self.costs is not None and not self.clock.allows(once + self._looks(len(members))[1]):
            return np.nan, 0
        done: list[float] = []

        def goes_on(fold: float) -> bool:
            done.append(fold)
            return self.clock.allows(fold)

        left = self.clock.left() / self.n_folds - once
        held: list[Any] = [one.held for one in members]
        options = self._options(members, left)
        given = held, self.Y, self.measure, self.folds, self.rows
        nested = [one.nested for one in members if one.nested is not None] or None
        value, alone = estimate(*given, nested=nested, goes_on=goes_on, **options)
        for one, its in zip(members, alone):
            one.value = its
        return value, len(done)

    def _once(self, members: Sequence[Tried]) -> float:
        """Seconds to calibrate and to measure each learner once."""
        known = self.calibration
        other = float(np.mean(list(known.values()))) if known else 0.0
        look = 0.0 if self.costs is None else self.costs[0].look
        return sum(known.get(id(one), other) + look for one in members)

    def _looks(self, n_members: int) -> tuple[float, float]:
        """Seconds of one choice: by many scores, and by few with one step."""
        assert self.costs is not None
        many, few = self.costs
        forms = 2 * n_members  # roughly
        whole = LOOKS * min(forms, MOST_FORMS) * many.look + many.cuts
        return whole, min(whole, 2 * forms * few.look + few.cuts)

    def _options(self, members: Sequence[Tried], seconds: float) -> dict[str, Any]:
        room = self.limits.room(members)
        options = {"room": room, "random_state": self.seed, "cut": self.cut}
        if self.costs is None:
            return options
        entries, (_, few) = entries_for(seconds, *self._looks(len(members))), self.costs
        until = perf_counter() + seconds - few.cuts
        return {**options, "entries": entries, "until": until}


def nest(selection: Selection, members: Sequence[Tried], pool: Pool, clock: Clock) -> bool:
    """Ask all learners without two folds each, for the estimate, where that takes next to nothing.

    Weights and cut that are measured on a fold are then selected by learners that have not seen
    it. Without a time limit that does not depend on the speed of the machine.
    """
    if not pool.can_nest() or sum(one.candidate.seconds for one in members) > NESTED_SECONDS:
        return False
    folds = len(pool.splits)
    fits = pool.rounds(folds * (folds - 1) // 2) * sum(one.seconds for one in members)
    if not clock.allows(fits + selection.seconds(members)):
        return False
    try:
        found = [pool.ask_nested(one.candidate) for one in members]
    except Exception:  # whatever a learner raises, such as that rows are too few for it
        return False
    for one, nested in zip(members, found):
        one.nested = nested
    return True


def choose_and_fit(
    selection: Selection, tried: Sequence[Tried], pool: Pool, clock: Clock
) -> tuple[Choice, list[Tried]]:
    """The choice, and the learners with a weight, fitted on all rows.

    One that fails, or for which there is no time, is left out, and the choice is made again. So
    it is where those that were chosen turn out to be too large or too slow together.
    """
    limits = selection.limits
    finished = [one for one in tried if one.held is not None]
    while True:
        some_fitted = any(one.fitted is not None for one in finished)
        alive = [
            one for one in finished
            if not one.why_not
            and (one.fitted is not None or not some_fitted
                 or _has_time(one, pool, clock))
        ]  # fmt: skip
        if not alive:
            raise none_left(tried) from next((one.error for one in tried if one.error), None)
        fits = pool.refit * sum(one.last for one in alive if one.fitted is None)
        chosen = selection.choose(alive, fits)
        for one in finished:
            one.weight = 0.0
        for one, weights in zip(alive, chosen.weights):
            one.weight = float(weights.sum())
        used = [one for one in alive if one.weight > 0]
        for one in sorted(used, key=lambda one: -one.weight):
            is_late = any(other.fitted is not None for other in used)
            _fit_last(one, pool, clock, limits, is_late=is_late)
        for one in used:
            if not one.why_not and (why := limits.exceeded([one])):
                one.why_not = why
        if not any(one.why_not for one in used) and not limits.exceeded(used):
            return chosen.of(np.flatnonzero([one.weight > 0 for one in alive])), used


def _has_time(one: Tried, pool: Pool, clock: Clock) -> bool:
    """Whether there is time for the last fit; there always is if it takes next to none."""
    seconds = pool.refit * one.last
    return clock.limit is None or seconds < MARGIN * clock.limit or clock.allows(seconds)


def _fit_last(one: Tried, pool: Pool, clock: Clock, limits: Limits, *, is_late: bool) -> None:
    """Fit a learner on all rows; the first whatever the time."""
    if one.fitted is not None:
        return
    if is_late and not _has_time(one, pool, clock):
        one.why_not = NO_LAST_FIT
        return
    try:
        one.fitted = pool.fit(one.candidate)
        limits.measure(one, pool.X)
    except Exception as error:  # whatever a learner raises
        one.fails(error)
