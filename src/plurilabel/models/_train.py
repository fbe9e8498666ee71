"""Train a model on any data, for Python and the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline

from plurilabel import io, metrics
from plurilabel._core.blocks import has_missing
from plurilabel._core.compat import safe_indexing
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.names import refuse_one_label
from plurilabel._core.scores import scores_or_none
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel._core.words import counted
from plurilabel.distributed import spread
from plurilabel.evaluation import write_model_report
from plurilabel.io.shared import imputer, is_dense, kinds_text, uncentred
from plurilabel.learners import learner_text, make_learner, set_seeds
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.learners.shared import wrapped
from plurilabel.model_selection.shared import held_out_rows
from plurilabel.models import _train_data
from plurilabel.models._model import Model
from plurilabel.models._model_rows import row_marks, row_texts, rows_digest
from plurilabel.models._train_events import Progress, TrainingEvent
from plurilabel.models._train_search import fitted, search_best
from plurilabel.models.onnx import not_exportable
from plurilabel.thresholds import get_strategy
from plurilabel.wrappers import AutoClassifier, LabelDescriptions, ThresholdClassifier
from plurilabel.wrappers.shared import has_many_labels

FOLDS = 3  # for the out-of-fold scores of a threshold
NOT_CENTERED = "Note: StandardScaler does not center, since the features are sparse"


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
    store: str | os.PathLike[str] | None = None,
    exportable: bool = False,
    progress: Progress | None = None,
    group: Any = None,
    time: Any = None,
    report: str | os.PathLike[str] | None = None,
    **reading: Any,
) -> Model:
    """Train a model on a table, a dataset or arrays, and evaluate it on held-out rows.

    ``plurilabel fit`` calls this function: the same data and options give the same model. The
    model includes the encoding of columns, so that it takes raw tables.

    Parameters
    ----------
    data : path or paths, data frame, Dataset, sequence of n texts, or matrix of shape (n, d)
        Files in any format of :func:`plurilabel.io.read`, the name of a standard dataset such as
        ``"yeast"``, a table in memory, or features.
    labels : str, sequence of str, int, or matrix of shape (n, q), default=None
        For a file or a data frame: the column of tags or the label columns, as for
        :func:`plurilabel.io.read`. For features in memory: the 0/1 label matrix, as an array, a
        sparse matrix or a data frame.
    text, categorical : str or sequence of str, default=None
        Columns of text and of categories, where they are not detected.
    words : transformer, default=None
        Encodes columns of text: an encoder such as :class:`~plurilabel.StaticEncoder`, or the
        result of :func:`plurilabel.io.word_features`.
    learner : str or estimator, default=None
        A learner, pipeline or grid search, or a specification for
        :func:`plurilabel.learners.make_learner`. Missing values are imputed, but features are
        only scaled if the learner does so. By default an :class:`~plurilabel.AutoClassifier`,
        which tries many learners.
    measure : str, default="micro_f1"
        The measure that the default learner optimizes.
    threshold : str, default=None
        Threshold strategy: a name in :func:`plurilabel.thresholds.strategy_names`, or "none" for
        the learner's own threshold. By default the best one for ``measure``, and "none" with
        ``learner``.
    holdout : float, default=None
        Share of the rows to evaluate the model on; 0 for none. By default the published test
        part of a dataset that has one, or 0.2.
    refit : bool, default=True
        Whether to refit the model on all rows after the evaluation.
    quick : bool, default=False
        Whether to save time: the default learner tries only nearest neighbors and linear models,
        candidates are compared on 1,000 rows in 3 folds, and thresholds are tuned in 2 folds.
    time_limit : float, default=None
        Seconds. No further learner or candidate is tried when most of the time is used up, and
        the refit is skipped if there is no time left for it. Fits are not interrupted.
    random_state : int, default=0
        Seed of splits and learners.
    scheduler : str, default=None
        Fit on Dask: the address of a cluster, or "threads". :class:`~plurilabel.MLkNN` and the
        other lazy learners, the default here, read files in blocks, and so do those of
        :func:`plurilabel.distributed.fit` if the files take more than a quarter of a worker's
        memory. Others are trained in :func:`plurilabel.distributed.spread`, with all rows in
        memory.
    store : path, default=None
        Folder for the parts that such a learner has finished, from which training goes on if it
        was stopped: see :func:`plurilabel.distributed.spread`.
    exportable : bool, default=False
        Whether to choose only among learners that :func:`to_onnx` can export. A ``learner``,
        ``words`` or ``threshold`` that it cannot export is an error.
    progress : callable, default=None
        Called with a :class:`TrainingEvent` for every step, for example ``print``.
    group : str or array-like of shape (n,), default=None
        The group of each row, such as a patient: a column of the table, which is then not a
        feature, or one value per row. Groups are never split when rows are held out.
    time : str or array-like of shape (n,), default=None
        The time of each row, as dates or numbers: a column of the table, which is then not a
        feature, or one value per row. Models are evaluated on later rows than they are fitted on.
    report : path, default=None
        HTML file to write about the held-out rows: see
        :func:`plurilabel.evaluation.write_model_report`. Not with ``holdout=0``.
    **reading : dict
        Further options for reading a file or a data frame, such as ``features``, ``drop``,
        ``tag_sep`` and ``embeddings``: see :func:`plurilabel.io.read_table`.

    Returns
    -------
    Model
        ``model.notes["held_out"]["measures"]`` has the measures on the held-out rows, and
        ``model.notes["guessing"]`` those of predicting the same labels for every row.

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
    metrics.get_scorer(measure)  # fail before any work is done
    if report is not None:
        _train_data.check_report(report, holdout)
    if exportable:
        strategy = None if threshold in (None, "none") else get_strategy(threshold)
        given = make_learner(learner) if isinstance(learner, str) else learner
        for part in (given, words, strategy):
            if part is not None and (why := not_exportable(part)):
                raise ValueError(why)
    kind: Any = Training
    given_kinds, rows, blocks = {"text": text, "categorical": categorical}, (group, time), None
    around: Any = nullcontext()
    if scheduler is not None or store is not None:
        from plurilabel.models._train_blocks import BlockTraining, training_on_blocks

        if scheduler is not None:
            kind = training_on_blocks(learner, data, scheduler, store) or Training
        if store is not None and kind is BlockTraining:
            raise ValueError("store= is not supported with learners that read files in blocks")
        if kind is Training:
            around = spread(scheduler or "threads", store=store)
    elif report is None and _train_data.is_large_file(data):
        from plurilabel.models._train_texts import TextTraining, text_blocks

        blocks = text_blocks(data, labels, {**given_kinds, **reading}, words, rows)
        kind = kind if blocks is None else TextTraining
    training: Training = kind(
        threshold=threshold, holdout=holdout, refit=refit, quick=quick, time_limit=time_limit,
        random_state=random_state, progress=progress or (lambda _: None), exportable=exportable,
        report=report, scheduler=scheduler, found=blocks, words=words, given_kinds=given_kinds,
        rows=rows, reading=reading,
    )  # fmt: skip
    with around:
        return training.run(data, labels, learner, measure)


@dataclass(eq=False)
class Training:
    """A run of :func:`train`: ``data`` is the dataset, ``X`` and ``Y`` are the training rows."""

    progress: Progress
    random_state: int
    rows: tuple[Any, Any]  # group and time
    words: Any
    given_kinds: dict[str, Any]  # columns of text and of categories
    reading: dict[str, Any]  # options for reading
    threshold: str | None = None
    holdout: float | None = 0
    refit: bool = False
    quick: bool = False
    time_limit: float | None = None
    exportable: bool = False
    report: Any = None  # path of the report on held-out rows
    scheduler: str | None = None

    automatic: AutoClassifier | None = None
    columns: Any = None  # names of the label columns, for a table
    how: str = "no rows held out"
    test: Any = None  # held-out rows
    groups: Any = None  # of the training rows
    measures: Any = field(default_factory=dict)
    guessing: Any = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    nonempty: bool = False
    found: Any = None  # the blocks of a large file
    prefix: str = ""  # of the learner's parameters in the estimator
    started: float = field(default_factory=monotonic)

    @property
    def strategy(self) -> str | None:
        """The threshold strategy; None for the learner's own or the automatic choice."""
        return None if self.threshold == "none" else self.threshold

    # progress and time ------------------------------------------------------------------------

    def tell(
        self, kind: Any, text: str, seconds: float | None = None, done: int = 0, total: int = 0
    ) -> None:
        self.progress(TrainingEvent(kind, text, seconds, done, total))

    @contextmanager
    def step(self, text: str, *, seconds: float | None = None) -> Iterator[None]:
        """Report the start and end of a step, with its expected duration."""
        self.tell("step", text, seconds)
        try:
            yield
        finally:
            self.tell("end", text)

    def tick(self, done: int, total: int, text: str, seconds: float) -> None:
        """Report the next part of a step, and the seconds since its start."""
        self.tell("part", text, seconds, done, total)

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until a share of the time limit is used up; None without a limit."""
        if self.time_limit is None:
            return None
        return share * self.time_limit - (monotonic() - self.started)

    def run(self, data: Any, labels: Any, learner: Any, measure: str) -> Model:
        """Read, split, prepare, fit, evaluate and refit."""
        given = make_learner(learner) if isinstance(learner, str) else learner
        refuse_one_label(given)
        self.read(data, labels)
        self.split()
        if given is None:
            threshold = self.prepare_automatic(measure)
        else:
            if isinstance(learner, str):
                self.tell("plan", f"Learner: {learner}")
            given = clone(given)
            set_seeds(given, self.random_state)
            threshold = self.prepare(given)
        if threshold:
            self.tell("plan", f"Threshold: {threshold}")
        if self.has_missing():
            self.tell("plan", "Missing values: replaced by the median of the column")
        self.fit()
        learned = given if given is not None else self.estimator
        if self.automatic is not None:
            learned = clone(self.automatic).set_params(encoder=None)
        self.notes.setdefault("learner", learner_text(learned))
        found = self.model(self.digest(), sep=self.reading.get("sep"))
        found.notes["data"]["marks"] = self.marks()
        return found

    def digest(self) -> str:
        """Digest of all rows and their labels."""
        return rows_digest(self.data.X, self.data.Y)

    def marks(self) -> list[int]:
        """Hashes that identify some of the rows."""
        return row_marks(self.data.X)

    # data -------------------------------------------------------------------------------------

    def read(self, data: Any, labels: Any) -> None:
        """Read the data and describe them."""
        what = data if isinstance(data, str | os.PathLike) else "data"
        what = counted(len(data), "file") if _train_data.are_paths(data) else what
        with self.step(f"Reading {what}"):
            self.data = data = _train_data.read_data(
                data, labels, self.given_kinds, self.reading, self.rows
            )
        self.texts = _train_data.text_columns(data)
        if self.words is not None and not self.texts:
            raise ValueError("words needs columns of text, got none; name them with text=[...]")
        if data.has_bags:
            raise ValueError(
                f"{data.name or 'data'} has bags of instances: see plurilabel.bags for learners"
            )
        self.is_table, self.is_sparse = hasattr(data.X, "iloc"), sparse.issparse(data.X)
        if self.is_table and _train_data.are_names(labels):
            self.columns = labels if isinstance(labels, str) else list(labels)
        n, q = data.Y.shape
        self.tell(
            "note",
            f"{data.name or 'data'}: {counted(n, 'row')}, {self._features()}, "
            f"{counted(q, 'label')}, {known_part(data.Y)[0].sum() / n:.2f} per row",
        )
        for note in [
            *_train_data.label_notes(data, self.columns),
            *_train_data.column_notes(data, data.X),
        ]:
            self.tell("note", f"Note: {note}")

    def _features(self) -> str:
        X: Any = self.data.X
        if not self.is_table:
            return counted(X.shape[1], "sparse feature" if self.is_sparse else "feature")
        return f"{counted(X.shape[1], 'column')} ({kinds_text(self.data.kinds)})"

    def has_missing(self) -> bool:
        """Whether there are missing numbers or dates."""
        X: Any = self.data.X
        if not self.is_table:
            return has_missing(X)
        kinds = self.data.kinds.items()
        return any(X[name].isna().any() for name, kind in kinds if kind in ("numbers", "dates"))

    def split(self) -> None:
        """Hold out the published test part, or a share of the rows, random or the last."""
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
        self.X, self.Y = safe_indexing(data.X, train), _train_data.dense_if_small(data.Y[train])
        self.groups = None if data.groups is None else data.groups[train]
        if self.report is not None and self.test is None:
            self.tell("note", f"Note: no report is written: {self.how}")

    def folds(self, number: int) -> Any:
        """Value of ``cv``; rows in the order of time are tested on later ones."""
        return TimeSeriesSplit(number) if self.data.ordered else number

    def share(self, n: int) -> float:
        """Share of n rows to hold out."""
        share = 0.2 if self.holdout is None else self.holdout
        if share > 0 and n < _train_data.FEWEST_HELD_OUT:
            self.how = f"no rows held out, since there are only {n}"
            return 0.0
        return share

    def encoder(self, numbers: Any) -> Any:
        """An unfitted encoder of the table; None for other data."""
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
        """Choose learners for the data; return the threshold if one was given."""
        if self.exportable and has_many_labels(*self.Y.shape):
            self.tell("plan", "Learner: OneVsAllLinear, which can be exported with so many labels")
            return self.prepare(OneVsAllLinear())
        left = self.left(0.7)
        exportable = partial(not_exportable, unknown_labels=isinstance(self.Y, UnknownLabels))
        self.automatic = AutoClassifier(
            measure,
            portfolio="quick" if self.quick else "full",
            threshold="constant" if self.threshold == "none" else self.threshold,
            leave_out=exportable if self.exportable else None,
            time_limit=None if left is None else max(left, 1e-9),
            cv=self.folds(3 if self.quick else 5) if self.data.ordered else None,
            encoder=self.encoder(None),
            progress=lambda *so_far: self.tick(*so_far),  # a method would be copied
            random_state=self.random_state,
        )
        self.estimator = self.automatic
        return "" if self.threshold is None else self.strategy or "the learner's own threshold"

    def prepare(self, learner: Any) -> str:
        """Wrap a learner or search in what the data need; return the threshold as text."""
        fills = "Imputer" in learner_text(learner)
        # later tables may have missing values even if this one has none
        before = self.encoder("passthrough" if fills else imputer())
        if not self.is_table and self.has_missing() and not fills:
            before = imputer()
        from_words = bool(self.texts) and not is_dense(self.words)  # which are sparse features
        if (self.is_sparse or from_words) and uncentred(learner):
            self.tell("note", NOT_CENTERED)
        # if every row has a label, so should predictions
        sizes = np.asarray(known_part(self.Y)[0].sum(axis=1))
        self.nonempty = self.strategy is not None and bool((sizes > 0).all())
        self.estimator, self.prefix = wrapped(learner, lambda one: self._wrapped(one, before))
        if isinstance(self.estimator, GridSearchCV):
            self.estimator.error_score = "raise"
        more = "; at least one label per row, as in the data" if self.nonempty else ""
        return (self.strategy or "the learner's own threshold") + more

    def _wrapped(self, learner: Any, before: Any) -> tuple[Any, str]:
        """The learner in a pipeline and a threshold, and the prefix of its parameters."""
        prefix = ""
        if isinstance(learner, LabelDescriptions):  # which reads the texts itself
            learner = learner.of_columns(before, self.texts, self.data.label_names)
        elif before is not None:
            learner = make_pipeline(before, learner)
            prefix = f"{learner.steps[-1][0]}__"
        if self.strategy is not None:
            folds = self.folds(2 if self.quick else FOLDS)
            learner = ThresholdClassifier(learner, self.strategy, cv=folds, nonempty=self.nonempty)
            prefix = f"estimator__{prefix}"
        return learner, prefix

    # fitting ----------------------------------------------------------------------------------

    def fit(self) -> None:
        """Fit on the training rows, evaluate on the held-out ones, and refit on all."""
        if isinstance(self.estimator, GridSearchCV):
            took = search_best(self)
        else:
            started = monotonic()
            with self.step(f"Fitting on {counted(self.Y.shape[0], 'row')}"):
                self.estimator = fitted(self.estimator, self.X, self.Y, self.groups)
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
            self.automatic.set_params(progress=None, leave_out=None)  # functions are not saved

    def _measure(self) -> None:
        X, Y = safe_indexing(self.data.X, self.test), self.data.Y[self.test]
        with self.step(f"Evaluating on {counted(len(self.test), 'row')}"):
            scores = scores_or_none(self.estimator, X, Y.shape[1])
            labels = self.estimator.predict(X)
            self.measures = metrics.evaluate(Y, scores, labels)
        if self.report is not None:
            about: Any = {"title": f"Model of {self.data.name or 'data'}"}
            about |= {"facts": [("held out", self.how)], "instances": row_texts(X, self.texts)}
            names = self.data.label_names
            write_model_report(
                self.report, Y, scores, labels, label_names=names, rows=self.test, **about
            )
        self.guessing = _train_data.guessed(self.Y, Y)

    def _fit_again(self, seconds: float) -> None:
        """Refit on all rows if there is time; automatic choices are kept."""
        left = self.left()
        if self.refit and left is not None and seconds > left:
            self.refit = False
            self.tell("note", "Not refitted on all rows: not enough time left")
        if not self.refit:
            return
        X, Y = self.data.X, _train_data.dense_if_small(self.data.Y)
        with self.step(f"Refitting on all {counted(Y.shape[0], 'row')}", seconds=seconds):
            try:
                self._refit(X, Y)
            except Exception as error:  # the evaluated model is kept
                self.refit = False
                why = f"{type(error).__name__}: {' '.join(str(error).split())}"
                self.tell("note", f"Not refitted on all rows: {why}")

    def _refit(self, X: Any, Y: Any) -> None:
        if self.automatic is None:
            self.estimator = fitted(clone(self.estimator), X, Y, self.data.groups)
            return
        before = self.automatic.report_["left_out"]
        self.automatic.refit(X, Y, groups=self.data.groups)
        self.notes["report"] = self.automatic.report_
        for name, why in self.automatic.report_["left_out"].items():
            if name not in before:
                self.tell("note", f"Left out: {name}, {why}")

    def model(self, digest: str, *, sep: str | None = None) -> Model:
        """The trained model, with its notes."""
        data = self.data
        tested = 0 if self.test is None else len(self.test)
        about = {"name": data.name, "rows": int(data.Y.shape[0]), "digest": digest}
        held_out = {"how": self.how, "rows": tested, "measures": self.measures}
        return Model(
            self.estimator,
            data.label_names,
            tuple(data.kinds) or data.feature_names,
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
