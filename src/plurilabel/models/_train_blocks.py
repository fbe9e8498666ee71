"""Train on Dask, with data that are read in blocks."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._core.blocks import has_missing
from plurilabel._core.limits import check_size
from plurilabel._core.records import digest_of
from plurilabel._core.words import counted
from plurilabel.distributed import (
    DaskLazyClassifier,
    evaluate,
    fit,
    predict,
    predict_proba,
    read,
    stratified_split,
)
from plurilabel.distributed.shared import (
    KEPT,
    blocks_of,
    check_by_rows,
    connected,
    import_dask,
    label_counts,
    workers,
)
from plurilabel.io.shared import imputer, is_table, table_module, typed_frame, uncentred
from plurilabel.learners import learner_text, make_learner
from plurilabel.learners.lazy import MLkNN
from plurilabel.models._model import Model
from plurilabel.models._train import NOT_CENTERED, Training
from plurilabel.models._train_data import column_notes, most_frequent

SCALED = "ML-kNN on scaled features"
READING = ("features", "drop", "tag_sep")  # supported options for reading
LOOKED_AT = 1 << 23  # cells of the first rows, by which `RowTraining` encodes all


class BlockTraining(Training):
    """A run of :func:`~plurilabel.models.train` with a scheduler."""

    def run(self, data: Any, labels: Any, learner: Any, _measure: str) -> Model:
        """Read, split, fit, evaluate and refit, and gather the model."""
        self._refuse_others()
        given = make_learner(learner) if isinstance(learner, str) else learner
        with connected(str(self.scheduler)):
            self.read(data, labels)
            if given is None:
                given, learner = MLkNN(10, metric="cosine"), "ML-kNN, cosine"
                if not self.is_sparse and not self.texts:
                    given, learner = make_pipeline(StandardScaler(), MLkNN(10)), SCALED
            scale, lazy = self.taken_apart(given)
            words = learner if isinstance(learner, str) else learner_text(given)
            self.tell("plan", f"Learner: {words}")
            if scale and self.is_sparse:
                raise ValueError("learner: StandardScaler needs dense features; these are sparse")
            if scale and self.texts:
                self.tell("note", NOT_CENTERED)
            self._fit(scale, lazy)
        self.notes["learner"] = learner_text(self.estimator)
        # the files are not read again for the digest
        return self.model(digest_of("blocks", self.sources, list(self.data.X.shape)))

    def _refuse_others(self) -> None:
        """Raise an error for options that need all rows in memory."""
        others = {
            **{name: value for name, value in self.reading.items() if name not in READING},
            "group": self.rows[0],
            "time": self.rows[1],
            "threshold": self.threshold,
            "quick": self.quick,
            "time_limit": self.time_limit,
            "report": self.report,
        }
        for name, value in others.items():
            if value is not None and value is not False:
                raise ValueError(f"{name}= is not supported with scheduler=")

    def read(self, data: Any, labels: Any) -> None:
        """Read names, sizes and the columns of a table, and describe the data."""
        several = [data] if isinstance(data, str | os.PathLike) else list(data)
        self.sources = [os.fspath(path) for path in several]
        with self.step(f"Inspecting {counted(len(self.sources), 'file')}"):
            given = {name: self.reading.get(name) for name in READING}
            options = {name: value for name, value in given.items() if value is not None}
            if is_table(self.sources[0]):
                options["encoder"] = "passthrough"
            self.data = read(self.sources, labels=labels, **options)
        X, Y = self.data.X, self.data.Y
        self.is_table, self.texts = "encoder" in options, []
        self.columns, (n, d) = labels, X.shape
        self.is_sparse = sparse.issparse(X._meta)  # type: ignore[union-attr]
        self.check_rows(n, d)
        if self.is_table:
            with self.step(f"Reading {counted(d, 'column')}"):
                frame = self._rows(X)
                self._tell_apart(frame, options.get("features", ()))
        self.tell(
            "note",
            f"{self.data.name}: {counted(n, 'row')} in "
            f"{counted(X.numblocks[0], 'block')}, "  # type: ignore[union-attr]
            f"{self._features()}, {counted(Y.shape[1], 'label')}",
        )
        for note in column_notes(self.data, frame) if self.is_table else ():
            self.tell("note", f"Note: {note}")

    def taken_apart(self, learner: Any) -> tuple[bool, Any]:
        """Whether features are scaled in this process, and the learner of the blocks."""
        return _taken_apart(learner)

    def check_rows(self, n: int, d: int) -> None:
        """Refuse rows that do not fit into the model."""
        if not self.is_sparse:
            check_size(
                "the model file",
                f"{n:,} rows with {d:,} features",
                memory=8.0 * n * d,
                instead="DaskLazyClassifier and save_parts in Python, which keep it in blocks",
            )

    def _tell_apart(self, frame: Any, wanted: Any) -> None:
        """Detect the kinds of the columns from all rows, as in memory."""
        given: Any = {
            parameter: [names] if isinstance(names, str) else list(names or ())
            for parameter, names in self.given_kinds.items()
        }
        for parameter, names in given.items():
            if missing := [name for name in names if name not in frame]:
                raise ValueError(f"{parameter} names a column {missing[0]!r} that does not exist")
        found = typed_frame(frame, list(frame), **given, wanted=wanted)
        about: Any = {"kinds": found.kinds, "written": found.written, "left_out": found.left_out}
        self.data = replace(self.data, **about)
        self.texts = [name for name, kind in found.kinds.items() if kind == "text"]
        if self.words is not None and not self.texts:
            raise ValueError("words needs columns of text, got none; name them with text=[...]")

    def _rows(self, X: Any) -> Any:
        """Compute a Dask array in this process, which also holds the rows of the model."""
        rows = X.compute()
        if not self.is_table:
            return rows
        names = list(self.data.feature_names)
        return table_module("pandas").DataFrame(rows, columns=names).infer_objects()

    def _fit(self, scale: bool, lazy: Any) -> None:
        X, Y = self.data.X, self.data.Y
        n, share, test = X.shape[0], self.share(X.shape[0]), None
        if share:
            with self.step(f"Splitting {counted(n, 'row')}"):
                X, test, Y, Y_test = stratified_split(
                    X, Y, sizes=(1 - share, share), random_state=self.random_state
                )
        self.X, self.Y = X, Y
        with self.step(f"Fitting on {counted(X.shape[0], 'row')}"):
            before, fitted = self._fitted(X, Y, scale, lazy)
        if test is not None:
            rows = counted(test.shape[0], "row")
            self.test, self.how = np.arange(test.shape[0]), f"{rows} ({share:.0%}, stratified)"
            with self.step(f"Evaluating on {rows}"):
                new = self._transformed(test, before)
                self.measures = evaluate(Y_test, fitted.predict_proba(new), fitted.predict(new))
                self.guessing = _guessed(Y, Y_test)
            if self.refit:
                with self.step(f"Refitting on all {counted(n, 'row')}"):
                    before, fitted = self._fitted(self.data.X, self.data.Y, scale, lazy)
        with self.step("Gathering the model"):
            gathered = fitted.gather()
        self.estimator = make_pipeline(*before, gathered) if before else gathered

    def _fitted(self, X: Any, Y: Any, scale: bool, lazy: Any) -> tuple[list[Any], Any]:
        """Fit the steps before the learner, and the learner.

        The steps are fitted in this process, so that they equal those of one machine bit for bit,
        and transform the blocks on the workers.
        """
        before = []
        if not self.is_sparse:
            rows = self._rows(X)
            if self.is_table:
                before = [self.encoder(imputer())]
            elif has_missing(rows):
                before = [imputer()]
            if scale:
                before.append(StandardScaler(with_mean=not self.texts))
            if before:
                before = [step for _, step in make_pipeline(*before).fit(rows).steps]
        return before, DaskLazyClassifier(lazy).fit(self._transformed(X, before), Y)

    def _transformed(self, X: Any, steps: list[Any]) -> Any:
        """Apply the fitted steps to each block of a Dask array."""
        if not steps:
            return X
        names = list(self.data.feature_names) if self.is_table else None
        d = len(steps[0].get_feature_names_out()) if self.is_table else X.shape[1]
        meta: Any = np.empty((0, d))
        meta = sparse.csr_array(meta) if self.texts else meta
        return X.map_blocks(_transformed, steps, names, chunks=(X.chunks[0], (d,)), meta=meta)


class RowTraining(BlockTraining):
    """A run with a learner of ``distributed.fit``: of the rows, only the first are in memory."""

    def taken_apart(self, learner: Any) -> tuple[bool, Any]:
        if self.texts and uncentred(learner):
            self.tell("note", NOT_CENTERED)
        return False, learner

    def check_rows(self, n: int, d: int) -> None:
        self.head = max(1000, LOOKED_AT // max(d, 1))
        if self.is_table and n > self.head:
            rows = counted(self.head, "row")
            self.tell(
                "note", f"Note: columns are encoded by the first {rows}, which fit in memory"
            )

    def _rows(self, X: Any) -> Any:
        return super()._rows(X[: self.head])

    def _fitted(self, X: Any, Y: Any, _scale: bool, learner: Any) -> tuple[list[Any], Any]:
        before = [self.encoder(imputer()).fit(self._rows(X))] if self.is_table else []
        return before, _OnBlocks(fit(clone(learner), self._transformed(X, before), Y))


class _OnBlocks:
    """A model that is asked about blocks."""

    def __init__(self, model: Any):
        self.model = model

    def predict_proba(self, X: Any) -> Any:
        return predict_proba(self.model, X)

    def predict(self, X: Any) -> Any:
        return predict(self.model, X)

    def gather(self) -> Any:
        return self.model


def _transformed(block: Any, steps: list[Any], names: list[str] | None) -> Any:
    """Apply fitted steps to a block of rows, of a table if there are names."""
    if names is not None:
        block = table_module("pandas").DataFrame(block, columns=names).infer_objects()
    for step in steps:
        block = step.transform(block)
    return block


def training_on_blocks(
    learner: Any, data: Any, scheduler: str, store: Any = None
) -> type[BlockTraining] | None:
    """How a learner, None for the default, is fitted to blocks of files on Dask, if it is.

    Those of ``distributed.fit`` are if the files take more than a quarter of a worker's memory and
    no finished parts are stored; otherwise `spread` fits them, with the bits of one machine.
    """
    given = make_learner(learner) if isinstance(learner, str) else learner
    if given is None or hasattr(_taken_apart(given)[1], "n_neighbors"):
        return BlockTraining
    if store is not None:
        return None
    try:
        check_by_rows(given)
        paths = [data] if isinstance(data, str | os.PathLike) else list(data)
        size = sum(os.path.getsize(path) for path in paths)
    except (OSError, TypeError, ValueError):  # not such a learner, or no files
        return None
    with connected(scheduler):
        return RowTraining if size > KEPT * workers()[1] else None


def _taken_apart(learner: Any) -> tuple[bool, Any]:
    """Split a pipeline: whether features are scaled, and the lazy learner."""
    if isinstance(learner, Pipeline) and len(learner) == 2 and type(learner[0]) is StandardScaler:
        scaler, last = learner
        if scaler.with_mean and scaler.with_std:
            return True, last
    return False, learner


def _guessed(Y: Any, Y_test: Any) -> Any:
    """Measures of predicting the most frequent labels for every row."""
    array = import_dask("scheduler=").array
    frequency = label_counts(blocks_of(Y)) / Y.shape[0]
    prediction = np.zeros(len(frequency), dtype=np.int8)
    prediction[most_frequent(frequency)] = 1
    scores, labels = (
        array.broadcast_to(array.from_array(row), Y_test.shape, chunks=Y_test.chunks)
        for row in (frequency, prediction)
    )
    return evaluate(Y_test, scores, labels)
