"""What ``fit`` and ``tune`` share: from data to a saved model, and what is said on the way."""

from __future__ import annotations

import math
import secrets
import tempfile
from copy import copy
from functools import update_wrapper
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from plurilabel import io, metrics
from plurilabel._core.blocks import has_missing
from plurilabel._core.compat import safe_indexing
from plurilabel._core.records import digest_of
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import counted, file_size, listed
from plurilabel.cli._data import (
    data_options,
    find,
    label_option,
    names_in,
    uncentred,
    word_features,
)
from plurilabel.cli._errors import UsageError, fail
from plurilabel.cli._output import (
    can_write,
    check_output,
    force_option,
    heard_or_not,
    print_json,
    print_table,
    say,
)
from plurilabel.cli._steps import Search, Steps
from plurilabel.io.shared import imputer
from plurilabel.learners import learner_text
from plurilabel.learners.lazy import MLkNN
from plurilabel.model_selection import IterativeStratifiedShuffleSplit, stratified_split
from plurilabel.models import Model, save_model
from plurilabel.thresholds import strategy_names
from plurilabel.wrappers import AutoClassifier, ThresholdClassifier

FEWEST_HELD_OUT = 10  # rows in all: with fewer nothing is held out
QUICK_ROWS = 1000  # on which candidates are compared to be quick
FOLDS = 3  # out-of-fold scores for a cut: each fold is one more fit
MOST_DENSE = 1e7  # rows times labels: labels that are made dense
MOST_SCORES = 5e7  # rows times labels: scores of guessing
MOST_COMPARED = 2.5e7  # rows times labels: out-of-fold scores of many learners
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


def training_command(function: Any) -> Any:
    """Options of ``fit`` and ``tune`` alike; the function gets them as a :class:`Training`."""

    def command(**options: Any) -> None:
        own = {name: options.pop(name) for name in list(signature(function).parameters)[1:]}
        data = options.pop("data")
        sources = [data] if isinstance(data, str) else list(data)
        if len(sources) > 1 and not own.get("scheduler"):
            raise UsageError(f"expected one file, got {len(sources)}: several need --scheduler")
        training = Training(sources[0], **options)
        training.sources = sources
        function(training, **own)

    update_wrapper(command, function)
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option("--quiet", "-q", is_flag=True, help="Do not report progress."),
        click.option(
            "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help="Try no further learner or candidate when most of this time is used up, and skip "
            "the final fit on all rows if there is no time left for it. A fit that has begun is "
            "finished.",
        ),
        click.option(
            "--quick", is_flag=True,
            help="Save time: try neighbours and logistic regression only, compare candidates on "
            f"{QUICK_ROWS:,} rows in 3 folds, and learn the cut in 2 folds.",
        ),
        force_option,
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True,
            help="Seed of splits and learners.",
        ),
        click.option(
            "--refit/--no-refit", default=True, show_default=True,
            help="Learn the saved model from all rows, or only from those not held out.",
        ),
        click.option(
            "--holdout", type=click.FloatRange(0, 0.9), metavar="SHARE",
            help="Share of the rows to measure the model on; 0 for none. By default the published "
            "test part, or 0.2.",
        ),
        click.option(
            "--threshold", type=click.Choice([*strategy_names(), "none"]), metavar="STRATEGY",
            help=f"How scores become label sets: {', '.join(strategy_names())}, or none for the "
            "learner's own cut. By default what suits --measure, and none with --learner.",
        ),
        click.option(
            "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="MODEL.skops",
            help="File for the model.",
        ),
    ):  # fmt: skip
        command = option(command)
    several = "scheduler" in signature(function).parameters
    argument = click.argument(
        "data",
        metavar="NAME|FILE..." if several else "NAME|FILE",
        nargs=-1 if several else 1,
        required=True,
    )
    return argument(data_options(command))


class Training:
    """One run of ``fit`` or ``tune``: what was asked for, the data, and what came out.

    Attributes
    ----------
    data : Dataset
        X is a data frame of typed columns if it comes from a table.
    X, Y : rows to learn from
    test : ndarray of int or None
        Rows held out to measure on.
    automatic : AutoClassifier or None
        The default learner, if no other was asked for.
    """

    automatic: AutoClassifier | None = None
    sources: list[str]

    def __init__(
        self,
        data: str,
        out: Path,
        threshold: str | None,
        holdout: float | None,
        refit: bool,
        seed: int,
        as_json: bool,
        force: bool,
        quick: bool,
        quiet: bool,
        time_limit: float | None,
        **reading: Any,
    ) -> None:
        check_output(out, data, force=force)
        self.quick, self.steps = quick, Steps(quiet=quiet, time_limit=time_limit)
        self.source, self.out, self.holdout, self.refit = data, out, holdout, refit
        self.threshold, self.seed, self.as_json, self.reading = threshold, seed, as_json, reading

    def say(self, *lines: str) -> None:
        """Words for a reader: not on stdout if that belongs to JSON."""
        with heard_or_not():
            say(*lines, as_json=self.as_json)

    # data -------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the data, say what they are, and split them."""
        with self.steps.step(f"Reading {self.source}"):
            self.data = data = find(self.source, encode=False, **self.reading)
        if data.has_bags:
            raise ValueError(
                f"{self.source} holds bags of instances, which are learned in Python only: "
                "see plurilabel.bags"
            )
        self.is_table, self.is_sparse = hasattr(data.X, "iloc"), sparse.issparse(data.X)
        n, share = data.Y.shape[0], 0.2 if self.holdout is None else self.holdout
        self.say(
            f"{data.name or 'data'}: {counted(n, 'row')}, {self._features()}, "
            f"{counted(data.Y.shape[1], 'label')}, {known_part(data.Y)[0].sum() / n:.2f} per row"
        )
        self._say_notes()
        train, self.test = np.arange(n), None
        self.how = "nothing held out, as asked"
        if self.holdout is None and data.train is not None and data.test is not None:
            train, self.test = data.train, data.test
            self.how = f"{counted(len(data.test), 'row')} (the published test part)"
        elif share > 0 and n >= FEWEST_HELD_OUT:
            train, self.test, *_ = stratified_split(
                train, data.Y, sizes=(1 - share, share), random_state=self.seed
            )
            self.how = f"{counted(len(self.test), 'row')} ({share:.0%}, stratified)"
        elif share > 0:
            self.how = f"nothing held out of only {counted(n, 'row')}"
        self.X, self.Y = safe_indexing(data.X, train), _labels(data.Y[train])

    def _features(self) -> str:
        X: Any = self.data.X
        if not self.is_table:
            what = "sparse feature" if sparse.issparse(X) else "feature"
            return counted(X.shape[1], what)
        text = len(self.texts)
        numbers, dates = X.select_dtypes("number").shape[1], len(self._dates())
        others = X.shape[1] - numbers - dates - text
        kinds = {"numbers": numbers, "dates": dates, "categories": others, "text": text}
        found = [f"{count:,} of {kind}" for kind, count in kinds.items() if count]
        return f"{counted(X.shape[1], 'column')} ({listed(found)})"

    def _say_notes(self) -> None:
        """What a user should know about the rows before they are learned from."""
        data, labels = self.data, label_option(self.reading["labels"])
        X: Any = data.X
        Y, unknown = known_part(data.Y)
        empty = np.asarray(Y.sum(axis=1)).ravel() == 0
        if unknown is not None:
            gaps = np.asarray(unknown.sum(axis=1)).ravel()
            empty &= gaps == 0
            are = "is" if gaps.sum() == 1 else "are"
            self.say(
                f"Note: {counted(int(gaps.sum()), 'label')} of {Y.shape[0] * Y.shape[1]:,} {are} "
                "not known, and left out where learners learn and are measured"
            )
        without = int(empty.sum())
        if without:
            where = f"an empty cell in {labels!r}" if isinstance(labels, str) else "no label"
            have = "has" if without == 1 else "have"
            taken = "is" if without == 1 else "are"
            then = f" and {taken} taken to have no label" if isinstance(labels, str) else ""
            self.say(f"Note: {counted(without, 'row')} {have} {where}{then}")
        if not self.is_table:
            return
        if self.texts and self.reading["features"] is None and not self.reading["embeddings"]:
            self.say("Note: only the text is used; add other columns with --features")
        if counters := [name for name in X.columns if _counts_rows(X[name])]:
            named = listed([repr(name) for name in counters], 5)
            say = "numbers the rows" if len(counters) == 1 else "number the rows"
            names = ",".join(counters)
            self.say(f"Note: {named} {say}, as identifiers do; leave out with --drop {names!r}")

    @property
    def texts(self) -> list[str]:
        """The columns of text."""
        return names_in(self.reading["text"]) or []

    def has_missing(self) -> bool:
        """Whether there are missing numbers or dates."""
        X: Any = self.data.X
        if not self.is_table:
            return has_missing(X)
        dates = X[self._dates()]
        return has_missing(X.select_dtypes("number")) or bool(dates.isna().any(axis=None))

    def _dates(self) -> list[str]:
        """The columns of dates."""
        X: Any = self.data.X
        return [name for name, dtype in X.dtypes.items() if dtype.kind == "M"]

    def encoder(self, numbers: Any) -> Any:
        """What turns a table into numbers, not fitted; None for other data."""
        if not self.is_table:
            return None
        options = [
            self.reading[name] for name in ("ngrams", "stop_words", "min_count", "subwords")
        ]
        words = word_features(*options, text=self.reading["text"])
        return io.table_encoder(self.data.X, text=self.texts, numbers=numbers, words=words)

    # the estimator ----------------------------------------------------------------------------

    def prepare_automatic(self, measure: str) -> str:
        """Take the learners that suit the data; returns the cut, if one was asked for."""
        n, q = self.Y.shape
        if n * q > MOST_COMPARED:
            self.say(f"Learner: ML-kNN, since {n:,} rows and {q:,} labels are too many to compare")
            if sparse.issparse(self.X) or self.texts:
                return self.prepare(MLkNN(10, metric="cosine"))
            return self.prepare(make_pipeline(StandardScaler(), MLkNN(10)))
        # numbers beside words are brought to their size
        scaled = make_pipeline(imputer(), MinMaxScaler())
        encoder = self.encoder(scaled if self.texts else imputer())
        left = self.steps.left(0.7)
        self.automatic = AutoClassifier(
            measure,
            portfolio="quick" if self.quick else "full",
            threshold="constant" if self.threshold == "none" else self.threshold,
            time_limit=None if left is None else max(left, 1e-9),
            cv=3 if self.quick else 5,
            progress=lambda *so_far: self.steps.tick(*so_far),  # a method would be copied
            random_state=self.seed,
        )
        self.strategy, self.nonempty = None if self.threshold == "none" else self.threshold, False
        self.estimator, self.prefix = self.automatic, ""
        if encoder is not None:
            self.estimator = make_pipeline(encoder, self.automatic)
        return "" if self.threshold is None else self.strategy or "the learner's own cut"

    def prepare(self, learner: Any) -> str:
        """Put around a learner, or a search, what the data need; returns the cut in words."""
        fills = "Imputer" in learner_text(learner)
        # a further table may have missing values, even if this one has none
        self.before: Any = self.encoder("passthrough" if fills else imputer())
        if not self.is_table and self.has_missing() and not fills:
            self.before = imputer()
        if (self.texts or sparse.issparse(self.data.X)) and uncentred(learner):
            self.say("Note: StandardScaler leaves the mean in, since the features are sparse")
        self.strategy = None if self.threshold == "none" else self.threshold
        # where every row has a label, so should predictions
        sizes = np.asarray(known_part(self.Y)[0].sum(axis=1))
        self.nonempty = self.strategy is not None and bool((sizes > 0).all())
        self.estimator, self.prefix = self._wrapped(learner)
        more = "; at least one label for each row, as in the data" if self.nonempty else ""
        return (self.strategy or "the learner's own cut") + more

    def _wrapped(self, learner: Any) -> tuple[Any, str]:
        """The learner in a pipeline and below a cut, and where its parameters are then."""
        if isinstance(learner, GridSearchCV):
            inner, prefix = self._wrapped(learner.estimator)
            grid = {prefix + name: values for name, values in learner.param_grid.items()}
            search = clone(learner)
            return search.set_params(estimator=inner, param_grid=grid, error_score="raise"), prefix
        prefix = ""
        if self.before is not None:
            learner = make_pipeline(self.before, learner)
            prefix = f"{learner.steps[-1][0]}__"
        if self.strategy is not None:
            folds = 2 if self.quick else FOLDS
            learner = ThresholdClassifier(learner, self.strategy, cv=folds, nonempty=self.nonempty)
            prefix = f"estimator__{prefix}"
        return learner, prefix

    def plain_names(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Searched parameters by their names as the user wrote them."""
        last = [name.rpartition("__")[2] for name in parameters]
        return {
            short if last.count(short) == 1 else name.removeprefix(self.prefix): value
            for short, (name, value) in zip(last, parameters.items())
        }

    # what comes out ---------------------------------------------------------------------------

    def fit(self) -> Any:
        """Fit on the training rows, measure on the held-out ones, fit again on all.

        Returns the search, if it was one.
        """
        n, n_all = self.Y.shape[0], self.data.Y.shape[0]
        if isinstance(self.estimator, GridSearchCV):
            search, started = self._searched(), monotonic()
        else:
            search, started = None, monotonic()
            with self.steps.step(f"Learning from {counted(n, 'row')}"):
                self.estimator = _fitted(self.estimator, self.X, self.Y)
        took = monotonic() - started if search is None else search.refit_time_
        if self.automatic is not None:
            self.automatic = _last(self.estimator)
            self.say(self.automatic.summary())
            took = self.automatic.seconds_["fits"]
        self.measures: Any = {}
        if self.test is not None:
            X, Y = safe_indexing(self.data.X, self.test), self.data.Y[self.test]
            with self.steps.step(f"Measuring on {counted(len(self.test), 'row')}"):
                scores = scores_of(self.estimator, X, Y.shape[1])
                self.measures = metrics.evaluate(Y, scores, self.estimator.predict(X))
            self.guessing = _guessed(self.Y, Y)
            again, left = took * n_all / n, self.steps.left()
            if self.refit and left is not None and again > left:
                self.refit = False
                self.say("Not learned again from all rows: that would take longer than is left")
            if self.refit:
                words = f"Learning again from all {counted(n_all, 'row')}"
                with self.steps.step(words, seconds=again):
                    self._fit_again()
        if self.automatic is not None:
            _last(self.estimator).set_params(progress=None)  # which no model file may hold
        return search

    def _fit_again(self) -> None:
        """Fit on all rows; what was chosen automatically is not chosen anew."""
        X, Y = self.data.X, _labels(self.data.Y)
        if self.automatic is None:
            self.estimator = _fitted(clone(self.estimator), X, Y)
        elif self.estimator is self.automatic:
            self.automatic.refit(X, Y)
        else:
            self.automatic.refit(self.estimator[:-1].fit_transform(X), Y)

    def _searched(self) -> Any:
        """Run the search; it leaves the best estimator, fitted on the training rows."""
        search = Search(**self.estimator.get_params(deep=False))
        X, Y = self.X, self.Y
        if self.quick:
            search.set_params(cv=clone_folds(search.cv, 3))
            if Y.shape[0] > QUICK_ROWS:
                cv = IterativeStratifiedShuffleSplit(
                    1, train_size=QUICK_ROWS, random_state=self.seed
                )
                rows = np.sort(next(cv.split(np.empty(Y.shape[0]), Y))[0])
                X, Y = safe_indexing(X, rows), Y[rows]
        self.searched_rows, self.folds = Y.shape[0], search.cv.get_n_splits()
        n = len(ParameterGrid(search.param_grid))
        search.tick, search.seconds = self.steps.tick, self.steps.left(0.5)
        words = f"Comparing {counted(n, 'candidate')} in {self.folds} folds of {Y.shape[0]:,} rows"
        with self.steps.step(words):
            _fitted(search, X, Y)
        tried = len(search.cv_results_["params"])
        if tried < n:
            self.say(f"Time was up after {tried} of {n} candidates")
        self.estimator = search.best_estimator_
        if Y.shape[0] < self.Y.shape[0]:
            with self.steps.step(f"Learning the best from {counted(self.Y.shape[0], 'row')}"):
                self.estimator = _fitted(clone(self.estimator), self.X, self.Y)
        return search

    def finish(self, notes: dict[str, Any], *, digest: str | None = None) -> None:
        """Say how good the model is, and save it, with a digest of the data."""
        if self.measures:
            self.say(f"Measured on held-out rows: {self.how}")
            rows = [
                [f"{name} {arrow(name)}", f"{self.measures[name]:.3f}", f"{guess:.3f}"]
                for name, guess in ((name, self.guessing.get(name)) for name in SHOWN)
                if guess is not None and math.isfinite(self.measures.get(name, math.nan))
            ]
            with heard_or_not():
                print_table(["", "model", "same answer for all"], rows, err=self.as_json)
            if note := getattr(self.measures, "note", ""):
                self.say(note)
            rest = f"learned from the other {self.Y.shape[0]:,} rows"
            again = "learned again from all rows" if self.refit else rest
            self.say(f"The saved model is {again}.")
        else:
            self.say(f"Quality unknown: {self.how}.")
        tested = 0 if self.test is None else len(self.test)
        notes |= {
            "threshold": self.strategy,
            "nonempty": self.nonempty,
            "seed": self.seed,
            "held_out": {"how": self.how, "rows": tested, "measures": self.measures},
            "learned_rows": "all" if self.refit or not self.measures else "train",
        }
        data = self.data
        digest = rows_digest(data.X, data.Y) if digest is None else digest
        about = {"name": data.name, "rows": int(data.Y.shape[0])}
        labels: Any = label_option(self.reading["labels"]) if self.is_table else None
        model = Model(
            self.estimator,
            data.label_names,
            data.feature_names,
            labels=labels,
            tag_sep=data.tag_sep,
            sep=self.reading["sep"],
            sparse_features=self.is_sparse,
            notes={"data": about | {"digest": digest}, **notes},
            written=data.written,
        )
        out, problem = self._save(model)
        self.say(f"Wrote {out} ({file_size(out.stat().st_size)})")
        if self.as_json:
            guessing = self.guessing if self.measures else {}
            print_json({"model": out, **notes, "guessing": guessing})
        if problem is not None:
            fail(f"{self.out} could not be written ({problem}); the model is in {out} instead")

    def _save(self, model: Model) -> tuple[Path, str | None]:
        """Save the model, elsewhere if it must be: returns where, and what was wrong."""
        try:
            save_model(self.out, model)
            return self.out, None
        except OSError as error:
            problem = error.strerror or str(error)
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            out = folder / f"{self.out.stem}-{secrets.token_hex(3)}.skops"
            try:
                save_model(out, model)
                return out, problem
            except OSError:
                continue
        fail(f"{self.out} could not be written ({problem}), nor could any other place")


def _last(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def clone_folds(folds: Any, most: int) -> Any:
    """The folds of a search, but no more than so many."""
    folds = copy(folds)
    folds.n_splits = min(folds.n_splits, most)
    return folds


def _counts_rows(series: Any) -> bool:
    """Whether a column numbers the rows."""
    if series.dtype.kind not in "iuf" or len(series) < FEWEST_HELD_OUT:
        return False
    values = series.to_numpy()
    return bool((np.diff(values) == 1).all())


def _labels(Y: Any) -> Any:
    """Y dense if it is small: tags are sparse, which not all classifiers of scikit-learn take."""
    is_sparse = sparse.issparse(Y) or (isinstance(Y, UnknownLabels) and sparse.issparse(Y.Y))
    return Y.toarray() if is_sparse and np.prod(Y.shape) <= MOST_DENSE else Y


def _fitted(estimator: Any, X: Any, Y: Any) -> Any:
    try:
        return estimator.fit(X, Y)
    except TypeError as error:  # what a learner was given, seldom what we did
        raise ValueError(f"the learner failed: {error}") from error


def _guessed(Y: Any, Y_test: Any) -> metrics.Evaluation:
    """The same answer for every row: the most frequent labels, as many as rows have."""
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
    """The labels of the same answer for every row, as many as rows have; of (q,) frequencies."""
    return np.argsort(-frequency, kind="stable")[: max(1, round(float(frequency.sum())))]


def scores_of(estimator: Any, X: Any, q: int) -> Any:
    """Scores (n, q), or None from an estimator that only predicts."""
    if not (hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")):
        return None
    return metrics.label_scores(estimator, X, n_labels=q)


def arrow(measure: str) -> str:
    """Which way is better; in letters that stdout can write."""
    up, down = ("↑", "↓") if can_write("↑↓") else ("+", "-")
    return up if metrics.get_measure(measure).greater_is_better else down


def rows_digest(X: Any, Y: Any) -> str:
    """Digest of rows and their labels, whatever the types of index in sparse ones."""
    return digest_of(*(part for matrix in (X, Y) for part in _canonical(matrix)))


def _canonical(matrix: Any) -> list[Any]:
    if isinstance(matrix, UnknownLabels):
        return [*_canonical(matrix.Y), *_canonical(matrix.unknown)]
    if not sparse.issparse(matrix):
        return [matrix if hasattr(matrix, "iloc") else np.asarray(matrix, dtype=np.float64)]
    csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return [csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64), list(csr.shape)]
