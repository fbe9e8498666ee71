"""What the lazy learners share: one search, growth and shrinkage, sparse answers."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import HasMethods, Interval
from plurilabel.base import LabelMatrix, ProbabilisticClassifier
from plurilabel.lazy._counts import graph_blocks
from plurilabel.lazy._explain import Explanation
from plurilabel.neighbors import ExactIndex

Graph = tuple[NDArray[np.float64], NDArray[np.intp]]
"""Distances and row numbers of the k nearest training instances, each (n, k)."""


class LazyClassifier(ProbabilisticClassifier):
    """A learner that keeps the training set and asks the neighbours.

    Hooks: ``_learn(distances, neighbors)`` sees the training graph, in which no instance is its
    own neighbour; ``_from_neighbors(distances, neighbors)`` turns a query's neighbours into
    scores (n, q).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "index": [None, HasMethods(["fit", "kneighbors"])],
        "n_jobs": [None, Integral],
    }

    _uses_graph: ClassVar[bool] = True
    """Whether anything is learned from the training graph; if not, it is not searched."""

    n_neighbors: int
    metric: Any
    index: Any
    n_jobs: int | None

    @abstractmethod
    def _learn(self, distances: NDArray[np.float64], neighbors: NDArray[np.intp]) -> None: ...

    @abstractmethod
    def _from_neighbors(
        self, X: Any, distances: NDArray[np.float64], neighbors: NDArray[np.intp]
    ) -> NDArray[np.float64]: ...

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self._check_size(X.shape[0])
        self.index_ = self._new_index().fit(X)
        self.X_, self.Y_ = X, Y
        if self._uses_graph:
            self.graph_ = self.index_.kneighbors(None, n_neighbors=self.n_neighbors)
            self._learn(*self.graph_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._from_neighbors(X, *self._neighbors(X))

    def _neighbors(self, X: Any) -> Graph:
        return self.index_.kneighbors(X, n_neighbors=self.n_neighbors)

    def _new_index(self) -> Any:
        if self.index is None:
            return ExactIndex(metric=self.metric, n_jobs=self.n_jobs)
        return clone(self.index)

    def _check_size(self, n: int) -> None:
        if n < 2:
            raise ValueError(
                f"at least two training instances are needed to find neighbours, got n_samples={n}"
            )
        if self.n_neighbors >= n:
            raise ValueError(
                f"n_neighbors must be smaller than the {n} training instances, "
                f"got {self.n_neighbors}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.index is None and self.metric == "precomputed"
        return tags

    # growth and shrinkage ------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Add instances; the result is exactly that of ``fit`` on all instances so far.

        The new instances are searched, and the old ones are shown the new; nothing else is
        searched again.

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
        self._check_metric("partial_fit")
        old = self.Y_.shape[0]
        # old instances look at the new ones only
        k_new = min(self.n_neighbors, X.shape[0])
        among_new = self._uses_graph and self._new_index().fit(X).kneighbors(self.X_, k_new)
        self.X_, self.Y_ = _stack(self.X_, X), _stack(self.Y_, Y)
        self.index_ = self._new_index().fit(self.X_)
        if among_new:
            self._grow(old, *among_new)
        return self

    def _grow(self, old: int, distances: NDArray[np.float64], neighbors: NDArray[np.intp]) -> None:
        """Merge new neighbours into the graph; on equal distance the old neighbour stays."""
        new = np.arange(old, self.Y_.shape[0])
        distances = np.hstack([self.graph_[0], distances])
        neighbors = np.hstack([self.graph_[1], neighbors + old])
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : self.n_neighbors]
        kept = tuple(np.take_along_axis(a, nearest, axis=1) for a in (distances, neighbors))
        changed = np.flatnonzero((kept[1] >= old).any(axis=1))
        before = self.graph_
        self.graph_ = tuple(np.vstack(pair) for pair in zip(kept, self._without_self(new)))
        self._relearn(before, np.concatenate([changed, new]), added=len(new))

    def forget(self, indices: ArrayLike) -> Self:
        """Remove training instances; the result is exactly that of ``fit`` on those that remain.

        Only instances that lose a neighbour are searched again.

        Parameters
        ----------
        indices : array of int
            Row numbers, in the order in which the instances were given. The remaining ones
            close ranks.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_metric("forget")
        m = self.Y_.shape[0]
        gone = np.zeros(m, dtype=bool)
        rows = np.atleast_1d(np.asarray(indices))
        if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= m):
            raise ValueError(f"indices must be row numbers from 0 to {m - 1}, got {rows}")
        gone[rows.astype(np.intp)] = True
        stay = np.flatnonzero(~gone)
        self._check_size(len(stay))
        self.X_, self.Y_ = self.X_[stay], self.Y_[stay]
        self.index_ = self._new_index().fit(self.X_)
        if self._uses_graph:
            number = np.cumsum(~gone) - 1  # old row number -> new row number
            lost = np.flatnonzero(gone[self.graph_[1][stay]].any(axis=1))
            distances, neighbors = self.graph_[0][stay], number[self.graph_[1][stay]]
            if len(lost):
                distances[lost], neighbors[lost] = self._without_self(lost)
            self.graph_ = distances, neighbors
            self._learn(*self.graph_)
        return self

    def _check_metric(self, method: str) -> None:
        if self.index is None and self.metric == "precomputed":
            raise ValueError(f"{method} needs features, but metric is 'precomputed'")

    def _without_self(self, rows: NDArray[np.intp]) -> Graph:
        """Neighbours of some training instances, each without itself."""
        k = self.n_neighbors
        distances, neighbors = self.index_.kneighbors(self.X_[rows], n_neighbors=k + 1)
        own = neighbors == rows[:, None]
        own[~own.any(axis=1), -1] = True  # k + 1 duplicates came before the instance itself
        shape = (len(rows), k)
        return distances[~own].reshape(shape), neighbors[~own].reshape(shape)

    def _relearn(self, before: Graph, changed: NDArray[np.intp], added: int) -> None:
        """Learn anew after growth; overridden where the change alone is enough."""
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
        rows = [
            self._top(X[block], distances[block], neighbors[block], k)
            for block in graph_blocks(neighbors, self.Y_)
        ]
        labels, scores = (np.vstack(parts) for parts in zip(*rows))
        order = np.argsort(labels, axis=1)
        labels, scores = (np.take_along_axis(a, order, axis=1) for a in (labels, scores))
        pointers = np.arange(0, labels.size + 1, k)
        return sparse.csr_array((scores.ravel(), labels.ravel(), pointers), (len(labels), q))

    def _top(
        self, X: Any, distances: NDArray[np.float64], neighbors: NDArray[np.intp], k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Labels and scores of the k best, each (n, k)."""
        scores = self._from_neighbors(X, distances, neighbors)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return best, np.take_along_axis(scores, best, axis=1)

    # explanation ---------------------------------------------------------------------------

    def explain(self, X: Any) -> list[Explanation]:
        """Say for each instance which neighbours speak for and against each label.

        Returns
        -------
        list of Explanation
            One for each row of X; ``print`` shows it.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        distances, neighbors = self._neighbors(X)
        scores = self._from_neighbors(X, distances, neighbors)
        return [
            Explanation(
                neighbors=neighbors[i],
                distances=distances[i],
                labels=_dense(self.Y_[neighbors[i]]).astype(bool),
                posterior=scores[i],
                label_names=tuple(self.label_names_),
            )
            for i in range(len(neighbors))
        ]


def _stack(first: Any, second: Any) -> Any:
    if sparse.issparse(first):
        return sparse.csr_array(sparse.vstack([first, sparse.csr_array(second)], format="csr"))
    return np.vstack([first, _dense(second)])


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
