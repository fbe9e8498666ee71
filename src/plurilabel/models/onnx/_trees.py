"""Trees of scikit-learn: which leaf a row ends in, and what that leaf says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.models.onnx._graph import Graph, Value


def mean_of_leaves(
    graph: Graph, trees: Sequence[Any], tables: Sequence[NDArray[Any]], x: Value
) -> Value:
    """Mean over the trees of the row of a table (nodes, m) at the leaf of x: shape (n, m).

    The operator for trees sums in single precision and stores a number for each leaf and label.
    Here it finds the numbers of the leaves only; their tables are added in float64 and in the
    order of the trees, which gives what ``predict_proba`` gives, bit for bit.
    """
    at_leaf = [np.flatnonzero(tree.children_left == -1) for tree in trees]
    first = np.cumsum([0, *map(len, at_leaf)])
    number = graph.cast(_leaf_numbers(graph, trees, at_leaf, x), np.int64)  # (n, trees)
    number = graph("Add", number, first[np.newaxis, :-1].astype(np.int64))
    said = np.vstack([table[leaves] for table, leaves in zip(tables, at_leaf)])
    table = graph.constant(said.astype(np.float64))
    total = None
    for t in range(len(trees)):
        leaf = graph("Gather", number, np.int64(t), axis=1)
        row = graph("Gather", table, leaf, axis=0)
        total = row if total is None else graph("Add", total, row)
    assert total is not None
    return graph("Div", total, np.float64(len(trees))) if len(trees) > 1 else total


def _leaf_numbers(
    graph: Graph, trees: Sequence[Any], at_leaf: Sequence[NDArray[Any]], x: Value
) -> Value:
    """The number of the leaf of each row among the leaves of each tree, (n, trees)."""
    sizes = [tree.node_count for tree in trees]
    of_tree = np.repeat(np.arange(len(trees)), sizes)
    inside = np.concatenate([np.arange(size) for size in sizes])

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    left = joined("children_left")
    is_leaf = left == -1
    to_left = [np.asarray(getattr(t, "missing_go_to_left", np.zeros(t.node_count))) for t in trees]
    leaves = [len(found) for found in at_leaf]
    graph.check_room(60.0 * len(left))
    return graph.node(
        "TreeEnsembleRegressor",
        graph.cast(x, np.float32),  # as scikit-learn's trees see it
        outputs=1,
        domain="ai.onnx.ml",
        n_targets=len(trees),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=of_tree.tolist(),
        nodes_nodeids=inside.tolist(),
        nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=np.where(is_leaf, 0, joined("feature")).tolist(),
        nodes_values=np.where(is_leaf, 0, _rounded_down(joined("threshold"))).tolist(),
        nodes_truenodeids=np.where(is_leaf, 0, left).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, joined("children_right")).tolist(),
        nodes_missing_value_tracks_true=np.concatenate(to_left).astype(int).tolist(),
        nodes_hitrates=[1.0] * len(left),
        target_treeids=np.repeat(np.arange(len(trees)), leaves).tolist(),
        target_nodeids=np.concatenate(at_leaf).tolist(),
        target_ids=np.repeat(np.arange(len(trees)), leaves).tolist(),
        target_weights=np.concatenate([np.arange(n, dtype=float) for n in leaves]).tolist(),
    )[0]


def _rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 up to each threshold: the same float32 features are below both."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
