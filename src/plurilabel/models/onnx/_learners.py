"""Learners: what each computes, as a part of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
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

from plurilabel._core.base import CUTS
from plurilabel.learners.adaptation import MLDecisionTree, MLRandomForest
from plurilabel.learners.lazy import BRkNN, DWMLkNN, MLkNN, MLkNNCV
from plurilabel.learners.neural import BPMLL
from plurilabel.learners.transformation import BinaryRelevance, ClassifierChain, EnsembleOfChains
from plurilabel.models.onnx._cuts import cut, linear_cuts
from plurilabel.models.onnx._graph import Answer, Graph, Value
from plurilabel.models.onnx._neighbors import counted_neighbors
from plurilabel.models.onnx._steps import transformed
from plurilabel.models.onnx._trees import mean_of_leaves
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
