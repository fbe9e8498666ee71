"""Training: from data to a model that reads raw tables, for Python and the command line alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, TimeSeriesSplit, check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import datasets, io, metrics
from plurilabel._core.blocks import has_missing
from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import counted, listed
from plurilabel.io.shared import (
    as_table,
    imputer,
    in_order,
    is_dense,
    is_table,
    is_texts,
    kinds_text,
    uncentred,
)
from plurilabel.learners import learner_text, make_learner, set_seeds
from plurilabel.learners.extreme import LabelTree, OneVsAllLinear
from plurilabel.learners.lazy import MLkNN
from plurilabel.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedShuffleSplit,
)
from plurilabel.model_selection.shared import groups_for, held_out_rows
from plurilabel.models._model import Model, scores_or_none
from plurilabel.models._model_rows import rows_digest
from plurilabel.wrappers import AutoClassifier, ThresholdClassifier

FEWEST_HELD_OUT = 10  # rows in all: with fewer nothing is held out
QUICK_ROWS = 1000  # rows on which candidates are compared with quick=True
FOLDS = 3  # out-of-fold scores for a threshold: each fold is one more fit
MOST_DENSE = 1e7  # rows times labels: up to this, labels are made dense
MOST_SCORES = 5e7  # rows times labels: up to this, the constant prediction has scores
MOST_MODELS = 5000  # labels: up to this, many texts get a linear model for each
MOST_COMPARED = 2.5e7  # rows times labels: up to this, learners are compared

Progress = Callable[["TrainingEvent"], object]


class TrainingEvent(NamedTuple):
    """A message of :func:`train` to its ``progress`` callback; ``str`` gives its text.

    Attributes
    ----------
    kind : {"step", "part", "end", "plan", "note"}
        A step begins, a part of it begins, a step ends; how the model will be learned; a remark
        about the data or the result.
    text : str
    seconds : float or None
        Expected duration of a step; for a part, the time since the step began.
    done, total : int
        For a part: how many are finished, and how many there are.
    """

    kind: Literal["step", "part", "end", "plan", "note"]
    text: str
    seconds: float | None = None
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return self.text


def train(
    data: str | os.PathLike[str] | Dataset | Any,
    labels: str | Sequence[str] | int | Any = None,
    *,
    text: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] | None = None,
    words: Any = None,
    learner: str | Any = None,
    measure: str = "micro_f1",
    threshold: str | None = None,
    holdout: float | None = None,
    refit: bool = True,
    quick: bool = False,
    time_limit: float | None = None,
    random_state: int = 0,
    scheduler: str | None = None,
    progress: Progress | None = None,
    group: Any = None,
    time: Any = None,
    **reading: Any,
) -> Model:
    """Train a model on a table, a dataset or arrays, and measure it on held-out rows.

    This is what ``plurilabel fit`` runs: the same data and options give the same model. Columns
    of a table are encoded inside the model, so that it takes rows as they are in the table.

    Parameters
    ----------
    data : path, data frame, Dataset, sequence of n texts, or matrix of shape (n, d)
        A file in any format that :func:`plurilabel.io.read` knows, the name of a standard dataset
        such as ``"yeast"``, a table in memory, or features. With ``scheduler`` a path or several.
    labels : str, sequence of str, int, or matrix of shape (n, q), default=None
        For a file or a data frame: the column of tags or the label columns, as for
        :func:`plurilabel.io.read`. For features in memory: the 0/1 label matrix, as an array, a
        sparse matrix or a data frame.
    text, categorical : str or sequence of str, default=None
        Columns of a table that are text, or categories, whatever they look like.
    words : transformer, default=None
        What turns a column of text into features: an encoder such as
        :class:`~plurilabel.StaticEncoder`, or what :func:`plurilabel.io.word_features` makes.
    learner : str or estimator, default=None
        A learner, a pipeline or a grid search, or text as :func:`plurilabel.learners.make_learner`
        takes it. Missing values are filled in, but features are only scaled if it does so. By
        default an :class:`~plurilabel.AutoClassifier`, which tries many learners.
    measure : str, default="micro_f1"
        The measure that the default learner optimizes.
    threshold : str, default=None
        How scores become label sets: a name in :func:`plurilabel.thresholds.strategy_names`, or
        "none" for the learner's own threshold. By default the best one for ``measure``, and
        "none" with ``learner``.
    holdout : float, default=None
        Share of the rows to measure the model on; 0 for none. By default the published test part
        of a dataset that has one, or 0.2.
    refit : bool, default=True
        Whether the model is finally fitted on all rows, or only on those not held out.
    quick : bool, default=False
        Whether to save time: the default learner tries nearest neighbours and logistic
        regression only, candidates are compared on 1,000 rows in 3 folds, and thresholds are
        learned in 2 folds.
    time_limit : float, default=None
        Seconds. No further learner or candidate is tried when most of them are used up, and the
        final fit is skipped if there is no time left for it. A fit that has begun is finished.
    random_state : int, default=0
        Seed of splits and learners.
    scheduler : str, default=None
        Read files in blocks and learn on Dask: the address of a cluster, or "threads". For
        :class:`~plurilabel.MLkNN` and the other lazy learners, on columns of numbers.
    progress : callable, default=None
        Called with a :class:`TrainingEvent` for every step; ``print`` will do.
    group : str or array-like of shape (n,), default=None
        What rows belong to, such as a patient: the column of a table, which is then not a
        feature, or a value for each row. Rows of one group stay together wherever rows are held
        out.
    time : str or array-like of shape (n,), default=None
        When rows were recorded, as dates or numbers: the column of a table, which is then not a
        feature, or a value for each row. Models are measured on later rows than they learn from.
    **reading : dict
        Further options for reading a file or a data frame: ``features``, ``drop``, ``tag_sep``,
        ``embeddings`` and so on, as for :func:`plurilabel.io.read_table`.

    Returns
    -------
    Model
        ``model.notes["held_out"]["measures"]`` has the measures on the held-out rows, and
        ``model.notes["guessing"]`` those of predicting the same labels for every row.

    See Also
    --------
    save_model : Write the model to a file.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plurilabel.models import train
    >>> rng = np.random.default_rng(0)
    >>> films = pd.DataFrame({"length": rng.uniform(60, 180, 50), "country": ["fr", "us"] * 25})
    >>> films["tags"] = ["short" if n < 90 else "long" for n in films["length"]]
    >>> model = train(films, "tags", learner="StandardScaler | MLkNN(n_neighbors=3)")
    >>> model
    Model: MLkNN, 2 features, 2 labels
    >>> model.predict(pd.DataFrame({"country": ["us", "fr"], "length": [75, 150]}))
    [('short',), ('long',)]
    >>> model.notes["held_out"]["rows"]
    10
    """
    metrics.get_scorer(measure)  # an error before any work is done
    kind: Any = Training
    rows = {"rows": (group, time)} if scheduler is None else {}
    if scheduler is not None:
        from plurilabel.models._train_blocks import BlockTraining as kind

        reading |= {"scheduler": scheduler, "group": group, "time": time}
    training = kind(
        threshold, holdout, refit, quick, time_limit, random_state, progress or (lambda _: None)
    )
    model: Model = training.run(
        data,
        labels,
        learner,
        measure,
        columns={"text": text, "categorical": categorical},
        words=words,
        reading=reading,
        **rows,
    )
    return model


@dataclass(eq=False)
class Training:
    """One run of :func:`train`.

    Attributes
    ----------
    data : Dataset
        X is a data frame of typed columns if it comes from a table.
    X, Y : rows to learn from
    test : ndarray of int or None
        Rows held out to measure on.
    notes : dict
        What the model will remember about its training.
    """

    threshold: str | None
    holdout: float | None
    refit: bool
    quick: bool
    time_limit: float | None
    random_state: int
    progress: Progress

    automatic: AutoClassifier | None = None
    columns: Any = None  # names of the label columns, for a table
    how: str = "nothing held out, as asked"
    test: Any = None
    groups: Any = None  # of the rows to learn from
    measures: Any = field(default_factory=dict)
    guessing: Any = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    nonempty: bool = False
    prefix: str = ""  # of the learner's parameters in the estimator
    started: float = field(default_factory=monotonic)

    @property
    def strategy(self) -> str | None:
        """The threshold strategy; None for the learner's own or the automatic choice."""
        return None if self.threshold == "none" else self.threshold

    def run(
        self, data: Any, labels: Any, learner: Any, measure: str, *, reading: Any, **table: Any
    ) -> Model:
        """Read, split, prepare, fit, measure, fit again."""
        given = make_learner(learner) if isinstance(learner, str) else learner
        self.read(data, labels, reading, **table)
        self.split()
        if given is None:
            threshold = self.prepare_automatic(measure)
        else:
            if isinstance(learner, str):
                self.tell("plan", f"Learner: {learner}, as asked")
            given = clone(given)
            set_seeds(given, self.random_state)
            threshold = self.prepare(given)
        if threshold:
            self.tell("plan", f"Cut of scores into label sets: {threshold}")
        if self.has_missing():
            self.tell("plan", "Missing values: filled with the median of their column")
        self.fit()
        learned = given if given is not None else self.estimator
        if self.automatic is not None:
            learned = clone(self.automatic).set_params(encoder=None)  # the columns are told apart
        self.notes.setdefault("learner", learner_text(learned))
        return self.model(rows_digest(self.data.X, self.data.Y), sep=reading.get("sep"))

    # progress and time ------------------------------------------------------------------------

    def tell(
        self, kind: Any, text: str, seconds: float | None = None, done: int = 0, total: int = 0
    ) -> None:
        """Send an event to the callback."""
        self.progress(TrainingEvent(kind, text, seconds, done, total))

    @contextmanager
    def step(self, text: str, *, seconds: float | None = None) -> Iterator[None]:
        """A step, with its expected duration."""
        self.tell("step", text, seconds)
        try:
            yield
        finally:
            self.tell("end", text)

    def tick(self, done: int, total: int, text: str, seconds: float) -> None:
        """The next part of a step begins, so many seconds after the first."""
        self.tell("part", text, seconds, done, total)

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the time limit is used up; None if there is no limit."""
        if self.time_limit is None:
            return None
        return share * self.time_limit - (monotonic() - self.started)

    # data -------------------------------------------------------------------------------------

    def read(
        self, data: Any, labels: Any, reading: Any, *, columns: Any, words: Any, rows: Any
    ) -> None:
        """Read the data and tell what they are."""
        self.words = words
        is_path = isinstance(data, str | os.PathLike)
        with self.step(f"Reading {data if is_path else 'data'}"):
            self.data = data = _dataset(data, labels, columns, reading, rows)
        self.texts = [name for name, kind in data.kinds.items() if kind == "text"]
        if words is not None and not self.texts:
            raise ValueError("words is for columns of text, got none; name them with text=[...]")
        if data.has_bags:
            raise ValueError(
                f"{data.name or 'data'} holds bags of instances: see plurilabel.bags for learners"
            )
        self.is_table, self.is_sparse = hasattr(data.X, "iloc"), sparse.issparse(data.X)
        if self.is_table and _are_names(labels):
            self.columns = labels if isinstance(labels, str) else list(labels)
        n, q = data.Y.shape
        self.tell(
            "note",
            f"{data.name or 'data'}: {counted(n, 'row')}, {self._features()}, "
            f"{counted(q, 'label')}, {known_part(data.Y)[0].sum() / n:.2f} per row",
        )
        for note in [*self._label_notes(), *self._column_notes()]:
            self.tell("note", f"Note: {note}")

    def _features(self) -> str:
        X: Any = self.data.X
        if not self.is_table:
            return counted(X.shape[1], "sparse feature" if self.is_sparse else "feature")
        return f"{counted(X.shape[1], 'column')} ({kinds_text(self.data.kinds)})"

    def _label_notes(self) -> Iterator[str]:
        """Remarks about unknown labels and rows without labels."""
        Y, unknown = known_part(self.data.Y)
        empty = np.asarray(Y.sum(axis=1)).ravel() == 0
        if unknown is not None:
            gaps = np.asarray(unknown.sum(axis=1)).ravel()
            empty &= gaps == 0
            are = "is" if gaps.sum() == 1 else "are"
            yield (
                f"{counted(int(gaps.sum()), 'label')} of {Y.shape[0] * Y.shape[1]:,} {are} "
                "not known, and left out where learners learn and are measured"
            )
        if without := int(empty.sum()):
            have, are = ("has", "is") if without == 1 else ("have", "are")
            what = "no label"
            if isinstance(self.columns, str):
                what = f"an empty cell in {self.columns!r} and {are} taken to have no label"
            yield f"{counted(without, 'row')} {have} {what}"

    def _column_notes(self) -> Iterator[str]:
        """Remarks about the columns of a table."""
        if not self.is_table:
            return
        if self.texts:
            are = "is" if len(self.texts) == 1 else "are"
            yield f"{listed([repr(name) for name in self.texts], 5)} {are} used as text"
        for name, why in self.data.left_out.items():
            yield f"{name!r} is left out as an identifier: {why}; use it with features=[...]"
        X: Any = self.data.X
        if counters := [name for name in X.columns if _counts_rows(X[name])]:
            named = listed([repr(name) for name in counters], 5)
            number = "numbers" if len(counters) == 1 else "number"
            yield f"{named} {number} the rows, as identifiers do; leave out with drop={counters}"

    def has_sparse_features(self) -> bool:
        """Whether learners get sparse features: those of words, but not of vectors of texts."""
        return self.is_sparse or bool(self.texts and not is_dense(self.words))

    def has_missing(self) -> bool:
        """Whether there are missing numbers or dates."""
        X: Any = self.data.X
        if not self.is_table:
            return has_missing(X)
        kinds = self.data.kinds.items()
        return any(X[name].isna().any() for name, kind in kinds if kind in ("numbers", "dates"))

    def split(self) -> None:
        """Hold out the published test part, or a share of the rows: random, or the last ones."""
        data, n = self.data, self.data.Y.shape[0]
        train: Any = np.arange(n)
        published = data.train is not None and data.groups is None and not data.ordered
        if self.holdout is None and published and data.test is not None:
            train, self.test = data.train, data.test
            self.how = f"{counted(len(data.test), 'row')} (the published test part)"
        elif share := self.share(n):
            seed = self.random_state
            train, self.test = held_out_rows(
                n, share, data.groups, ordered=data.ordered, random_state=seed
            )
            kind = "whole groups" if data.groups is not None else "chosen at random"
            kind = "the last ones" if data.ordered else kind
            self.how = f"{counted(len(self.test), 'row')} ({share:.0%}, {kind})"
        self.X, self.Y = safe_indexing(data.X, train), _dense_if_small(data.Y[train])
        self.groups = None if data.groups is None else data.groups[train]

    def folds(self, number: int) -> Any:
        """Folds for ``cv``; those of rows in the order of time are tested on later ones."""
        return TimeSeriesSplit(number) if self.data.ordered else number

    def share(self, n: int) -> float:
        """Share of n rows to hold out."""
        share = 0.2 if self.holdout is None else self.holdout
        if share > 0 and n < FEWEST_HELD_OUT:
            self.how = f"nothing held out of only {counted(n, 'row')}"
            return 0.0
        return share

    def encoder(self, numbers: Any) -> Any:
        """An encoder that turns the table into numbers, not fitted; None for other data."""
        if not self.is_table:
            return None
        return io.TableEncoder(
            numbers=numbers,
            words=self.words,
            kinds=dict(self.data.kinds),
            written=dict(self.data.written),
        )

    # the estimator ----------------------------------------------------------------------------

    def prepare_automatic(self, measure: str) -> str:
        """Take the learners that suit the data; returns the threshold, if one was given."""
        n, q = self.Y.shape
        if n * q > MOST_COMPARED:
            many = f"since {n:,} rows and {q:,} labels are too many to compare"
            if self.has_sparse_features():  # on words, linear models are ahead of neighbours
                trees = q > MOST_MODELS
                self.tell(
                    "plan", f"Learner: {'label trees' if trees else 'linear models'}, {many}"
                )
                seed = self.random_state
                return self.prepare(LabelTree(random_state=seed) if trees else OneVsAllLinear())
            self.tell("plan", f"Learner: ML-kNN, {many}")
            return self.prepare(make_pipeline(StandardScaler(), MLkNN(10)))
        left = self.left(0.7)
        self.automatic = AutoClassifier(
            measure,
            portfolio="quick" if self.quick else "full",
            threshold="constant" if self.threshold == "none" else self.threshold,
            time_limit=None if left is None else max(left, 1e-9),
            cv=self.folds(3 if self.quick else 5),
            encoder=self.encoder(None),
            progress=lambda *so_far: self.tick(*so_far),  # a method would be copied
            random_state=self.random_state,
        )
        self.estimator = self.automatic
        return "" if self.threshold is None else self.strategy or "the learner's own cut"

    def prepare(self, learner: Any) -> str:
        """Put around a learner, or a search, what the data need; returns the threshold as text."""
        fills = "Imputer" in learner_text(learner)
        # a further table may have missing values, even if this one has none
        before = self.encoder("passthrough" if fills else imputer())
        if not self.is_table and self.has_missing() and not fills:
            before = imputer()
        if self.has_sparse_features() and uncentred(learner):
            note = "StandardScaler leaves the mean in, since the features are sparse"
            self.tell("note", f"Note: {note}")
        # where every row has a label, so should predictions
        sizes = np.asarray(known_part(self.Y)[0].sum(axis=1))
        self.nonempty = self.strategy is not None and bool((sizes > 0).all())
        self.estimator, self.prefix = self._wrapped(learner, before)
        more = "; at least one label for each row, as in the data" if self.nonempty else ""
        return (self.strategy or "the learner's own cut") + more

    def _wrapped(self, learner: Any, before: Any) -> tuple[Any, str]:
        """The learner in a pipeline and below a threshold, and the prefix of its parameters."""
        if isinstance(learner, GridSearchCV):
            inner, prefix = self._wrapped(learner.estimator, before)
            grids = learner.param_grid
            grid = [
                {prefix + name: values for name, values in one.items()}
                for one in ([grids] if isinstance(grids, dict) else grids)
            ]
            search = clone(learner)
            return search.set_params(estimator=inner, param_grid=grid, error_score="raise"), prefix
        prefix = ""
        if before is not None:
            learner = make_pipeline(before, learner)
            prefix = f"{learner.steps[-1][0]}__"
        if self.strategy is not None:
            folds = self.folds(2 if self.quick else FOLDS)
            learner = ThresholdClassifier(learner, self.strategy, cv=folds, nonempty=self.nonempty)
            prefix = f"estimator__{prefix}"
        return learner, prefix

    # fitting ----------------------------------------------------------------------------------

    def fit(self) -> None:
        """Fit on the training rows, measure on the held-out ones, fit again on all."""
        if isinstance(self.estimator, GridSearchCV):
            took = self._search()
        else:
            started = monotonic()
            with self.step(f"Learning from {counted(self.Y.shape[0], 'row')}"):
                self.estimator = _fitted(self.estimator, self.X, self.Y, self.groups)
            took = monotonic() - started
        if self.automatic is not None:
            self.automatic = self.estimator
            self.tell("note", self.automatic.summary())
            self.notes["report"] = self.automatic.report_
            took = self.automatic.seconds_["fits"]
        if self.test is not None:
            self._measure()
            self._fit_again(took * self.data.Y.shape[0] / self.Y.shape[0])
        if self.automatic is not None:
            self.automatic.set_params(progress=None)  # which no model file may hold

    def _measure(self) -> None:
        X, Y = safe_indexing(self.data.X, self.test), self.data.Y[self.test]
        with self.step(f"Measuring on {counted(len(self.test), 'row')}"):
            scores = scores_or_none(self.estimator, X, Y.shape[1])
            self.measures = metrics.evaluate(Y, scores, self.estimator.predict(X))
        self.guessing = _guessed(self.Y, Y)

    def _fit_again(self, seconds: float) -> None:
        """Fit on all rows, if there is time; what was chosen automatically is not chosen anew."""
        left = self.left()
        if self.refit and left is not None and seconds > left:
            self.refit = False
            self.tell(
                "note", "Not learned again from all rows: that would take longer than is left"
            )
        if not self.refit:
            return
        X, Y = self.data.X, _dense_if_small(self.data.Y)
        with self.step(f"Learning again from all {counted(Y.shape[0], 'row')}", seconds=seconds):
            try:
                self._learn_again(X, Y)
            except Exception as error:  # the model that has been measured is there
                self.refit = False
                why = f"{type(error).__name__}: {' '.join(str(error).split())}"
                self.tell("note", f"Not learned again from all rows: it failed with {why}")

    def _learn_again(self, X: Any, Y: Any) -> None:
        if self.automatic is None:
            self.estimator = _fitted(clone(self.estimator), X, Y, self.data.groups)
            return
        before = self.automatic.report_["left_out"]
        self.automatic.refit(X, Y, groups=self.data.groups)
        self.notes["report"] = self.automatic.report_
        for name, why in self.automatic.report_["left_out"].items():
            if name not in before:
                self.tell("note", f"Left out: {name}, {why}")

    def _search(self) -> float:
        """Fit the best candidate on the training rows; returns the seconds that took."""
        search = _Search(**self.estimator.get_params(deep=False))
        X, Y, groups, splitter = self.X, self.Y, self.groups, copy(check_cv(search.cv))
        if self.data.ordered:
            splitter = TimeSeriesSplit(splitter.get_n_splits())
        elif groups is not None and not hasattr(splitter, "set_split_request"):
            splitter = IterativeStratifiedGroupKFold(
                splitter.get_n_splits(), shuffle=True, random_state=self.random_state
            )
        search.set_params(cv=splitter)
        if self.quick:
            splitter.n_splits = min(splitter.n_splits, 3)
            if Y.shape[0] > QUICK_ROWS:
                cv = IterativeStratifiedShuffleSplit(
                    1, train_size=QUICK_ROWS, random_state=self.random_state
                )
                rows = np.sort(next(cv.split(np.empty(Y.shape[0]), Y))[0])
                X, Y = safe_indexing(X, rows), Y[rows]
                groups = None if groups is None else groups[rows]
        folds, n = splitter.get_n_splits(), len(ParameterGrid(search.param_grid))
        search.tick, search.seconds = self.tick, self.left(0.5)
        with self.step(
            f"Comparing {counted(n, 'candidate')} in {folds} folds of {Y.shape[0]:,} rows"
        ):
            _fitted(search, X, Y, groups)
        candidates = self._candidates(search)
        if len(candidates) < n:
            self.tell("note", f"Time was up after {len(candidates)} of {n} candidates")
        self.notes |= {
            "learner": learner_text(search.best_estimator_),
            "best": candidates[0]["parameters"],
            "candidates": candidates,
            "search": {"folds": folds, "rows": Y.shape[0]},
        }
        self.estimator = search.best_estimator_
        if Y.shape[0] < self.Y.shape[0]:
            with self.step(f"Learning the best from {counted(self.Y.shape[0], 'row')}"):
                self.estimator = _fitted(clone(self.estimator), self.X, self.Y, self.groups)
        return float(search.refit_time_)

    def _candidates(self, search: GridSearchCV) -> list[dict[str, Any]]:
        """The candidates of a search, best first; of equal ones the first."""
        name, results = getattr(search.scoring, "name", None), search.cv_results_
        sign = 1 if name is None or metrics.get_measure(name).greater_is_better else -1
        rows = [
            {
                "parameters": self._plain(parameters),
                "mean": sign * float(results["mean_test_score"][i]),
                "deviation": float(results["std_test_score"][i]),
                "fit_seconds": float(results["mean_fit_time"][i]),
            }
            for i, parameters in enumerate(results["params"])
        ]
        return [rows[i] for i in np.argsort(results["rank_test_score"], kind="stable")]

    def _plain(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Searched parameters by their names as the user wrote them, with values for JSON."""
        last = [name.rpartition("__")[2] for name in parameters]
        return {
            short if last.count(short) == 1 else name.removeprefix(self.prefix): (
                value if isinstance(value, str | int | float | None) else learner_text(value)
            )
            for short, (name, value) in zip(last, parameters.items())
        }

    def model(self, digest: str, *, sep: str | None = None) -> Model:
        """The trained model, with notes about its training."""
        data = self.data
        tested = 0 if self.test is None else len(self.test)
        about = {"name": data.name, "rows": int(data.Y.shape[0]), "digest": digest}
        held_out = {"how": self.how, "rows": tested, "measures": self.measures}
        return Model(
            self.estimator,
            data.label_names,
            data.feature_names,
            labels=self.columns,
            tag_sep=data.tag_sep,
            sep=sep,
            sparse_features=self.is_sparse,
            notes={
                "data": about,
                **self.notes,
                "threshold": self.strategy,
                "nonempty": self.nonempty,
                "seed": self.random_state,
                "held_out": held_out,
                "guessing": self.guessing,
                "train_rows": int(self.Y.shape[0]),
                "learned_rows": "all" if self.refit or not self.measures else "train",
            },
        )


class _Search(GridSearchCV):
    """A grid search that reports its progress and can end early, with what it has by then.

    ``tick`` is called with the number of candidates done, the number of all, a text and seconds;
    no candidate is begun after ``seconds``.
    """

    tick: Callable[[int, int, str, float], object] = staticmethod(lambda *_: None)
    seconds: float | None = None

    def _run_search(self, evaluate_candidates: Callable[[list[dict[str, Any]]], object]) -> None:
        """Measure the candidates, as many at a time as keep all jobs busy."""
        grid = list(ParameterGrid(self.param_grid))
        jobs = effective_n_jobs(self.n_jobs)
        at_once = 1 if jobs == 1 else ceil(2 * jobs / self.cv.get_n_splits())
        started = monotonic()
        for done in range(0, len(grid), at_once):
            if done and self.seconds is not None and monotonic() - started > self.seconds:
                break
            names = [(name.rpartition("__")[2], value) for name, value in grid[done].items()]
            text = ", ".join(f"{name}={value!r}" for name, value in names)
            self.tick(done, len(grid), text, monotonic() - started)
            evaluate_candidates(grid[done : done + at_once])


# data -----------------------------------------------------------------------------------------


def _are_names(labels: Any) -> bool:
    if isinstance(labels, list | tuple):
        return all(isinstance(name, str) for name in labels)
    return isinstance(labels, str)


def _dataset(
    data: Any, labels: Any, columns: dict[str, Any], options: dict[str, Any], rows: Any
) -> Dataset:
    """The data as a dataset; tables as typed columns. ``rows`` are ``group`` and ``time``."""
    named = {key: one for key, one in zip(("group", "time"), rows) if isinstance(one, str)}
    found = _read(data, labels, columns, options | named)
    values = [np.asarray(one) for one in rows if one is not None and not isinstance(one, str)]
    for one in values:
        if len(one) != found.X.shape[0]:
            name = "group" if rows[0] is not None else "time"
            raise ValueError(f"{name} must have a value for each of {found.X.shape[0]} rows")
    if rows[0] is not None and "group" not in named:
        found = replace(found, groups=values[0])
    return in_order(found, values[-1]) if rows[1] is not None and "time" not in named else found


def _read(data: Any, labels: Any, columns: dict[str, Any], options: dict[str, Any]) -> Dataset:
    columns = {name: given for name, given in columns.items() if given is not None}
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(data, str) and not Path(data).is_file() and data in datasets.dataset_names():
        data = datasets.load(data)
    if isinstance(data, str | os.PathLike):
        encode = {"encode": False} if is_table(data) else {}
        return io.read(data, labels=labels, **columns, **options, **encode)
    if hasattr(data, "columns") and _are_names(labels):
        return io.read_table(data, labels=labels, encode=False, **columns, **options)
    if (hasattr(data, "columns") or is_texts(data)) and "drop" in options:
        columns["drop"] = options.pop("drop")
    if options:
        name = next(iter(options))
        raise ValueError(f"{name}= is for files and for tables with columns of labels")
    return _in_memory(data, labels, columns)


def _in_memory(X: Any, Y: Any, columns: dict[str, Any]) -> Dataset:
    """Features and labels, or a dataset that has both, with labels as a matrix."""
    if isinstance(X, Dataset):
        if Y is not None:
            raise ValueError(f"a dataset has its own labels, got labels={Y!r}")
        data = X
    elif Y is None or _are_names(Y):
        raise ValueError("labels must be a 0/1 matrix with a row for each row of the features")
    else:
        if is_texts(X):
            X = as_table(X).frame
            columns = {**columns, "text": list(X.columns)}
        data = Dataset(
            X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64),
            Y if hasattr(Y, "shape") else np.asarray(Y),
            feature_names=getattr(X, "columns", ()),
            label_names=getattr(Y, "columns", ()),
        )
    if hasattr(data.X, "columns") and not data.kinds:
        typed = io.TableEncoder(**columns).typed_rows(data.X)
        kinds: Any = {"kinds": typed.kinds, "written": typed.written, "left_out": typed.left_out}
        data = replace(data, X=typed.frame, feature_names=tuple(typed.frame.columns), **kinds)
    labels: Any = data.Y
    return replace(data, Y=labels.to_numpy()) if hasattr(labels, "iloc") else data


def _counts_rows(series: Any) -> bool:
    """Whether a column numbers the rows."""
    if series.dtype.kind not in "iuf" or len(series) < FEWEST_HELD_OUT:
        return False
    return bool((np.diff(series.to_numpy()) == 1).all())


def _dense_if_small(Y: Any) -> Any:
    """Y dense if it is small: tags are sparse, which not all classifiers of scikit-learn take."""
    is_sparse = sparse.issparse(Y) or (isinstance(Y, UnknownLabels) and sparse.issparse(Y.Y))
    return Y.toarray() if is_sparse and np.prod(Y.shape) <= MOST_DENSE else Y


# fitting --------------------------------------------------------------------------------------


def _fitted(estimator: Any, X: Any, Y: Any, groups: Any = None) -> Any:
    try:
        return estimator.fit(X, Y, **groups_for(estimator, groups))
    except TypeError as error:  # usually a parameter of the learner
        raise ValueError(f"the learner failed: {error}") from error


def _guessed(Y: Any, Y_test: Any) -> metrics.Evaluation:
    """Measures of the same prediction for every row: the most frequent labels."""
    filled, unknown = known_part(Y)
    if unknown is None:
        frequency = np.asarray(Y.sum(axis=0)).ravel() / Y.shape[0]
    else:
        frequency = UnknownLabels(filled, unknown).shares()
    n, q = Y_test.shape
    first = most_frequent(frequency)
    size = len(first)
    labels = sparse.csr_array(
        (np.ones(n * size, dtype=np.int64), np.tile(np.sort(first), n), np.arange(n + 1) * size),
        shape=(n, q),
    )
    scores = None if n * q > MOST_SCORES else np.broadcast_to(frequency, (n, q))
    return metrics.evaluate(Y_test, scores, labels)


def most_frequent(frequency: Any) -> Any:
    """The labels with the highest frequencies (q,), as many as a row has on average."""
    return np.argsort(-frequency, kind="stable")[: max(1, round(float(frequency.sum())))]
