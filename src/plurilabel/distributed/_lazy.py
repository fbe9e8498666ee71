"""Lazy learners whose training instances stay in blocks, on the machines that hold them."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import HasMethods, Interval, validate_parameter_constraints
from plurilabel._dask import RowBlocks, blocks_of, import_dask, is_collection
from plurilabel.base import AllOrNothing
from plurilabel.lazy import BRkNN, DMLkNN, DWMLkNN, LazyClassifier, MLkNN, MLWkNN
from plurilabel.neighbors import DaskIndex, ExactIndex

_BY_LABELS = (MLkNN, DWMLkNN, MLWkNN, BRkNN, DMLkNN)


class DaskLazyClassifier(AllOrNothing, BaseEstimator):
    """A lazy learner on Dask: the answers of one machine, bit for bit.

    The instances stay where they are, in blocks; :class:`~plurilabel.neighbors.DaskIndex` finds
    their neighbours. The graph of the training set and the labels, which are small beside the
    instances, come to this process, where the learner learns from them.

    Parameters
    ----------
    estimator : lazy learner
        One that asks for nothing but the labels of the neighbours: :class:`~plurilabel.MLkNN`,
        :class:`~plurilabel.DWMLkNN`, :class:`~plurilabel.MLWkNN`, :class:`~plurilabel.BRkNN` or
        :class:`~plurilabel.DMLkNN`.
    rows : int, optional
        Instances in a block, as in :class:`~plurilabel.neighbors.DaskIndex`.

    Attributes
    ----------
    index_ : DaskIndex
    estimator_ : lazy learner
        Fitted; in place of instances it has their numbers.

    Examples
    --------
    >>> import dask.array as da
    >>> from plurilabel import MLkNN
    >>> from plurilabel.distributed import DaskLazyClassifier
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
    }

    index_: DaskIndex
    estimator_: Any

    def __init__(self, estimator: LazyClassifier, *, rows: int | None = None):
        self.estimator = estimator
        self.rows = rows

    def fit(self, X: Any, y: Any) -> Self:
        """Find the neighbours of all instances, and learn from them.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or any matrix
        y : Dask array of shape (n, q) with dense or CSR chunks, or labels as in ``MLkNN.fit``

        Returns
        -------
        self
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        learner = clone(self.estimator)
        if not isinstance(learner, _BY_LABELS):
            raise ValueError(
                "estimator must be a lazy learner that asks for labels of neighbours only, "
                f"such as MLkNN or BRkNN, got {type(learner).__name__}"
            )
        if learner.index is not None:
            raise ValueError("estimator must have no index of its own: index=None")
        search = DaskIndex(learner.metric, rows=self.rows, n_jobs=learner.n_jobs or 1).fit(X)
        Y = _gathered(y)
        n, n_labelled = search.n_samples_fit_, Y.shape[0] if hasattr(Y, "shape") else len(Y)
        if n != n_labelled:
            raise ValueError(f"X has {n} rows, but y has {n_labelled}")
        learner.set_params(index=_Held(search))
        learner.fit(_numbers(n), Y)
        self.index_, self.estimator_ = search, learner
        self.n_features_in_ = search.n_features_in_
        return self

    def predict(self, X: Any) -> Any:
        """Predict label sets: a Dask array for Dask collections, else as the learner itself."""
        return self._answers("predict", X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each label (n, q): a Dask array for Dask collections."""
        return self._answers("predict_proba", X)

    def predict_top(self, X: Any, k: int = 5) -> Any:
        """The k best labels of each instance, with their scores, as the learner's own method.

        For Dask collections the chunks of the answer are CSR matrices.
        """
        return self._answers("predict_top", X, k)

    def gather(self) -> LazyClassifier:
        """The same learner, fitted, with all instances in this process."""
        check_is_fitted(self)
        learner = copy(self.estimator_)
        learner.index = None
        learner.index_ = self.index_.gather()
        learner.X_ = learner.index_.points_
        learner.n_features_in_ = self.n_features_in_
        return learner

    def without_instances(self) -> LazyClassifier:
        """The fitted learner on the numbers of the instances, in place of the instances."""
        check_is_fitted(self)
        learner = copy(self.estimator_)
        learner.index = None
        learner.index_ = ExactIndex(learner.metric).fit(learner.X_)
        return learner

    @classmethod
    def of_parts(cls, learner: LazyClassifier, blocks: RowBlocks, rows: int | None) -> Self:
        """The learner of :meth:`without_instances`, with its instances again.

        Parameters
        ----------
        learner : lazy learner
        blocks : RowBlocks
            The instances.
        rows : int or None

        Returns
        -------
        DaskLazyClassifier
        """
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
        return made

    def _answers(self, method: str, X: Any, *args: Any) -> Any:
        check_is_fitted(self)
        dask = import_dask(type(self).__name__)
        asked = blocks_of(X, self.rows)
        if asked.width != self.n_features_in_:
            raise ValueError(
                f"X has {asked.width} features, but {type(self).__name__} was fitted on "
                f"{self.n_features_in_}"
            )
        k = self.estimator_.n_searched_ or self.estimator_.n_neighbors_
        neighbors = self.index_._queries(asked, k)
        light = copy(self.estimator_)  # what is sent with each task: no graph, no instances
        light.index, light.index_ = None, None
        light.X_ = light.X_[:0]
        light.graph_ = None
        shared = dask.delayed(light)
        parts = [dask.delayed(_answer)(shared, found, method, args) for found in neighbors]
        if not is_collection(X):
            answers = dask.compute(*parts)
            stack = sparse.vstack if sparse.issparse(answers[0]) else np.concatenate
            return stack(answers)
        q, kind = self.estimator_.n_labels_, np.int64 if method == "predict" else np.float64
        csr = method == "predict_top" or (method == "predict" and light.sparse_output_)
        meta = sparse.csr_array((0, q), dtype=kind) if csr else np.empty((0, q), dtype=kind)
        arrays = [
            dask.array.from_delayed(part, (size, q), meta=meta)
            for part, size in zip(parts, asked.sizes)
        ]
        return dask.array.concatenate(arrays)


class _Held(BaseEstimator):
    """An index whose answers are there already, or come from Dask; instances are numbers."""

    def __init__(self, search: Any = None):
        self.search = search

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        self.n_samples_fit_ = X.shape[0]
        return self

    def __sklearn_clone__(self) -> Self:
        return self  # what it holds is not copied

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Any:
        if isinstance(self.search, DaskIndex):
            return self.search.kneighbors(X, n_neighbors)
        return self.search


def _answer(learner: Any, found: Any, method: str, args: Any) -> Any:
    """What the learner says of instances with these neighbours."""
    learner = copy(learner)
    learner.index_ = _Held(found)
    return getattr(learner, method)(_numbers(len(found[0])), *args)


def _numbers(n: int) -> Any:
    return np.arange(n, dtype=np.float64)[:, None]


def _gathered(y: Any) -> Any:
    if not is_collection(y):
        return y
    dask = import_dask("labels")
    if not isinstance(y, dask.array.Array) or y.ndim != 2 or len(y.chunks[1]) > 1:
        return y.compute()  # data frames keep their names
    parts = dask.compute(*y.to_delayed().ravel().tolist())
    stack = sparse.vstack if sparse.issparse(parts[0]) else np.concatenate
    return stack(parts)
