"""The linear models of one node of a label tree: learned, and learned further."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from plurilabel.learners.extreme._clusters import child_bounds
from plurilabel.learners.extreme._linear import SURE, Prior, train


class Settings(NamedTuple):
    """How the models of a node are learned, as the parameters of LabelTree say."""

    loss: str
    C: float
    tol: float
    max_iter: int
    prune: float


class NodeModel(NamedTuple):
    """The models of the children of one node, pruned, and what is kept of its instances."""

    features: NDArray[np.int64]  # those with a weight
    weights: sparse.csr_array  # (features, children)
    squares: NDArray[np.floating[Any]]  # (features,), summed over the instances
    biases: NDArray[np.float64]  # (children,)
    curvatures: NDArray[np.float64]  # (children,), summed over the instances
    reached: float  # by so many instances, or by their weights
    n_iter: int


def nodes_of(Y: sparse.csr_array, levels: list[Any]) -> Iterator[Any]:
    """For each node, level by level: the instances that reach it, None for all, which child each
    reaches, and which labels the children are, None if they are nodes.

    All instances reach the root, those without labels too.
    """
    last = len(levels) - 2
    above: Any = None
    for depth, bounds in enumerate(levels[:-1]):
        children = child_bounds(bounds, levels[depth + 1])
        below = _reached(Y, levels[depth + 1])
        for v, (a, b) in enumerate(pairwise(children)):
            labels = slice(a, b) if depth == last else None
            if depth == 0:
                yield None, below, labels
                continue
            rows = above.indices[above.indptr[v] : above.indptr[v + 1]]
            mine = slice(below.indptr[a], below.indptr[b])
            parts = (
                below.data[mine],
                np.searchsorted(rows, below.indices[mine]),
                below.indptr[a : b + 1] - below.indptr[a],
            )
            yield rows, sparse.csc_array(parts, shape=(len(rows), b - a)), labels
        above = below


def _reached(Y: sparse.csr_array, bounds: NDArray[np.int64]) -> sparse.csc_array:
    """Which instances have a label of which node (n, nodes), rows in their order."""
    node = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    pairs = np.unique(node[Y.indices] * Y.shape[0] + row)
    node, row = np.divmod(pairs, Y.shape[0])
    pointers = np.searchsorted(node, np.arange(len(bounds)))
    ones = np.ones(len(row), dtype=np.int8)
    return sparse.csc_array((ones, row, pointers), shape=(Y.shape[0], len(bounds) - 1))


def train_node(
    X: Any,
    rows: Any,
    Y: sparse.csc_array,
    weights: Any,
    worth: Any,
    before: NodeModel | None,
    settings: Settings,
) -> NodeModel:
    """The models of one node, from the instances that reach it, on the features they have."""
    if rows is not None:
        X, weights = X[rows], None if weights is None else weights[rows]
    if before is not None and not X.shape[0]:
        return before
    features, X = _features_present(X)
    prior = None if before is None else _prior(before, features, settings)
    trained = train(
        X,
        Y,
        loss=settings.loss,
        C=settings.C,
        tol=settings.tol,
        max_iter=settings.max_iter,
        weights=weights,
        worth=worth,
        prior=prior,
    )
    kept = abs(trained.weights) > settings.prune
    some = kept.any(axis=1)
    found = NodeModel(
        features[some],
        sparse.csr_array(np.where(kept, trained.weights, 0)[some]),
        _squares(X, weights)[some],
        trained.biases,
        trained.curvatures,
        float(X.shape[0] if weights is None else weights.sum()),
        trained.n_iter,
    )
    return found if before is None else _merged(before, found, features, Y)


def _prior(before: NodeModel, features: NDArray[np.int64], settings: Settings) -> Prior:
    """Means and precisions of the weights of some features, and of the biases."""
    m, dtype = len(before.biases), before.weights.dtype
    means = np.zeros((len(features) + 1, m), dtype=dtype)
    squares = np.zeros(len(features) + 1, dtype=dtype)
    here, there = np.intersect1d(
        before.features, features, assume_unique=True, return_indices=True
    )[1:]
    means[there] = before.weights[here].toarray()
    squares[there] = before.squares[here]
    biases, curvatures = before.biases, before.curvatures
    closed = abs(biases) == SURE
    if closed.any():
        bias, curvature = _constant(before.reached, settings)
        biases = np.where(closed, np.sign(biases) * bias, biases)
        curvatures = np.where(closed, curvature, curvatures)
    means[-1], squares[-1] = biases, before.reached
    shares = curvatures / max(before.reached, 1e-300)
    return Prior(means, (1 + np.outer(squares, shares)).astype(dtype))


def _constant(n: float, settings: Settings) -> tuple[float, float]:
    """The bias that n instances of one kind alone would have led to, and its curvature."""
    cost = settings.C * n
    if settings.loss == "squared_hinge":
        return 2 * cost / (1 + 2 * cost), 2 * cost
    bias = np.log1p(cost)
    for _ in range(20):  # Newton's method on ½b² + C n log(1 + exp(-b))
        p = expit(-bias)
        bias -= (bias - cost * p) / (1 + cost * p * (1 - p))
    p = expit(-bias)
    return bias, cost * p * (1 - p)


def _features_present(X: sparse.csr_array) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """The features that occur, and X with these only."""
    present = np.zeros(X.shape[1], dtype=bool)
    present[X.indices] = True
    features = np.flatnonzero(present)
    number = np.cumsum(present) - 1
    parts = (X.data, number[X.indices].astype(X.indices.dtype), X.indptr)
    return features, sparse.csr_array(parts, shape=(X.shape[0], len(features)))


def _squares(X: sparse.csr_array, weights: Any) -> NDArray[np.floating[Any]]:
    """The sum of the squares of each feature."""
    counts = np.ones(X.shape[0]) if weights is None else weights
    squares = X.data.astype(np.float64) ** 2 * np.repeat(counts, np.diff(X.indptr))
    return np.bincount(X.indices, squares, minlength=X.shape[1]).astype(X.dtype)


def _merged(before: NodeModel, found: NodeModel, features: Any, Y: sparse.csc_array) -> NodeModel:
    """The models of a node after further instances, which have these features."""
    n, present = Y.shape[0], np.diff(Y.indptr)
    sides = np.where(present == n, SURE, np.where(present == 0, -SURE, 0))
    # still without a choice
    closed = (abs(before.biases) == SURE) & (sides != 0)
    closed &= (sides == before.biases) | (before.reached == 0)
    here, there = np.intersect1d(
        before.features, found.features, assume_unique=True, return_indices=True
    )[1:]
    squares = found.squares.copy()
    squares[there] += before.squares[here]
    stay = np.isin(before.features, features, invert=True)
    both = np.concatenate([before.features[stay], found.features])
    order = np.argsort(both)
    W = sparse.vstack([before.weights[stay], found.weights], format="csr")[order]
    W.data *= ~closed[W.indices]
    W.eliminate_zeros()
    return NodeModel(
        both[order],
        sparse.csr_array(W),
        np.concatenate([before.squares[stay], squares])[order],
        np.where(closed, sides, found.biases),
        np.where(closed, 0, before.curvatures + found.curvatures),
        before.reached + found.reached,
        found.n_iter,
    )
