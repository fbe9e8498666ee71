"""Trees of a model file must point into themselves: compiled code follows them unchecked.

scikit-learn's trees are arrays of nodes that name other nodes, features and rows by number. Where
they were fitted these numbers are right; in a file that was made to do harm they could point
anywhere in the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_NODES = "sklearn.tree._tree.Tree"
_NEIGHBOURS = ("sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree")
_ENSEMBLES = ("sklearn.ensemble._forest.", "sklearn.ensemble._gb.")
_BOOSTED = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting."
_PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


def check_trees(estimator: Any) -> None:
    """Raise a ValueError if a tree anywhere in an estimator leads out of its arrays."""
    if not all(_is_sound(part) for part in _parts(estimator)):
        raise ValueError("a tree in it leads nowhere")


def _parts(root: Any) -> Iterator[Any]:
    """Every object that can be reached, once."""
    todo, seen = [root], set()
    while todo:
        part = todo.pop()
        if part is None or isinstance(part, str | bytes | int | float) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, list | tuple | set):
            todo += part
        elif isinstance(part, np.ndarray):
            todo += part.ravel().tolist() if part.dtype == object else []
        elif not isinstance(part, type):
            todo += getattr(part, "__dict__", {}).values()


def _name(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__name__}"


def _is_sound(part: Any) -> bool:
    name = _name(part)
    if name == _NODES:
        return _nodes_are_sound(part)
    if name in _NEIGHBOURS:
        return _neighbours_are_sound(*part.__getstate__()[:7])
    if name == _PREDICTOR:
        nodes = part.nodes
        inner = nodes["is_leaf"] == 0
        return len(nodes) > 0 and _lead_on(nodes["left"], nodes["right"], inner)
    if name.startswith(_BOOSTED):
        return _boosted_is_sound(part)
    if name.startswith(_ENSEMBLES):
        return all(_takes(tree, part) for tree in _trees(part))
    return _takes(part, part)


def _lead_on(left: Any, right: Any, inner: Any) -> bool:
    """Whether each inner node has its children among the nodes that come after it."""
    at = np.flatnonzero(inner)
    return all(
        bool(((child[at] > at) & (child[at] < len(child))).all())
        for child in (left.astype(np.int64), right.astype(np.int64))
    )


def _nodes_are_sound(tree: Any) -> bool:
    if not 1 <= tree.node_count <= tree.capacity:
        return False
    inner = tree.children_left != -1
    features = tree.feature[inner]
    known = bool(((features >= 0) & (features < tree.n_features)).all())
    return known and _lead_on(tree.children_left, tree.children_right, inner)


def _takes(tree: Any, owner: Any) -> bool:
    """Whether a tree looks at as many features as its owner lets through."""
    nodes = getattr(tree, "__dict__", {}).get("tree_")
    if nodes is None or _name(nodes) != _NODES:
        return True
    return nodes.n_features == getattr(owner, "n_features_in_", None)


def _trees(ensemble: Any) -> list[Any]:
    return list(np.ravel(np.array(getattr(ensemble, "estimators_", []), dtype=object)))


def _boosted_is_sound(part: Any) -> bool:
    for predictor in (tree for trees in getattr(part, "_predictors", []) for tree in trees):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        features = nodes["feature_idx"]
        if ((features < 0) | (features >= part.n_features_in_)).any():
            return False
        if nodes["is_categorical"].any():  # these need a function, which no model file may hold
            return False
    return True


def _neighbours_are_sound(
    data: Any, rows: Any, nodes: Any, bounds: Any, _leaf_size: int, _levels: int, n_nodes: int
) -> bool:
    n, d = data.shape
    if rows.shape != (n,) or ((rows < 0) | (rows >= n)).any():
        return False
    if nodes.shape != (n_nodes,) or n_nodes < 1 or bounds.shape[1:] != (n_nodes, d):
        return False
    start, end = nodes["idx_start"], nodes["idx_end"]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    return bool(((start >= 0) & (start <= end) & (end <= n)).all()) and bool(
        (2 * inner + 2 < n_nodes).all()
    )
