"""The trees and rules of a model as arrays: predictions, and descriptions in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel.learners.boosting._gradient_trees import Grown
from plurilabel.learners.boosting._rules import Floats, Rows

STEPS = 1 << 17  # instances times trees or features looked at together: they stay in the cache
GAINS = 1 << 20  # gains of conditions for labels that are added up at a time


class Subsets(NamedTuple):
    """Conditions on categorical features."""

    asked: NDArray[np.bool_]  # (nodes,), whether the condition of a node is about categories
    row: NDArray[Any]  # (nodes,), its row of ``right``; 0, which is empty, for other nodes
    right: NDArray[np.bool_]  # (subsets, categories), those that go to the right


def joined(grown: Sequence[Grown], q: int) -> dict[str, Any]:
    """The attributes of a learner: all nodes of all trees, one tree after the other."""
    sizes = np.array([len(tree.feature) for tree in grown])
    roots = np.cumsum(sizes) - sizes
    feature, threshold, missing = (
        np.concatenate([getattr(tree, name) for tree in grown])
        for name in ("feature", "threshold", "missing")
    )
    leaf = feature < 0
    return {
        "roots_": roots,
        "feature_": feature,
        "threshold_": threshold,
        "missing_right_": missing,
        "left_": np.concatenate([tree.left + root for tree, root in zip(grown, roots)]),
        "leaf_": np.where(leaf, np.cumsum(leaf) - 1, 0),
        "values_": _leaf_values(grown, q),
        "depth_": max(tree.depth for tree in grown),
    }


def _leaf_values(grown: Sequence[Grown], q: int) -> Any:
    """The scores of all leaves, (leaves, q); sparse if some tree does not score all labels."""
    parts = [tree.values[tree.feature < 0] for tree in grown]
    if all(len(tree.labels) == q for tree in grown):
        return np.concatenate(parts)
    labels = np.concatenate([np.tile(t.labels, len(p)) for t, p in zip(grown, parts)])
    widths = np.repeat([len(t.labels) for t in grown], [len(p) for p in parts])
    values = csr_of_rows(np.concatenate([p.ravel() for p in parts]), labels, widths, q)
    values.eliminate_zeros()
    return values


def label_feature_gains(grown: Sequence[Grown], shape: tuple[int, int]) -> sparse.csr_array:
    """Share of each label and feature (q, d) in the gains of all conditions."""
    gains = sparse.csr_array(shape)
    for some in row_blocks(len(grown), max(tree.gains.size for tree in grown), GAINS):
        trees = grown[some]
        inner = [np.flatnonzero(tree.feature >= 0) for tree in trees]
        feature = [np.repeat(t.feature[i], len(t.labels)) for t, i in zip(trees, inner)]
        label = [np.tile(t.labels, len(i)) for t, i in zip(trees, inner)]
        each = np.concatenate([t.gains.ravel() for t in trees])
        places = np.concatenate(label), np.concatenate(feature)
        gains = gains + sparse.coo_array((each, places), shape=shape)
    total = gains.sum()
    return gains / total if total > 0 else gains


def joined_subsets(grown: Sequence[Grown], is_categorical: NDArray[np.bool_]) -> Subsets:
    """The conditions on categories of all trees."""
    feature = np.concatenate([tree.feature for tree in grown])
    asked = (feature >= 0) & is_categorical[np.maximum(feature, 0)]
    subset = np.concatenate([tree.subset for tree in grown])
    right = np.concatenate([np.zeros((1, subset.shape[1]), dtype=bool), subset[asked]])
    return Subsets(asked, np.where(asked, np.cumsum(asked), 0), right)


def run_down(
    X: Any, roots: Rows, feature: NDArray[Any], threshold: Floats,
    missing_right: NDArray[np.bool_], left: NDArray[Any], depth: int,
    subsets: Subsets | None = None,
) -> Iterator[tuple[slice, Rows]]:  # fmt: skip
    """The leaves (rows, trees) that instances come to, for some rows of X at a time."""
    used, position = np.unique(np.maximum(feature, 0), return_inverse=True)
    left = left.astype(np.intp)
    # only the features that a condition asks for, and of these only some rows at a time
    X = X[:, used] if sparse.issparse(X) else X
    for rows in row_blocks(X.shape[0], max(len(roots), len(used)), STEPS):
        block = X[rows].toarray() if sparse.issparse(X) else X[rows][:, used]
        block = np.ascontiguousarray(block)
        gaps = bool(np.isnan(block).any())
        flat, first = block.ravel(), (np.arange(len(block)) * len(used))[:, np.newaxis]
        node = np.repeat(roots[np.newaxis], len(block), axis=0)
        for _ in range(depth):
            place = position.take(node)
            place += first
            value = flat.take(place)
            right = value > threshold.take(node)
            if subsets is not None:
                # a missing value or an unknown category is NaN
                some = subsets.asked[node] & ~np.isnan(value)
                at = node[some]
                right[some] = subsets.right[subsets.row[at], value[some].astype(np.intp)]
            if gaps:
                right |= np.isnan(value) & missing_right[node]
            node = left.take(node)
            node += right
        yield rows, node


def sums_of_leaves(leaves: NDArray[Any], values: Any) -> Floats:
    """Sum of the rows of ``values`` at the leaves (rows, trees)."""
    rows, trees = leaves.shape
    sizes = np.full(rows, trees)
    total = csr_of_rows(np.ones(leaves.size), leaves.ravel(), sizes, values.shape[0]) @ values
    return total.toarray() if sparse.issparse(total) else np.asarray(total)


def ways_in_words(
    feature: NDArray[Any], threshold: Floats, left: NDArray[Any], names: Sequence[str],
    subsets: Subsets | None = None, categories: Mapping[int, Sequence[Any]] | None = None,
) -> list[str]:  # fmt: skip
    """Describe the way to each node, with at most one condition per side of a feature."""
    ways: list[dict[tuple[int, bool], Any]] = [{} for _ in feature]
    for node in np.flatnonzero(feature >= 0):  # in the order of growing: parents come first
        j = int(feature[node])
        for right in (False, True):
            way = dict(ways[node])
            value: Any
            if subsets is not None and categories is not None and subsets.asked[node]:
                # one set of categories: those of all conditions so far
                goes = subsets.right[subsets.row[node], : len(categories[j])]
                key, value = (j, True), set(np.flatnonzero(goes == right).tolist())
                value &= way.get(key, value)
            else:
                key, value = (j, right), float(threshold[node])
            # a later condition on the same side is the narrower one; it goes to the end
            way.pop(key, None)
            ways[left[node] + right] = {**way, key: value}
    return [_in_words(way, names, categories or {}) for way in ways]


def _in_words(
    way: dict[tuple[int, bool], Any], names: Sequence[str], categories: Mapping[int, Sequence[Any]]
) -> str:
    words = []
    for (j, right), value in way.items():
        if isinstance(value, set):
            words.append(f"{names[j]} {_set_in_words(value, categories[j])}")
        elif np.isinf(value):
            words.append(f"{names[j]} {'missing' if right else 'known'}")
        else:
            words.append(f"{names[j]} {'>' if right else '<='} {value:.4g}")
    return " and ".join(words) or "always"


def _set_in_words(inside: set[int], categories: Sequence[Any]) -> str:
    if not inside:
        return "missing"
    outside = set(range(len(categories))) - inside
    if not outside:
        return "known"
    shorter, is_one = (inside, "is") if len(inside) <= len(outside) else (outside, "is not")
    chosen = [categories[c] for c in sorted(shorter)]
    texts = [f"{c:.4g}" if isinstance(c, float) else str(c) for c in chosen]
    return f"{is_one} {'one of ' * (len(texts) > 1)}{', '.join(texts)}"
