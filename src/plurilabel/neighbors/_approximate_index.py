"""An approximate index, for millions of points."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import AllOrNothing
from plurilabel._core.blocks import own
from plurilabel._core.compat import AtLeastTwo, check_params, import_extra
from plurilabel.neighbors._distance import Formula, Neighbors, Points
from plurilabel.neighbors._engines import ranked
from plurilabel.neighbors._exact_index import validate_points


@dataclass(eq=False, repr=False)
class ApproximateIndex(AllOrNothing, BaseEstimator):
    """Most of the nearest neighbours, in a small part of the time of a full search.

    Wraps `pynndescent <https://pynndescent.readthedocs.io>`_ (``pip install plurilabel[ann]``).
    It proposes candidates; their distances are computed as in :class:`ExactIndex`, and the
    nearest are returned, ties in the order of the index. It may miss a neighbour, but the order of
    those found is right; :func:`~plurilabel.neighbors.recall` measures how many it finds.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
    n_candidates : int, default=30
        Number of candidates for each point, at least the number of neighbours in ``kneighbors``.
        More candidates find more neighbours and slow the search down.
    random_state : int, RandomState instance or None, default=None
        The search is random. An int makes it reproducible with ``n_jobs=1``.
    n_jobs : int, optional
        Number of threads; None for all.

    Notes
    -----
    pynndescent compiles for more than half a minute, once per process: up to about 100,000
    points :class:`ExactIndex` is faster.

    Examples
    --------
    Pass it to any learner with neighbours:

    >>> from plurilabel import ApproximateIndex, MLkNN
    >>> MLkNN(index=ApproximateIndex(n_candidates=50, random_state=0))
    MLkNN(index=ApproximateIndex(n_candidates=50, random_state=0))
    """

    metric: Literal["euclidean", "cosine", "manhattan"] = "euclidean"
    _: KW_ONLY
    n_candidates: AtLeastTwo = 30
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Build the graph of the training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        """
        check_params(self)
        pynndescent = import_extra("pynndescent", "ApproximateIndex", "ann")
        self._points = self._formula().prepare(own(validate_points(self, X, reset=True), X))
        self.n_samples_fit_ = self._points.shape[0]
        if self.n_samples_fit_ <= self.n_candidates:
            raise ValueError(
                f"n_candidates must be smaller than the {self.n_samples_fit_} training "
                f"instances, got {self.n_candidates}; use ExactIndex for so few"
            )
        # A cosine between rows of length one is a Euclidean distance.
        self._graph = pynndescent.NNDescent(
            _single(self._points),
            metric="manhattan" if self.metric == "manhattan" else "euclidean",
            n_neighbors=self.n_candidates + 1,
            random_state=check_random_state(self.random_state),
            n_jobs=-1 if self.n_jobs is None else self.n_jobs,
            compressed=False,
        )
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Neighbors | NDArray[np.int64]:
        """Find near training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            None for the training points, each without itself.
        n_neighbors : int, optional
            None for 5; at most ``n_candidates``.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of float64, shape (m, n_neighbors), only with ``return_distance``
        indices : ndarray of int64, shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = 5 if n_neighbors is None else n_neighbors
        if not 1 <= k <= self.n_candidates:
            most = f"n_candidates={self.n_candidates}"
            raise ValueError(f"n_neighbors must be from 1 to {most}, got {k}")
        if X is None:
            points, near = self._points, self._graph.neighbor_graph[0]
            near = np.where(near == np.arange(len(near))[:, None], -1, near)
        else:
            points = self._formula().prepare(validate_points(self, X, reset=False))
            if isinstance(self._points, np.ndarray) != isinstance(points, np.ndarray):
                raise TypeError("X must be sparse if it was in fit, and dense if it was dense")
            near = self._graph.query(_single(points), k=self.n_candidates)[0]
        rows, near = np.arange(len(near)), near.astype(np.int64)
        distances, indices = ranked(self._formula(), points, rows, self._points, near, k)
        missing = np.isinf(distances).any(axis=1)
        if missing.any():
            raise RuntimeError(
                f"fewer than {k} neighbours were found for row {int(np.argmax(missing))}: "
                f"increase n_candidates, now {self.n_candidates}"
            )
        return (distances, indices) if return_distance else indices

    def _formula(self) -> Formula:
        return cast(Formula, Formula.of(self.metric))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _single(points: Points) -> Any:
    """float32; a sparse matrix, not a sparse array, for numba."""
    single = points.astype(np.float32)
    return single if isinstance(single, np.ndarray) else sparse.csr_matrix(single)
