"""What the lazy learners share: one search, growth and shrinkage, sparse answers."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.blocks import dense, row_blocks, rows_without, stack_rows
from plurilabel._core.compat import HasMethods, Interval
from plurilabel._core.explanation.contributions import Given
from plurilabel._core.fitted import Declared, count, labels, numbers, parameters, places
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import UnknownLabels, known_part, stack_labels
from plurilabel.learners.lazy._explain import Explanation
from plurilabel.neighbors import ExactIndex, query_neighbors, training_neighbors

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.signedinteger[Any]]
"""Numbers of training instances."""

Graph: TypeAlias = tuple[Floats, Rows]
"""Distances and row numbers of the k nearest training instances, each (n, k)."""

CELLS = 1 << 18
"""Cells (rows times labels) worked on at a time: few enough to stay in a processor's cache."""


class LazyClassifier(ProbabilisticClassifier):
    """Base class of learners that keep the training set and ask the neighbours.

    A learner of your own has the parameters ``n_neighbors``, ``metric``, ``index`` and ``n_jobs``
    of :class:`MLkNN`, and one or two hooks:

    ``_from_neighbors(X, distances, neighbors)``
        Scores (n, q) of n queries, from the distances and row numbers (n, k) of their neighbours.
    ``_learn(distances, neighbors)``, optional
        Learns from the training graph: the same for the training instances, none of which is its
        own neighbour. Without this hook the graph is not searched.

    Both find the training data in ``X_`` and ``Y_``, checked, dense or CSR, and the parameters of
    the fit in ``fitted_params_``. Search, growth
    (``partial_fit``) and shrinkage (``forget``) with the exact result of a fresh fit,
    ``predict_top`` and ``explain`` come with the base class.

    Attributes
    ----------
    index_ : index
        The index, fitted.
    graph_ : tuple of ndarrays of shape (n, k)
        The training graph: distances and row numbers. Only where it is searched.
    n_neighbors_ : int
        How many neighbours a query has.
    n_searched_ : int or None
        How many are searched where some labels are not known, so that enough of them know each.
    unknown_ : ndarray of bool or csr_array of shape (n, q), or None
        The training labels that are not known, dense or sparse as ``Y_`` is; None if all are.
    X_, Y_ : matrices of shape (n, d) and (n, q)
        Training instances and labels: copies, so that changing what was given to ``fit`` changes
        no prediction.
    fitted_params_ : dict
        The parameters of ``fit``, but for those of the search. ``set_params`` takes effect at the
        next ``fit``: until then predictions, ``partial_fit`` and ``forget`` use these.

    Examples
    --------
    A learner that predicts the labels of the nearest neighbour:

    >>> from plurilabel import LazyClassifier
    >>> class Nearest(LazyClassifier):
    ...     def __init__(self, n_neighbors=1, *, metric="euclidean", index=None, n_jobs=None):
    ...         self.n_neighbors = n_neighbors
    ...         self.metric = metric
    ...         self.index = index
    ...         self.n_jobs = n_jobs
    ...
    ...     def _from_neighbors(self, X, distances, neighbors):
    ...         return self.Y_[neighbors[:, 0]].astype(float)
    >>> learner = Nearest().fit([[0.0], [1.0], [5.0]], [[1, 0], [1, 1], [0, 1]])
    >>> learner.predict([[0.9], [7.0]])
    array([[1, 1],
           [0, 1]])
    >>> learner.forget([1]).predict([[0.9]])
    array([[1, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "index": [None, HasMethods(["fit", "kneighbors"])],
        "n_jobs": [None, Integral],
        "device": [str],
    }
    _fitted: ClassVar[Declared] = {
        "fitted_params_": parameters(),
        "X_": numbers("n", "n_features_in_", finite=False),  # a metric may take NaN
        "Y_": labels("n", "n_labels_"),
        "unknown_": labels("n", "n_labels_", optional=True),
        "n_neighbors_": count(below="n"),
        "n_searched_": count(below="n", optional=True),
        "graph_": (
            numbers("n", "k", finite=False, optional=True),
            places("n", "k", below="n"),
        ),
    }

    n_neighbors: Any
    metric: Any
    index: Any
    n_jobs: int | None
    device: str = "auto"  # of learners that do not have the parameter

    unknown_: Any
    _learn: Any = None  # a hook that subclasses may define

    @abstractmethod
    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats: ...

    def _dense_bytes(self) -> float:
        """What a fit makes dense, in bytes for each instance and label; overridden."""
        return 0.0

    def _n_searched(self) -> int:
        """How many neighbours each training instance has in the graph."""
        return self.fitted_params_["n_neighbors"]

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        search = ("metric", "index", "n_jobs", "device")  # index_ has those
        params = self.get_params(deep=False).items()
        self.fitted_params_ = {name: value for name, value in params if name not in search}
        self.unknown_ = None
        if isinstance(Y, UnknownLabels):
            Y, self.unknown_ = Y.Y, Y.unknown
        self._check_size(X.shape[0])
        self._check_memory(X.shape[0])
        self.n_neighbors_ = self._n_searched()
        self.n_searched_ = enough_known(self.n_neighbors_, self.unknown_)
        usual = ExactIndex(self.metric, n_jobs=self.n_jobs, device=self.device)
        self.index_ = usual if self.index is None else clone(self.index)
        if type(self.index_) is ExactIndex:  # it keeps a copy of the points: one is enough
            self.X_ = X = self.index_.fit(X).points_
        else:
            self.X_ = X = X.copy()
            self.index_ = self.index_.fit(X)
        self.Y_ = Y.copy()
        if self._learn is not None:
            self.graph_ = training_neighbors(self.index_, X, self.n_searched_ or self.n_neighbors_)
            self._learn(*self.graph_)

    def _scores(self, X: Any) -> Floats:
        return self._from_neighbors(X, *self._neighbors(X))

    def _neighbors(self, X: Any) -> Graph:
        k = self.n_searched_ or self.n_neighbors_
        return query_neighbors(self.index_, X, k, self.Y_.shape[0])

    def _check_size(self, n: int) -> None:
        if n < 2:
            raise ValueError(
                f"at least two training instances are needed to find neighbours, got n_samples={n}"
            )
        if self._n_searched() >= n:
            raise ValueError(
                f"n_neighbors must be smaller than the {n} training instances, "
                f"got {self._n_searched()}"
            )

    def _check_memory(self, n: int) -> None:
        check_size(
            self,
            f"{n:,} instances and {self.n_labels_:,} labels",
            memory=self._dense_bytes() * n * self.n_labels_,
            instead="MLkNN, BRkNN or MLWkNN, which keep sparse labels sparse",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.index is None and self.metric == "precomputed"
        return tags

    # growth and shrinkage ------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Add instances; the result is exactly that of ``fit`` on all instances so far.

        Only the new instances are searched among all, and the old ones among the new.

        Parameters
        ----------
        X, y : as in ``fit``
        classes : array of shape (n_classes,), optional
            For a 1-D y, at the first call: all classes that may occur.

        Returns
        -------
        self
        """
        if not hasattr(self, "index_"):
            self._fit(*self._validate_fit(X, y, classes))
            return self
        X, Y = self._validate_more(X, y)
        self._check_features("partial_fit")
        self._check_memory(self.Y_.shape[0] + X.shape[0])
        if self.unknown_ is not None or isinstance(Y, UnknownLabels):
            before = self.Y_ if self.unknown_ is None else UnknownLabels(self.Y_, self.unknown_)
            self._change_points("partial_fit", X, stack_rows([self.X_, X]))
            self._learn_again(stack_labels([before, Y]))
            return self
        among_new = None
        if self._learn is not None:
            k_new = min(self.graph_[1].shape[1], X.shape[0])
            new_index = clone(self.index_).fit(X)
            among_new = query_neighbors(new_index, self.X_, k_new, X.shape[0])
        self._change_points("partial_fit", X, stack_rows([self.X_, X]))
        self.Y_ = stack_rows([self.Y_, Y])
        if among_new is not None:
            self._grow(*among_new)
        return self

    def _grow(self, distances: Floats, neighbors: Rows) -> None:
        """Merge new neighbours into the graph; on equal distance the old neighbour stays."""
        before, (old, k) = self.graph_, self.graph_[1].shape
        new = np.arange(old, self.Y_.shape[0])
        distances = np.hstack([before[0], distances])
        neighbors = np.hstack([before[1], neighbors + old])
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        distances = np.take_along_axis(distances, nearest, axis=1)
        neighbors = np.take_along_axis(neighbors, nearest, axis=1)
        changed = np.flatnonzero((neighbors >= old).any(axis=1))
        added = training_neighbors(self.index_, self.X_, k, rows=new)
        self.graph_ = np.vstack([distances, added[0]]), np.vstack([neighbors, added[1]])
        self._relearn(before, np.concatenate([changed, new]), added=len(new))

    def forget(self, indices: ArrayLike) -> Self:
        """Remove training instances; the result is exactly that of ``fit`` on those that remain.

        Only instances that lose a neighbour are searched again.

        Parameters
        ----------
        indices : array of int
            Row numbers, in the order in which the instances were given. The remaining instances
            are renumbered.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_features("forget")
        stay = rows_without(self.Y_.shape[0], indices)
        self._check_size(len(stay))
        number = np.full(self.Y_.shape[0], -1)  # old row number -> new one, -1 for none
        number[stay] = np.arange(len(stay))
        self._change_points("remove", np.flatnonzero(number < 0), self.X_[stay])
        if self.unknown_ is not None:
            self._learn_again(UnknownLabels(self.Y_[stay], self.unknown_[stay]))
            return self
        self.Y_ = self.Y_[stay]
        if self._learn is not None:
            distances, neighbors = self.graph_[0][stay], number[self.graph_[1][stay]]
            lost = np.flatnonzero((neighbors < 0).any(axis=1))
            if len(lost):
                found = training_neighbors(self.index_, self.X_, neighbors.shape[1], rows=lost)
                distances[lost], neighbors[lost] = found
            self.graph_ = distances, neighbors
            self._learn(*self.graph_)
        return self

    def _learn_again(self, Y: UnknownLabels) -> None:
        """From other labels; how many are not known decides how far is searched."""
        self.Y_, self.unknown_ = known_part(Y)
        self.n_neighbors_ = self._n_searched()
        self.n_searched_ = enough_known(self.n_neighbors_, self.unknown_)
        if self._learn is not None:
            k = self.n_searched_ or self.n_neighbors_
            self.graph_ = training_neighbors(self.index_, self.X_, k)
            self._learn(*self.graph_)

    def _check_features(self, method: str) -> None:
        if getattr(self.index_, "metric", None) == "precomputed":
            raise ValueError(f"{method} needs features, but metric is 'precomputed'")

    def _change_points(self, method: str, change: Any, X: Any) -> None:
        """Grow or shrink the index to points X by its own method, or fit a new one."""
        if hasattr(self.index_, method):
            # of a copy, so that the old index is still there if a later step fails
            self.index_ = getattr(copy(self.index_), method)(change)
        else:
            self.index_ = clone(self.index_).fit(X)
        # An ExactIndex has made the same points: one copy of them is enough.
        self.X_ = getattr(self.index_, "points_", X)

    def _relearn(self, before: Graph, changed: Rows, added: int) -> None:
        """Learn again after growth; overridden where the change alone is enough."""
        del before, changed, added
        self._learn(*self.graph_)

    # answers -------------------------------------------------------------------------------

    def predict_top(self, X: Any, k: int = 5) -> sparse.csr_array:
        """The k labels with the highest scores, for label spaces too large for ``predict_proba``.

        Returns
        -------
        csr_array of shape (n, q)
            With k scores stored in each row; among equal scores the first labels.
        """
        check_is_fitted(self)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be a positive integer, got {k!r}")
        X = self._validate_X(X, reset=False)
        distances, neighbors = self._neighbors(X)
        k, q = min(int(k), self.n_labels_), self.n_labels_
        labels, scores = self._top_of_all(X, distances, neighbors, k)
        order = np.argsort(labels, axis=1)
        labels, scores = (np.take_along_axis(a, order, axis=1) for a in (labels, scores))
        pointers = np.arange(0, labels.size + 1, k)
        return sparse.csr_array((scores.ravel(), labels.ravel(), pointers), (len(labels), q))

    def _top_of_all(
        self, X: Any, distances: Floats, neighbors: Rows, k: int
    ) -> tuple[Rows, Floats]:
        rows = [
            self._top(X[block], distances[block], neighbors[block], k)
            for block in graph_blocks(neighbors, self.Y_)
        ]
        labels, scores = (np.vstack(parts) for parts in zip(*rows))
        return labels, scores

    def _top(self, X: Any, distances: Floats, neighbors: Rows, k: int) -> tuple[Rows, Floats]:
        """Labels and scores of the k best, each (n, k)."""
        scores = self._from_neighbors(X, distances, neighbors)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return best, np.take_along_axis(scores, best, axis=1)

    def _asked(self, neighbors: Rows) -> NDArray[np.bool_] | None:
        """Which of one query's neighbours are asked for each label, (searched, q); None for all.

        Where some labels are not known: the nearest k that know it.
        """
        if self.unknown_ is None:
            return None
        knows = ~dense(self.unknown_[neighbors])
        return knows & (knows.cumsum(axis=0) <= self.n_neighbors_)

    def training_scores(self, rows: ArrayLike | None = None) -> Floats:
        """Scores of training instances, none of which is its own neighbour.

        So they are what the learner would say about an instance that it has not seen, but for
        what it counts over the whole training set, such as how frequent a label is.

        Parameters
        ----------
        rows : array of int, default=None
            Which of the training instances; all by default.

        Returns
        -------
        ndarray of shape (n, q)

        Examples
        --------
        >>> from plurilabel import MLkNN
        >>> learner = MLkNN(1).fit([[0.0], [0.1], [5.0], [5.1]], [[1], [1], [0], [0]])
        >>> learner.training_scores([0, 2])
        array([[0.75],
               [0.25]])
        """
        check_is_fitted(self)
        at = np.arange(self.Y_.shape[0]) if rows is None else np.asarray(rows, dtype=np.intp)
        k = self.n_searched_ or self.n_neighbors_
        if hasattr(self, "graph_"):
            distances, neighbors = self.graph_[0][at, :k], self.graph_[1][at, :k]
        else:
            distances, neighbors = training_neighbors(self.index_, self.X_, k, rows=at)
        return self._from_neighbors(self.X_[at], distances, neighbors)

    def _explain(self, X: Any, given: Given) -> list[Explanation]:
        """The neighbours with and without each label."""
        del given  # neighbours are found by all features together
        distances, neighbors = self._neighbors(X)
        scores = self._from_neighbors(X, distances, neighbors)
        return [
            Explanation(
                neighbors=neighbors[i],
                distances=distances[i],
                labels=dense(self.Y_[neighbors[i]]).astype(bool),
                asked=self._asked(neighbors[i]),
                posterior=scores[i],
                label_names=tuple(self.label_names_),
            )
            for i in range(len(neighbors))
        ]


def enough_known(k: int, unknown: Any) -> int | None:
    """How many neighbours to search so that about k of them know a label; None for k.

    On average 1.5 k of them know the label that is known least often, but no more than 20 k are
    searched.
    """
    if unknown is None:
        return None
    most = int(np.asarray(unknown.sum(axis=0, dtype=np.int64)).max())
    known = max(1.0 - most / unknown.shape[0], 1 / 20)
    return min(unknown.shape[0] - 1, int(np.ceil(min(1.5 / known, 20) * k)))


def graph_blocks(neighbors: Rows, Y: LabelMatrix) -> list[slice]:
    """Slices of the rows of a graph such that the labels of their neighbours take little room."""
    width = Y.shape[1]
    if sparse.issparse(Y):
        # A table (2, q, k + 1) is made for each block: not too many of them.
        width = Y.nnz * neighbors.shape[1] / max(Y.shape[0], 1) / 4
    return row_blocks(len(neighbors), width, CELLS)
