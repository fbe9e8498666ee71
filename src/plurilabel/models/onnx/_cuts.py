"""Strategies that turn scores into sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plurilabel import thresholds
from plurilabel.models.onnx._graph import Graph, Value


def cut(graph: Graph, strategy: Any, scores: Value) -> Value:
    """The sets that a fitted strategy makes of scores (n, q)."""
    write = STRATEGIES.get(type(strategy))
    if write is None:
        names = ", ".join(sorted(kind.__name__ for kind in STRATEGIES))
        raise ValueError(
            f"the strategy {type(strategy).__name__} cannot be exported; those that can are "
            f"{names}"
        )
    return write(graph, strategy, scores)


def _one_cut(graph: Graph, strategy: Any, scores: Value) -> Value:
    if strategy.cut_ is None:
        raise ValueError(
            "CardinalityThreshold(batch=True) cannot be exported: its cut depends on the other "
            "rows"
        )
    return graph("Greater", scores, np.float64(strategy.cut_))


def _cuts_of_labels(graph: Graph, strategy: Any, scores: Value) -> Value:
    return graph("Greater", scores, strategy.cuts_[np.newaxis].astype(np.float64))


def linear_cuts(graph: Graph, strategy: Any, scores: Value) -> Value:
    """The cut t(x) of each row by a :class:`LinearThreshold`, (n, 1)."""
    weighted = graph("MatMul", scores, strategy.coef_[:, np.newaxis].astype(np.float64))
    return graph("Add", weighted, np.float64(strategy.intercept_))


def _linear(graph: Graph, strategy: Any, scores: Value) -> Value:
    return graph("Greater", scores, linear_cuts(graph, strategy, scores))


def _highest(graph: Graph, strategy: Any, scores: Value) -> Value:
    top = graph.node("TopK", scores, np.array([strategy.r_]), outputs=2, axis=1)[1]
    ones = graph.filled_like(top, np.int64(1))
    chosen = graph("ScatterElements", graph.filled_like(scores, np.int64(0)), top, ones, axis=1)
    return graph.cast(chosen, bool)


def _largest_gap(graph: Graph, strategy: Any, scores: Value) -> Value:
    q = strategy.n_labels_
    ordered = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[0]
    f = graph("Div", ordered, np.float64(2))  # a gap may overflow
    gaps = graph("Sub", graph.columns(f, range(q - 1)), graph.columns(f, range(1, q)))
    k = graph("ArgMax", gaps, axis=1, keepdims=1)
    high = graph("GatherElements", f, k, axis=1)
    low = graph("GatherElements", f, graph("Add", k, np.int64(1)), axis=1)
    middle, below = graph("Add", high, low), graph("Add", low, low)
    # the midpoint of two adjacent numbers is rounded to one of them
    between = graph(
        "And",
        graph("LessOrEqual", below, middle),
        graph("Less", middle, graph("Add", high, high)),
    )
    return graph("Greater", scores, graph("Where", between, middle, below))


STRATEGIES: dict[type, Callable[[Graph, Any, Value], Value]] = {
    thresholds.CardinalityThreshold: _one_cut,
    thresholds.ConstantThreshold: _one_cut,
    thresholds.GlobalThreshold: _one_cut,
    thresholds.LinearThreshold: _linear,
    thresholds.MCut: _largest_gap,
    thresholds.RCut: _highest,
    thresholds.SCut: _cuts_of_labels,
}
