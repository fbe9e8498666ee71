"""The default index: exact, whatever does the arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import Interval, StrOptions, validate_parameter_constraints
from plurilabel.neighbors._canonical import Formula, Points
from plurilabel.neighbors._certified import Neighbors, Run, by_blocks, certified
from plurilabel.neighbors._choice import (
    check_reach,
    choose_engine,
    formula_of,
    validate_points,
)
from plurilabel.neighbors._engines import AllPairs, Blocks, WholeBlocks
from plurilabel.neighbors._threads import threads


def _has_features(index: ExactIndex) -> bool:
    if index.metric == "precomputed":
        raise AttributeError("partial_fit and remove need features, got metric='precomputed'")
    return True


class ExactIndex(BaseEstimator):
    """Nearest neighbours that are the same everywhere.

    Returns the true k nearest by distances in float64, equal distances in the order of the
    index. The answer does not depend on the algorithm, the number of threads, the sizes of
    blocks, or on whether the same values are stored as float32, float64 or sparse: distances are
    what a plain loop over the features gives, added in the order of the columns, bit for bit.
    Faster, rounded arithmetic only proposes candidates. It comes with an error bound, and rows
    for which the bound leaves a doubt are searched again more widely.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        "euclidean", "cosine", "manhattan", "chebyshev" and "minkowski" are certified as above.
        Any other metric of :func:`sklearn.metrics.pairwise_distances` is taken as that
        function computes it, with ties in the order of the index. "precomputed" takes distances
        in place of X: (n, n) in ``fit``, (m, n) in ``kneighbors``.
    p : float, default=2
        Power for "minkowski", at least 1.
    metric_params : dict, optional
        More arguments for the metric. With them it is left to scikit-learn.
    n_jobs : int, optional
        Number of threads; None for as many as BLAS uses, -1 for one per processor.
    algorithm : {"auto", "blocks", "tree", "brute"}, default="auto"
        "blocks" multiplies matrices (Euclidean and cosine), "tree" is a k-d tree (dense X),
        "brute" compares all pairs directly. All give the same answer. "auto" takes what was
        fastest when measured.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int
        Number of training points.

    Notes
    -----
    Cosine distance is half the squared Euclidean distance of the rows scaled to length one. A
    row of zeros has distance 1 from every row.

    Memory beyond X: ``fit`` keeps a copy of X in float32 (float64 where float32 cannot tell
    neighbours apart), ``kneighbors`` adds another one and some megabytes per thread, and about
    ``20 * m * k`` bytes for m rows. Nothing has the size (m, n).

    Examples
    --------
    >>> from plurilabel.neighbors import ExactIndex
    >>> index = ExactIndex().fit([[0.0], [1.0], [1.0], [3.0]])
    >>> distances, indices = index.kneighbors(n_neighbors=2)  # the points among themselves
    >>> indices
    array([[1, 2],
           [2, 0],
           [1, 0],
           [1, 2]])
    >>> index.kneighbors([[2.0]], n_neighbors=3, return_distance=False)
    array([[1, 2, 3]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [str, callable],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
        "algorithm": [StrOptions({"auto", "blocks", "tree", "brute"})],
    }

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        algorithm: str = "auto",
    ):
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Take the training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d); (n, n) distances if precomputed
        y : ignored

        Returns
        -------
        self
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        points = self._validate(X, reset=True)
        self.n_samples_fit_ = points.shape[0]
        if self.metric == "precomputed" and points.shape[0] != points.shape[1]:
            raise ValueError(
                "X must be a square matrix of distances for metric='precomputed', "
                f"got shape {points.shape}"
            )
        formula = self._formula()
        check_reach(formula, points)
        self._points = points if formula is None else formula.prepare(points)
        self._engine: Any = None
        if formula is not None:
            self._engine = self._choose(formula, self._points)
        return self

    def _choose(self, formula: Formula, points: Points) -> Any:
        with threads(1):  # BLAS on several threads is slow to start for the small tests here
            return choose_engine(self.algorithm, formula, points)

    @available_if(_has_features)
    def partial_fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Add training points after those that are there; the first call is ``fit``.

        Answers are then those of ``fit`` on all points, without most of its work.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, d)
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "_points"):
            return self.fit(X, y)
        formula = self._formula()
        new = self._validate(X, reset=False)
        check_reach(formula, new)
        if isinstance(self._points, np.ndarray):
            new = new if isinstance(new, np.ndarray) else new.toarray()
            new = new if formula is None else formula.prepare(new)
            points = np.vstack([self._points, new])
        else:
            new = sparse.csr_array(new)
            new = new if formula is None else formula.prepare(new)
            points = sparse.csr_array(sparse.vstack([self._points, new], format="csr"))
        grown = self._engine.grown(points, new) if isinstance(self._engine, Blocks) else None
        return self._replace(formula, points, grown)

    @available_if(_has_features)
    def remove(self, indices: ArrayLike) -> Self:
        """Remove training points by index; those that stay close ranks.

        Parameters
        ----------
        indices : array-like of int

        Returns
        -------
        self
        """
        check_is_fitted(self)
        formula = self._formula()
        n, gone = self.n_samples_fit_, np.atleast_1d(np.asarray(indices))
        if gone.size and (gone.dtype.kind not in "iu" or gone.min() < 0 or gone.max() >= n):
            raise ValueError(f"indices must be integers from 0 to {n - 1}, got {indices!r}")
        stay = np.setdiff1d(np.arange(n), gone)
        if not len(stay):
            raise ValueError(f"indices must leave at least one of the {n} training instances")
        points = self._points[stay]
        reduced = self._engine.reduced(points, stay) if isinstance(self._engine, Blocks) else None
        return self._replace(formula, points, reduced)

    def _replace(self, formula: Formula | None, points: Points, engine: Blocks | None) -> Self:
        self._points, self.n_samples_fit_ = points, points.shape[0]
        if engine is None and formula is not None:
            self._engine = self._choose(formula, points)
        else:
            self._engine = engine
        return self

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Neighbors | NDArray[np.int64]:
        """Find the nearest training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Points to search for. None for the training points themselves: then each is left
            out of its own neighbours, and a duplicate of it is not.
        n_neighbors : int, optional
            How many; None for 5.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of float64, shape (m, n_neighbors)
            Ascending; only with ``return_distance``.
        indices : ndarray of int64, shape (m, n_neighbors)
        """
        check_is_fitted(self)
        k = self._check_n_neighbors(5 if n_neighbors is None else n_neighbors, X is None)
        Q = None if X is None else self._validate(X, reset=False)
        with threads(self.n_jobs) as run:
            distances, indices = self._search(Q, k, run)
        return (distances, indices) if return_distance else indices

    def _search(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        formula, X = self._formula(), self._points
        if formula is None:
            return self._compare_all(Q, k, run)
        check_reach(formula, Q)
        if Q is not None:
            if isinstance(X, np.ndarray) and not isinstance(Q, np.ndarray):
                # Training points are dense: queries are made so too, some rows at a time.
                parts = [slice(i, i + 1024) for i in range(0, Q.shape[0], 1024)]
                found = [self._search(Q[part].toarray(), k, run) for part in parts]
                return np.vstack([d for d, _ in found]), np.vstack([i for _, i in found])
            Q = formula.prepare(Q if isinstance(X, np.ndarray) else sparse.csr_array(Q))
        engine = self._engine
        if isinstance(engine, WholeBlocks) and not (Q is None or engine.fits(Q)):
            engine = Blocks.for_points(formula, X)
        if isinstance(engine, WholeBlocks | AllPairs):
            return engine.neighbors(Q, k, run)
        return certified(engine, formula, X, Q, k, run)

    def _compare_all(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        """All distances as scikit-learn or the user gives them, in blocks of rows."""
        X, asked = self._points, self._points if Q is None else Q

        def block(part: slice) -> Any:
            if self.metric == "precomputed":
                return asked[part]
            return pairwise_distances(
                asked[part], X, metric=self.metric, **(self.metric_params or {})
            )

        return by_blocks(block, asked.shape[0], X.shape[0], k, run, without_self=Q is None)

    def _formula(self) -> Formula | None:
        """The canonical formula of the metric; None where scikit-learn's value is taken."""
        return None if self.metric_params else formula_of(self.metric, self.p)

    def _validate(self, X: Any, *, reset: bool) -> Points:
        return validate_points(
            self,
            X,
            reset=reset,
            accept_sparse=self.metric != "precomputed",
            accept_nan=self.metric == "nan_euclidean",
        )

    def _check_n_neighbors(self, k: Any, without_self: bool) -> int:
        n = self.n_samples_fit_
        if not isinstance(k, int | np.integer) or isinstance(k, bool):
            raise TypeError(f"n_neighbors must be an integer, got {k!r}")
        if k < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {k}")
        if without_self and k >= n:
            raise ValueError(
                f"n_neighbors must be smaller than the {n} training instances, got {k}"
            )
        if k > n:
            raise ValueError(f"n_neighbors must be at most the {n} training instances, got {k}")
        return int(k)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
