"""Converters of calibrators and threshold strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plurilabel import thresholds
from plurilabel._core.blocks import dense
from plurilabel.models.onnx._to_onnx import Graph, Value, converter
from plurilabel.thresholds import ScoreCalibrator

EDGE = 1e-6  # as in ScoreCalibrator
EPSILON = float(np.finfo(np.float64).eps)  # as in SeenSets


def calibrated(graph: Graph, calibrator: ScoreCalibrator, scores: Value) -> Value:
    """Calibrated probabilities (n, q) of scores."""
    method, of_label = calibrator.method_, calibrator.map_of_label_
    if method in ("beta", "isotonic"):
        raise ValueError(f"ScoreCalibrator cannot be exported with method={method!r}")
    maps = [calibrator.maps_[int(of)] for of in of_label]
    never_varies = [one.shape == (2, 1) for one in maps]
    z = log_odds(graph, scores, EDGE) if calibrator.probabilities_ else scores
    width = 2 if method == "sigmoid" else 1  # a slope and a constant, or a slope
    flat = np.zeros(width)
    weights = np.array([flat if fixed else one[0] for one, fixed in zip(maps, never_varies)])
    z = z * weights[np.newaxis, :, 0]
    z = z + weights[np.newaxis, :, 1] if width == 2 else z
    fixed = [one[1, 0] if flat else np.nan for one, flat in zip(maps, never_varies)]
    return graph("Sigmoid", z).fixed(np.array(fixed, dtype=np.float64))


def log_odds(graph: Graph, p: Value, edge: float) -> Value:
    """Log-odds of p, clipped to [edge, 1 - edge]."""
    p = graph("Clip", p, edge, 1 - edge)
    return graph("Log", p / (1.0 - p))


def cut(graph: Graph, strategy: Any, scores: Value) -> Value:
    """The label sets that a fitted strategy makes of scores (n, q)."""
    sets: Value = converter(STRATEGIES, strategy, "the strategy ")(graph, strategy, scores)
    return sets


def _one_cut(_graph: Graph, strategy: Any, scores: Value) -> Value:
    if strategy.cut_ is None:
        raise ValueError(
            "CardinalityThreshold(batch=True) cannot be exported: it depends on other rows"
        )
    return scores > float(strategy.cut_)


def linear_cuts(strategy: Any, scores: Value) -> Value:
    """The threshold t(x) of each row by a :class:`LinearThreshold`, (n, 1)."""
    return scores @ strategy.coef_[:, np.newaxis].astype(np.float64) + float(strategy.intercept_)


def _highest(graph: Graph, strategy: Any, scores: Value) -> Value:
    size = scores.columns([0]).filled(np.int64(strategy.r_))
    return first_of(graph, scores, size, strategy.n_labels_)


def _largest_gap(graph: Graph, strategy: Any, scores: Value) -> Value:
    q = strategy.n_labels_
    ordered = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[0]
    f = ordered / 2.0  # a gap may overflow
    if strategy.floor_ is not None:
        f = graph("Max", f, strategy.floor_ / 2)
    gaps = f.columns(range(q - 1)) - f.columns(range(1, q))
    k = gaps.best(keepdims=1)
    high = graph("GatherElements", f, k, axis=1)
    low = graph("GatherElements", f, k + 1, axis=1)
    middle, below = high + low, low + low
    # the midpoint of two adjacent numbers is rounded to one of them
    between = (below <= middle) & (middle < high + high)
    return scores > graph("Where", between, middle, below)


def first_of(graph: Graph, scores: Value, size: Value, q: int) -> Value:
    """The labels (n, q) with the highest scores, as many in each row as size (n, 1) says."""
    order = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[1]
    taken = np.arange(q)[np.newaxis] < size
    nothing = scores.filled(np.int64(0))
    return graph("ScatterElements", nothing, order, taken.cast(np.int64), axis=1).cast(bool)


def _seen_sets(graph: Graph, strategy: Any, scores: Value) -> Value:
    Z = dense(strategy.sets_).astype(np.float64)
    if strategy.distance_ == "log_loss":
        suits = log_odds(graph, scores, EPSILON) @ Z.T
        suits = suits + strategy.lift_ * strategy.lifts_[np.newaxis]
    else:
        margin = scores - float(strategy.cut_)
        chosen = (margin > 0.0).cast(np.float64)
        differ = chosen @ (1 - 2 * Z.T) + Z.sum(axis=1)[np.newaxis]
        fewest = differ.equals(graph("ReduceMin", differ, axes=[1], keepdims=1))
        suits = graph("Where", fewest, margin @ Z.T, -np.inf)
    return graph("Gather", Z > 0, suits.best(), axis=0)


def _expected_f(graph: Graph, strategy: Any, scores: Value) -> Value:
    """The k labels with the highest expected F1, by the recursion of Ye et al.

    With S(k) the number of true labels among the k likeliest and R(k) among the others,
    E F(k) is the sum over j of 2 j P(S(k) = j) s(k, k + j), where s(k, a) = E 1 / (a + R(k)).
    """
    if strategy.beta_ != 1:
        raise ValueError(f"ExpectedF can be exported with beta=1 only, got {strategy.beta_!r}")
    q = strategy.n_labels_
    p = graph.node("TopK", scores, np.array([q]), outputs=2, axis=1)[0]

    def mixed(k: int, present: Value, absent: Value) -> Value:
        p_k = p.columns([k])
        return p_k * present + (1.0 - p_k) * absent

    like = p.columns([0]) * np.zeros((1, 2 * q))  # (n, 2q)
    s = [like + 1 / np.arange(1.0, 2 * q + 1)[np.newaxis]]  # s(q, a), a = 1, 2, ...
    for k in range(q - 1, 0, -1):
        s.append(mixed(k, s[-1].part(1), s[-1].part(0, -1)))
    s.reverse()  # s(1), ..., s(q)
    empty = 1.0 - p
    size = graph.concat([empty.columns([0]), p.columns([0])])  # P(S(1) = 0, 1)
    values = []
    for k in range(1, q + 1):
        if k > 1:
            zero = p.columns([0]) * 0.0
            size = mixed(k - 1, graph.concat([zero, size]), graph.concat([size, zero]))
        terms = size * (2 * np.arange(k + 1.0)[np.newaxis])  # j = 0, ..., k
        terms = terms * s[k - 1].columns(range(k - 1, 2 * k))
        values.append(graph("ReduceSum", terms, np.array([1]), keepdims=1))
    none = size.columns([0]) * float(strategy.empty_)
    return first_of(graph, scores, graph.concat([none, *values]).best(keepdims=1), q)


STRATEGIES: dict[type, Callable[[Graph, Any, Value], Value]] = {
    thresholds.CardinalityThreshold: _one_cut,
    thresholds.ConstantThreshold: _one_cut,
    thresholds.ExpectedF: _expected_f,
    thresholds.GlobalThreshold: _one_cut,
    thresholds.LinearThreshold: lambda _, linear, scores: scores > linear_cuts(linear, scores),
    thresholds.MCut: _largest_gap,
    thresholds.RCut: _highest,
    thresholds.SCut: lambda _, scut, scores: scores > scut.cuts_[None].astype(np.float64),
    thresholds.SeenSets: _seen_sets,
}
