"""What ``fit`` and ``tune`` share: from data to a saved model, and what is said on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from plurilabel import metrics
from plurilabel._blocks import has_missing
from plurilabel.cli._common import (
    UsageError,
    can_write,
    counted,
    find,
    is_standard,
    is_table,
    label_option,
    names_in,
    print_table,
    say,
)
from plurilabel.compare import learner_text
from plurilabel.compare._suggest import imputer
from plurilabel.persistence._training_data import TrainingData, read_training_table
from plurilabel.thresholds import ThresholdClassifier

FEWEST_HELD_OUT = 10  # rows in all: with fewer nothing is held out
FEWEST_FOR_CUT = 20  # rows to learn a cut from
FOLDS = 3  # out-of-fold scores for a cut: each fold is one more fit
MOST_DENSE = 1e7  # rows times labels: labels that are made dense
MOST_SCORES = 5e7  # rows times labels: what the out-of-fold scores of a cut may take


def read_training(data: str, **reading: Any) -> TrainingData:
    """A standard dataset by name, or a file by path, with how it was read."""
    if not is_standard(data) and is_table(data):
        labels = label_option(reading.pop("labels"))
        if labels is None:
            raise UsageError(
                f"--labels must name the label columns of {data}, or its one column of tags"
            )
        if isinstance(labels, int):
            raise UsageError(f"--labels must name columns of {data}, got the number {labels}")
        features, drop = names_in(reading.pop("features")), names_in(reading.pop("drop")) or []
        source = read_training_table(data, labels=labels, features=features, drop=drop, **reading)
    else:
        source = TrainingData(find(data, **reading))
    if source.data.X.ndim != 2:
        raise ValueError(f"{data} holds bags of instances, which no learner here takes")
    return source


@dataclass
class Plan:
    """What is to be fitted: a learner with its cut, or a search over several."""

    learner: Any
    strategy: str | None = None
    nonempty: bool = False
    fill: bool = False
    words: list[str] = field(default_factory=list)

    def estimator(self) -> Any:
        """The learner with what belongs around it: missing values filled, scores cut."""
        if not isinstance(self.learner, GridSearchCV):
            return self._wrapped(self.learner)[0]
        inner, prefix = self._wrapped(self.learner.estimator)
        grid = {prefix + name: values for name, values in self.learner.param_grid.items()}
        return clone(self.learner).set_params(
            estimator=inner, param_grid=grid, error_score="raise"
        )

    def plain_name(self, parameter: str) -> str:
        """The name of a searched parameter as the user wrote it."""
        full = parameter.removeprefix(self._wrapped(self.learner.estimator)[1])
        last = [name.rpartition("__")[2] for name in self.learner.param_grid]
        short = full.rpartition("__")[2]
        return short if last.count(short) == 1 else full

    def _wrapped(self, learner: Any) -> tuple[Any, str]:
        prefix = ""
        if self.fill:
            learner = make_pipeline(imputer(), learner)
            prefix = f"{learner.steps[-1][0]}__"
        if self.strategy is not None:
            learner = ThresholdClassifier(learner, self.strategy, cv=FOLDS, nonempty=self.nonempty)
            prefix = f"estimator__{prefix}"
        return learner, prefix


def needs_filling(source: TrainingData, learner: Any) -> bool:
    """Whether missing values may come, now or in a further table, and nothing fills them yet."""
    may_come = source.encoder is not None or has_missing(source.data.X)
    return may_come and "Imputer" not in learner_text(learner)


def cut_for(source: TrainingData, rows: int) -> tuple[str | None, str]:
    """The default cut of scores into label sets, and why."""
    if rows < FEWEST_FOR_CUT:
        return None, f"the learner's own cut, since fewer than {FEWEST_FOR_CUT} rows teach none"
    if rows * len(source.data.label_names) > MOST_SCORES:
        return None, "the learner's own cut, since a learned one would take too much memory"
    return "global", "one cut for all labels, the best for micro-F1 on out-of-fold scores"


def always_labelled(Y: Any) -> bool:
    """Whether every row has a label, so that predictions should, too."""
    return bool((np.asarray(Y.sum(axis=1)) > 0).all())


@dataclass
class Trained:
    """What came out: the estimator fitted on all rows, and its quality on held-out ones."""

    estimator: Any
    search: Any = None
    how: str = ""
    train_rows: int = 0
    test_rows: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)


class Training:
    """Data, split once into rows to learn from and rows to test on."""

    def __init__(self, source: TrainingData, holdout: float | None, seed: int) -> None:
        self.source, self.seed = source, seed
        n = source.data.X.shape[0]
        published = source.data.train is not None and holdout is None
        share = 0.2 if holdout is None else holdout
        self.train = self.test = None
        self.how = "nothing held out, as asked"
        if share > 0 and not published and n < FEWEST_HELD_OUT:
            self.how = f"nothing held out of only {counted(n, 'row')}"
        elif published or share > 0:
            plain = source if published else _without_split(source)
            self.train, self.test = plain.held_out(share, seed)
            kind = "the published test part" if published else f"{share:.0%}, stratified"
            self.how = f"{counted(len(self.test), 'row')} ({kind})"
        if self.train is None or self.test is None:
            self.X, self.Y = source.data.X, _labels(source.data.Y)
        else:
            self.X, self.X_test, Y, self.Y_test = source.parts(self.train, self.test)
            self.Y = _labels(Y)

    def run(self, plan: Plan, *, refit: bool = True) -> Trained:
        """Fit on the training rows, measure on the held-out ones, fit again on all."""
        estimator = plan.estimator()
        _fit(estimator, self.X, self.Y)
        search = estimator if isinstance(estimator, GridSearchCV) else None
        fitted = estimator if search is None else search.best_estimator_
        done = Trained(fitted, search, self.how, self.Y.shape[0])
        if self.test is None:
            return done
        done.test_rows = len(self.test)
        done.measures = measured(fitted, self.X_test, self.Y_test)
        done.guessed = _guessed(self.Y, self.Y_test)
        if refit:
            done.estimator = clone(fitted)
            _fit(done.estimator, self.source.data.X, _labels(self.source.data.Y))
        return done


def _labels(Y: Any) -> Any:
    """Y dense if it is small: tags are sparse, which not all classifiers of scikit-learn take."""
    return Y.toarray() if sparse.issparse(Y) and np.prod(Y.shape) <= MOST_DENSE else Y


def _without_split(source: TrainingData) -> TrainingData:
    return replace(source, data=replace(source.data, train=None, test=None))


def _fit(estimator: Any, X: Any, Y: Any) -> None:
    try:
        estimator.fit(X, Y)
    except TypeError as error:  # what a learner was given, seldom what we did
        raise ValueError(f"the learner failed: {error}") from error


def measured(estimator: Any, X: Any, Y: Any) -> metrics.Evaluation:
    """Every measure that the estimator's answers allow."""
    return metrics.evaluate(Y, scores_of(estimator, X, Y.shape[1]), estimator.predict(X))


def scores_of(estimator: Any, X: Any, q: int) -> Any:
    """Scores (n, q), or None from an estimator that only predicts."""
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        return None
    return metrics.label_scores(estimator, X, n_labels=q)


def _guessed(Y: Any, Y_test: Any) -> metrics.Evaluation:
    """The same answer for every row: the most frequent labels, as many as rows have."""
    frequency = np.asarray(Y.sum(axis=0)).ravel() / Y.shape[0]
    n, q = Y_test.shape
    size = min(q, max(1, round(float(frequency.sum()))))
    first = np.argsort(-frequency, kind="stable")[:size]
    labels = sparse.csr_array(
        (np.ones(n * size, dtype=np.int64), np.tile(np.sort(first), n), np.arange(n + 1) * size),
        shape=(n, q),
    )
    if n * q > MOST_SCORES:
        return metrics.evaluate(Y_test, labels=labels)
    return metrics.evaluate(Y_test, np.broadcast_to(frequency, (n, q)), labels)


# what is said ------------------------------------------------------------------------------

SHOWN = (
    "f1",
    "micro_f1",
    "macro_f1",
    "subset_accuracy",
    "hamming_loss",
    "average_precision",
    "ranking_loss",
    "one_error",
)


def arrow(measure: str) -> str:
    """Which way is better; in letters that stdout can write."""
    up, down = ("↑", "↓") if can_write("↑↓") else ("+", "-")
    return up if metrics.get_measure(measure).greater_is_better else down


def say_quality(done: Trained, *, as_json: bool) -> None:
    """The main measures on held-out rows, beside those of guessing."""
    rows = [
        [f"{name} {arrow(name)}", f"{done.measures[name]:.3f}", f"{done.guessed[name]:.3f}"]
        for name in SHOWN
        if name in done.guessed and math.isfinite(done.measures.get(name, math.nan))
    ]
    print_table(["", "model", "same answer for all"], rows, err=as_json)


def say_data(source: TrainingData, *, as_json: bool) -> None:
    """One line about the data."""
    data = source.data
    n, q = data.Y.shape
    kind = "sparse feature" if sparse.issparse(data.X) else "feature"
    cardinality = float(data.Y.sum()) / n
    say(
        f"{data.name or 'data'}: {counted(n, 'row')}, {counted(data.X.shape[1], kind)}, "
        f"{counted(q, 'label')}, {cardinality:.2f} of them on a row",
        as_json=as_json,
    )
