"""Trials of the learners, one after the other while there is time, and their report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.compat import versions
from plurilabel._core.limits import one_blas_thread
from plurilabel._core.records import digest_of, write_atomic
from plurilabel._core.scores import score_method
from plurilabel._core.words import aligned, counted, duration, file_size
from plurilabel.metrics import get_measure, label_scores
from plurilabel.wrappers._wrapper import fill_unseen
from plurilabel.wrappers.automatic._ensemble import Choice, HeldOut
from plurilabel.wrappers.automatic._portfolio import Candidate

Progress = Callable[[int, int, str, float], object]

LONGEST = 100.0  # seconds of a fit: without a time limit, learners that take longer are not tried
LARGEST = 2e9  # bytes: nor are those whose model may be larger
REFIT = 1.3  # a fit on all rows, relative to a fit and prediction of a fold
SELECTION = 0.1  # of the time limit: to select, and for what was estimated too low
NO_TIME = "no time left"


@dataclass
class Tried:
    """A learner that was tried: its scores and the seconds of a fold, or why it was left out."""

    candidate: Candidate
    held: HeldOut | None = None
    seconds: float = 0.0
    why_not: str = ""


class Clock:
    """Time since the beginning, and what is left of a limit."""

    def __init__(self, limit: float | None) -> None:
        self.started, self.limit = monotonic(), limit

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.started

    def allows(self, seconds: float) -> bool:
        """Whether there is so much time left."""
        return self.limit is None or self.seconds() + seconds <= self.limit * (1 - SELECTION)

    def left_for_selection(self, fits: float) -> float:
        """Seconds to select in, if the final fits may take so many."""
        limit = np.inf if self.limit is None else self.limit
        return float(max(limit - self.seconds() - fits, limit * SELECTION / 2))


def try_all(
    candidates: Sequence[Candidate], pool: Pool, clock: Clock, progress: Progress | None
) -> list[Tried]:
    """Out-of-fold scores of the candidates, in their order."""
    costly = {one.name: why for one in candidates if (why := _too_costly(one, clock))}
    if len(costly) == len(candidates):
        del costly[candidates[0].name]
    found: list[Tried] = []
    for done, candidate in enumerate(candidates):
        if candidate.name in costly:
            found.append(Tried(candidate, why_not=costly[candidate.name]))
            continue
        finished = [one for one in found if one.held is not None]
        # what the final fits may take, if all that have finished are chosen
        reserved = REFIT * sum(one.seconds for one in finished)
        rounds = -(-len(pool.splits) // pool.at_once)
        needed = reserved + candidate.seconds * _pace(finished) * (rounds + REFIT)
        if finished and not pool.is_kept(candidate) and not clock.allows(needed):
            found.append(Tried(candidate, why_not=NO_TIME))
            continue
        if progress is not None:
            progress(done, len(candidates), candidate.name, clock.seconds())
        found.append(_try_one(candidate, pool, clock, reserved))
    return found


def _try_one(candidate: Candidate, pool: Pool, clock: Clock, reserved: float) -> Tried:
    try:
        answer = pool.ask(candidate, lambda seconds: clock.allows(reserved + seconds))
    except FAILURES as error:
        return Tried(candidate, why_not=f"it failed: {error}")
    return Tried(candidate, why_not=NO_TIME) if answer is None else Tried(candidate, *answer)


def _too_costly(candidate: Candidate, clock: Clock) -> str:
    """The reason not to try a learner at all, or ""."""
    if candidate.memory > LARGEST:
        return f"its model may take {file_size(candidate.memory)}"
    if clock.limit is None and candidate.seconds > LONGEST:
        return f"a fit may take {duration(candidate.seconds)}"
    return ""


def _pace(finished: Sequence[Tried]) -> float:
    """How much longer fits take here than estimated; the middle of those that took a while."""
    ratios = [
        one.seconds / one.candidate.seconds for one in finished if one.candidate.seconds > 0.05
    ]
    return float(np.median(ratios)) if ratios else 1.0


def report(
    tried: Sequence[Tried], chosen: Choice, measure: Any, *, rows: int, folds: int, value: float
) -> dict[str, Any]:
    """What was tried and chosen, as JSON can hold it."""
    sign = 1 if measure.greater_is_better else -1
    members = [one for one in tried if one.held is not None]
    return {
        "measure": measure.name,
        "rows": rows,
        "folds": folds,
        "estimate": _finite(value),
        "cut": chosen.cut.words,
        "tried": [
            {"name": one.candidate.name, "value": _finite(sign * value), "weight": float(weight)}
            for one, value, weight in zip(members, chosen.alone, chosen.weights.sum(axis=1))
        ],
        "left_out": {one.candidate.name: one.why_not for one in tried if one.held is None},
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def told(report: dict[str, Any], seconds: float) -> str:
    """A report as text; the comparison took so many seconds."""
    measure = get_measure(report["measure"])
    if not report["folds"]:
        (only,) = report["tried"]
        return f"Learner: {only['name']}, since {report['why']}."
    tried = counted(len(report["tried"]), "learner")
    lines = [
        f"Tried {tried} in {report['folds']} folds of {counted(report['rows'], 'row')}, "
        f"{duration(max(1, round(seconds)))}:",
        *_told_learners(report, measure),
    ]
    left_out = report["left_out"].items()
    if late := [name for name, why in left_out if why == NO_TIME]:
        lines.append(f"No time left for: {'; '.join(late)}")
    lines += [f"Left out: {name}, {why}" for name, why in left_out if why != NO_TIME]
    chosen = sum(one["weight"] > 0 for one in report["tried"])
    if report["estimate"] is not None:
        what = "The best" if chosen == 1 else f"The weighted mean of {chosen}"
        lines.append(
            f"{what}: {measure.title} {report['estimate']:.3f} expected on new rows (selected "
            "without each fold in turn, and measured on that fold)."
        )
    lines.append(f"Label sets: the scores are cut {report['cut']}.")
    if unknown := report.get("unknown"):
        lines.append(f"Left out of all that: {counted(unknown, 'unknown label')}.")
    return "\n".join(lines)


def _told_learners(report: dict[str, Any], measure: Any) -> list[str]:
    """A table of the learners, the largest weights first."""
    sign = -1 if measure.greater_is_better else 1

    def rank(one: dict[str, Any]) -> tuple[float, float]:
        return -one["weight"], np.inf if one["value"] is None else sign * one["value"]

    table = [["learner", measure.title, "weight"]]
    for one in sorted(report["tried"], key=rank):
        value = "" if one["value"] is None else f"{one['value']:.3f}"
        table.append([one["name"], value, f"{one['weight']:.2f}" if one["weight"] else "-"])
    return [f"  {line}".rstrip() for line in aligned(table)]


Split = tuple[NDArray[np.intp], NDArray[np.intp]]

FAILURES = (ValueError, ArithmeticError, MemoryError)
"""What a learner that cannot take the data may raise; it is then left out."""


def fit_one(estimator: Any, X: Any, Y: Any) -> Any:
    """A fitted copy; on one thread, and without warnings about convergence."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, Y)


def answers(fitted: Any, X: Any, q: int, *, decides: bool) -> HeldOut:
    """The predictions of a fitted learner for these rows."""
    with one_blas_thread():
        scores = np.asarray(label_scores(fitted, X, n_labels=q), dtype=np.float64)
        sets = np.asarray(fitted.predict(X)).reshape(len(scores), q) if decides else None
    return HeldOut(scores, score_method(fitted) == "predict_proba", sets)


def _of_fold(candidate: Candidate, X: Any, Y: Any, split: Split) -> tuple[HeldOut, float]:
    started = perf_counter()
    train, test = split
    fitted = fit_one(candidate.estimator, X[train], Y[train])
    found = answers(fitted, X[test], Y.shape[1], decides=candidate.decides)
    return found, perf_counter() - started


class Pool:
    """Predictions of learners for rows that they were not trained on.

    Every row is in the test part of one split. Finished predictions are kept in ``folder``, if
    given, and found there again.
    """

    def __init__(
        self, X: Any, Y: Any, splits: Sequence[Split], folder: Any, n_jobs: int | None
    ) -> None:
        self.X, self.Y, self.splits, self.n_jobs = X, Y, splits, n_jobs
        self.at_once = min(int(effective_n_jobs(n_jobs)), len(splits))
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.data = digest_of(X, Y, *(test for _, test in splits))

    def ask(
        self, candidate: Candidate, goes_on: Callable[[float], bool]
    ) -> tuple[HeldOut, float] | None:
        """Predictions for all rows, and the seconds of one fold; None if time ran out.

        ``goes_on(seconds)`` says whether there is time for so many more.
        """
        path = self._path(candidate)
        if path is not None and path.exists():
            with np.load(path) as held:
                sets = held["sets"] if candidate.decides else None
                found = HeldOut(held["scores"], bool(held["probabilities"]), sets)
                return found, float(held["seconds"])
        parts: list[tuple[HeldOut, float]] = []
        while len(parts) < len(self.splits):
            if parts:
                rounds = -(-(len(self.splits) - len(parts)) // self.at_once)
                if not goes_on(rounds * float(np.mean([seconds for _, seconds in parts]))):
                    return None
            some = self.splits[len(parts) : len(parts) + self.at_once]
            parts += Parallel(n_jobs=self.n_jobs)(
                delayed(_of_fold)(candidate, self.X, self.Y, split) for split in some
            )
        found = self._together([part for part, _ in parts])
        seconds = float(np.mean([seconds for _, seconds in parts]))
        if path is not None:
            _write(path, found, seconds)
        return found, seconds

    def is_kept(self, candidate: Candidate) -> bool:
        """Whether the predictions are in the folder already."""
        path = self._path(candidate)
        return path is not None and path.exists()

    def _together(self, parts: Sequence[HeldOut]) -> HeldOut:
        rows = np.concatenate([test for _, test in self.splits])
        scores, in_turn = np.empty(self.Y.shape), np.concatenate([part.scores for part in parts])
        fill_unseen(in_turn, self.Y, self.splits)
        scores[rows] = in_turn
        if not np.isfinite(scores).all():
            raise ValueError("there are scores that are not finite")
        if any(part.sets is None for part in parts):
            return HeldOut(scores, parts[0].probabilities)
        sets = np.empty(self.Y.shape, dtype=np.int8)
        sets[rows] = np.concatenate([np.asarray(part.sets) for part in parts])
        return HeldOut(scores, parts[0].probabilities, sets)

    def _path(self, candidate: Candidate) -> Path | None:
        if self.folder is None:
            return None
        text = candidate.estimator.__repr__(N_CHAR_MAX=10**6)
        return self.folder / f"{digest_of(self.data, text, versions())}.npz"


def _write(path: Path, found: HeldOut, seconds: float) -> None:
    held = {name: value for name, value in vars(found).items() if value is not None}
    with write_atomic(path) as stream:
        np.savez(stream, seconds=seconds, **held)
