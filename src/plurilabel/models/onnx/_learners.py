"""Learners: what each computes, as a part of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from plurilabel import thresholds
from plurilabel._core.base import CUTS
from plurilabel._core.blocks import dense
from plurilabel.learners.adaptation import MLDecisionTree, MLRandomForest
from plurilabel.learners.lazy import BRkNN, DWMLkNN, MLkNN, MLkNNCV
from plurilabel.learners.neural import BPMLL
from plurilabel.learners.transformation import BinaryRelevance, ClassifierChain, EnsembleOfChains
from plurilabel.models.onnx._steps import transformed
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value
from plurilabel.neighbors import ExactIndex
from plurilabel.wrappers import ThresholdClassifier

LINEAR = (
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
TREES = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
BOUNDED = ("bpmll", "squared")  # errors of networks that end in tanh
EUCLIDEAN = ("euclidean", "l2")
EXTRA = 16  # candidates beyond the k nearest by rounded distances; the exact ones decide
ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def answer(graph: Graph, estimator: Any, x: Value) -> Answer:
    """Scores and sets by a fitted classifier, pipeline, search or wrapper."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        *before, last = (step for _, step in estimator.steps)
        for step in before:
            x = transformed(graph, step, x)
        return answer(graph, last, x)
    write = LEARNERS.get(type(estimator))
    if write is None:
        names = ", ".join(sorted(kind.__name__ for kind in LEARNERS))
        raise ValueError(
            f"{type(estimator).__name__} cannot be exported; those that can are {names}, alone or "
            "at the end of a pipeline"
        )
    if estimator.single_output_:
        raise ValueError(
            "a model of one class for each row cannot be exported: fit it on a matrix of labels"
        )
    return write(graph, estimator, x)


def _above_cut(graph: Graph, scores: Value, method: str) -> Answer:
    return Answer(scores, graph("Greater", scores, np.float64(CUTS[method])), method)


# transformations ----------------------------------------------------------------------------


def _binary_relevance(graph: Graph, learner: BinaryRelevance, x: Value) -> Answer:
    method, models = learner._score_method(), learner.estimators_
    found = _above_cut(graph, _each(graph, models, x, method), method)
    if not learner.nonempty_:
        return found
    return found._replace(sets=graph.nonempty(found.sets, found.scores, len(models)))


def _each(graph: Graph, models: Sequence[Any], x: Value, method: str) -> Value:
    """Scores (n, q) of a model for each label; those of linear ones by a single product."""
    linear = [l for l, model in enumerate(models) if type(model) in LINEAR or _is_constant(model)]
    others = [l for l in range(len(models)) if l not in set(linear)]
    parts = [_linear(graph, [models[l] for l in linear], x, method)] if linear else []
    parts += [_by_trees(graph, models[l], x) for l in others]
    if len(parts) == 1:
        return parts[0]
    return graph.columns(graph("Concat", *parts, axis=1), np.argsort(linear + others))


def _linear(graph: Graph, models: Sequence[Any], x: Value, method: str) -> Value:
    """Scores (n, m) of m linear models, or of labels that never vary."""
    d = models[0].n_features_in_
    W, b, fixed = np.zeros((d, len(models))), np.zeros(len(models)), np.full(len(models), np.nan)
    shared: dict[int, int] = {}  # ridge regression of several labels has all of them in one model
    for j, model in enumerate(models):
        if _is_constant(model):
            fixed[j] = _constant(model, method)
            continue
        if method == "predict_proba":
            _check_logistic(model)
        row = shared.get(id(model), 0)
        shared[id(model)] = row + 1
        coef = np.atleast_2d(model.coef_)
        W[:, j], b[j] = coef[row], np.broadcast_to(model.intercept_, len(coef))[row]
    scores = graph("Add", graph("MatMul", x, W), b[np.newaxis])
    if method == "predict_proba":
        scores = graph("Sigmoid", scores)
    return graph.where_fixed(scores, fixed)


def _check_logistic(model: Any) -> None:
    """An error unless the probabilities are the logistic function of the decision values."""
    name = type(model).__name__
    if isinstance(model, SGDClassifier) and model.loss != "log_loss":
        raise ValueError(f"{name} can be exported with loss='log_loss' only, got {model.loss!r}")
    if getattr(model, "multi_class", "auto") == "multinomial":
        raise ValueError(f"{name} cannot be exported with multi_class='multinomial'")


def _is_constant(model: Any) -> bool:
    """Whether this stands in for a model of a label that all training rows had, or none."""
    return type(model) is DummyClassifier and model.strategy == "most_frequent"


def _constant(model: DummyClassifier, method: str) -> float:
    absent, present = model.class_prior_
    if method == "predict_proba":
        return float(present > absent)
    return float(np.log(present / absent))


def _by_trees(graph: Graph, model: Any, x: Value) -> Value:
    """Probability of y = 1 by a tree or a forest of scikit-learn, (n, 1)."""
    if type(model) not in TREES:
        names = ", ".join(sorted(kind.__name__ for kind in (*LINEAR, *TREES)))
        raise ValueError(
            f"{type(model).__name__} cannot be exported as the estimator of a transformation; "
            f"those that can are {names}"
        )
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    return mean_of_leaves(graph, trees, [tree.value[:, 0, 1:] for tree in trees], x)


def _chain(graph: Graph, learner: ClassifierChain, x: Value) -> Answer:
    if learner.inference_ != "greedy":
        raise ValueError(
            "ClassifierChain can be exported with inference='greedy' only, got "
            f"{learner.inference_!r}"
        )
    method, asked = learner._score_method(), learner._asked()
    columns: list[Value] = []
    seen = x
    for model in learner.estimators_:
        scores = _each(graph, [model], seen, method)
        columns.append(scores)
        if len(columns) == len(learner.estimators_):
            break
        told = scores if asked == method else _each(graph, [model], seen, asked)
        if learner.chain_method_ == "predict":
            told = graph.cast(graph("Greater", told, np.float64(CUTS[asked])), np.float64)
        elif learner.chain_method_ == "predict_log_proba":
            told = graph("Log", graph("Max", told, np.float64(np.finfo(np.float32).tiny)))
        seen = graph("Concat", seen, told, axis=1)
    together = graph("Concat", *columns, axis=1)
    return _above_cut(graph, graph.columns(together, np.argsort(learner.order_)), method)


def _ensemble(graph: Graph, learner: EnsembleOfChains, x: Value) -> Answer:
    votes = []
    for member in learner.estimators_:
        found = _chain(graph, member, x)
        hard = learner.voting_ == "hard"
        votes.append(graph.cast(found.sets, np.float64) if hard else found.scores)
    total = votes[0]
    for vote in votes[1:]:
        total = graph("Add", total, vote)
    return _above_cut(graph, graph("Div", total, np.float64(len(votes))), learner._score_method())


# the others ---------------------------------------------------------------------------------


def _trees(graph: Graph, learner: MLDecisionTree | MLRandomForest, x: Value) -> Answer:
    trees = [tree.tree_ for tree in learner._trees()]
    scores = mean_of_leaves(graph, trees, [tree.value[:, :, -1] for tree in trees], x)
    return _above_cut(graph, graph.where_fixed(scores, learner.constant_), "predict_proba")


def _network(graph: Graph, learner: BPMLL, x: Value) -> Answer:
    h = graph("Sub", x, learner.scaler_.mean_[np.newaxis])
    h = graph("Div", h, learner.scaler_.scale_[np.newaxis])
    layers = list(zip(learner.coefs_, learner.intercepts_))
    for number, (W, b) in enumerate(layers, start=1):
        h = graph("MatMul", h, W.astype(np.float64))
        h = graph("Add", h, b[np.newaxis].astype(np.float64))
        last = "tanh" if learner.trained_loss_ in BOUNDED else "identity"
        name = learner.activation_ if number < len(layers) else last
        h = graph(ACTIVATIONS[name], h) if name in ACTIVATIONS else h
    if learner.threshold_ is not None:
        h = graph("Sub", h, linear_cuts(graph, learner.threshold_, h))
    # a label that no training row had is never predicted, and one that all had always is
    never, always = learner.label_counts_ == 0, learner.label_counts_ == learner.n_seen_
    if never.any():
        h = graph("Min", h, np.where(never, -1.0, np.inf)[np.newaxis])
    if always.any():
        h = graph("Max", h, np.where(always, 1.0, -np.inf)[np.newaxis])
    found = _above_cut(graph, h, "decision_function")
    if not hasattr(learner, "predict_proba"):
        return found
    return found._replace(scores=graph("Sigmoid", h), method="predict_proba")


def _threshold(graph: Graph, wrapper: ThresholdClassifier, x: Value) -> Answer:
    found = answer(graph, wrapper.estimator_, x)
    if wrapper.response_method_ != found.method:
        raise ValueError(
            f"ThresholdClassifier can be exported with response_method={found.method!r} only, "
            f"got {wrapper.response_method_!r}"
        )
    sets = cut(graph, wrapper.strategy_, found.scores)
    if wrapper.nonempty_:
        sets = graph.nonempty(sets, found.scores, wrapper.n_labels_)
    return found._replace(sets=sets)


# trees ------------------------------------------------------------------------------------------


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


# neighbours -------------------------------------------------------------------------------------


def counted_neighbors(graph: Graph, learner: Any, x: Value) -> Answer:
    """Scores of learners that look up how many of the k nearest have a label: ML-kNN, BRkNN."""
    name = type(learner).__name__
    if learner.unknown_ is not None:
        raise ValueError(f"{name} cannot be exported if it was fitted with labels not known")
    if learner.fitted_params_.get("variant") is not None:
        raise ValueError(f"{name} can be exported with variant=None only")
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
    if index.metric not in EUCLIDEAN and (index.metric, index.p) != ("minkowski", 2):
        raise ValueError(
            f"{learner} can be exported with the Euclidean distance only, got metric="
            f"{index.metric!r}"
        )
    n, d = index.points_.shape
    graph.check_room(8.0 * n * d)
    Z = dense(index.points_).astype(np.float64)
    points = graph.constant(Z)
    # |x - z|^2 less |x|^2, around the mean, so that little is lost where points lie far from 0
    centre = Z.mean(axis=0, keepdims=True)
    around = graph("Transpose", graph("Sub", points, centre))
    product = graph("MatMul", graph("Sub", x, centre), around)
    squares = np.square(Z - centre).sum(axis=1)
    rounded = graph("Sub", squares[np.newaxis], graph("Add", product, product))
    some = _smallest(graph, rounded, min(n, 2 * k + EXTRA))[1]
    some = _smallest(graph, some, min(n, 2 * k + EXTRA))[0]  # by number, for equal distances
    exact = _distances(graph, x, some, points, d)
    return graph("GatherElements", some, _smallest(graph, exact, k)[1], axis=1)


def _smallest(graph: Graph, values: Value, k: int) -> list[Value]:
    """The k smallest of each row, and their columns; of equal ones those to the left."""
    return graph.node("TopK", values, np.array([k]), outputs=2, axis=1, largest=0, sorted=1)


def _distances(graph: Graph, x: Value, some: Value, points: Value, d: int) -> Value:
    """Distances of each row from its candidates, by the formula of the exact index.

    That adds the squares from the first feature to the last, and so does a cumulative sum. Row
    by row: all of them together would take as much memory as rows, candidates and features.
    """
    types, helper = graph.onnx.TensorProto, graph.onnx.helper
    body = Graph(prefix="row_")
    difference = body("Sub", body("Gather", points, "row_candidates", axis=0), "row_x")
    sums = body("CumSum", body("Mul", difference, difference), np.int64(1))
    total = body("Sqrt", body("Gather", sums, np.int64(d - 1), axis=1))
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


# thresholds -------------------------------------------------------------------------------------


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
    top = graph.node("TopK", scores, np.array([strategy.r_]), outputs=2, axis=1)[1]
    ones = graph.filled_like(top, np.int64(1))
    chosen = graph("ScatterElements", graph.filled_like(scores, np.int64(0)), top, ones, axis=1)
    return graph.cast(chosen, bool)


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


STRATEGIES: dict[type, Callable[[Graph, Any, Value], Value]] = {
    thresholds.CardinalityThreshold: _one_cut,
    thresholds.ConstantThreshold: _one_cut,
    thresholds.GlobalThreshold: _one_cut,
    thresholds.LinearThreshold: _linear_threshold,
    thresholds.MCut: _largest_gap,
    thresholds.RCut: _highest,
    thresholds.SCut: _cuts_of_labels,
}

LEARNERS: dict[type, Callable[[Graph, Any, Value], Answer]] = {
    BPMLL: _network,
    BRkNN: counted_neighbors,
    BinaryRelevance: _binary_relevance,
    ClassifierChain: _chain,
    DWMLkNN: counted_neighbors,
    EnsembleOfChains: _ensemble,
    MLDecisionTree: _trees,
    MLRandomForest: _trees,
    MLkNN: counted_neighbors,
    MLkNNCV: counted_neighbors,
    ThresholdClassifier: _threshold,
}
"""How each is written down. Classes derived from these may do as they like, and are not known."""
