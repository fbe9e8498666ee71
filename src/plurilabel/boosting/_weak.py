"""Weak rules: a stump or a small tree with a prediction for every label in every leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurilabel.boosting._bins import Bins
from plurilabel.boosting._conditions import Columns, Condition, split_rows
from plurilabel.boosting._search import TIE, best_condition


@dataclass(frozen=True)
class Split:
    """A condition at a node; the s-th split makes node 2s + 1 (holds) and 2s + 2 (does not)."""

    node: int
    condition: Condition


@dataclass(frozen=True)
class WeakRule:
    """A tree whose leaves hold a score for each label.

    Attributes
    ----------
    splits : tuple of Split
        Empty for the rule that speaks of every instance alike. Node 0 is the root.
    values : ndarray of shape (nodes, q)
        Zero at inner nodes and where the rule abstains.
    gains : tuple of float
        What each split took off Z.
    """

    splits: tuple[Split, ...]
    values: NDArray[np.float64]
    gains: tuple[float, ...]

    def reach(self, columns: Columns) -> list[NDArray[np.intp]]:
        """The rows that come to each node."""
        nodes = [np.arange(columns.n)]
        for split in self.splits:
            nodes.extend(split_rows(nodes[split.node], split.condition, columns))
        return nodes

    def add_to(self, f: NDArray[np.float64], columns: Columns) -> None:
        """Add the rule's scores to f (n, q)."""
        for rows, values in zip(self.reach(columns), self.values):
            if values.any():
                f[rows] += values


def constant_rule(V: NDArray[np.float64], smoothing: float) -> WeakRule:
    """The rule that says the same of every instance: the base rates under the weights."""
    return WeakRule((), log_ratio(V.sum(axis=0, keepdims=True), smoothing), ())


def grow_rule(
    bins: Bins,
    columns: Columns,
    V: NDArray[np.float64],
    *,
    variant: str,
    max_depth: int,
    smoothing: float,
) -> WeakRule:
    """Split greedily by Z down to ``max_depth``; then let the leaves predict."""
    splits: list[Split] = []
    gains: list[float] = []
    nodes = [np.arange(columns.n)]
    depth, speaks = [0], [True]
    inner: set[int] = set()
    node = 0
    while node < len(nodes):
        rows = nodes[node]
        found = None
        if depth[node] < max_depth and len(rows) > 1:
            found = best_condition(bins, V, variant, None if node == 0 else rows)
        if found is not None:
            gain = _unsplit(V[rows].sum(axis=0), variant) - found.Z
            if node == 0 or gain > TIE:
                inner.add(node)
                splits.append(Split(node, found.condition))
                gains.append(max(gain, 0.0))
                nodes.extend(split_rows(rows, found.condition, columns))
                depth.extend([depth[node] + 1] * 2)
                speaks.extend(found.speaks)
        node += 1
    leaf = np.array([k not in inner and speaks[k] for k in range(len(nodes))])
    W = np.array([V[rows].sum(axis=0) for rows in nodes])  # (nodes, 2q)
    values = np.where(leaf[:, np.newaxis], _predictions(W, leaf, variant, smoothing), 0.0)
    return WeakRule(tuple(splits), values, tuple(gains))


def log_ratio(W: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
    """The score ln((W+ + eps) / (W- + eps)) / 2 of a leaf (BoosTexter, section 5.1)."""
    q = W.shape[-1] // 2
    return 0.5 * (np.log(W[..., :q] + smoothing) - np.log(W[..., q:] + smoothing))


def _predictions(
    W: NDArray[np.float64], leaf: NDArray[np.bool_], variant: str, smoothing: float
) -> NDArray[np.float64]:
    if variant != "discrete":
        return log_ratio(W, smoothing)
    q = W.shape[1] // 2
    have, have_not = W[:, :q], W[:, q:]
    right = np.maximum(have, have_not)[leaf].sum()
    wrong = np.minimum(have, have_not)[leaf].sum()
    alpha = 0.5 * np.log((right + smoothing) / (wrong + smoothing))
    # rounding must not decide between equal weights
    return np.where(have > have_not * (1 + TIE), alpha, -alpha)


def _unsplit(W: NDArray[np.float64], variant: str) -> float:
    """Z of the rows of a node if the node itself predicts."""
    q = len(W) // 2
    if variant == "discrete":
        wrong = np.minimum(W[:q], W[q:]).sum()
        return float(2 * np.sqrt(wrong * (W.sum() - wrong)))
    if variant == "abstain":
        return float(W.sum())
    return float(2 * np.sqrt(W[:q] * W[q:]).sum())
