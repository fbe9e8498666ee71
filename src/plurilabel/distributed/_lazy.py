"""Lazy learners on Dask: the training instances stay in blocks on the workers."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing, column_names
from plurilabel._core.blocks import stack_rows
from plurilabel._core.compat import HasMethods, Interval, validate_parameter_constraints
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.distributed._blocks import (
    Recipe,
    RowBlocks,
    array_of,
    blocks_of,
    import_dask,
    in_a_tree,
    is_collection,
    is_frame,
    recipes_of,
)
from plurilabel.distributed._index import DaskIndex
from plurilabel.learners.lazy import BRkNN, DMLkNN, DWMLkNN, LazyClassifier, MLkNN, MLWkNN
from plurilabel.neighbors import ExactIndex

_BY_LABELS = (MLkNN, DWMLkNN, MLWkNN, BRkNN, DMLkNN)
_BY_COUNTS = (MLkNN, MLWkNN, BRkNN)  # learn from sums of integers, in any order
CELLS = 1 << 27  # dense labels of neighbors in a task at a time


class DaskLazyClassifier(AllOrNothing, BaseEstimator):
    """A lazy learner on Dask, with the same results as on one machine, bit for bit.

    The instances stay in their blocks; :class:`~plurilabel.DaskIndex` finds their neighbors. If
    labels are a Dask array, :class:`~plurilabel.MLkNN`, :class:`~plurilabel.MLWkNN` and
    :class:`~plurilabel.BRkNN` without a variant also keep them and the training graph on the
    workers. Other learners, and all learners with unknown labels, learn in this process.

    Parameters
    ----------
    estimator : lazy learner
        One that only uses the labels of neighbors: :class:`~plurilabel.MLkNN`,
        :class:`~plurilabel.DWMLkNN`, :class:`~plurilabel.MLWkNN`, :class:`~plurilabel.BRkNN` or
        :class:`~plurilabel.DMLkNN`.
    rows : int, optional
        Maximum number of instances in a block.
    reload : bool, optional
        Whether tasks read blocks again, as in :class:`~plurilabel.DaskIndex`.

    Attributes
    ----------
    index_ : DaskIndex
    estimator_ : lazy learner
        Fitted, with indices instead of instances, or none if ``labels_`` are on the workers.
    labels_ : RowBlocks or None
        The labels, if they stay on the workers.
    graph_ : list of Delayed, or None
        The training graph, if it stays on the workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from plurilabel import DaskLazyClassifier, MLkNN
    >>> X = da.from_array([[0.0], [1.0], [5.0], [6.0]], chunks=(2, 1))
    >>> Y = da.from_array([[1, 0], [1, 0], [0, 1], [0, 1]], chunks=(2, 2))
    >>> learner = DaskLazyClassifier(MLkNN(n_neighbors=1)).fit(X, Y)
    >>> learner.predict(X[:2] + 0.5)
    dask.array<...shape=(2, 2)...>
    >>> learner.predict([[0.5], [7.0]])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "rows": [Interval(Integral, 1, None, closed="left"), None],
        "reload": ["boolean", None],
    }

    index_: DaskIndex
    estimator_: Any
    labels_: RowBlocks | None
    graph_: list[Any] | None

    def __init__(
        self, estimator: LazyClassifier, *, rows: int | None = None, reload: bool | None = None
    ):
        self.estimator = estimator
        self.rows = rows
        self.reload = reload

    def fit(self, X: Any, y: Any) -> Self:
        """Find the neighbors of all instances, and learn from them.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or any matrix
        y : Dask array of shape (n, q) with dense or CSR chunks, or labels as in ``MLkNN.fit``
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        learner = clone(self.estimator)
        if not isinstance(learner, _BY_LABELS):
            raise ValueError(
                "estimator must be a lazy learner that only uses the labels of neighbors, such as "
                f"MLkNN or BRkNN, got {type(learner).__name__}"
            )
        if learner.index is not None:
            raise ValueError("estimator must have no index of its own: index=None")
        search = DaskIndex(
            learner.metric, rows=self.rows, reload=self.reload, n_jobs=learner.n_jobs or 1
        ).fit(X)
        labels, n = _label_blocks(learner, y), search.n_samples_fit_
        if labels is None:
            y = _gathered(y)
            n_labelled = y.shape[0] if hasattr(y, "shape") else len(y)
        else:
            n_labelled = labels.shape[0]
        if n != n_labelled:
            raise ValueError(f"X has {n} rows, but y has {n_labelled}")
        light = None if labels is None else _light(learner, labels, n)
        if light is None or labels is None:
            learner.set_params(index=_Held(search))
            learner.fit(_numbers(n), _gathered(y))
            self.labels_ = self.graph_ = None
        else:
            self.graph_ = _counted(light, labels, search)
            self.labels_, learner = labels, light
        self.index_, self.estimator_ = search, learner
        self.n_features_in_ = search.n_features_in_
        if (names := column_names(X)) is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def predict(self, X: Any) -> Any:
        """Predict label sets, as a Dask array for Dask collections."""
        return self._answers("predict", X)

    def predict_proba(self, X: Any) -> Any:
        """Label probabilities (n, q), as a Dask array for Dask collections."""
        return self._answers("predict_proba", X)

    def predict_top(self, X: Any, k: int = 5) -> Any:
        """The k best labels of each instance with their scores, in CSR chunks for collections."""
        return self._answers("predict_top", X, k)

    def gather(self) -> LazyClassifier:
        """The fitted learner with all instances in this process."""
        check_is_fitted(self)
        learner = self._with_labels()
        learner.index_ = self.index_.gather()
        learner.X_ = learner.index_.points_
        learner.n_features_in_ = self.n_features_in_
        return learner

    def without_instances(self) -> LazyClassifier:
        """The fitted learner with indices instead of instances."""
        check_is_fitted(self)
        learner = self._with_labels()
        learner.index_ = ExactIndex(learner.metric).fit(learner.X_)
        return learner

    def _with_labels(self) -> Any:
        """A copy of the learner with graph and labels in this process."""
        learner = copy(self.estimator_)
        learner.index = None
        if self.labels_ is None:
            return learner
        dask = import_dask(type(self).__name__)
        learner.Y_ = stack_rows(
            [learner._encode_more(part) for part in dask.compute(*self.labels_.parts)]
        )
        learner.X_ = _numbers(learner.Y_.shape[0])
        if self.graph_ is not None:
            parts = dask.compute(*self.graph_)
            learner.graph_ = tuple(np.concatenate(list(arrays)) for arrays in zip(*parts))
        return learner

    @classmethod
    def of_parts(cls, learner: LazyClassifier, blocks: RowBlocks, rows: int | None) -> Self:
        """Restore a learner from :meth:`without_instances` and its instances."""
        if not isinstance(learner, _BY_LABELS):
            raise ValueError(f"{type(learner).__name__} is not a learner that Dask runs")
        n = learner.index_.n_samples_fit_
        if blocks.shape[0] != n:
            raise ValueError(f"the learner has {n} instances, but the blocks {blocks.shape[0]}")
        search = DaskIndex(learner.metric, rows=rows, n_jobs=learner.n_jobs or 1)
        search.blocks_ = blocks
        search.n_samples_fit_, search.n_features_in_ = blocks.shape
        made = cls(clone(learner), rows=rows)
        learner.index = learner.index_ = _Held(search)
        made.index_, made.estimator_ = search, learner
        made.n_features_in_ = blocks.width
        made.labels_ = made.graph_ = None
        return made

    def _answers(self, method: str, X: Any, *args: Any) -> Any:
        check_is_fitted(self)
        self._check_names(X)
        dask = import_dask(type(self).__name__)
        asked = blocks_of(X, self.rows)
        parts = self._tasks(method, asked, args)
        if not is_collection(X):
            return stack_rows(dask.compute(*parts))
        q, kind = self.estimator_.n_labels_, np.int64 if method == "predict" else np.float64
        csr = self.estimator_.sparse_output_ and method == "predict"
        empty = sparse.csr_array if csr or method == "predict_top" else np.empty
        return array_of(parts, asked.sizes, empty((0, q), dtype=kind))

    def _check_names(self, X: Any) -> None:
        names, own = column_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and own is not None and names != own.tolist():
            raise ValueError(
                f"X must have the columns {own[:5].tolist()}... in order, got {names[:5]}..."
            )

    def _tasks(self, method: str, asked: RowBlocks, args: Any) -> list[Any]:
        """The predictions for each block, delayed."""
        if asked.width != self.n_features_in_:
            raise ValueError(
                f"X has {asked.width} features, but the learner has {self.n_features_in_}"
            )
        delayed = import_dask(type(self).__name__).delayed
        k = self.estimator_.n_searched_ or self.estimator_.n_neighbors_
        light = copy(self.estimator_)  # sent with each task: no graph, no instances
        light.index, light.index_, light.graph_ = None, None, None
        light.X_ = light.X_[:0]
        shared, labels = delayed(light), None
        if self.labels_ is not None:
            labels = _as_tasks_take_them(self.index_, self.labels_)
        found = self.index_._queries(asked, k)
        return [delayed(_answer)(shared, near, method, args, labels) for near in found]


class _Held(BaseEstimator):
    """An index with precomputed neighbors, or on Dask; instances are indices."""

    def __init__(self, search: Any = None):
        self.search = search

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        self.n_samples_fit_ = X.shape[0]
        return self

    def __sklearn_clone__(self) -> Self:
        return self  # without copying the neighbors

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Any:
        if isinstance(self.search, DaskIndex):
            return self.search.kneighbors(X, n_neighbors)
        return self.search


def _answer(learner: Any, found: Any, method: str, args: Any, labels: Any = None) -> Any:
    """Predictions for instances with these neighbors."""
    if labels is None:
        return _asked(learner, found, method, args)
    answers = []
    for rows in _slices(learner, found):
        distances, neighbors = (array[rows] for array in found)
        Y, (local,) = _labels_of(learner, [neighbors], labels)
        answers.append(_asked(_with(learner, Y), (distances, local), method, args))
    return stack_rows(answers)


def _asked(learner: Any, found: Any, method: str, args: Any) -> Any:
    learner = copy(learner)
    learner.index_ = _Held(found)
    return getattr(learner, method)(_numbers(len(found[0])), *args)


def _label_blocks(learner: LazyClassifier, y: Any) -> RowBlocks | None:
    """Labels that can stay in blocks; None if this process needs them."""
    if not is_collection(y) or is_frame(y) or getattr(y, "ndim", 0) != 2 or y.shape[1] < 2:
        return None
    if type(learner) not in _BY_COUNTS or getattr(learner, "variant", None) is not None:
        return None
    return blocks_of(y, name="y")


def _light(learner: LazyClassifier, labels: RowBlocks, n: int) -> LazyClassifier | None:
    """The learner without its counts; None if some labels are unknown."""
    dask = import_dask("DaskLazyClassifier")
    if learner.n_neighbors >= n:
        raise ValueError(
            f"n_neighbors must be smaller than the {n} training instances, "
            f"got {learner.n_neighbors}"
        )
    light = dask.delayed(_fitted_to_form)(learner, labels.parts[0])
    unknown = dask.delayed(lambda *block: isinstance(_read(*block), UnknownLabels))
    some = [unknown(light, block) for block in labels.spans()]
    light, *are_unknown = dask.compute(light, *some)
    return None if any(are_unknown) else light


def _fitted_to_form(learner: Any, Y: Any) -> Any:
    """Fit to rows without labels, of the same form as the training rows."""
    n = learner.n_neighbors + 1
    empty = sparse.csr_array if sparse.issparse(Y) else np.zeros
    learner = learner.fit(_numbers(n), empty((n, Y.shape[1]), dtype=np.int8))
    learner.index_, learner.X_, learner.Y_ = None, learner.X_[:0], learner.Y_[:0]
    if hasattr(learner, "graph_"):
        del learner.graph_
    return learner


def _counted(learner: Any, labels: RowBlocks, search: DaskIndex) -> list[Any] | None:
    """Learn from counts of the training graph, which stays on the workers and is returned."""
    if learner._learn is None:
        return None
    dask = import_dask("DaskLazyClassifier")
    found, sizes = search._among_themselves(learner.n_neighbors_)
    graph = list(dask.persist(*found))
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    shared, blocks = dask.delayed(learner), _as_tasks_take_them(search, labels)
    count, add = dask.delayed(_counts), dask.delayed(sum)
    counts = [count(shared, part, start, blocks) for part, start in zip(graph, starts)]
    learner.counts_ = in_a_tree(add, counts).compute()
    learner._estimate(learner.fitted_params_["smoothing"])
    return graph


def _as_tasks_take_them(search: DaskIndex, labels: RowBlocks) -> Any:
    again = search._again(search.blocks_) is not None
    recipes = recipes_of(labels.parts) if again else None
    return import_dask("labels").delayed(labels.spans(recipes), traverse=recipes is None)


def _counts(learner: Any, found: Any, start: int, labels: Any) -> Any:
    """Counts (2, q, k + 1) of instances from ``start`` on, with these neighbors."""
    total = 0
    for rows in _slices(learner, found):
        distances, neighbors = (array[rows] for array in found)
        own = start + np.arange(rows.start, rows.start + len(neighbors))
        Y, (local, own) = _labels_of(learner, [neighbors, own], labels)
        total = total + _with(learner, Y)._labels.tally(distances, local, own)
    return total


def _slices(learner: Any, found: Any) -> list[slice]:
    """Slices of rows whose neighbors' labels fit into memory."""
    n, k = found[1].shape
    step = n if learner.sparse_output_ else max(1024, CELLS // (k * learner.n_labels_))
    return [slice(i, i + step) for i in range(0, n, max(step, 1))]


def _labels_of(learner: Any, numbers: list[Any], labels: Any) -> tuple[Any, list[Any]]:
    """Labels of the instances with these indices, and the positions of each in them."""
    wanted = np.unique(np.concatenate([some.ravel() for some in numbers]))
    parts = []
    for block in labels:
        _, start, stop = block
        some = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, stop)]
        if len(some):
            parts.append(_read(learner, block)[some - start])
    return stack_rows(parts), [np.searchsorted(wanted, some) for some in numbers]


def _read(learner: Any, block: Any) -> Any:
    source, start, stop = block
    try:
        Y = learner._encode_more(source() if isinstance(source, Recipe) else source)
        if known_part(Y)[0].dtype.kind == "f":
            raise ValueError("soft labels are not supported on Dask: labels must be 0 or 1")
        return Y
    except (TypeError, ValueError) as error:
        raise ValueError(f"in rows {start} to {stop - 1} of y: {error}") from None


def _with(learner: Any, Y: Any) -> Any:
    learner = copy(learner)
    learner.Y_ = Y
    return learner


def _numbers(n: int) -> Any:
    return np.arange(n, dtype=np.float64)[:, None]


def _gathered(y: Any) -> Any:
    if not is_collection(y):
        return y
    dask = import_dask("labels")
    if not isinstance(y, dask.array.Array) or y.ndim != 2 or len(y.chunks[1]) > 1:
        return y.compute()  # data frames keep their names
    return stack_rows(dask.compute(*y.to_delayed().ravel().tolist()))
