"""What ``fit`` and ``tune`` share: data, the estimator around a learner, and its quality."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from plurilabel import io, metrics
from plurilabel._blocks import has_missing, take_rows
from plurilabel._text import counted, listed
from plurilabel.cli._common import can_write, find, label_option, print_table
from plurilabel.compare import digest_of, imputer, learner_text
from plurilabel.datasets import Dataset
from plurilabel.model_selection import stratified_split
from plurilabel.persistence import Model
from plurilabel.thresholds import ThresholdClassifier

FEWEST_HELD_OUT = 10  # rows in all: with fewer nothing is held out
FOLDS = 3  # out-of-fold scores for a cut: each fold is one more fit
MOST_DENSE = 1e7  # rows times labels: labels that are made dense
MOST_SCORES = 5e7  # rows times labels: what the out-of-fold scores of a cut may take

# data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Data to learn from, and what the model has to remember of how they were read.

    ``data.X`` is a data frame of typed columns if they come from a table.
    """

    data: Dataset
    labels: Any = None
    text: str | None = None
    sep: str | None = None

    @property
    def is_table(self) -> bool:
        """Whether the columns have still to be encoded."""
        return hasattr(self.data.X, "iloc")

    def encoder(self, numbers: Any) -> Any:
        """What turns a table into numbers, not fitted."""
        return io.table_encoder(self.data.X, text=self.text, numbers=numbers)

    def before(self, learner: Any) -> Any:
        """What has to come before a learner: None, if it takes the data as they are."""
        fills = "Imputer" in learner_text(learner)
        if self.is_table:  # a further one may have missing values, even if this has none
            return self.encoder("passthrough" if fills else imputer())
        return imputer() if self.has_missing() and not fills else None

    def has_missing(self) -> bool:
        """Whether there are missing numbers."""
        X: Any = self.data.X
        return has_missing(X.select_dtypes("number") if self.is_table else X)

    def summary(self) -> str:
        """One line about the data."""
        data = self.data
        X: Any = data.X
        n, q = data.Y.shape
        what = "sparse feature" if sparse.issparse(X) else "feature"
        features = counted(X.shape[1], what)
        if self.is_table:
            numbers, others = (
                X.select_dtypes(**{how: "number"}).shape[1] for how in ("include", "exclude")
            )
            kinds = {"numbers": numbers, "categories": others - (self.text is not None)}
            kinds["text"] = int(self.text is not None)
            found = [f"{count:,} of {kind}" for kind, count in kinds.items() if count]
            features = f"{counted(X.shape[1], 'column')} ({listed(found)})"
        cardinality = float(data.Y.sum()) / n
        return (
            f"{data.name or 'data'}: {counted(n, 'row')}, {features}, {counted(q, 'label')}, "
            f"{cardinality:.2f} of them on a row"
        )

    def model(self, estimator: Any, notes: dict[str, Any]) -> Model:
        """What is saved of an estimator that was fitted on these data."""
        data = self.data
        about = {"name": data.name, "rows": int(data.Y.shape[0])}
        about["digest"] = rows_digest(data.X, data.Y)
        return Model(
            estimator,
            data.label_names,
            data.feature_names,
            labels=self.labels if self.is_table else None,
            tag_sep=data.tag_sep,
            sep=self.sep,
            sparse_features=sparse.issparse(data.X),
            notes={"data": about, **notes},
        )


def read_training(data: str, **reading: Any) -> Source:
    """A standard dataset by name, or a file by path, with how it was read."""
    found = find(data, encode=False, **reading)
    if found.X.ndim != 2:
        raise ValueError(f"{data} holds bags of instances, which no learner here takes")
    return Source(found, label_option(reading["labels"]), reading["text"], reading["sep"])


def rows_digest(X: Any, Y: Any) -> str:
    """Digest of rows and their labels, whatever the types of index in sparse ones."""
    return digest_of(*(part for matrix in (X, Y) for part in _canonical(matrix)))


def _canonical(matrix: Any) -> list[Any]:
    if not sparse.issparse(matrix):
        return [matrix if hasattr(matrix, "iloc") else np.asarray(matrix, dtype=np.float64)]
    csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return [csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64), list(csr.shape)]


# training -------------------------------------------------------------------------------------


@dataclass
class Plan:
    """What is to be fitted: a learner, or a search, with what comes before and around it."""

    learner: Any
    before: Any = None
    strategy: str | None = None
    nonempty: bool = False

    def estimator(self) -> Any:
        """The whole of it, not fitted."""
        if not isinstance(self.learner, GridSearchCV):
            return self._wrapped(self.learner)[0]
        inner, prefix = self._wrapped(self.learner.estimator)
        grid = {prefix + name: values for name, values in self.learner.param_grid.items()}
        return clone(self.learner).set_params(
            estimator=inner, param_grid=grid, error_score="raise"
        )

    def plain_names(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Searched parameters by their names as the user wrote them."""
        prefix = self._wrapped(self.learner.estimator)[1]
        last = [name.rpartition("__")[2] for name in parameters]
        return {
            short if last.count(short) == 1 else name.removeprefix(prefix): value
            for short, (name, value) in zip(last, parameters.items())
        }

    def _wrapped(self, learner: Any) -> tuple[Any, str]:
        """The learner in a pipeline and below a cut, and where its parameters are then."""
        prefix = ""
        if self.before is not None:
            learner = make_pipeline(self.before, learner)
            prefix = f"{learner.steps[-1][0]}__"
        if self.strategy is not None:
            learner = ThresholdClassifier(learner, self.strategy, cv=FOLDS, nonempty=self.nonempty)
            prefix = f"estimator__{prefix}"
        return learner, prefix


@dataclass
class Trained:
    """What came out: a fitted estimator, and its quality on held-out rows."""

    estimator: Any
    search: Any = None
    measures: dict[str, float] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)


class Training:
    """Data, split once into rows to learn from and rows to test on."""

    def __init__(self, source: Source, holdout: float | None, seed: int) -> None:
        self.source, self.seed = source, seed
        data = source.data
        n, share = data.Y.shape[0], 0.2 if holdout is None else holdout
        train, self.test = np.arange(n), None
        self.how = "nothing held out, as asked"
        if holdout is None and data.train is not None and data.test is not None:
            train, self.test = data.train, data.test
            kind = "the published test part"
        elif share > 0 and n >= FEWEST_HELD_OUT:
            train, self.test, *_ = stratified_split(
                train, data.Y, sizes=(1 - share, share), random_state=seed
            )
            kind = f"{share:.0%}, stratified"
        elif share > 0:
            self.how = f"nothing held out of only {counted(n, 'row')}"
        if self.test is not None:
            self.how = f"{counted(len(self.test), 'row')} ({kind})"
        self.X, self.Y = take_rows(data.X, train), _labels(data.Y[train])

    def run(self, plan: Plan, *, refit: bool = True) -> Trained:
        """Fit on the training rows, measure on the held-out ones, fit again on all."""
        data = self.source.data
        estimator = _fitted(plan.estimator(), self.X, self.Y)
        search = estimator if isinstance(estimator, GridSearchCV) else None
        done = Trained(estimator if search is None else search.best_estimator_, search)
        if self.test is not None:
            X, Y = take_rows(data.X, self.test), data.Y[self.test]
            scores = scores_of(done.estimator, X, Y.shape[1])
            done.measures = metrics.evaluate(Y, scores, done.estimator.predict(X))
            done.guessed = _guessed(self.Y, Y)
            if refit:
                done.estimator = _fitted(clone(done.estimator), data.X, _labels(data.Y))
        return done


def _labels(Y: Any) -> Any:
    """Y dense if it is small: tags are sparse, which not all classifiers of scikit-learn take."""
    return Y.toarray() if sparse.issparse(Y) and np.prod(Y.shape) <= MOST_DENSE else Y


def _fitted(estimator: Any, X: Any, Y: Any) -> Any:
    try:
        return estimator.fit(X, Y)
    except TypeError as error:  # what a learner was given, seldom what we did
        raise ValueError(f"the learner failed: {error}") from error


# quality --------------------------------------------------------------------------------------

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
    scores = None if n * q > MOST_SCORES else np.broadcast_to(frequency, (n, q))
    return metrics.evaluate(Y_test, scores, labels)


def arrow(measure: str) -> str:
    """Which way is better; in letters that stdout can write."""
    up, down = ("↑", "↓") if can_write("↑↓") else ("+", "-")
    return up if metrics.get_measure(measure).greater_is_better else down


def print_quality(done: Trained, *, err: bool) -> None:
    """The main measures on held-out rows, beside those of guessing."""
    rows = [
        [f"{name} {arrow(name)}", f"{done.measures[name]:.3f}", f"{done.guessed[name]:.3f}"]
        for name in SHOWN
        if name in done.guessed and math.isfinite(done.measures.get(name, math.nan))
    ]
    print_table(["", "model", "same answer for all"], rows, err=err)
