"""Converters of trees: find the leaf of each row, and look up its values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.models.onnx._to_onnx import Graph, Value


def mean_of_leaves(
    graph: Graph, trees: Sequence[Any], tables: Sequence[NDArray[Any]], x: Value
) -> Value:
    """Mean over scikit-learn's trees of the values of the leaf of each row, (n, m).

    The tables (nodes, m) have the values of the nodes of each tree. The operator for trees sums in
    single precision and stores a number for each leaf and label. It is only used to find the
    leaves; their values are added in float64 and in the order of the trees, which gives the result
    of ``predict_proba`` bit for bit.
    """

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    sizes = [tree.node_count for tree in trees]
    below = np.repeat(np.cumsum([0, *sizes])[:-1], sizes)  # nodes of the trees before
    left = joined("children_left")
    is_leaf = left == -1
    numbers = leaf_numbers(
        graph,
        x.cast(np.float32),  # as scikit-learn's trees do
        np.cumsum([0, *sizes])[:-1],
        np.where(is_leaf, -1, joined("feature")),
        _rounded_down(joined("threshold")),
        joined("missing_go_to_left").astype(bool),
        left + below,
        joined("children_right") + below,
    )
    said = np.vstack([table[tree.children_left == -1] for table, tree in zip(tables, trees)])
    total = sum_of_leaves(graph, numbers, said.astype(np.float64), len(trees))
    return total / float(len(trees)) if len(trees) > 1 else total


def sum_of_leaves(graph: Graph, numbers: Value, said: Any, n_trees: int) -> Value:
    """Sum over the trees of the values (leaves, m) at leaf numbers (n, trees)."""
    table = graph.constant(said)
    rows = (
        graph("Gather", table, graph("Gather", numbers, t, axis=1), axis=0) for t in range(n_trees)
    )
    return reduce(add, rows)


def leaf_numbers(
    graph: Graph, x: Value, roots: NDArray[Any], feature: NDArray[Any], threshold: NDArray[Any],
    missing_left: NDArray[Any], left: NDArray[Any], right: NDArray[Any],
) -> Value:  # fmt: skip
    """Number of the leaf of each row in each tree, among all leaves, (n, trees).

    The nodes of all trees are in one list, each tree from its root up to the next root; leaves
    have the feature -1. Rows go left up to the threshold, which has the type of x.
    """
    sizes = np.diff([*roots, len(feature)])
    of_tree, inside = np.repeat(np.arange(len(roots)), sizes), np.arange(len(feature))
    inside -= np.repeat(roots, sizes)
    first, is_leaf = np.repeat(roots, sizes), feature < 0
    leaves = np.bincount(of_tree[is_leaf], minlength=len(roots))
    start = np.cumsum(leaves) - leaves
    number = np.arange(is_leaf.sum()) - np.repeat(start, leaves)  # small: results are float32
    tensor = graph.onnx.numpy_helper.from_array
    graph.check_room(60.0 * len(feature))
    (found,) = graph.node(
        "TreeEnsembleRegressor",
        x,
        outputs=1,
        domain="ai.onnx.ml",
        n_targets=len(roots),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=of_tree.tolist(),
        nodes_nodeids=inside.tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=np.where(is_leaf, 0, feature).tolist(),
        **_numbers(
            "nodes_values", np.where(is_leaf, 0, threshold).astype(threshold.dtype), tensor
        ),
        nodes_truenodeids=np.where(is_leaf, 0, left - first).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, right - first).tolist(),
        nodes_missing_value_tracks_true=missing_left.astype(int).tolist(),
        **_numbers("nodes_hitrates", np.ones(len(feature), threshold.dtype), tensor),
        target_treeids=of_tree[is_leaf].tolist(),
        target_nodeids=inside[is_leaf].tolist(),
        target_ids=of_tree[is_leaf].tolist(),
        **_numbers("target_weights", number.astype(threshold.dtype), tensor),
    )
    return found.cast(np.int64) + start[np.newaxis].astype(np.int64)


def _numbers(name: str, values: NDArray[Any], tensor: Any) -> dict[str, Any]:
    """An attribute of the operator for trees, which has another name in double precision."""
    if values.dtype == np.float32:
        return {name: values.tolist()}
    return {f"{name}_as_tensor": tensor(values, name)}


def _rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 up to each threshold: the same float32 features are below both."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
