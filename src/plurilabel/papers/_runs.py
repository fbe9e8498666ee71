"""Learn and measure: every learner that a table or a figure asks for, once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold

from plurilabel import datasets, metrics
from plurilabel.compare import make_learner
from plurilabel.compare._shared_index import SearchCache, SharedIndex
from plurilabel.datasets import Dataset
from plurilabel.papers._paper import Split

Progress = Callable[[int, int, str], None]
"""Called with the number of tasks done, their number, and what the last one was."""

Measures = dict[str, float]


@dataclass(frozen=True)
class Run:
    """A learner, as text, on a dataset's split."""

    dataset: str
    split: Split
    learner: str
    needs: str | None = None


@dataclass
class Outcome:
    """Measures of each fold (one, for a hold-out); or why there are none."""

    folds: list[Measures] = field(default_factory=list)
    skipped: str = ""
    failed: str = ""

    def mean(self, measure: str) -> float:
        """Mean over the folds."""
        return float(np.mean([fold[measure] for fold in self.folds]))

    def deviation(self, measure: str) -> float:
        """Standard deviation over the folds; NaN for a hold-out."""
        values = [fold[measure] for fold in self.folds]
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


@dataclass(frozen=True)
class _Task:
    """One fold; the learners that search neighbours go together, to search once."""

    runs: tuple[Run, ...]
    fold: int

    def __str__(self) -> str:
        first, *more = self.runs
        title = f"{first.learner} and {len(more)} more" if more else first.learner
        fold = "" if first.split == "holdout" else f", fold {self.fold + 1} of {first.split}"
        return f"{first.dataset}{fold}: {title}"


def execute(
    runs: Iterable[Run], *, n_jobs: int | None = None, progress: Progress | None = None
) -> dict[Run, Outcome]:
    """Run all, in parallel; a learner that fails leaves its error in its outcome."""
    outcomes: dict[Run, Outcome] = {}
    wanted = []
    for run in dict.fromkeys(runs):
        outcomes[run] = Outcome()
        if run.needs and importlib.util.find_spec(run.needs) is None:
            outcomes[run].skipped = f"needs plurilabel[{run.needs}]"
        else:
            wanted.append(run)
    for name in dict.fromkeys(run.dataset for run in wanted):
        load_data(name)  # a missing file stops here, with one error, before anything is computed
    tasks = list(_tasks(wanted))
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    done = parallel(delayed(_measure)(task) for task in tasks)
    answers: dict[tuple[Run, int], Measures] = {}
    for number, (task, found) in enumerate(done, 1):
        for run, answer in zip(task.runs, found):
            if isinstance(answer, str):
                outcomes[run].failed = answer
            else:
                answers[run, task.fold] = answer
        if progress:
            progress(number, len(tasks), str(task))
    for (run, _), answer in sorted(answers.items(), key=lambda item: item[0][1]):
        outcomes[run].folds.append(answer)
    return outcomes


def _tasks(runs: list[Run]) -> Iterator[_Task]:
    """Learners that search neighbours last: the others take longer, and start first."""
    groups: dict[tuple[str, Split], list[Run]] = {}
    for run in runs:
        if "index" in make_learner(run.learner).get_params():
            groups.setdefault((run.dataset, run.split), []).append(run)
            continue
        for fold in range(_n_folds(run.split)):
            yield _Task((run,), fold)
    for (_, split), group in groups.items():
        for fold in range(_n_folds(split)):
            yield _Task(tuple(group), fold)


def _measure(task: _Task) -> tuple[_Task, list[Measures | str]]:
    data = load_data(task.runs[0].dataset)
    X_train, X_test, Y_train, Y_test = _parts(data, task.runs[0].split, task.fold)
    answers: list[Measures | str] = []
    learners = [make_learner(run.learner) for run in task.runs]
    _share_search(learners)
    for learner in learners:
        try:
            learner.fit(X_train, Y_train)
            scores, labels = metrics.label_scores(learner, X_test), learner.predict(X_test)
            answers.append(dict(metrics.evaluate(Y_test, scores, labels)))
        except Exception as error:
            # one learner's failure is a cell of the table, not the end of the run
            answers.append(f"{type(error).__name__}: {error}")
    return task, answers


def _share_search(learners: list[Any]) -> None:
    """One search, for the largest k, serves all; the answers are the same to the bit."""
    lazy = [learner for learner in learners if "index" in learner.get_params()]
    cache = SearchCache()
    for learner in lazy:
        widest = max(cache.n_neighbors.get(learner.metric, 0), learner.n_neighbors)
        cache.n_neighbors[learner.metric] = widest
    for learner in lazy:
        learner.set_params(index=SharedIndex(cache, learner.metric))


def _n_folds(split: Split) -> int:
    return 1 if split == "holdout" else split


def _parts(data: Dataset, split: Split, fold: int) -> tuple[Any, Any, Any, Any]:
    if split == "holdout":
        return data.holdout()
    folds = KFold(split, shuffle=True, random_state=0).split(data.X)
    train, test = list(folds)[fold]
    return data.X[train], data.X[test], data.Y[train], data.Y[test]


@lru_cache(maxsize=4)
def load_data(name: str) -> Dataset:
    return datasets.load(name)
