"""Predictions of learners for rows that they were not trained on, kept in a folder if asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from numbers import Integral
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from plurilabel._core.blocks import stack_rows
from plurilabel._core.compat import safe_indexing, versions
from plurilabel._core.keys import key_or_none
from plurilabel._core.limits import one_blas_thread
from plurilabel._core.records import digest_of, write_atomic
from plurilabel._core.scores import score_method
from plurilabel.learners.neural import BPMLL
from plurilabel.metrics import label_scores
from plurilabel.model_selection.shared import Split, groups_for, splits_by
from plurilabel.wrappers._wrapper import fill_unseen
from plurilabel.wrappers.automatic._ensemble import HeldOut
from plurilabel.wrappers.automatic._large import top_scores
from plurilabel.wrappers.automatic._portfolio import Candidate
from plurilabel.wrappers.automatic._words import Encoded

NESTED_ROWS = 200  # with more, an estimate depends little on whether it is nested
NESTED_FOLDS = (4, 5)  # with fewer, two of them are too many rows; with more, pairs are many
MANY = 1000  # instances: from here on, 3 folds do


def splits_for(cv: Any, X: Any, Y: Any, some: Any, groups: Any, seed: int) -> list[Split]:
    """Splits of ``some`` of the rows, those with a known label, by their numbers among these.

    Folds are random. In stratified ones the labels of a test part would tell those of its training
    part, and where features say little, the estimate would be too good.
    """
    if cv is None or isinstance(cv, Integral):
        groups = None if groups is None else groups[some]
        rest, folds = np.empty((len(some), 1)), cv or (5 if len(some) < MANY else 3)
        return splits_by(folds, rest, rest, groups, stratify=False, random_state=seed)
    number = np.full(Y.shape[0], -1)
    number[some] = np.arange(len(some))
    found = [
        (train[train >= 0], test[test >= 0])
        for train, test in (
            (number[train], number[test]) for train, test in splits_by(cv, X, Y, groups)
        )
    ]
    return [split for split in found if all(map(len, split))]


@contextmanager
def _one_thread(learner: Any) -> Iterator[None]:
    """One thread for BLAS, and for torch where a network is trained.

    On small batches, threads of torch that wait for each other on busy cores took 80 times the
    processor time.
    """
    with one_blas_thread():
        if not isinstance(learner, BPMLL):
            yield
            return
        import torch

        usual = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(usual)


def fit_one(estimator: Any, X: Any, Y: Any, groups: Any = None) -> Any:
    """A fitted copy; on one thread, and without warnings about convergence."""
    with warnings.catch_warnings(), _one_thread(estimator):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, Y, **groups_for(estimator, groups))


def answers(fitted: Any, X: Any, q: int, *, decides: bool, top: int | None = None) -> HeldOut:
    """The predictions of a fitted learner for these rows; sparse scores of the ``top`` labels."""
    is_probability = score_method(fitted) == "predict_proba"
    with one_blas_thread():
        if top is not None:
            return HeldOut(top_scores(fitted, X, q, top), is_probability)
        scores = np.asarray(label_scores(fitted, X, n_labels=q), dtype=np.float64)
        sets = np.asarray(fitted.predict(X)).reshape(len(scores), q) if decides else None
    return HeldOut(scores, is_probability, sets)


def _of_fold(
    candidate: Candidate, X: Any, X_test: Any, Y: Any, groups: Any, top: int | None = None
) -> tuple[HeldOut, float]:
    started = perf_counter()
    fitted = fit_one(candidate.in_folds, X, Y, groups)
    found = answers(fitted, X_test, Y.shape[1], decides=candidate.decides, top=top)
    return found, perf_counter() - started


def _of_first_folds(
    unit: Sequence[Candidate], folds: Sequence[tuple[Any, Any, Any, Any]]
) -> list[list[tuple[HeldOut, float]] | Exception]:
    """Predictions of each for the test rows of these folds, or what it raised.

    Several are a path: each begins at the weights of the one before.
    """
    found: list[Any] = [[] for _ in unit]
    for fold in folds:
        learner, started = None, perf_counter()
        for i, one in enumerate(unit):
            if isinstance(found[i], Exception):
                continue
            try:
                if not one.path:
                    found[i].append(_of_fold(one, *fold))
                    continue
                X, X_test, Y, _ = fold
                learner = clone(one.estimator) if learner is None else learner
                learner.set_params(**{**one.estimator.get_params(), "warm_start": True})
                with one_blas_thread():
                    learner.fit(X, Y)
                held = answers(learner, X_test, Y.shape[1], decides=False)
                found[i].append((held, perf_counter() - started))
            except Exception as error:  # whatever a learner raises
                found[i] = error
    return found


class Pool:
    """Predictions of learners for rows that they were not trained on.

    They are those of the test parts, one after the other: a row may be in several, or in none.
    Finished predictions are kept in ``folder``, if given, and found there again.

    X has the encoded rows. An ``encoder``, not fitted, learns from the training part of each split
    of the ``raw`` rows instead; None if there is nothing to learn. ``encoded`` are rows of splits
    that it has encoded already. With ``top``, scores are sparse, those of so many labels.
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
        encoded: Encoded | None = None,
        top: int | None = None,
    ) -> None:
        self.X, self.Y, self.splits, self.n_jobs, self.groups = X, Y, splits, n_jobs, groups
        self.encoder, self.raw, self.top = encoder, raw, top
        self._encoded: Encoded = encoded or {}
        self.workers = int(effective_n_jobs(n_jobs))
        self.at_once = min(self.workers, len(splits))
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
                delayed(_of_fold)(candidate, *self._fold(split), self.top) for split in some
            )
        found = self._together([part for part, _ in parts], self.splits)
        seconds = float(np.mean([seconds for _, seconds in parts]))
        if path is not None:
            _write(path, found, seconds)
        return found, seconds

    def ask_first(
        self, units: Sequence[Sequence[Candidate]], folds: int
    ) -> list[list[tuple[HeldOut, float]] | Exception]:
        """Predictions of all candidates for the first folds, or what each raised."""
        splits = self.splits[:folds]
        data = [self._fold(split) for split in splits]
        shape = sum(len(test) for _, test in splits), self.Y.shape[1]
        paths = [[self._path(one, f"-first{folds}") for one in unit] for unit in units]
        kept = [[_read(path, shape) for path in some] for some in paths]
        asked = Parallel(n_jobs=self.n_jobs)(
            delayed(_of_first_folds)([] if all(some) else unit, data)
            for unit, some in zip(units, kept)
        )
        found: list[Any] = []
        for some, files, new in zip(kept, paths, asked):
            if not new:
                found += [self._parts(*one, splits) for one in some if one is not None]
                continue
            found += new
            for path, parts in zip(files, new):
                if path is not None and not isinstance(parts, Exception):
                    seconds = float(np.mean([seconds for _, seconds in parts]))
                    _write(path, joined([part for part, _ in parts]), seconds)
        return found

    def _parts(
        self, held: HeldOut, seconds: float, splits: Sequence[Split]
    ) -> list[tuple[HeldOut, float]]:
        """Kept predictions, fold by fold."""
        ends = np.cumsum([len(test) for _, test in splits])
        rows = [slice(end - len(test), end) for end, (_, test) in zip(ends, splits)]
        return [(held[some], seconds) for some in rows]

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
        found = joined(
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
        found = joined(parts)
        if self.top is None:
            fill_unseen(found.scores, self.Y, splits)
        values = found.scores if self.top is None else found.scores.data
        if not np.isfinite(values).all():
            raise ValueError("there are scores that are not finite")
        return found

    def _path(self, candidate: Candidate, kind: str = "") -> Path | None:
        if self.folder is None:
            return None
        key = key_or_none(self.data, candidate.in_folds, candidate.decides, versions("torch"))
        return None if key is None else self.folder / f"{key}{kind}.npz"


def joined(parts: Sequence[HeldOut]) -> HeldOut:
    """Predictions for the rows of all parts."""
    scores, is_probability = stack_rows([part.scores for part in parts]), parts[0].probabilities
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
