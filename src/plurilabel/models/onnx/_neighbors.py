"""Nearest neighbours of a row among the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value
from plurilabel.neighbors import ExactIndex, Formula

EUCLIDEAN = ("euclidean", "l2")
EXTRA = 16  # candidates beyond the k nearest by rounded distances; the exact ones decide


def counted_neighbors(graph: Graph, learner: Any, x: Value) -> Answer:
    """Scores of learners that look up how many of the k nearest have a label: ML-kNN, BRkNN."""
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
        has = graph("Gather", Y, graph("Gather", neighbors, np.int64(j), axis=1), axis=0)
        has = graph.cast(has, np.int64)
        delta = has if delta is None else graph("Add", delta, has)
    place = graph("Add", delta, (k + 1) * np.arange(q)[np.newaxis])
    scores = graph("Gather", np.ravel(learner.table_), place, axis=0)
    return Answer(scores, graph("Greater", scores, np.float64(0.5)), "predict_proba")


def nearest(graph: Graph, index: Any, learner: str, k: int, x: Value) -> Value:
    """Row numbers (n, k) of the training points that are nearest to x, the nearest first."""
    if not isinstance(index, ExactIndex):
        raise ValueError(
            f"{learner} can be exported with the exact index only, got {type(index).__name__}"
        )
    cosine = index.metric == "cosine"
    if (
        not cosine
        and index.metric not in EUCLIDEAN
        and (index.metric, index.p) != ("minkowski", 2)
    ):
        raise ValueError(
            f"{learner} can be exported with the Euclidean and the cosine distance only, got "
            f"metric={index.metric!r}"
        )
    n = index.points_.shape[0]
    if cosine:  # half the squared Euclidean distance of rows of length one
        Z = Formula(cosine=True).prepare(index.points_)
        points, x = graph.constant(Z), _unit_rows(graph, x)
        product = graph("MatMul", x, graph("Transpose", points))
        rounded = graph("Sub", np.float64(1), product)
    else:
        graph.check_room(8.0 * n * index.points_.shape[1])
        Z = dense(index.points_).astype(np.float64)
        points = graph.constant(Z)
        # |x - z|^2 less |x|^2, around the mean: little is lost where points lie far from 0
        centre = Z.mean(axis=0, keepdims=True)
        around = graph("Transpose", graph("Sub", points, centre))
        product = graph("MatMul", graph("Sub", x, centre), around)
        squares = np.square(Z - centre).sum(axis=1)
        rounded = graph("Sub", squares[np.newaxis], graph("Add", product, product))
    some = _smallest(graph, rounded, min(n, 2 * k + EXTRA))[1]
    some = _smallest(graph, some, min(n, 2 * k + EXTRA))[0]  # by number, for equal distances
    d = Z.shape[1]
    exact = _distances(graph, x, some, points, d, cosine)
    if cosine:  # rows of zeros, which the last column marks, are at distance 1 from all
        no_direction = dense(Z[:, [-1]]).ravel() > 0
        is_zero = graph("Greater", graph.columns(x, [d - 1]), np.float64(0))
        is_zero = graph("Or", is_zero, graph("Gather", no_direction, some))
        exact = graph("Where", is_zero, np.float64(1), exact)
    return graph("GatherElements", some, _smallest(graph, exact, k)[1], axis=1)


def _smallest(graph: Graph, values: Value, k: int) -> list[Value]:
    """The k smallest of each row, and their columns; of equal ones those to the left."""
    return graph.node("TopK", values, np.array([k]), outputs=2, axis=1, largest=0, sorted=1)


def _unit_rows(graph: Graph, x: Value) -> Value:
    """Rows of length one, and a last column that marks rows of zeros."""
    # the squares of huge and tiny numbers are out of range
    largest = graph("ReduceMax", graph("Abs", x), axes=[1], keepdims=1)
    is_usual = graph("Less", graph("Abs", graph("Log", largest)), np.float64(250))
    is_usual = graph("Or", is_usual, graph("Equal", largest, np.float64(0)))
    x = graph("Div", x, graph("Where", is_usual, np.float64(1), largest))
    sums = graph("CumSum", graph("Mul", x, x), np.int64(1))  # in the order of the index
    length = graph("Sqrt", graph("Slice", sums, np.array([-1]), np.array([2**62]), np.array([1])))
    zero = graph("Equal", length, np.float64(0))
    unit = graph("Div", x, graph("Where", zero, np.float64(1), length))
    return graph("Concat", unit, graph.cast(zero, np.float64), axis=1)


def _distances(graph: Graph, x: Value, some: Value, points: Value, d: int, cosine: bool) -> Value:
    """Distances of each row from its candidates, by the formula of the exact index.

    That adds the squares from the first feature to the last, and so does a cumulative sum. Row
    by row: all of them together would take as much memory as rows, candidates and features.
    """
    types, helper = graph.onnx.TensorProto, graph.onnx.helper
    body = Graph(prefix="row_")
    difference = body("Sub", body("Gather", points, "row_candidates", axis=0), "row_x")
    sums = body("CumSum", body("Mul", difference, difference), np.int64(1))
    total = body("Gather", sums, np.int64(d - 1), axis=1)
    total = body("Mul", total, np.float64(0.5)) if cosine else body("Sqrt", total)
    inside = helper.make_graph(
        body.nodes,
        "distances",
        [
            helper.make_tensor_value_info("row_x", types.DOUBLE, [d]),
            helper.make_tensor_value_info("row_candidates", types.INT64, [None]),
        ],
        [helper.make_tensor_value_info(total, types.DOUBLE, [None])],
        body.constants,
    )
    return graph("Scan", x, some, body=inside, num_scan_inputs=2)
