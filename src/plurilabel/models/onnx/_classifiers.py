"""Converters of scikit-learn's classifiers, for the labels or label sets of a transformation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import ensemble, linear_model, svm, tree
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from plurilabel._core.blocks import dense
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.models.onnx._steps import transformed
from plurilabel.models.onnx._text import unit_length
from plurilabel.models.onnx._to_onnx import Graph, Value, converter
from plurilabel.models.onnx._trees import mean_of_leaves

LINEAR = (
    linear_model.LogisticRegression, linear_model.LogisticRegressionCV, linear_model.Perceptron,
    linear_model.RidgeClassifier, linear_model.RidgeClassifierCV, SGDClassifier, svm.LinearSVC,
)  # fmt: skip
TREES = (
    ensemble.ExtraTreesClassifier, ensemble.RandomForestClassifier, tree.DecisionTreeClassifier,
    tree.ExtraTreeClassifier,
)  # fmt: skip
ACTIVATIONS = {"logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "softmax": "Softmax"}


def class_scores(graph: Graph, model: Any, x: Value, method: str) -> Value:
    """Scores (n, c) of the classes; of two classes, decision values (n, 1) of the second."""
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            x = transformed(graph, step, x)
        model = model.steps[-1][1]
    what = "the estimator "
    return converter(CLASSIFIERS, model, what)(graph, model, x, method)


def score_each(graph: Graph, models: Sequence[Any], x: Value, method: str) -> Value:
    """Scores (n, q) of one model per label; linear models share a single product."""
    linear = [l for l, model in enumerate(models) if type(model) in LINEAR or _is_constant(model)]
    others = [l for l in range(len(models)) if l not in set(linear)]
    parts = [_linear(graph, [models[l] for l in linear], x, method)] if linear else []
    for l in others:
        scores = class_scores(graph, models[l], x, method)
        parts.append(scores.columns([1]) if method == "predict_proba" else scores)
    if len(parts) == 1:
        return parts[0]
    return graph.concat(parts).columns(np.argsort(linear + others))


def _linear(graph: Graph, models: Sequence[Any], x: Value, method: str) -> Value:
    """Scores (n, m) of m linear models or constants."""
    d = models[0].n_features_in_
    W, b, fixed = np.zeros((d, len(models))), np.zeros(len(models)), np.full(len(models), np.nan)
    shared: dict[int, int] = {}  # one ridge regression may predict several labels
    for j, model in enumerate(models):
        if _is_constant(model):
            fixed[j] = _constant(model, method)
            continue
        if method == "predict_proba":
            _check_logistic(model)
        row = shared.get(id(model), 0)
        shared[id(model)] = row + 1
        coef = np.atleast_2d(dense(model.coef_))
        W[:, j], b[j] = coef[row], np.broadcast_to(model.intercept_, len(coef))[row]
    scores = x @ W + b[np.newaxis]
    if method == "predict_proba":
        scores = graph("Sigmoid", scores)
    return scores.fixed(fixed)


def _check_logistic(model: Any) -> None:
    """Raise an error unless probabilities are the logistic function of decision values."""
    name = type(model).__name__
    if isinstance(model, SGDClassifier) and model.loss != "log_loss":
        raise ValueError(f"{name} can be exported with loss='log_loss' only, got {model.loss!r}")
    if getattr(model, "multi_class", "auto") == "multinomial":
        raise ValueError(f"{name} cannot be exported with multi_class='multinomial'")


def _is_constant(model: Any) -> bool:
    """Whether a model stands in for a label that all training rows have, or none."""
    return type(model) is DummyClassifier and model.strategy == "most_frequent"


def _constant(model: DummyClassifier, method: str) -> float:
    absent, present = model.class_prior_
    if method == "predict_proba":
        return float(present > absent)
    return float(np.log(present / absent))


def _linear_classes(graph: Graph, model: Any, x: Value, method: str) -> Value:
    W = dense(model.coef_).T
    z = x @ W + np.broadcast_to(model.intercept_, W.shape[1])[None]
    if method == "decision_function":
        return z
    if W.shape[1] == 1:
        _check_logistic(model)
        return _both(graph, graph("Sigmoid", z))
    one_each = getattr(model, "multi_class", "auto") == "ovr"
    if isinstance(model, SGDClassifier) or one_each or model.solver == "liblinear":
        raise ValueError(f"{type(model).__name__} cannot be exported with a model for each class")
    return graph("Softmax", z, axis=1)


def _both(graph: Graph, p: Value) -> Value:
    """Probabilities of two classes, from those (n, 1) of the second."""
    return graph.concat([1.0 - p, p])


def one_vs_all(graph: Graph, model: OneVsAllLinear, x: Value) -> Value:
    """Scores (n, q) of labels, or of classes."""
    if model.normalize_:  # by the largest entry first, and in single precision, as the learner
        for norm in ("max", "l2"):
            x = unit_length(graph, norm, x)
        x = x.cast(np.float32).cast(np.float64)
    z = x @ graph.constant(model.coef_.astype(np.float64))
    z = z + np.asarray(model.intercept_, dtype=np.float64)[None]
    return graph("Sigmoid", z) if model._score_method() == "predict_proba" else z


def _one_vs_all_classes(graph: Graph, model: OneVsAllLinear, x: Value, method: str) -> Value:
    scores = one_vs_all(graph, model, x)
    if method == "predict_proba":  # which sum to one
        return scores / graph("ReduceSum", scores, np.array([1]), keepdims=1)
    return scores if len(model.classes_) > 2 else scores.columns([1]) - scores.columns([0])


def similarities(graph: Graph, x: Value, points: Any, kernel: Any, params: Any) -> Value:
    """Kernel (n, m) of rows and points (m, d); ``params`` has gamma, coef0 and degree."""
    points = sparse.csr_array(points) if sparse.issparse(points) else points
    product = x @ graph("Transpose", graph.constant(points))
    if kernel == "linear":
        return product
    gamma = np.float64(params["gamma"])
    if kernel == "rbf":
        lengths = np.asarray((points * points).sum(axis=1), dtype=np.float64).ravel()[None]
        own = graph("ReduceSum", x * x, np.array([1]), keepdims=1)
        apart = own + lengths - (product + product)
        return graph("Exp", graph("Max", apart, 0.0) * -gamma)
    z = product * gamma + float(params["coef0"])
    if kernel == "sigmoid":
        return graph("Tanh", z)
    if kernel != "poly":
        raise ValueError(f"kernel={kernel!r} cannot be exported")
    return graph("Pow", z, np.float64(params["degree"]))


def _support_vectors(graph: Graph, model: Any, x: Value, method: str) -> Value:
    name, c = type(model).__name__, len(model.classes_)
    if method == "predict_proba":
        raise ValueError(f"{name} cannot be exported with probability=True")
    params = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
    K = similarities(graph, x, model.support_vectors_, model.kernel, params)
    coef = dense(model.dual_coef_).T  # (support vectors, c - 1)
    if c == 2:
        return K @ coef + model.intercept_[None]
    if model.decision_function_shape != "ovr":
        raise ValueError(f"{name} can be exported with decision_function_shape='ovr' only")
    # of class i, the column j - 1 (j > i) or j (j < i) is that against class j
    ends = np.cumsum([0, *model.n_support_])
    own = [slice(*ends[i : i + 2]) for i in range(c)]
    against = graph.concat([K.columns(np.r_[rows]) @ coef[rows] for rows in own])
    pairs = np.array(list(combinations(range(c), 2)))
    i, j = pairs.T
    first = against.columns(i * (c - 1) + j - 1)
    duel = first + against.columns(j * (c - 1) + i) + model.intercept_[None]
    side = np.zeros((len(pairs), c))  # the winner gets a vote, and both the value of the duel
    side[np.arange(len(pairs)), i], side[np.arange(len(pairs)), j] = 1.0, -1.0
    lost = (duel < 0.0).cast(np.float64)
    votes = lost @ -side + (side > 0).sum(axis=0)[None].astype(float)
    sums = duel @ side
    return votes + sums / ((abs(sums) + 1.0) * 3.0)


def layers(graph: Graph, h: Value, network: Any, hidden: str, last: str) -> Value:
    weights = list(zip(network.coefs_, network.intercepts_))
    for number, (W, b) in enumerate(weights, start=1):
        h = h @ W.astype(np.float64) + b[np.newaxis].astype(np.float64)
        name = hidden if number < len(weights) else last
        h = graph(ACTIVATIONS[name], h) if name in ACTIVATIONS else h
    return h


def _network(graph: Graph, model: MLPClassifier, x: Value, _method: str) -> Value:
    p = layers(graph, x, model, model.activation, model.out_activation_)
    return p if model.n_outputs_ > 1 else _both(graph, p)


def _forest(graph: Graph, model: Any, x: Value, _method: str) -> Value:
    trees = [one.tree_ for one in getattr(model, "estimators_", [model])]
    return mean_of_leaves(graph, trees, [one.value[:, 0, :] for one in trees], x)


CLASSIFIERS: dict[type, Callable[[Graph, Any, Value, str], Value]] = {
    **dict.fromkeys(LINEAR, _linear_classes),
    **dict.fromkeys(TREES, _forest),
    **dict.fromkeys((svm.SVC, svm.NuSVC), _support_vectors),
    MLPClassifier: _network,
    OneVsAllLinear: _one_vs_all_classes,
}
