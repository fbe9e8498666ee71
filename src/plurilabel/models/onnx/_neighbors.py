"""Converter of nearest-neighbor learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value
from plurilabel.neighbors import ExactIndex, Formula

EUCLIDEAN = ("euclidean", "l2")
EXTRA = 16  # candidates beyond the k nearest by rounded distances; the exact ones decide


def counted_neighbors(graph: Graph, learner: Any, x: Value) -> Answer:
    """Learners whose scores depend on how many of the k nearest have a label: ML-kNN, BRkNN."""
    name = type(learner).__name__
    if learner.unknown_ is not None:
        raise ValueError(f"{name} cannot be exported if it was fitted with unknown labels")
    if learner.fitted_params_.get("variant") is not None:
        raise ValueError(f"{name} can be exported with variant=None only")
    if learner.Y_.dtype.kind == "f":
        raise ValueError(f"{name} was trained on soft labels: it cannot be exported")
    k, q = learner.n_neighbors_, learner.n_labels_
    neighbors = nearest(graph, learner.index_, name, k, x)  # (n, k)
    graph.check_room(float(learner.Y_.shape[0]) * q)
    Y = graph.constant(dense(learner.Y_).astype(np.int8))
    delta = None
    for j in range(k):  # (n, k, q) would be k times as large
        has = graph("Gather", Y, graph("Gather", neighbors, j, axis=1), axis=0).cast(np.int64)
        delta = has if delta is None else delta + has
    place = delta + (k + 1) * np.arange(q)[np.newaxis]
    scores = graph("Gather", np.ravel(learner.table_), place, axis=0)
    return Answer(scores, scores > 0.5, "predict_proba")


def nearest(graph: Graph, index: Any, learner: str, k: int, x: Value) -> Value:
    """Row numbers (n, k) of the nearest training points, the nearest first."""
    if not isinstance(index, ExactIndex):
        raise ValueError(f"{learner} needs the exact index for ONNX, got {type(index).__name__}")
    cosine = index.metric == "cosine"
    euclidean = index.metric in EUCLIDEAN or (index.metric, index.p) == ("minkowski", 2)
    if not cosine and not euclidean:
        raise ValueError(
            f"{learner} needs a Euclidean or cosine metric for ONNX, got {index.metric!r}"
        )
    n = index.points_.shape[0]
    if cosine:  # half the squared Euclidean distance of rows of length one
        Z = Formula(cosine=True).prepare(index.points_)
        points, x = graph.constant(Z), _unit_rows(graph, x)
        rounded = 1.0 - x @ graph("Transpose", points)
    else:
        graph.check_room(8.0 * n * index.points_.shape[1])
        Z = dense(index.points_).astype(np.float64)
        points = graph.constant(Z)
        # |x - z|^2 - |x|^2, centered to lose little precision where points lie far from 0
        centre = Z.mean(axis=0, keepdims=True)
        around = graph("Transpose", points - centre)
        product = (x - centre) @ around
        rounded = np.square(Z - centre).sum(axis=1)[np.newaxis] - (product + product)
    some = _smallest(graph, rounded, min(n, 2 * k + EXTRA))[1]
    some = _smallest(graph, some, min(n, 2 * k + EXTRA))[0]  # by number, to break ties
    d = Z.shape[1]
    exact = _distances(graph, x, some, points, d, cosine)
    if cosine:  # rows of zeros, which the last column marks, are at distance 1 from all
        no_direction = dense(Z[:, [-1]]).ravel() > 0
        is_zero = (x.columns([d - 1]) > 0.0) | graph("Gather", no_direction, some)
        exact = graph("Where", is_zero, 1.0, exact)
    return graph("GatherElements", some, _smallest(graph, exact, k)[1], axis=1)


def _smallest(graph: Graph, values: Value, k: int) -> list[Value]:
    """The k smallest of each row, and their columns; the leftmost of ties."""
    return graph.node("TopK", values, np.array([k]), outputs=2, axis=1, largest=0, sorted=1)


def _unit_rows(graph: Graph, x: Value) -> Value:
    """Rows of length one, and a last column that marks rows of zeros."""
    # squares of huge and tiny numbers are out of range
    largest = abs(x).largest()
    is_usual = abs(graph("Log", largest)) < 250.0
    is_usual = is_usual | largest.equals(0.0)
    x = x / graph("Where", is_usual, 1.0, largest)
    sums = graph("CumSum", x * x, 1)  # in the order of the index
    length = graph("Sqrt", sums.part(-1))
    zero = length.equals(0.0)
    return graph.concat([x / graph("Where", zero, 1.0, length), zero.cast(np.float64)])


def _distances(graph: Graph, x: Value, some: Value, points: Value, d: int, cosine: bool) -> Value:
    """Distances of each row from its candidates, by the formula of the exact index.

    The index adds the squares from the first feature to the last, as a cumulative sum does. A scan
    over rows takes less memory than an array of rows, candidates and features.
    """
    types, helper = graph.onnx.TensorProto, graph.onnx.helper
    body = Graph(prefix="row_")
    row, candidates = Value(body, "row_x"), Value(body, "row_candidates")
    difference = body("Gather", points, candidates, axis=0) - row
    total = body("Gather", body("CumSum", difference * difference, 1), d - 1, axis=1)
    total = total * 0.5 if cosine else body("Sqrt", total)
    inside = helper.make_graph(
        body.nodes,
        "distances",
        [
            helper.make_tensor_value_info("row_x", types.DOUBLE, [d]),
            helper.make_tensor_value_info("row_candidates", types.INT64, [None]),
        ],
        [helper.make_tensor_value_info(total.name, types.DOUBLE, [None])],
        body.constants,
    )
    return graph("Scan", x, some, body=inside, num_scan_inputs=2)
