"""``plurilabel fit --scheduler``: data that are read in blocks, on Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._core.limits import check_size
from plurilabel._core.records import digest_of
from plurilabel._core.words import counted
from plurilabel.cli._data import label_option, names_in
from plurilabel.cli._errors import UsageError
from plurilabel.cli._training import FEWEST_HELD_OUT, Training, most_frequent
from plurilabel.distributed import DaskLazyClassifier, evaluate, read, stratified_split
from plurilabel.distributed.shared import blocks_of, import_dask, in_a_tree, label_counts
from plurilabel.learners.lazy import MLkNN

THREADS = "threads"
PATIENCE = 10  # seconds, for a scheduler to answer
_REFUSED = (
    "text", "empty_labels", "sep", "ngrams", "stop_words", "min_count", "subwords", "embeddings",
    "decimal", "day_first",
)  # fmt: skip


class BlockTraining:
    """A run of ``fit`` on Dask: the data stay in blocks until the model is saved.

    Parameters
    ----------
    training : Training
        What was asked for.
    """

    def __init__(self, training: Training) -> None:
        self.training, self.sources = training, training.sources
        given = [name for name in _REFUSED if training.reading[name]]
        given += [name for name in ("threshold", "quick") if getattr(training, name)]
        if training.steps.time_limit is not None:
            given.append("time_limit")
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} does not go with --scheduler")

    def run(self, learner: Any, words: str | None) -> None:
        """Read, split, learn, measure, learn again, and gather the model."""
        training = self.training
        self._read()
        if learner is None:
            learner, words = self._default()
        scale, lazy = _taken_apart(learner)
        training.say(f"Learner: {words}")
        if scale and self.sparse:
            raise UsageError("--learner: StandardScaler needs dense features; these are sparse")
        X, Y = training.data.X, training.data.Y
        n, test = X.shape[0], None
        if self.share:
            with training.steps.step(f"Splitting {counted(n, 'row')}"):
                X, test, Y, Y_test = stratified_split(
                    X, Y, sizes=(1 - self.share, self.share), random_state=training.seed
                )
        training.X, training.Y, training.measures = X, Y, {}
        with training.steps.step(f"Learning from {counted(X.shape[0], 'row')}"):
            before, fitted = self._fitted(X, Y, scale, lazy)
        if test is not None:
            training.test = np.arange(test.shape[0])
            training.how = f"{counted(test.shape[0], 'row')} ({self.share:.0%}, stratified)"
            with training.steps.step(f"Measuring on {counted(test.shape[0], 'row')}"):
                asked = _scaled(test, before)
                training.measures = evaluate(
                    Y_test, fitted.predict_proba(asked), fitted.predict(asked)
                )
                training.guessing = _guessed(Y, Y_test)
            if training.refit:
                with training.steps.step(f"Learning again from all {counted(n, 'row')}"):
                    before, fitted = self._fitted(training.data.X, training.data.Y, scale, lazy)
        with training.steps.step("Gathering the model"):
            gathered = fitted.gather()
        training.estimator = make_pipeline(*before, gathered) if before else gathered
        training.strategy, training.nonempty = None, False

    def digest(self) -> str:
        """What tells these data from others: their files are not read again for it."""
        return digest_of("blocks", list(self.sources), list(self.training.data.X.shape))

    def _read(self) -> None:
        training, reading = self.training, self.training.reading
        labels = label_option(reading["labels"])
        options = {
            "labels": labels,
            "features": names_in(reading["features"]),
            "drop": names_in(reading["drop"]) or (),
            "tag_sep": reading["tag_sep"],
        }
        with training.steps.step(f"Looking at {counted(len(self.sources), 'file')}"):
            training.data = data = read(self.sources, **options)
        X: Any = data.X
        training.is_table = labels is not None
        training.is_sparse = self.sparse = sparse.issparse(X._meta)
        if not self.sparse:
            n, d = X.shape
            check_size(
                "the model file",
                f"{n:,} rows with {d:,} features",
                memory=8.0 * n * d,
                instead="DaskLazyClassifier and save_parts in Python, which leave it in blocks",
            )
        n, share = X.shape[0], 0.2 if training.holdout is None else training.holdout
        self.share = share if n >= FEWEST_HELD_OUT else 0
        training.test = None
        training.say(
            f"{data.name}: {counted(n, 'row')} in {counted(X.numblocks[0], 'block')}, "
            f"{counted(X.shape[1], 'feature')}, {counted(data.Y.shape[1], 'label')}"
        )
        training.how = "nothing held out, as asked"
        if share and not self.share:
            training.how = f"nothing held out of only {counted(n, 'row')}"

    def _default(self) -> tuple[Any, str]:
        if not self.sparse:
            return make_pipeline(StandardScaler(), MLkNN(10)), "ML-kNN on scaled features"
        return MLkNN(10, metric="cosine"), "ML-kNN, cosine"

    def _fitted(self, X: Any, Y: Any, scale: bool, lazy: Any) -> tuple[list[Any], Any]:
        """What comes before the learner, and the learner, fitted."""
        before = [] if self.sparse else _filling_and_scaling(X, scale=scale)
        return before, DaskLazyClassifier(lazy).fit(_scaled(X, before), Y)


@contextmanager
def connected(scheduler: str) -> Iterator[None]:
    """Compute on a cluster, or on the threads of this process."""
    dask = import_dask("--scheduler")
    if scheduler == THREADS:
        with dask.config.set(scheduler=scheduler):
            yield
        return
    from distributed import Client

    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {scheduler} does not answer: {error}") from None
    with client:
        yield


def _taken_apart(learner: Any) -> tuple[bool, Any]:
    """Whether features are scaled, and the lazy learner."""
    scale = False
    if isinstance(learner, Pipeline) and len(learner) == 2 and _is_scaler(learner[0]):
        scale, learner = True, learner[1]
    if isinstance(learner, Pipeline) or not hasattr(learner, "n_neighbors"):
        raise UsageError(
            "--learner must be a lazy learner such as MLkNN(n_neighbors=7), or one after "
            "StandardScaler, with --scheduler"
        )
    return scale, learner


def _is_scaler(step: Any) -> bool:
    return type(step) is StandardScaler and step.with_mean and step.with_std


def _filling_and_scaling(X: Any, *, scale: bool) -> list[Any]:
    """An imputer and a scaler, as if fitted on all blocks."""
    dask = import_dask("--scheduler")
    moments = dask.delayed(_moments)
    blocks = blocks_of(X)
    parts = [moments(part, start) for part, start in zip(blocks.parts, blocks.starts)]
    count, mean, squares = in_a_tree(dask.delayed(_merged), parts).compute()
    fill = SimpleImputer(keep_empty_features=True).fit(mean[None, :])
    if not scale:
        return [fill]
    scaler = StandardScaler()
    # missing values are filled with the mean: they add rows, but no squares
    scaler.mean_, scaler.var_ = mean, squares / np.maximum(X.shape[0], 1)
    # what rounding leaves of a constant column is no scale
    n, eps = X.shape[0], np.finfo(np.float64).eps
    constant = scaler.var_ <= n * eps * scaler.var_ + (n * mean * eps) ** 2
    scaler.scale_ = np.sqrt(np.where(constant, 1.0, scaler.var_))
    scaler.n_samples_seen_, scaler.n_features_in_ = int(count.max()), len(mean)
    return [fill, scaler]


def _scaled(X: Any, before: list[Any]) -> Any:
    if not before:
        return X
    return X.map_blocks(_transformed, before, dtype=np.float64, meta=np.empty((0, X.shape[1])))


def _guessed(Y: Any, Y_test: Any) -> Any:
    """The same answer for every row: the most frequent labels, as many as rows have."""
    array = import_dask("--scheduler").array
    frequency = label_counts(blocks_of(Y)) / Y.shape[0]
    answer = np.zeros(len(frequency), dtype=np.int8)
    answer[most_frequent(frequency)] = 1
    chunks = Y_test.chunks
    scores, labels = (
        array.broadcast_to(array.from_array(row), Y_test.shape, chunks=chunks)
        for row in (frequency, answer)
    )
    return evaluate(Y_test, scores, labels)


# tasks ----------------------------------------------------------------------------------------


def _transformed(block: Any, before: list[Any]) -> Any:
    for step in before:
        block = step.transform(block)
    return block


def _moments(block: Any, start: int) -> tuple[Any, Any, Any]:
    """How many numbers each column has, their mean, and the squares of what is beside it."""
    if (endless := np.argwhere(np.isinf(block))).size:
        i, j = endless[0]
        raise ValueError(
            f"features must be finite, got {block[i, j]} in row {start + i}, feature {j}"
        )
    known = ~np.isnan(block)
    count = known.sum(axis=0)
    mean = np.where(known, block, 0).sum(axis=0) / np.maximum(count, 1)
    return count, mean, (np.where(known, block - mean, 0) ** 2).sum(axis=0)


def _merged(some: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Moments of all rows, from those of some (Chan, Golub and LeVeque)."""
    count, mean, squares = some[0]
    for m, other, more in some[1:]:
        total = np.maximum(count + m, 1)
        apart = other - mean
        squares = squares + more + apart**2 * (count * m / total)
        mean = mean + apart * (m / total)
        count = count + m
    return count, mean, squares
