"""Out-of-fold scores of learners, kept in a folder if there is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
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
from plurilabel.metrics import label_scores
from plurilabel.wrappers.automatic._ensemble import HeldOut
from plurilabel.wrappers.automatic._portfolio import Candidate

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
    started = monotonic()
    train, test = split
    fitted = fit_one(candidate.estimator, X[train], Y[train])
    found = answers(fitted, X[test], Y.shape[1], decides=candidate.decides)
    return found, monotonic() - started


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
        scores = np.empty(self.Y.shape)
        scores[rows] = np.concatenate([part.scores for part in parts])
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
