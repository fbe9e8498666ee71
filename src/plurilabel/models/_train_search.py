"""Parameter search during a training, within its time limit."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, TimeSeriesSplit, check_cv

from plurilabel import metrics
from plurilabel._core.compat import safe_indexing
from plurilabel._core.words import counted
from plurilabel.learners import learner_text
from plurilabel.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedShuffleSplit,
)
from plurilabel.model_selection.shared import groups_for

if TYPE_CHECKING:
    from plurilabel.models._train import Training

QUICK_ROWS = 1000  # rows on which candidates are compared with quick=True


def search_best(run: Training) -> float:
    """Fit the best candidate on the training rows; return the seconds of its fit."""
    search = _Search(**run.estimator.get_params(deep=False))
    X, Y, groups, splitter = run.X, run.Y, run.groups, copy(check_cv(search.cv))
    if run.data.ordered:
        splitter = TimeSeriesSplit(splitter.get_n_splits())
    elif groups is not None and not hasattr(splitter, "set_split_request"):
        splitter = IterativeStratifiedGroupKFold(
            splitter.get_n_splits(), shuffle=True, random_state=run.random_state
        )
    search.set_params(cv=splitter)
    if run.quick:
        splitter.n_splits = min(splitter.n_splits, 3)
        if Y.shape[0] > QUICK_ROWS:
            cv = IterativeStratifiedShuffleSplit(
                1, train_size=QUICK_ROWS, random_state=run.random_state
            )
            rows = np.sort(next(cv.split(np.empty(Y.shape[0]), Y))[0])
            X, Y = safe_indexing(X, rows), Y[rows]
            groups = None if groups is None else groups[rows]
    folds, n = splitter.get_n_splits(), len(ParameterGrid(search.param_grid))
    # the best is refitted on the training rows, and then on all: about three times a fold
    ahead = 3 * run.Y.shape[0] / (folds * Y.shape[0])
    search.tick, search.seconds, search.ahead = run.tick, run.left(), ahead
    with run.step(f"Comparing {counted(n, 'candidate')} in {folds} folds of {Y.shape[0]:,} rows"):
        fitted(search, X, Y, groups)
    candidates = _candidates(search, run.prefix)
    if len(candidates) < n:
        run.tell("note", f"Time was up after {len(candidates)} of {n} candidates")
    run.notes |= {
        "learner": learner_text(search.best_estimator_),
        "best": candidates[0]["parameters"],
        "candidates": candidates,
        "search": {"folds": folds, "rows": Y.shape[0]},
    }
    run.estimator = search.best_estimator_
    if Y.shape[0] < run.Y.shape[0]:
        with run.step(f"Fitting the best on {counted(run.Y.shape[0], 'row')}"):
            run.estimator = fitted(clone(run.estimator), run.X, run.Y, run.groups)
    return float(search.refit_time_)


def _candidates(search: GridSearchCV, prefix: str) -> list[dict[str, Any]]:
    """The candidates of a search, best first."""
    name, results = getattr(search.scoring, "name", None), search.cv_results_
    sign = 1 if name is None or metrics.get_measure(name).greater_is_better else -1
    rows = [
        {
            "parameters": _plain(parameters, prefix),
            "mean": sign * float(results["mean_test_score"][i]),
            "deviation": float(results["std_test_score"][i]),
            "fit_seconds": float(results["mean_fit_time"][i]),
        }
        for i, parameters in enumerate(results["params"])
    ]
    return [rows[i] for i in np.argsort(results["rank_test_score"], kind="stable")]


def _plain(parameters: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Searched parameters by their names as the user wrote them, with values for JSON."""
    last = [name.rpartition("__")[2] for name in parameters]
    return {
        short if last.count(short) == 1 else name.removeprefix(prefix): (
            value if isinstance(value, str | int | float | None) else learner_text(value)
        )
        for short, (name, value) in zip(last, parameters.items())
    }


class _Search(GridSearchCV):
    """A grid search that reports its progress and can end early.

    ``tick`` is called with the number of candidates done, the number of all, a text and seconds;
    a candidate is started if it and ``ahead`` times as much afterwards fit into ``seconds``.
    """

    tick: Callable[[int, int, str, float], object] = staticmethod(lambda *_: None)
    seconds: float | None = None
    ahead: float = 0.0

    def _run_search(self, evaluate_candidates: Callable[[list[dict[str, Any]]], object]) -> None:
        """Measure the candidates, as many at a time as keep all jobs busy."""
        grid = list(ParameterGrid(self.param_grid))
        jobs = effective_n_jobs(self.n_jobs)
        at_once = 1 if jobs == 1 else ceil(2 * jobs / self.cv.get_n_splits())
        started = monotonic()
        for done in range(0, len(grid), at_once):
            gone = monotonic() - started
            expected = gone + (1 + self.ahead) * gone * at_once / max(done, 1)
            if done and self.seconds is not None and expected > self.seconds:
                break
            names = [(name.rpartition("__")[2], value) for name, value in grid[done].items()]
            text = ", ".join(f"{name}={value!r}" for name, value in names)
            self.tick(done, len(grid), text, monotonic() - started)
            evaluate_candidates(grid[done : done + at_once])


def fitted(estimator: Any, X: Any, Y: Any, groups: Any = None) -> Any:
    """Fit an estimator; a TypeError is reported as a problem of its parameters."""
    try:
        return estimator.fit(X, Y, **groups_for(estimator, groups))
    except TypeError as error:  # usually a parameter of the learner
        raise ValueError(f"the learner failed: {error}") from error
