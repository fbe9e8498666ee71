"""Base classes of the lazy learners: search, growing and forgetting, sparse predictions."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.blocks import dense, rows_without, stack_rows
from plurilabel._core.explanation.contributions import Given
from plurilabel._core.fitted import Declared, count, labels, numbers, parameters, places
from plurilabel._core.limits import check_size
from plurilabel._core.soft import harder
from plurilabel._core.unknown import UnknownLabels, known_part, stack_labels
from plurilabel.learners.lazy._explanation import Explanation
from plurilabel.learners.lazy._neighbor_labels import (
    Best,
    Floats,
    Graph,
    NeighborLabels,
    Rows,
    enough_known,
    highest,
    neighbor_labels,
)
from plurilabel.learners.lazy._soft_labels import rounded
from plurilabel.neighbors import ExactIndex, query_neighbors, training_neighbors


@dataclass(eq=False, repr=False)
class LazyClassifier(ProbabilisticClassifier):
    """Base class of learners that keep the training set and consult the neighbours.

    It has the parameters ``n_neighbors``, ``metric``, ``index``, ``n_jobs`` and ``device`` of
    :class:`MLkNN`. A subclass writes one or two hooks:

    ``_from_neighbors(X, distances, neighbors)``
        Scores (n, q) of n queries, from the distances and row numbers (n, k) of their neighbours.
    ``_learn(distances, neighbors)``, optional
        Learns from the training graph: the same for the training instances, none of which is its
        own neighbour. Without this hook the graph is not searched.

    Both find the validated training data in ``X_`` and ``Y_``, dense or CSR, and the parameters of
    the fit in ``fitted_params_``. The base class adds the search, ``partial_fit`` and ``forget``
    with the exact result of a fresh fit, ``predict_top`` and ``explain``.

    Attributes
    ----------
    index_ : index
        The index, fitted.
    graph_ : tuple of ndarrays of shape (n, k)
        The training graph: distances and row numbers. Only where it is searched.
    n_neighbors_ : int
        Number of neighbours of a query.
    n_searched_ : int or None
        Number of neighbours searched if some labels are unknown, so that enough of them know each.
    unknown_ : ndarray of bool or csr_array of shape (n, q), or None
        The unknown training labels, dense or sparse as ``Y_`` is; None if all are known.
    X_, Y_ : matrices of shape (n, d) and (n, q)
        Copies of the training instances and labels; soft labels are rounded to multiples of
        2**-14, so that all sums are exact.
    fitted_params_ : dict
        The parameters of ``fit``, except those of the search. ``set_params`` takes effect at the
        next ``fit``: until then predictions, ``partial_fit`` and ``forget`` use these.

    Examples
    --------
    A learner that predicts the labels of the nearest neighbour:

    >>> from plurilabel import LazyClassifier
    >>> class Nearest(LazyClassifier):
    ...     def _from_neighbors(self, X, distances, neighbors):
    ...         return self.Y_[neighbors[:, 0]].astype(float)
    >>> learner = Nearest(1).fit([[0.0], [1.0], [5.0]], [[1, 0], [1, 1], [0, 1]])
    >>> learner.predict([[0.9], [7.0]])
    array([[1, 1],
           [0, 1]])
    >>> learner.forget([1]).predict([[0.9]])
    array([[1, 0]])
    """

    _fitted: ClassVar[Declared] = {
        "fitted_params_": parameters(),
        "X_": numbers("n", "n_features_in_", finite=False),  # a metric may take NaN
        "Y_": labels("n", "n_labels_", soft=True),
        "unknown_": labels("n", "n_labels_", optional=True),
        "n_neighbors_": count(below="n"),
        "n_searched_": count(below="n", optional=True),
        "graph_": (numbers("n", "k", finite=False, optional=True), places("n", "k", below="n")),
    }

    unknown_: Any = field(init=False)
    graph_: Graph = field(init=False)
    _learns_from_soft = True
    _power: ClassVar[float] = 0  # neighbours weigh 1 / distance**_power
    _learn: ClassVar[Any] = None  # a hook that subclasses may define

    n_neighbors: int = 10
    _: KW_ONLY
    metric: Any = "euclidean"
    index: Any = None
    n_jobs: int | None = None
    device: str = "auto"

    def _learn_points(self) -> None:
        """Learn from points and labels alone, whenever these change; overridden."""

    @abstractmethod
    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats: ...

    def _dense_bytes(self) -> float:
        """Bytes that a fit makes dense, for each instance and label; overridden."""
        return 0.0

    def _n_searched(self) -> int:
        """Number of neighbours that each training instance has in the graph."""
        return self.fitted_params_["n_neighbors"]

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        search = ("metric", "index", "n_jobs", "device")  # index_ has those
        # a subclass with an __init__ of its own may fix some of the fields
        params = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        params |= self.get_params(deep=False)
        self.fitted_params_ = {name: params[name] for name in params if name not in search}
        self.unknown_ = None
        if isinstance(Y, UnknownLabels):
            Y, self.unknown_ = Y.Y, Y.unknown
        Y = rounded(Y)
        self._check_size(X.shape[0])
        self._check_memory(X.shape[0])
        usual = ExactIndex(self.metric, n_jobs=self.n_jobs, device=self.device)
        self.index_ = usual if self.index is None else clone(self.index)
        if type(self.index_) is ExactIndex:  # it keeps a copy of the points: one is enough
            self.X_ = self.index_.fit(X).points_
        else:
            self.X_ = X.copy()
            self.index_ = self.index_.fit(self.X_)
        self.Y_ = Y.copy()
        self._learn_labels()
        self._learn_points()

    @property
    def _labels(self) -> NeighborLabels:
        """The training labels, to be counted among neighbours where these were found."""
        device = getattr(self.index_, "device_", "cpu")
        return neighbor_labels(self.Y_, self.unknown_, self.n_neighbors_, self._power, device)

    def _scores(self, X: Any) -> Floats:
        return self._from_neighbors(X, *self._neighbors(X))

    def _neighbors(self, X: Any) -> Graph:
        k = self.n_searched_ or self.n_neighbors_
        return query_neighbors(self.index_, X, k, self.Y_.shape[0])

    def _check_size(self, n: int) -> None:
        if n < 2:
            raise ValueError(f"neighbours need at least two training instances, got n_samples={n}")
        if (k := self._n_searched()) >= n:
            most = f"smaller than the {n} training instances"
            raise ValueError(f"n_neighbors must be {most}, got {k}")

    def _check_memory(self, n: int) -> None:
        sizes, memory = f"{n:,} instances and {self.n_labels_:,} labels", n * self.n_labels_
        instead = "MLkNN, BRkNN or MLWkNN, which keep sparse labels sparse"
        check_size(self, sizes, memory=self._dense_bytes() * memory, instead=instead)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.index is None and self.metric == "precomputed"
        return tags

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Add instances; the result is exactly that of ``fit`` on all instances so far.

        Only the new instances are searched for among all, and the old ones among the new.

        Parameters
        ----------
        X, y : as in ``fit``
        classes : array of shape (n_classes,), optional
            All classes that may occur, for a 1-D y at the first call.
        """
        if not hasattr(self, "index_"):
            self._fit(*self._validate_fit(X, y, classes))
            return self
        X, Y = self._validate_more(X, y)
        self._check_features("partial_fit")
        self._check_memory(self.Y_.shape[0] + X.shape[0])
        some_unknown = self.unknown_ is not None or isinstance(Y, UnknownLabels)
        Y = Y if some_unknown else rounded(Y)
        if some_unknown or np.result_type(Y.dtype, self.Y_.dtype) != self.Y_.dtype:
            before = self.Y_ if self.unknown_ is None else UnknownLabels(self.Y_, self.unknown_)
            self._change_points("partial_fit", X, stack_rows([self.X_, X]))
            Y, self.unknown_ = known_part(stack_labels([before, Y]))
            self.Y_ = rounded(Y)
            self._learn_labels()
        else:
            self._grow(X, Y)
        self._learn_points()
        return self

    def _grow(self, X: Any, Y: LabelMatrix) -> None:
        """Add points, and merge them into the graph; on equal distance the old neighbour stays."""
        old, new = self.Y_.shape[0], np.arange(self.Y_.shape[0], self.Y_.shape[0] + X.shape[0])
        if self._learn is not None:
            before, k = self.graph_, self.graph_[1].shape[1]
            k_new = min(k, len(new))
            found = query_neighbors(clone(self.index_).fit(X), self.X_, k_new, len(new))
        self._change_points("partial_fit", X, stack_rows([self.X_, X]))
        self.Y_ = stack_rows([self.Y_, Y])
        if self._learn is None:
            return
        distances = np.hstack([before[0], found[0]])
        neighbors = np.hstack([before[1], found[1] + old])
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        distances = np.take_along_axis(distances, nearest, axis=1)
        neighbors = np.take_along_axis(neighbors, nearest, axis=1)
        changed = np.flatnonzero((neighbors >= old).any(axis=1))
        added = training_neighbors(self.index_, self.X_, k, rows=new)
        self.graph_ = np.vstack([distances, added[0]]), np.vstack([neighbors, added[1]])
        self._relearn(before, np.concatenate([changed, new]), added=len(new))

    def forget(self, indices: ArrayLike) -> Self:
        """Remove training instances; the result is exactly that of ``fit`` on the rest.

        Only instances that lose a neighbour are searched for again.

        Parameters
        ----------
        indices : array of int
            Row numbers in the order of the training instances. The remaining instances are
            renumbered.
        """
        check_is_fitted(self)
        self._check_features("forget")
        stay = rows_without(self.Y_.shape[0], indices)
        self._check_size(len(stay))
        number = np.full(self.Y_.shape[0], -1)  # old row number -> new one, -1 for none
        number[stay] = np.arange(len(stay))
        self._change_points("remove", np.flatnonzero(number < 0), self.X_[stay])
        if self.unknown_ is not None:
            labels = UnknownLabels(self.Y_[stay], self.unknown_[stay])
            Y, self.unknown_ = known_part(labels)
            self.Y_ = harder(Y)
            self._learn_labels()
        else:
            self._shrink(stay, number)
        self._learn_points()
        return self

    def _shrink(self, stay: Rows, number: Rows) -> None:
        """Keep some rows of labels and graph; search again for rows that lose a neighbour."""
        self.Y_ = harder(self.Y_[stay])
        if self._learn is None:
            return
        distances, neighbors = self.graph_[0][stay], number[self.graph_[1][stay]]
        lost = np.flatnonzero((neighbors < 0).any(axis=1))
        if len(lost):
            found = training_neighbors(self.index_, self.X_, neighbors.shape[1], rows=lost)
            distances[lost], neighbors[lost] = found
        self.graph_ = distances, neighbors
        self._learn(*self.graph_)

    def _learn_labels(self) -> None:
        """Learn from the labels; the number of unknown ones decides how far to search."""
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
        """Change the index to points X by its own method, or fit a new one."""
        if hasattr(self.index_, method):
            # A copy is changed, so that the old index is still there if a later step fails.
            self.index_ = getattr(copy(self.index_), method)(change)
        else:
            self.index_ = clone(self.index_).fit(X)
        # An ExactIndex has made the same points: one copy is enough.
        self.X_ = getattr(self.index_, "points_", X)

    def _relearn(self, before: Graph, changed: Rows, added: int) -> None:  # noqa: ARG002
        """Learn again after growing; overridden where the changed rows are enough."""
        self._learn(*self.graph_)

    def predict_top(self, X: Any, k: int = 5) -> sparse.csr_array:
        """Predict the k labels with the highest scores, also for very large label spaces.

        Returns
        -------
        csr_array of shape (n, q)
            With k scores stored in each row; among equal scores those of the first labels.
        """
        X = self._validate_predict(X)
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be a positive integer, got {k!r}")
        k, q = min(int(k), self.n_labels_), self.n_labels_
        labels, scores = self._top(X, *self._neighbors(X), k)
        order = np.argsort(labels, axis=1)
        labels, scores = (np.take_along_axis(a, order, axis=1) for a in (labels, scores))
        pointers = np.arange(0, labels.size + 1, k)
        return sparse.csr_array((scores.ravel(), labels.ravel(), pointers), (len(labels), q))

    def _top(self, X: Any, distances: Floats, neighbors: Rows, k: int) -> Best:
        """Labels and scores of the k best, each (n, k)."""
        found = [
            highest(self._from_neighbors(X[rows], distances[rows], neighbors[rows]), k)
            for rows in self._labels.blocks(neighbors)
        ]
        labels, scores = (np.vstack(parts) for parts in zip(*found))
        return labels, scores

    def training_scores(self, rows: ArrayLike | None = None) -> Floats:
        """Scores (n, q) of training instances, none of which is its own neighbour.

        They are as for unseen instances, except for statistics of the whole training set, such as
        the frequency of a label.

        Parameters
        ----------
        rows : array of int, default=None
            Row numbers; None for all training instances.

        Examples
        --------
        >>> from plurilabel import MLkNN
        >>> learner = MLkNN(1).fit([[0.0], [0.1], [5.0], [5.1]], [[1], [1], [0], [0]])
        >>> learner.training_scores([0, 2])
        array([[0.75],
               [0.25]])
        """
        at, distances, neighbors = self._training_neighbors(rows)
        return self._from_neighbors(self.X_[at], distances, neighbors)

    def training_labels(self, rows: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Label sets (n, q) of training instances, decided as by ``predict``.

        Parameters as in :meth:`training_scores`.
        """
        return self.training_scores(rows) > self._cut

    def _training_neighbors(self, rows: ArrayLike | None) -> tuple[Rows, Floats, Rows]:
        """Training instances by number, and their neighbours other than themselves."""
        check_is_fitted(self)
        at = np.arange(self.Y_.shape[0]) if rows is None else np.asarray(rows, dtype=np.intp)
        k = self.n_searched_ or self.n_neighbors_
        if hasattr(self, "graph_"):
            return at, self.graph_[0][at, :k], self.graph_[1][at, :k]
        return at, *training_neighbors(self.index_, self.X_, k, rows=at)

    def _explain(self, X: Any, given: Given) -> list[Explanation]:
        del given  # neighbours are found by all features together
        distances, neighbors = self._neighbors(X)
        scores = self._from_neighbors(X, distances, neighbors)
        return [
            Explanation(
                neighbors=neighbors[i],
                distances=distances[i],
                labels=dense(self.Y_[neighbors[i]]) > 0.5,
                asked=self._labels.consulted(neighbors[i]),
                posterior=scores[i],
                label_names=tuple(self.label_names_),
            )
            for i in range(len(neighbors))
        ]


class CountingClassifier(LazyClassifier):
    """Score of label l is ``table_[l, j]``, where j counts the neighbours that have l.

    For sparse labels ``predict`` and ``predict_top`` build nothing of size (n, q): a label that
    no neighbour has scores ``table_[l, 0]`` for every instance.
    """

    _fitted: ClassVar[Declared] = {"table_": numbers("n_labels_", "n_neighbors_+1", finite=False)}

    table_: Floats  # (q, k + 1)

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:  # noqa: ARG002
        return self._labels.scores(distances, neighbors, self.table_)

    def _predict(self, X: Any) -> Any:
        if not self.sparse_output_:
            return super()._predict(X)
        return self._labels.above(*self._neighbors(X), self.table_, self._cut)

    def _top(self, X: Any, distances: Floats, neighbors: Rows, k: int) -> Best:  # noqa: ARG002
        return self._labels.top(distances, neighbors, self.table_, k)
