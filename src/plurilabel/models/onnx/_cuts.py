"""How scores become probabilities and label sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plurilabel import thresholds
from plurilabel._core.blocks import dense
from plurilabel.models.onnx._to_onnx import Graph, Value
from plurilabel.thresholds import ScoreCalibrator

EDGE = 1e-6  # as in ScoreCalibrator
EPSILON = float(np.finfo(np.float64).eps)  # as in SeenSets


def calibrated(graph: Graph, calibrator: ScoreCalibrator, scores: Value) -> Value:
    """Probabilities (n, q) of scores."""
    method, of_label = calibrator.method_, calibrator.map_of_label_
    if method in ("beta", "isotonic"):
        raise ValueError(f"ScoreCalibrator cannot be exported with method={method!r}")
    maps = [calibrator.maps_[int(of)] for of in of_label]
    never_varies = [one.shape == (2, 1) for one in maps]
    z = log_odds(graph, scores, EDGE) if calibrator.probabilities_ else scores
    width = 2 if method == "sigmoid" else 1  # a slope and a constant, or a slope
    flat = np.zeros(width)
    weights = np.array([flat if fixed else one[0] for one, fixed in zip(maps, never_varies)])
    z = graph("Mul", z, weights[np.newaxis, :, 0])
    z = graph("Add", z, weights[np.newaxis, :, 1]) if width == 2 else z
    fixed = [one[1, 0] if flat else np.nan for one, flat in zip(maps, never_varies)]
    return graph.where_fixed(graph("Sigmoid", z), np.array(fixed, dtype=np.float64))


def log_odds(graph: Graph, p: Value, edge: float) -> Value:
    """Logarithms of p / (1 - p), for p not closer to 0 or 1 than the edge."""
    p = graph("Clip", p, np.float64(edge), np.float64(1 - edge))
    return graph("Log", graph("Div", p, graph("Sub", np.float64(1), p)))


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


def _linear_threshold(graph: Graph, strategy: Any, scores: Value) -> Value:
    return graph("Greater", scores, linear_cuts(graph, strategy, scores))


def _highest(graph: Graph, strategy: Any, scores: Value) -> Value:
    size = graph.filled_like(graph.columns(scores, [0]), np.int64(strategy.r_))
    return first_of(graph, scores, size, strategy.n_labels_)


def _largest_gap(graph: Graph, strategy: Any, scores: Value) -> Value:
    q = strategy.n_labels_
    ordered = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[0]
    f = graph("Div", ordered, np.float64(2))  # a gap may overflow
    if strategy.floor_ is not None:
        f = graph("Max", f, np.float64(strategy.floor_ / 2))
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


def first_of(graph: Graph, scores: Value, size: Value, q: int) -> Value:
    """The labels (n, q) of the highest scores, as many in each row as size (n, 1) says."""
    order = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[1]
    taken = graph("Less", np.arange(q)[np.newaxis], size)
    nothing = graph.filled_like(scores, np.int64(0))
    chosen = graph("ScatterElements", nothing, order, graph.cast(taken, np.int64), axis=1)
    return graph.cast(chosen, bool)


def _seen_sets(graph: Graph, strategy: Any, scores: Value) -> Value:
    Z = dense(strategy.sets_).astype(np.float64)
    if strategy.distance_ == "log_loss":
        suits = graph("MatMul", log_odds(graph, scores, EPSILON), Z.T)
        suits = graph("Add", suits, strategy.lift_ * strategy.lifts_[np.newaxis])
    else:
        margin = graph("Sub", scores, np.float64(strategy.cut_))
        chosen = graph.cast(graph("Greater", margin, np.float64(0)), np.float64)
        differ = graph("MatMul", chosen, 1 - 2 * Z.T)  # and the size of the set
        differ = graph("Add", differ, Z.sum(axis=1)[np.newaxis])
        fewest = graph("Equal", differ, graph("ReduceMin", differ, axes=[1], keepdims=1))
        suits = graph("Where", fewest, graph("MatMul", margin, Z.T), np.float64(-np.inf))
    return graph("Gather", Z > 0, graph("ArgMax", suits, axis=1, keepdims=0), axis=0)


def _expected_f(graph: Graph, strategy: Any, scores: Value) -> Value:
    """The k labels for which the expected F1 is highest, by the recursion of Ye et al.

    With S(k) the number of true labels among the k likeliest and R(k) among the others,
    E F(k) is the sum over j of 2 j P(S(k) = j) s(k, k + j), where s(k, a) = E 1 / (a + R(k)).
    """
    if strategy.beta_ != 1:
        raise ValueError(f"ExpectedF can be exported with beta=1 only, got {strategy.beta_!r}")
    q = strategy.n_labels_
    p = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[0]
    one, end = np.float64(1), np.array([2**62])

    def column(value: Value, place: int) -> Value:
        return graph.columns(value, [place])

    def mixed(k: int, told: Value, absent: Value) -> Value:
        p_k = column(p, k)
        told = graph("Mul", p_k, told)
        return graph("Add", told, graph("Mul", graph("Sub", one, p_k), absent))

    like = graph("Mul", column(p, 0), np.zeros((1, 2 * q)))  # (n, 2q)
    s = [graph("Add", like, 1 / np.arange(1.0, 2 * q + 1)[np.newaxis])]  # s(q, a), a = 1, 2, ...
    for k in range(q - 1, 0, -1):
        later = graph("Slice", s[-1], np.array([1]), end, np.array([1]))
        sooner = graph("Slice", s[-1], np.array([0]), np.array([-1]), np.array([1]))
        s.append(mixed(k, later, sooner))
    s.reverse()  # s(1), ..., s(q)
    empty = graph("Sub", one, p)
    size = graph("Concat", column(empty, 0), column(p, 0), axis=1)  # P(S(1) = 0, 1)
    values = []
    for k in range(1, q + 1):
        if k > 1:
            zero = graph("Mul", column(p, 0), np.float64(0))
            more = graph("Concat", zero, size, axis=1)
            size = mixed(k - 1, more, graph("Concat", size, zero, axis=1))
        terms = graph("Mul", size, 2 * np.arange(k + 1.0)[np.newaxis])  # j = 0, ..., k
        terms = graph("Mul", terms, graph.columns(s[k - 1], range(k - 1, 2 * k)))
        values.append(graph("ReduceSum", terms, np.array([1]), keepdims=1))
    none = graph("Mul", column(size, 0), np.float64(strategy.empty_))
    best = graph("ArgMax", graph("Concat", none, *values, axis=1), axis=1, keepdims=1)
    return first_of(graph, scores, best, q)


STRATEGIES: dict[type, Callable[[Graph, Any, Value], Value]] = {
    thresholds.CardinalityThreshold: _one_cut,
    thresholds.ConstantThreshold: _one_cut,
    thresholds.ExpectedF: _expected_f,
    thresholds.GlobalThreshold: _one_cut,
    thresholds.LinearThreshold: _linear_threshold,
    thresholds.MCut: _largest_gap,
    thresholds.RCut: _highest,
    thresholds.SCut: _cuts_of_labels,
    thresholds.SeenSets: _seen_sets,
}
