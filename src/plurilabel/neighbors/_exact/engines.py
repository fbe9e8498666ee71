"""Which engine, and those that need no products: k-d tree, brute force, all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from plurilabel.neighbors._exact.blocks import Blocks, Whole, WholeBlocks
from plurilabel.neighbors._exact.certify import (
    Candidates,
    CertifiedEngine,
    Engine,
    Pairs,
    Run,
    first_of_each,
    without_self,
)
from plurilabel.neighbors._exact.distance import UNIT, Floats, Formula, Neighbors, Points


def choose_engine(algorithm: str, formula: Formula, X: Points) -> Engine:
    """An engine for these (prepared) points: the one named, or the fastest for "auto"."""
    dense, products = isinstance(X, np.ndarray), formula.p == 2
    if algorithm == "tree" and not dense:
        raise ValueError("algorithm='tree' needs dense X, got a sparse matrix")
    if algorithm == "blocks" and not products:
        raise ValueError(
            "algorithm='blocks' is for the Euclidean and the cosine distance, "
            f"got a metric with p={formula.p:g}"
        )
    if algorithm == "auto":
        if dense and _tree_pays(formula, X):
            algorithm = "tree"
        else:
            algorithm = "blocks" if products else "brute"
    if algorithm == "tree":
        return Tree(formula, X)
    if algorithm == "brute" and (dense or formula.p == 1):
        return Brute(formula, X)
    if algorithm == "brute":
        return AllPairs(formula, X, formula.table)
    whole = None if formula.cosine else Whole.for_points(X)
    return Blocks(formula, X) if whole is None else WholeBlocks(X, whole)


def are_multiplied(formula: Formula, X: Points) -> bool:
    """Whether "auto" takes rounded products for these (prepared) points: :class:`Blocks`."""
    if formula.p != 2 or (isinstance(X, np.ndarray) and _tree_pays(formula, X)):
        return False
    return formula.cosine or Whole.for_points(X) is None


def _tree_pays(formula: Formula, X: NDArray[Any]) -> bool:
    """Whether a k-d tree is faster; measured on normal data, against products and brute force.

    The more features, the more points it takes. Many duplicates slow a tree down.
    """
    n, d = X.shape
    if formula.p == 2:
        enough = np.log(n / 150) >= d * np.log(2.25)
    else:
        enough = n >= 1000 and d <= 10
    if not enough:
        return False
    some = X[np.linspace(0, n - 1, min(n, 1000)).astype(int)]
    return len(np.unique(some, axis=0)) > len(some) / 2


class Tree(CertifiedEngine):
    """A k-d tree, for few features."""

    def __init__(self, formula: Formula, X: NDArray[Any]):
        self.formula, self.X = formula, X
        self.tree = cKDTree(X.astype(np.float64, copy=False))
        self.error = _error_of_sums(X)

    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:
        points, extra = (self.X, 1) if Q is None else (Q, 0)
        m, n = points.shape[0], self.X.shape[0]
        near = np.empty((m, K), dtype=np.int64)
        floor, after_k = np.empty(m), np.empty(m)

        def some(part: slice) -> None:
            ranks = np.arange(1, K + extra + 1)
            distance, index = self.tree.query(points[part], ranks, p=self.formula.p)
            floor[part] = distance[:, -1]
            if extra:
                distance, index = without_self(distance, index, np.arange(m)[part])
            near[part], after_k[part] = index, distance[:, min(k, K - 1)]

        run(some, [slice(i, i + 512) for i in range(0, m, 512)])
        if K + extra == n:
            floor[:] = np.inf
        if k == K:
            after_k = floor
        less = 1 - self.error
        return near, self.formula.of_norm(after_k * less), self.formula.of_norm(floor * less)

    def within(self, Q: Points, radius: Floats) -> Pairs:
        reach = self.formula.to_norm(radius) * (1 + self.error)
        return _flat(self.tree.query_ball_point(Q, reach, p=self.formula.p))


class Brute(CertifiedEngine):
    """scikit-learn's brute force, made to compare every pair directly.

    On sparse points it can do so for the Manhattan distance only.
    """

    def __init__(self, formula: Formula, X: Points):
        self.formula, self.X = formula, X.astype(np.float64, copy=False)
        if formula.p == 2:
            # "euclidean" would use products, whose error is not relative to the distance.
            ones = {"V": np.ones(X.shape[1])}
            how: dict[str, Any] = {"metric": "seuclidean", "metric_params": ones}
        else:
            how = {"metric": "minkowski", "p": formula.p}
        self.search = NearestNeighbors(algorithm="brute", **how).fit(self.X)
        self.error = _error_of_sums(X)

    def candidates(self, Q: Points | None, k: int, K: int, run: Run) -> Candidates:  # noqa: ARG002
        if Q is None:
            distance, index = self.search.kneighbors(self.X, K + 1)
            floor = distance[:, -1]
            distance, index = without_self(distance, index, np.arange(len(index)))
        else:
            distance, index = self.search.kneighbors(Q.astype(np.float64), K)
            floor = distance[:, -1]
        after_k, less = distance[:, k] if k < K else floor, 1 - self.error
        near = index.astype(np.int64)
        return near, self.formula.of_norm(after_k * less), self.formula.of_norm(floor * less)

    def within(self, Q: Points, radius: Floats) -> Pairs:
        # One radius for all: a superset, which is ranked later.
        reach = float(self.formula.to_norm(radius).max()) * (1 + self.error)
        Q = Q.astype(np.float64)
        return _flat(self.search.radius_neighbors(Q, reach, return_distance=False))


class AllPairs(Engine):
    """All distances, block by block, from a function of two matrices of points.

    That is scikit-learn's or the user's; or the formula's own, for metrics on CSR that no other
    engine supports. NaN is farther than any distance.
    """

    def __init__(self, formula: Formula | None, X: Points, table: Callable[[Points, Points], Any]):
        self.formula, self.X, self.table = formula, X, table

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        asked, n = self.X if Q is None else Q, self.X.shape[0]
        m = asked.shape[0]
        distances, indices = np.empty((m, k)), np.empty((m, k), dtype=np.int64)

        def some(part: slice) -> None:
            D = np.array(self.table(asked[part], self.X), dtype=np.float64)
            own = np.arange(m)[part]
            if Q is None:
                D[np.arange(len(D)), own] = np.nan
            last = np.partition(D, k - 1, axis=1)[:, [k - 1]]
            row, index = np.nonzero((last >= D) | np.isnan(last))
            if Q is None:  # other distances may be NaN, too
                other = index != own[row]
                row, index = row[other], index[other]
            distances[part], indices[part] = first_of_each(row, index, D[row, index], len(D), k)

        step = max(1, min(256, (1 << 22) // n))
        run(some, [slice(i, i + step) for i in range(0, m, step)])
        return distances, indices


def _error_of_sums(X: Points) -> float:
    """Of the same terms added in another order, and roots: a few units for each feature."""
    return 8 * (X.shape[1] + 16) * UNIT


def _flat(balls: Any) -> Pairs:
    """Pairs (row, index) from a list of indices for each row."""
    sizes = [len(ball) for ball in balls]
    return np.repeat(np.arange(len(balls)), sizes), np.concatenate(balls).astype(np.int64)
