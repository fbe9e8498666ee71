"""Engines that propose candidates: products in blocks, a k-d tree, scikit-learn's brute force."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from plurilabel.neighbors._canonical import UNIT, Formula, Points
from plurilabel.neighbors._certified import Neighbors, Pairs, Run, by_blocks
from plurilabel.neighbors._operand import (
    Operand,
    Rounded,
    Whole,
    reach,
    single_precision_is_enough,
)
from plurilabel.neighbors._products import BLOCK, below, smallest

Proposal = tuple[NDArray[np.int64], NDArray[np.float64]]


class Blocks:
    """Products in blocks, in float32 where that tells neighbours apart, else in float64."""

    def __init__(self, formula: Formula, X: Points, rounded: Rounded, block: int = BLOCK):
        self.formula, self.X, self.rounded, self.block = formula, X, rounded, block
        self.operand = rounded.operand(X)

    @classmethod
    def for_points(cls, formula: Formula, X: Points, block: int = BLOCK) -> Blocks:
        rounded = Rounded.for_points(X)
        if single_precision_is_enough(X, rounded):
            rounded = rounded.with_type(np.float32)
        return cls(formula, X, rounded, block)

    def grown(self, X: Points, new: Points) -> Blocks | None:
        """The same for X, which is the points so far and then ``new``; None if it must be new."""
        if self._is_far(new):
            return None
        return self._with(X, self.operand.stack(self.rounded.operand(new)))

    def reduced(self, X: Points, stay: NDArray[np.intp]) -> Blocks:
        """The same for X, the points that stay."""
        return self._with(X, self.operand.take(stay))

    def _with(self, X: Points, operand: Operand) -> Blocks:
        other = copy(self)
        other.X, other.operand = X, operand
        return other

    def candidates(self, Q: Points | None, K: int, run: Run) -> Proposal:
        if Q is None:
            near, _, bounds = smallest(None, self.operand, K, run, block=self.block)
        elif self._is_far(Q):
            return self._at_scale_of(Q).candidates(Q, K, run)
        else:
            rows = self.rounded.operand(Q)
            near, _, bounds = smallest(rows, self.operand, K, run, block=self.block)
        return near, self.formula.of_euclidean(self.rounded.floor(bounds, self.X.shape[1]))

    def wider(self) -> Callable[[Points, NDArray[np.float64]], Pairs]:
        if self.rounded.dtype == np.float64:
            return self._within
        return Blocks(self.formula, self.X, self.rounded.with_type(np.float64))._within

    def _within(self, Q: Points, radius: NDArray[np.float64]) -> Pairs:
        if self._is_far(Q):
            return self._at_scale_of(Q)._within(Q, radius)
        limits = self.rounded.ceiling(self.formula.to_euclidean(radius), self.X.shape[1])
        return below(self.rounded.operand(Q), self.operand, limits)

    def _is_far(self, Q: Points) -> bool:
        """Whether squares of the queries could overflow at the scale of the points."""
        return reach(Q, self.rounded.centre) * self.rounded.scale > 2.0**20

    def _at_scale_of(self, Q: Points) -> Blocks:
        return Blocks(self.formula, self.X, self.rounded.scaled_to(Q))


class WholeBlocks:
    """Products in blocks for whole numbers: exact, nothing to certify."""

    def __init__(self, X: Points, whole: Whole, block: int = BLOCK):
        self.X, self.whole, self.block = X, whole, block
        self.operand = whole.operand(X, index=True)

    def fits(self, Q: Points) -> bool:
        return self.whole.fits(Q)

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        whole, n = self.whole, self.X.shape[0]
        others = n - (Q is None)
        K = k if whole.grain == 1 else min(k + max(4, k // 4), others)
        rows = None if Q is None else whole.operand(Q, index=False)
        near, keys, bounds = smallest(rows, self.operand, K, run, block=self.block)
        own = np.arange(n)[:, None] // whole.grain if Q is None else 0
        squared = (keys.astype(np.float64) - own - near // whole.grain) / whole.factor
        order = np.lexsort((near, squared))[:, :k]
        indices = np.take_along_axis(near, order, axis=1)
        squared = np.take_along_axis(squared, order, axis=1)
        distances = np.sqrt(squared) / whole.scale
        if whole.grain > 1 and others > K:
            last = squared[:, -1] * whole.factor + (own + indices[:, [-1]] // whole.grain)[:, 0]
            again = np.flatnonzero(last >= bounds)
            if len(again):
                distances[again], indices[again] = self._finely(Q, again, k, run)
        return distances, indices

    def _finely(self, Q: Points | None, again: NDArray[np.intp], k: int, run: Run) -> Neighbors:
        """The same with a key for each single index."""
        whole = Whole.for_points(self.X, np.float64)
        assert whole is not None
        fine = WholeBlocks(self.X, whole, self.block)
        if Q is not None:
            return fine.neighbors(Q[again], k, run)
        distances, indices = fine.neighbors(self.X[again], k + 1, run)
        return drop(distances, indices, again)


class Tree:
    """A k-d tree, for few features."""

    def __init__(self, formula: Formula, X: NDArray[Any]):
        self.formula, self.X = formula, X
        self.tree = cKDTree(X.astype(np.float64))
        # Sums of the same numbers in another order, and roots: a few units for each feature.
        self.error = 8 * (X.shape[1] + 16) * UNIT

    # A model file cannot hold scipy's tree; it is soon made again.

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "tree"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.tree = cKDTree(self.X.astype(np.float64))

    def candidates(self, Q: Points | None, K: int, run: Run) -> Proposal:
        points, extra = (self.X, 1) if Q is None else (Q, 0)
        m, n = points.shape[0], self.X.shape[0]
        near = np.empty((m, K), dtype=np.int64)
        floor = np.empty(m)

        def some(part: slice) -> None:
            distance, index = self.tree.query(
                points[part], np.arange(1, K + extra + 1), p=self.formula.p
            )
            floor[part] = distance[:, -1] * (1 - self.error)
            if extra:
                _, index = drop(distance, index, np.arange(m)[part])
            near[part] = index

        run(some, [slice(i, i + 512) for i in range(0, m, 512)])
        if K + extra == n:
            floor[:] = np.inf
        return near, self.formula.of_euclidean(floor)

    def wider(self) -> Callable[[Points, NDArray[np.float64]], Pairs]:
        return self._within

    def _within(self, Q: Points, radius: NDArray[np.float64]) -> Pairs:
        reach = self.formula.to_euclidean(radius) * (1 + self.error)
        balls = self.tree.query_ball_point(Q, reach, p=self.formula.p)
        sizes = [len(ball) for ball in balls]
        return np.repeat(np.arange(len(balls)), sizes), np.concatenate(balls).astype(np.int64)


class Brute:
    """scikit-learn's brute force, told to compare every pair directly.

    On sparse points it knows no metric that does so but Manhattan.
    """

    def __init__(self, formula: Formula, X: Points):
        self.formula, self.X = formula, X.astype(np.float64)
        if formula.p == 2:
            # "euclidean" would go by products, whose error is not relative to the distance.
            how: dict[str, Any] = {
                "metric": "seuclidean",
                "metric_params": {"V": np.ones(X.shape[1])},
            }
        else:
            how = {"metric": "minkowski", "p": formula.p}
        self.search = NearestNeighbors(algorithm="brute", **how).fit(self.X)
        self.error = 8 * (X.shape[1] + 16) * UNIT

    def candidates(self, Q: Points | None, K: int, run: Run) -> Proposal:  # noqa: ARG002
        if Q is None:
            distance, index = self.search.kneighbors(self.X, K + 1)
            _, near = drop(distance, index, np.arange(len(index)))
        else:
            distance, near = self.search.kneighbors(Q.astype(np.float64), K)
        floor = distance[:, -1] * (1 - self.error)
        return near.astype(np.int64), self.formula.of_euclidean(floor)

    def wider(self) -> Callable[[Points, NDArray[np.float64]], Pairs]:
        return self._within

    def _within(self, Q: Points, radius: NDArray[np.float64]) -> Pairs:
        # One radius for all: a superset, the order is made exact later.
        reach = float(self.formula.to_euclidean(radius).max()) * (1 + self.error)
        balls = self.search.radius_neighbors(Q.astype(np.float64), reach, return_distance=False)
        sizes = [len(ball) for ball in balls]
        return np.repeat(np.arange(len(balls)), sizes), np.concatenate(balls).astype(np.int64)


class AllPairs:
    """The formula for every pair: slow, and good for metrics that nothing else knows on CSR."""

    def __init__(self, formula: Formula, X: Points):
        self.formula, self.X = formula, X

    def neighbors(self, Q: Points | None, k: int, run: Run) -> Neighbors:
        X, n = self.X, self.X.shape[0]
        asked = X if Q is None else Q

        def block(part: slice) -> NDArray[np.float64]:
            rows = np.arange(part.start, part.stop)
            every = np.tile(np.arange(n), len(rows))
            return self.formula.pairs(asked, np.repeat(rows, n), X, every).reshape(-1, n)

        return by_blocks(block, asked.shape[0], n, k, run, without_self=Q is None)


def drop(
    distances: NDArray[Any], indices: NDArray[Any], own: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lists without the row's own index; without their last entry where that is not in them."""
    keep = indices != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(indices), indices.shape[1] - 1)
    return distances[keep].reshape(shape), indices[keep].reshape(shape)
