"""Learners fitted to Dask collections by sums over blocks of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from plurilabel._core.labels import column_names
from plurilabel.distributed import _linear as linear
from plurilabel.distributed._blocks import RowBlocks, blocks_of, import_dask, in_a_tree, workers
from plurilabel.distributed._cluster import computed
from plurilabel.distributed._index import KEPT
from plurilabel.io.shared import table_module
from plurilabel.learners import make_learner
from plurilabel.learners.transformation import BinaryRelevance


def fit(learner: Any, X: Any, Y: Any, *, rows: int | None = None) -> Any:
    """Fit a learner to Dask collections of any number of rows.

    The rows stay in blocks, which workers read again in each pass unless all of them take less
    than a quarter of the memory of a worker. Only sums over blocks come to this process.

    Parameters
    ----------
    learner : estimator or str
        :class:`~plurilabel.BinaryRelevance` around ``LogisticRegression``, ``LinearSVC`` or
        ``RidgeClassifier``, alone or at the end of a pipeline whose other steps have
        ``partial_fit``, such as ``StandardScaler``. A string is a specification for
        :func:`plurilabel.learners.make_learner`.
    X : Dask array or data frame of shape (n, d), or any matrix
        Such as those of :func:`read`; with dense or CSR chunks.
    Y : Dask array or data frame of shape (n, q), or any 0/1 matrix
        Unknown labels are NaN.
    rows : int, optional
        Maximum number of rows of a block; None for some megabytes.

    Returns
    -------
    learner
        The fitted learner, as its own ``fit`` returns it: it predicts in memory, can be saved and
        so on.

    See Also
    --------
    DaskLazyClassifier : For nearest neighbors.
    spread : For all other learners, with all rows in the memory of each worker.

    Notes
    -----
    **Linear models.** All labels are learned at once, by L-BFGS, until no derivative of the
    objective, divided by the number of rows and C, is above the ``tol`` of the base estimator.
    This is the stopping rule of scikit-learn's ``LogisticRegression`` with its default solver, and
    its objective, so that the two agree up to this tolerance; ``max_iter`` is the number of passes
    over the rows (1,000 if it is None). The solver of the base estimator is not used.

    **The result** depends on ``rows``, by rounding, but not on chunks, workers and their number.

    **Other steps** learn from one block after the other with ``partial_fit``.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance, distributed
    >>> X = da.from_array([[0.0], [1.0], [2.0], [3.0]], chunks=(2, 1))
    >>> Y = da.from_array([[1, 0], [1, 0], [0, 0], [0, 1]], chunks=(2, 2))
    >>> learner = distributed.fit(BinaryRelevance(LogisticRegression()), X, Y)
    >>> learner.predict([[-1.0], [1.8], [4.0]])
    array([[1, 0],
           [0, 0],
           [0, 1]])
    """
    given = make_learner(learner) if isinstance(learner, str) else clone(learner)
    steps = list(given.steps) if isinstance(given, Pipeline) else [("", given)]
    last = check_by_rows(given)
    names = column_names(X)
    blocks = blocks_of(X, rows)
    labels = blocks_of(Y, name="Y", like=blocks)
    dask = import_dask("fit")
    form = dask.delayed(_first_rows)(blocks.parts[0], names)
    Y_form = dask.delayed(_first_rows)(labels.parts[0], column_names(Y), 0)
    like, Y_like = computed(dask.delayed([form, Y_form]))
    parts = blocks.parts
    if names is not None:
        parts = [dask.delayed(_named)(part, names) for part in parts]
    for i, (name, step) in enumerate(steps[:-1]):
        learned = dask.delayed(step, traverse=False)
        for part, start in zip(parts, blocks.starts):
            learned = dask.delayed(_learned_more)(learned, part, start)
        steps[i] = name, computed(learned)
        parts = [dask.delayed(steps[i][1].transform)(part) for part in parts]
        like = steps[i][1].transform(like)
    light = last.fit(like, Y_like)
    pieces = _Pieces(light, parts, labels, like.shape[1])
    _BY_ROWS[type(last)](light, pieces)
    if isinstance(given, Pipeline):
        given.steps = steps
    return given


def check_by_rows(learner: Any) -> Any:
    """The last step of a learner; an error if it is not fitted to blocks of rows."""
    learner = learner.steps[-1][1] if isinstance(learner, Pipeline) else learner
    if type(learner) not in _BY_ROWS:
        names = " and ".join(cls.__name__ for cls in _BY_ROWS)
        raise ValueError(
            f"only {names} are fitted to blocks of rows, got {type(learner).__name__}: see "
            "DaskLazyClassifier for lazy learners, and distributed.spread for all others"
        )
    if isinstance(learner, BinaryRelevance):
        linear.objective_of(learner)
    return learner


class _Pieces:
    """Checked blocks of rows and their labels."""

    def __init__(self, light: Any, parts: list[Any], labels: RowBlocks, width: int):
        dask = import_dask("fit")
        self.delayed, check = dask.delayed, dask.delayed(_checked)
        door = self.shared(light)
        self.parts = [check(door, *of) for of in zip(parts, labels.parts, labels.starts)]
        (n, q), memory = labels.shape, workers()[1]
        if n * (8.0 * width + q) < KEPT * memory:
            self.parts = list(dask.persist(*self.parts))

    def shared(self, value: Any) -> Any:
        return self.delayed(value, traverse=False)

    def total(self, function: Any, *args: Any) -> tuple[Any, ...]:
        """The sums of ``function(X, Y, *args)``, a tuple, over all blocks."""
        shared, task = [self.shared(value) for value in args], self.delayed(_called)
        parts = [task(function, part, *shared) for part in self.parts]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return computed(in_a_tree(self.delayed(_added), parts))


def _linear(learner: Any, pieces: _Pieces) -> None:
    about = linear.objective_of(learner)
    sums = linear.Sums(*pieces.total(linear.sums_of))

    def losses(labels: Any, W: Any, weights: Any) -> Any:
        return pieces.total(linear.losses_of, labels, W, about.loss, weights)

    W, passes = linear.solve(sums, about, losses)
    learner.estimators_ = linear.models_of(learner.estimator, sums, W, passes)


_BY_ROWS = {BinaryRelevance: _linear}


def _first_rows(block: Any, names: list[str] | None, value: float | None = None) -> Any:
    """Two rows of zeros in the form of a block, from which a learner knows what it will get."""
    d = block.shape[1]
    if sparse.issparse(block):
        return sparse.csr_array((2, d), dtype=np.int8 if value == 0 else np.float64)
    return _named(np.zeros((2, d)), names)


def _named(block: Any, names: list[str] | None) -> Any:
    return block if names is None else table_module("pandas").DataFrame(block, columns=names)


def _learned_more(step: Any, block: Any, start: int) -> Any:
    if not hasattr(step, "partial_fit"):
        raise ValueError(
            f"{type(step).__name__} has no partial_fit to learn from blocks with: fit "
            "it to rows in memory, and transform X with map_blocks, or read files with encoder="
        )
    try:
        return clone(step).partial_fit(block) if start == 0 else step.partial_fit(block)
    except (TypeError, ValueError) as error:
        raise ValueError(_in_rows(start, block, error)) from None


def _checked(light: Any, X: Any, Y: Any, start: int) -> tuple[Any, Any]:
    try:
        return light._validate_X(X, reset=False), light._encode_more(Y)
    except (TypeError, ValueError) as error:
        raise ValueError(_in_rows(start, X, error)) from None


def _in_rows(start: int, block: Any, error: Exception) -> str:
    return f"in rows {start} to {start + block.shape[0] - 1}: {error}"


def _called(function: Any, part: tuple[Any, Any], *args: Any) -> Any:
    return function(*part, *args)


def _added(parts: list[Any]) -> tuple[Any, ...]:
    return tuple(sum(some) for some in zip(*parts))
