"""The trees and rules of a model as arrays: how instances run down, and what it reads like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._blocks import csr_of_rows, row_blocks
from plurilabel.boosting._gradient._grow import Grown
from plurilabel.boosting._rules import Floats, Rows

STEPS = 1 << 17
"""Instances times trees, or times features, that are looked at together: small enough for the
cache."""


def joined(grown: Sequence[Grown], q: int) -> dict[str, Any]:
    """The attributes of a learner: all nodes of all trees, one tree after the other.

    Leaves have their scores in a row of ``values_``, a matrix (leaves, q) that is sparse if no
    tree scores all labels.
    """
    sizes = np.array([len(tree.feature) for tree in grown])
    roots = np.cumsum(sizes) - sizes
    feature = np.concatenate([tree.feature for tree in grown])
    leaf = feature < 0
    values: Any
    if all(len(tree.labels) == q for tree in grown):
        values = np.concatenate([tree.values[tree.feature < 0] for tree in grown])
    else:
        parts = [tree.values[tree.feature < 0] for tree in grown]
        labels = np.concatenate([np.tile(t.labels, len(p)) for t, p in zip(grown, parts)])
        widths = np.repeat([len(t.labels) for t in grown], [len(p) for p in parts])
        values = csr_of_rows(np.concatenate([p.ravel() for p in parts]), labels, widths, q)
        values.eliminate_zeros()
    return {
        "roots_": roots,
        "feature_": feature,
        "threshold_": np.concatenate([tree.threshold for tree in grown]),
        "missing_right_": np.concatenate([tree.missing for tree in grown]),
        "left_": np.concatenate([tree.left + root for tree, root in zip(grown, roots)]),
        "leaf_": np.where(leaf, np.cumsum(leaf) - 1, 0),
        "values_": values,
        "depth_": max(tree.depth for tree in grown),
    }


def run_down(
    X: Any,
    roots: Rows,
    feature: NDArray[Any],
    threshold: Floats,
    missing_right: NDArray[np.bool_],
    left: NDArray[Any],
    depth: int,
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    """The leaves (rows, trees) that instances come to, for some rows of X at a time."""
    used, position = np.unique(np.maximum(feature, 0), return_inverse=True)
    position = position.astype(np.int32)
    for rows in row_blocks(X.shape[0], max(len(roots), len(used)), STEPS):
        block = X[rows]
        # only some rows, and of these only the features that a condition asks for
        block = block[:, used].toarray() if sparse.issparse(block) else block[:, used]
        block = np.ascontiguousarray(block)
        gaps = bool(np.isnan(block).any())
        flat, first = block.ravel(), (np.arange(len(block)) * len(used))[:, np.newaxis]
        node = np.repeat(roots[np.newaxis].astype(np.int32), len(block), axis=0)
        for _ in range(depth):
            value = flat[first + position[node]]
            right = value > threshold[node]
            if gaps:
                right |= np.isnan(value) & missing_right[node]
            node = left[node] + right
        yield rows, node


def sums_of_leaves(leaves: NDArray[Any], values: Any) -> Floats:
    """Sum of the rows of ``values`` at the leaves (rows, trees)."""
    rows, trees = leaves.shape
    ends = np.arange(0, leaves.size + 1, trees)
    member = sparse.csr_array(
        (np.ones(leaves.size), leaves.ravel(), ends), shape=(rows, values.shape[0])
    )
    total = member @ values
    return total.toarray() if sparse.issparse(total) else np.asarray(total)


def ways_in_words(
    feature: NDArray[Any], threshold: Floats, left: NDArray[Any], names: Sequence[str]
) -> list[str]:
    """The way to each node in words, with at most one condition for each side of a feature."""
    ways: list[dict[tuple[int, bool], float]] = [{} for _ in feature]
    for node in np.flatnonzero(feature >= 0):  # in the order of growing: parents come first
        for right in (False, True):
            way = dict(ways[node])
            key = int(feature[node]), right
            # a later condition on the same side is the narrower one; it goes to the end
            way.pop(key, None)
            ways[left[node] + right] = {**way, key: float(threshold[node])}
    return [_in_words(way, names) for way in ways]


def _in_words(way: dict[tuple[int, bool], float], names: Sequence[str]) -> str:
    words = []
    for (j, right), value in way.items():
        if np.isinf(value):
            words.append(f"{names[j]} {'missing' if right else 'known'}")
        else:
            words.append(f"{names[j]} {'>' if right else '<='} {value:.4g}")
    return " and ".join(words) or "always"
