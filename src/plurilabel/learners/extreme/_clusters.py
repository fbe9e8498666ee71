"""A balanced tree over the labels, by 2-means on the sphere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.learners.extreme._linear import prepared


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
    """The labels in the order of the tree: each node is a range of it.

    Every node has a seed of its own, so that the order of the work does not matter.
    """
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
    parts = (np.flatnonzero(first), np.flatnonzero(~first))
    return np.concatenate(
        [
            part[_split(features[part], some, rng)]
            for part, some in zip(parts, (sizes[:half], sizes[half:]))
        ]
    )


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
