"""The nodes of a label tree: which labels are in them, and their linear models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from plurilabel._core.blocks import csr_of_rows, ranges
from plurilabel.learners.extreme._linear import SURE, Prior, Settings, prepared, train


def level_bounds(q: int, branching_factor: int, leaf_size: int) -> list[NDArray[np.int64]]:
    """Where the nodes of each level begin and end among the labels in the order of the tree.

    All leaves are on one level. Siblings differ by at most one label. The last entry is the
    level of the labels themselves.

    Examples
    --------
    >>> [bounds.tolist() for bounds in level_bounds(7, branching_factor=2, leaf_size=2)]
    [[0, 7], [0, 4, 7], [0, 2, 4, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]
    """
    levels = [np.array([0, q])]
    while (sizes := np.diff(levels[-1])).max() > leaf_size:
        parts = np.minimum(branching_factor, sizes)
        node = np.repeat(np.arange(len(sizes)), parts)
        place = np.arange(len(node)) - np.repeat(np.cumsum(parts) - parts, parts)
        smaller = sizes[node] // parts[node] + (place < sizes[node] % parts[node])
        levels.append(np.concatenate([[0], np.cumsum(smaller)]))
    return [*levels, np.arange(q + 1)]


def child_bounds(above: NDArray[np.int64], below: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which nodes of the level below are the children of each node of the level above.

    Examples
    --------
    >>> child_bounds(np.array([0, 4, 7]), np.array([0, 2, 4, 6, 7]))
    array([0, 2, 4])
    """
    return np.searchsorted(below, above)


def label_features(X: sparse.csr_array, Y: Any, weights: Any = None) -> sparse.csr_array:
    """The sum of the instances of each label, of length 1 (q, d)."""
    Y = sparse.csr_array(Y, dtype=X.dtype)
    if weights is not None:
        Y = sparse.csr_array(Y.multiply(weights[:, None].astype(X.dtype)))
    return prepared(Y.T @ X, unit=True)


def joined(features: sparse.csr_array, others: Any) -> sparse.csr_array:
    """Label features with others beside them, both of the same length (q, d + f)."""
    others = prepared(others, unit=True)
    both = sparse.csr_array(sparse.hstack([features, others], format="csr"))
    return prepared(both, unit=True)


def label_order(
    features: sparse.csr_array,
    levels: list[NDArray[np.int64]],
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    """The labels in the order of the tree: each node is a range of it."""
    # Every node has a seed of its own, so that the order of the work does not matter.
    order = np.arange(features.shape[0])
    for above, below in pairwise(levels[:-1]):
        children = child_bounds(above, below)
        seeds = seed.spawn(len(above) - 1)
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_split)(
                features[order[a:b]],
                np.diff(below[children[v] : children[v + 1] + 1]),
                np.random.default_rng(seeds[v]),
            )
            for v, (a, b) in enumerate(pairwise(above))
        )
        order = np.concatenate([order[a:][part] for a, part in zip(above[:-1], parts)])
    return order


def _split(features: Any, sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """An order of the rows in which those of one part, of the given sizes, are together."""
    if len(sizes) == 1:
        return np.arange(features.shape[0])
    half = len(sizes) // 2
    first = _two_means(features, int(sizes[:half].sum()), rng)
    a, b = np.flatnonzero(first), np.flatnonzero(~first)
    left, right = _split(features[a], sizes[:half], rng), _split(features[b], sizes[half:], rng)
    return np.concatenate([a[left], b[right]])


def _two_means(features: Any, n_first: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows belong to the first of two clusters, one of ``n_first`` rows."""
    n = features.shape[0]
    centres = features[rng.choice(n, size=2, replace=False)].toarray()
    first, before = np.zeros(n, dtype=bool), -np.inf
    for _ in range(50):
        near = features @ centres.T  # (n, 2)
        # the rows that gain most by the first centre; equal ones in their order
        order = np.argsort(near[:, 1] - near[:, 0], kind="stable")
        first[:] = False
        first[order[:n_first]] = True
        total = float(np.where(first, near[:, 0], near[:, 1]).mean())
        if total <= before + 1e-4:
            break
        before = total
        centres = np.stack([features.T @ part for part in (first, ~first)])
        length = np.linalg.norm(centres, axis=1, keepdims=True)
        centres = centres / np.where(length > 0, length, 1)
    return first


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
    trained = train(X, Y, settings, weights, worth, prior)
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
    here, there = _common(before.features, features)
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


def _common(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[Any, Any]:
    """The places in a and in b of the features that are in both."""
    return np.intersect1d(a, b, assume_unique=True, return_indices=True)[1:]


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
    """The sum of the squares of each feature; at most what can still be added to."""
    counts = np.ones(X.shape[0]) if weights is None else weights
    with np.errstate(over="ignore"):
        squares = X.data.astype(np.float64) ** 2 * np.repeat(counts, np.diff(X.indptr))
    sums = np.bincount(X.indices, squares, minlength=X.shape[1])
    return np.minimum(sums, float(np.finfo(X.dtype).max) / 1024).astype(X.dtype)


def _merged(before: NodeModel, found: NodeModel, features: Any, Y: sparse.csc_array) -> NodeModel:
    """The models of a node after further instances, which have these features."""
    n, present = Y.shape[0], np.diff(Y.indptr)
    sides = np.where(present == n, SURE, np.where(present == 0, -SURE, 0))
    # still without a choice
    closed = (abs(before.biases) == SURE) & (sides != 0)
    closed &= (sides == before.biases) | (before.reached == 0)
    here, there = _common(before.features, found.features)
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


def node_products(
    X: Any, row: Any, node: Any, keys: NDArray[np.int64], weights: sparse.csr_array
) -> NDArray[np.floating[Any]]:
    """Products of instances with the weights of the children of nodes (pairs, children)."""
    # The weights of a node and a feature are one row of ``weights``: those of a node follow
    # each other. Pairs are in the order of the nodes.
    d, last = X.shape[1], len(keys)  # the last row of weights is empty
    length = np.diff(X.indptr)[row]
    ends = np.concatenate([[0], np.cumsum(length)])
    at = ranges(X.indptr[row], length)
    features = X.indices[at]
    place = np.empty(len(at), dtype=weights.indptr.dtype)
    row_of = np.full(d, last, dtype=place.dtype)  # of each feature in the node at hand
    first = np.flatnonzero(np.diff(node, prepend=-1))
    low, high = np.searchsorted(keys, (node[first] * d, (node[first] + 1) * d))
    for i, (a, b) in enumerate(pairwise([*first, len(node)])):
        there = keys[low[i] : high[i]] - node[a] * d
        row_of[there] = np.arange(low[i], high[i])
        place[ends[a] : ends[b]] = row_of[features[ends[a] : ends[b]]]
        row_of[there] = last
    return (csr_of_rows(X.data[at], place, length, last + 1) @ weights).toarray()


def below_each_other(parts: list[sparse.csr_array]) -> sparse.csr_array:
    """Matrices of different widths in one, and an empty row."""
    sizes = [*(np.diff(part.indptr) for part in parts), [0]]
    return csr_of_rows(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate(sizes),
        max(part.shape[1] for part in parts),
    )


def best_nodes(row: Any, node: Any, score: Any, k: int) -> tuple[Any, Any, Any]:
    """The k best nodes of each instance, in the order of the nodes; the first of equal ones."""
    order = np.lexsort((node, -score, row))
    in_order = row[order]
    rank = np.arange(len(row)) - np.searchsorted(in_order, in_order)
    kept = order[rank < k]
    # by node: neighbouring pairs then look at neighbouring weights
    kept = kept[np.lexsort((row[kept], node[kept]))]
    return row[kept], node[kept], score[kept]
