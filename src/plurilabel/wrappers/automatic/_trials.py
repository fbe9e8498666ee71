"""Trials of the learners, one after the other while there is time, and their report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.compat import safe_indexing, versions
from plurilabel._core.keys import key_or_none
from plurilabel._core.limits import one_blas_thread
from plurilabel._core.records import digest_of, write_atomic
from plurilabel._core.scores import score_method
from plurilabel._core.words import aligned, counted, duration, file_size
from plurilabel.io.shared import kinds_text
from plurilabel.metrics import get_measure, label_scores
from plurilabel.model_selection.shared import Split, groups_for
from plurilabel.wrappers._wrapper import fill_unseen
from plurilabel.wrappers.automatic._ensemble import Choice, HeldOut
from plurilabel.wrappers.automatic._portfolio import Candidate

Progress = Callable[[int, int, str, float], object]

LONGEST = 100.0  # seconds of a fit: without a time limit, learners that take longer are not tried
LARGEST = 2e9  # bytes: nor are those whose model may be larger
UNSURE = 3.0  # a learner may take so many times less than is guessed
MARGIN = 0.03  # of the time limit: for what is not measured
NESTED_ROWS = 200  # with more, an estimate depends little on whether it is nested
NESTED_FOLDS = (4, 5)  # with fewer, two of them are too many rows; with more, pairs are many
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
    weight: float = 0.0

    def fails(self, error: Exception) -> None:
        """Leave it out, and say why."""
        self.error, self.why_not = error, f"it failed: {said(error)}"


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
        for one in [one for one in self.tried if not one.why_not]:
            guess = self._guess(one)
            self._try(one, guess, guess, [other.seconds for other in self._finished()])
        if self.clock.limit is not None and len(self._finished()) > 1 and self._waiting():
            self._try_again()
        return self.tried

    def _try_again(self) -> None:
        """Use what is left of the time, now that it is known which learners have a weight."""
        finished = self._finished()
        weights = self.selection.choose(finished).weights.sum(axis=1)
        fits = [one.seconds for one, weight in zip(finished, weights) if weight > 0]
        for one in self._waiting():
            one.why_not, guess = "", self._guess(one)
            self._try(one, guess if one.parts else guess / UNSURE, guess, fits)
            if one.held is not None:
                fits.append(one.seconds)

    def _try(self, one: Tried, guess: float, first: float, fits: list[float]) -> None:
        """Try one if there is time, by a guess for all its folds, and another for the first.

        ``fits`` are the seconds of those that have to be fitted again on all rows.
        """
        selection = self.selection.seconds([*self._finished(), one])

        def is_in_time(rounds: int, fold: float, least: float = 0.0) -> bool:
            last = self.refit * sum(sorted([*fits, fold], reverse=True)[: self.most])
            return self.clock.allows(selection + max(rounds * fold + last, least))

        # something has to be tried, as long as there is any time
        some = self.clock.left() < 0 or any(other.seconds > 0 for other in self.tried)
        rounds = self.pool.rounds(len(self.pool.splits) - len(one.parts))
        if some and not self.pool.is_kept(one.candidate) and not is_in_time(rounds, guess, first):
            one.why_not = NO_TIME
            return
        if self.progress is not None:
            decided = sum(other.held is not None or bool(other.why_not) for other in self.tried)
            self.progress(decided, len(self.tried), one.candidate.name, self.clock.seconds())
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
            other.seconds / other.candidate.seconds
            for other in self.tried
            if other.seconds > 0 and other.candidate.seconds > 0.05
        ]
        return one.candidate.seconds * float(np.median(ratios or [1.0]))


def _too_costly(candidate: Candidate, clock: Clock) -> str:
    """The reason not to try a learner at all, or ""."""
    if candidate.memory > LARGEST:
        return f"its model may take {file_size(candidate.memory)}"
    if clock.limit is None and candidate.seconds > LONGEST:
        return f"a fit may take {duration(candidate.seconds)}"
    return ""


def report(
    tried: Sequence[Tried],
    chosen: Choice,
    measure: Any,
    *,
    rows: int,
    folds: int,
    value: float,
) -> dict[str, Any]:
    """What was tried and chosen, as JSON can hold it."""
    return {
        "measure": measure.name,
        "rows": rows,
        "folds": folds,
        "estimate": _finite(value),
        "cut": chosen.cut.words,
        "tried": [
            {"name": one.candidate.name, "value": _finite(one.value), "weight": one.weight}
            for one in tried
            if not one.why_not
        ],
        "left_out": {one.candidate.name: one.why_not for one in tried if one.why_not},
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def told(report: dict[str, Any], seconds: float) -> str:
    """A report as text; the comparison took so many seconds."""
    measure = get_measure(report["measure"])
    if not report["folds"]:
        (only,) = report["tried"]
        left_out = [f"Left out: {name}, {why}" for name, why in report["left_out"].items()]
        return "\n".join([f"Learner: {only['name']}, since {report['why']}.", *left_out])
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
        some = report.get("estimate_folds", report["folds"])
        part = "one fold" if some == 1 else f"each of {some} folds in turn"
        which = "each fold in turn" if some == report["folds"] else part
        lines.append(
            f"{what}: {measure.title} {report['estimate']:.3f} expected on new rows (selected "
            f"without {which}, and measured on that fold)."
        )
    lines.append(f"Label sets: the scores are cut {report['cut']}.")
    if kinds := report.get("columns"):
        lines.append(f"{counted(len(kinds), 'column')}: {kinds_text(kinds)}.")
        left_out = report["columns_left_out"].items()
        lines += [f"Column {name!r} left out as an identifier: {why}." for name, why in left_out]
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


def fit_one(estimator: Any, X: Any, Y: Any, groups: Any = None) -> Any:
    """A fitted copy; on one thread, and without warnings about convergence."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, Y, **groups_for(estimator, groups))


def answers(fitted: Any, X: Any, q: int, *, decides: bool) -> HeldOut:
    """The predictions of a fitted learner for these rows."""
    with one_blas_thread():
        scores = np.asarray(label_scores(fitted, X, n_labels=q), dtype=np.float64)
        sets = np.asarray(fitted.predict(X)).reshape(len(scores), q) if decides else None
    return HeldOut(scores, score_method(fitted) == "predict_proba", sets)


def _of_fold(
    candidate: Candidate, X: Any, X_test: Any, Y: Any, groups: Any
) -> tuple[HeldOut, float]:
    started = perf_counter()
    fitted = fit_one(candidate.estimator, X, Y, groups)
    found = answers(fitted, X_test, Y.shape[1], decides=candidate.decides)
    return found, perf_counter() - started


class Pool:
    """Predictions of learners for rows that they were not trained on.

    They are those of the test parts, one after the other: a row may be in several, or in none.
    Finished predictions are kept in ``folder``, if given, and found there again.

    X has the encoded rows. An ``encoder``, not fitted, learns from the training part of each split
    of the ``raw`` rows instead; None if there is nothing to learn.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        splits: Sequence[Split],
        folder: Any,
        n_jobs: int | None,
        groups: Any = None,
        *,
        encoder: Any = None,
        raw: Any = None,
    ) -> None:
        self.X, self.Y, self.splits, self.n_jobs, self.groups = X, Y, splits, n_jobs, groups
        self.encoder, self.raw = encoder, raw
        self._encoded: dict[bytes, tuple[Any, Any]] = {}  # by training rows
        self.at_once = min(int(effective_n_jobs(n_jobs)), len(splits))
        self.fit_seconds = 0.0  # of fits on all rows
        # a fit on all rows, relative to a fit and prediction of a fold
        rows = float(np.mean([len(train) for train, _ in splits]))
        self.refit = (Y.shape[0] / rows) ** 1.2
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.data = digest_of(X, Y, *(rows for split in splits for rows in split))
            if encoder is not None:
                self.data = digest_of(self.data, raw)
            if groups is not None:  # which learners may split by
                self.data = digest_of(self.data, groups)

    def rounds(self, folds: int) -> int:
        """How often as many folds as there are workers have to run."""
        return -(-folds // self.at_once)

    def ask(
        self,
        candidate: Candidate,
        parts: list[tuple[HeldOut, float]],
        goes_on: Callable[[int, float], bool],
    ) -> tuple[HeldOut, float] | None:
        """Predictions for all rows, and the seconds of one fold; None if time ran out.

        ``parts`` are those of the first folds, to which the others are added.
        ``goes_on(rounds, fold)`` says whether there is time for so many more rounds of folds that
        take so long each.
        """
        path = self._path(candidate)
        tested = sum(len(test) for _, test in self.splits)
        if (kept := _read(path, (tested, self.Y.shape[1]))) is not None:
            return kept
        while len(parts) < len(self.splits):
            if parts:
                fold = float(np.mean([seconds for _, seconds in parts]))
                if not goes_on(self.rounds(len(self.splits) - len(parts)), fold):
                    return None
            some = self.splits[len(parts) : len(parts) + self.at_once]
            parts += Parallel(n_jobs=self.n_jobs)(
                delayed(_of_fold)(candidate, *self._fold(split)) for split in some
            )
        found = self._together([part for part, _ in parts], self.splits)
        seconds = float(np.mean([seconds for _, seconds in parts]))
        if path is not None:
            _write(path, found, seconds)
        return found, seconds

    def _fold(self, split: Split) -> tuple[Any, Any, Any, Any]:
        """Training and test rows of a split, the training labels, and their groups."""
        train, test = split
        groups = None if self.groups is None else self.groups[train]
        if self.encoder is None:
            return self.X[train], self.X[test], self.Y[train], groups
        if (key := train.tobytes()) not in self._encoded:
            encoder = clone(self.encoder)
            A = encoder.fit_transform(safe_indexing(self.raw, train))
            self._encoded[key] = A, encoder.transform(safe_indexing(self.raw, test))
        return *self._encoded[key], self.Y[train], groups

    def can_nest(self) -> bool:
        """Whether pairs of folds can be left out: rows are few, and each is in one test part."""
        n, tested = self.Y.shape[0], np.concatenate([test for _, test in self.splits])
        return (
            n <= NESTED_ROWS
            and len(self.splits) in NESTED_FOLDS
            and len(tested) == len(np.unique(tested)) == n
            and all(len(train) + len(test) == n for train, test in self.splits)
        )

    def ask_nested(self, candidate: Candidate) -> HeldOut:
        """Predictions without the first fold for the rows of the others, then without the second.

        And so on. Each is by a learner that has seen neither that fold nor the row's own, so there
        is a fit for each pair of folds.
        """
        path = self._path(candidate, "-nested")
        tests = [test for _, test in self.splits]
        rows = (len(tests) - 1) * sum(map(len, tests))
        if (kept := _read(path, (rows, self.Y.shape[1]))) is not None:
            return kept[0]
        pairs = list(combinations(range(len(tests)), 2))
        splits = [
            (np.setdiff1d(self.splits[j][0], tests[k]), np.concatenate([tests[j], tests[k]]))
            for j, k in pairs
        ]
        asked = Parallel(n_jobs=self.n_jobs)(
            delayed(_of_fold)(candidate, *self._fold(split)) for split in splits
        )
        parts: dict[tuple[int, int], tuple[HeldOut, Split]] = {}  # by fold left out, and rows
        for (j, k), (train, _), (both, _) in zip(pairs, splits, asked):
            parts[k, j] = both[: len(tests[j])], (train, tests[j])
            parts[j, k] = both[len(tests[j]) :], (train, tests[k])
        folds = range(len(tests))
        found = _joined(
            [self._together(*zip(*(parts[k, j] for j in folds if j != k))) for k in folds]
        )
        if path is not None:
            _write(path, found, 0.0)
        return found

    def fit(self, candidate: Candidate) -> Any:
        """The learner, fitted on all rows."""
        started = perf_counter()
        fitted = fit_one(candidate.estimator, self.X, self.Y, self.groups)
        self.fit_seconds += perf_counter() - started
        return fitted

    def is_kept(self, candidate: Candidate) -> bool:
        """Whether the predictions are in the folder already."""
        path = self._path(candidate)
        return path is not None and path.exists()

    def _together(self, parts: Sequence[HeldOut], splits: Sequence[Split]) -> HeldOut:
        found = _joined(parts)
        fill_unseen(found.scores, self.Y, splits)
        if not np.isfinite(found.scores).all():
            raise ValueError("there are scores that are not finite")
        return found

    def _path(self, candidate: Candidate, kind: str = "") -> Path | None:
        if self.folder is None:
            return None
        key = key_or_none(self.data, candidate.estimator, candidate.decides, versions("torch"))
        return None if key is None else self.folder / f"{key}{kind}.npz"


def _joined(parts: Sequence[HeldOut]) -> HeldOut:
    """Predictions for the rows of all parts."""
    scores, is_probability = (
        np.concatenate([part.scores for part in parts]),
        parts[0].probabilities,
    )
    if any(part.sets is None for part in parts):
        return HeldOut(scores, is_probability)
    sets = np.concatenate([np.asarray(part.sets) for part in parts]).astype(np.int8)
    return HeldOut(scores, is_probability, sets)


def _read(path: Path | None, shape: tuple[int, int]) -> tuple[HeldOut, float] | None:
    """Predictions that were kept; None if there are none, or if the file is damaged."""
    if path is None or not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream) as held:
            scores, sets, seconds = held["scores"], held.get("sets"), float(held["seconds"])
            found = HeldOut(scores, bool(held["probabilities"]), sets)
    except Exception:  # whatever numpy raises: they are computed again
        return None
    fits = scores.shape == shape and np.isfinite(scores).all()
    return (found, seconds) if fits and (sets is None or sets.shape == shape) else None


def _write(path: Path, found: HeldOut, seconds: float) -> None:
    held = {name: value for name, value in vars(found).items() if value is not None}
    with write_atomic(path) as stream:
        np.savez(stream, seconds=seconds, **held)
