"""Learners: what each computes, as a part of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from plurilabel._core.base import CUTS
from plurilabel._core.blocks import dense
from plurilabel.learners.adaptation import MLDecisionTree, MLRandomForest, RankSVM
from plurilabel.learners.boosting import MLGradientBoosting
from plurilabel.learners.extreme import OneVsAllLinear
from plurilabel.learners.lazy import BRkNN, DWMLkNN, MLkNN, MLkNNCV
from plurilabel.learners.neural import BPMLL
from plurilabel.learners.transformation import (
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
)
from plurilabel.models.onnx._classifiers import (
    class_scores,
    layers,
    one_vs_all,
    score_each,
    similarities,
)
from plurilabel.models.onnx._cuts import calibrated, cut, linear_cuts
from plurilabel.models.onnx._neighbors import counted_neighbors
from plurilabel.models.onnx._steps import transformed
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value
from plurilabel.models.onnx._trees import leaf_numbers, mean_of_leaves, sum_of_leaves
from plurilabel.wrappers import (
    AutoClassifier,
    CalibratedClassifier,
    ImputedLabels,
    ThresholdClassifier,
)

BOUNDED = ("bpmll", "squared")  # errors of networks that end in tanh
ADVICE = (
    "Fit with --exportable, exportable=True or AutoClassifier(leave_out=not_exportable) to choose "
    "only among what can be exported"
)
SURE = 0.95  # what a label set says of its labels, as in AutoClassifier
TIED = float(np.finfo(np.float64).tiny)  # the margin of labels of the first of equally good sets


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
    if getattr(estimator, "single_output_", False):
        raise ValueError(
            "a model of one class for each row cannot be exported: fit it on a matrix of labels"
        )
    return write(graph, estimator, x)


def _above_cut(graph: Graph, scores: Value, method: str) -> Answer:
    return Answer(scores, graph("Greater", scores, np.float64(CUTS[method])), method)


# transformations ----------------------------------------------------------------------------


def _binary_relevance(graph: Graph, learner: BinaryRelevance, x: Value) -> Answer:
    method, models = learner._score_method(), learner.estimators_
    found = _above_cut(graph, score_each(graph, models, x, method), method)
    if not learner.nonempty_:
        return found
    return found._replace(sets=graph.nonempty(found.sets, found.scores, len(models)))


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
        scores = score_each(graph, [model], seen, method)
        columns.append(scores)
        if len(columns) == len(learner.estimators_):
            break
        told = scores if asked == method else score_each(graph, [model], seen, asked)
        if learner.chain_method_ == "predict":
            told = graph.cast(graph("Greater", told, np.float64(CUTS[asked])), np.float64)
        elif learner.chain_method_ == "predict_log_proba":
            told = graph("Log", graph("Max", told, np.float64(np.finfo(np.float32).tiny)))
        seen = graph("Concat", seen, told, axis=1)
    together = graph("Concat", *columns, axis=1)
    return _above_cut(graph, graph.columns(together, np.argsort(learner.order_)), method)


def _powerset(graph: Graph, learner: LabelPowerset, x: Value) -> Answer:
    Z, method = dense(learner.sets_).astype(np.float64), learner._score_method()
    c = len(Z)
    if c == 1:
        scores = graph.filled_like(graph.columns(x, [0]), np.float64(1))
    else:
        scores = class_scores(graph, learner.estimator_, x, method)
        if c == 2 and method == "decision_function":  # positive for the second
            scores = graph("Concat", graph("Neg", scores), scores, axis=1)
    best = graph("Gather", Z > 0, graph("ArgMax", scores, axis=1, keepdims=0), axis=0)
    if method == "predict_proba":
        p = graph("Clip", graph("MatMul", scores, Z), np.float64(0), np.float64(1))
    else:
        p = _margins(graph, scores, Z, best, np.log(2 * learner.n_samples_fit_ + 1))
    found = _above_cut(graph, p, method)
    return found if learner.decision_ == "marginal" else found._replace(sets=best)


def _margins(graph: Graph, scores: Value, Z: Any, best: Value, sure: float) -> Value:
    """For each label the best score of a set (c, q) with it, less the best of one without it."""
    shares, columns = Z.mean(axis=0), []
    for has in Z.T > 0:
        tops = [
            graph("ReduceMax", graph.columns(scores, np.flatnonzero(some)), axes=[1], keepdims=1)
            for some in (has, ~has) if some.any()
        ]  # fmt: skip
        columns.append(graph("Sub", *tops) if len(tops) == 2 else tops[0])
    margins = graph("Concat", *columns, axis=1)
    tied = graph("And", best, graph("Equal", margins, np.float64(0)))
    margins = graph("Where", tied, np.float64(TIED), margins)
    fixed = np.select([shares == 0, shares == 1], [-sure, sure], np.nan)
    return graph.where_fixed(margins, fixed)


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
    last = "tanh" if learner.trained_loss_ in BOUNDED else "identity"
    h = layers(graph, h, learner, learner.activation_, last)
    if learner.threshold_ is not None:
        h = graph("Sub", h, linear_cuts(graph, learner.threshold_, h))
    never, always = learner.label_counts_ == 0, learner.label_counts_ == learner.n_seen_
    h = _sure(graph, h, never, always)
    found = _above_cut(graph, h, "decision_function")
    if not hasattr(learner, "predict_proba"):
        return found
    return found._replace(scores=graph("Sigmoid", h), method="predict_proba")


def _sure(graph: Graph, scores: Value, never: Any, always: Any) -> Value:
    """A label that no training row had is never predicted, and one that all had always is."""
    if never.any():
        scores = graph("Min", scores, np.where(never, -1.0, np.inf)[np.newaxis])
    if always.any():
        scores = graph("Max", scores, np.where(always, 1.0, -np.inf)[np.newaxis])
    return scores


def _rank_svm(graph: Graph, learner: RankSVM, x: Value) -> Answer:
    if learner.kernel_ == "linear":
        f = graph("MatMul", x, dense(learner.coef_).T)
    else:
        centred = x if learner._centre is None else graph("Sub", x, _row(learner._centre))
        params = {"coef0": 1.0, "degree": 3, **learner._params}
        K = similarities(graph, centred, learner._support_vectors, learner.kernel_, params)
        f = graph("MatMul", K, learner.dual_coef_)
    f = graph("Add", f, learner.intercept_[np.newaxis])
    never, always = np.asarray(learner._never) > 0, np.asarray(learner._always) > 0
    if (never | always).all():
        raise ValueError("RankSVM cannot be exported if no label varies")
    learned = graph.columns(f, np.flatnonzero(~(never | always)))
    for which, extreme, step in ((never, "Min", -1.0), (always, "Max", 1.0)):
        if which.any():  # beyond all labels that vary, and beyond 0
            most = graph(f"Reduce{extreme}", learned, axes=[1], keepdims=1)
            most = graph("Add", graph(extreme, most, np.float64(0)), np.float64(step))
            f = graph("Where", which[np.newaxis], most, f)
    if learner.threshold_ is not None:
        f = graph("Sub", f, linear_cuts(graph, learner.threshold_, learned))
    return _above_cut(graph, _sure(graph, f, never, always), "decision_function")


def _row(numbers: Any) -> Any:
    return np.asarray(numbers, dtype=np.float64).reshape(1, -1)


def _one_vs_all(graph: Graph, learner: OneVsAllLinear, x: Value) -> Answer:
    return _above_cut(graph, one_vs_all(graph, learner, x), learner._score_method())


def _boosted(graph: Graph, learner: MLGradientBoosting, x: Value) -> Answer:
    if hasattr(learner, "is_categorical_"):
        raise ValueError("MLGradientBoosting cannot be exported with categorical_features")
    numbers = leaf_numbers(
        graph, x, learner.roots_, learner.feature_, learner.threshold_.astype(np.float64),
        ~np.asarray(learner.missing_right_, dtype=bool), learner.left_, learner.left_ + 1,
    )  # fmt: skip
    total = sum_of_leaves(graph, numbers, learner.values_, len(learner.roots_))
    f, method = graph("Add", total, _row(learner.start_)), learner._score_method()
    found = _above_cut(graph, graph("Sigmoid", f) if method == "predict_proba" else f, method)
    if learner.loss_ != "joint":
        return found
    # the loss of a set is smallest where the sum of these changes over its labels is
    most = graph("ReduceMax", graph("Abs", f), axes=[1], keepdims=1)
    change = graph("Sub", graph("Exp", graph("Sub", graph("Neg", f), most)),
                   graph("Exp", graph("Sub", f, most)))  # fmt: skip
    sets = np.asarray(learner.label_sets_)
    worth = graph("MatMul", change, sets.T.astype(np.float64))
    best = graph("ArgMin", worth, axis=1, keepdims=0)
    return found._replace(sets=graph("Gather", sets > 0, best, axis=0))


# wrappers -----------------------------------------------------------------------------------


def _automatic(graph: Graph, learner: AutoClassifier, x: Value) -> Answer:
    try:
        x = transformed(graph, learner.encoder_, x)
    except ValueError as error:
        raise ValueError(f"{error}. {ADVICE}") from None
    total, bounds = graph.constant(np.zeros((1, 1))), (np.float64(0), np.float64(1))
    parts = zip(learner.names_, learner.estimators_, learner.calibrators_, learner.weights_)
    for name, member, calibrator, weights in parts:
        try:
            found = answer(graph, member, x)
        except ValueError as error:
            problem = f"the member {name!r} cannot be exported: {error}"
            raise ValueError(f"{problem}. {ADVICE}") from None
        forms = (
            lambda found, _: graph("Clip", found.scores, *bounds),
            lambda found, calibrator: calibrated(graph, calibrator, found.scores),
            lambda found, _: graph("Where", found.sets, np.float64(SURE), np.float64(1 - SURE)),
        )
        for form, weight in zip(forms, weights):
            if weight > 0:
                part = graph("Mul", form(found, calibrator), np.float64(weight))
                total = graph("Add", total, part)
    scores = graph("Clip", total, *bounds)
    sets = cut(graph, learner.cut_, scores)
    if learner.nonempty_:
        sets = graph.nonempty(sets, scores, learner.n_labels_)
    return Answer(scores, sets, "predict_proba")


def _calibrated(graph: Graph, wrapper: CalibratedClassifier, x: Value) -> Answer:
    found = _responding(answer(graph, wrapper.estimator_, x), wrapper)
    return _above_cut(graph, calibrated(graph, wrapper.calibrator_, found.scores), "predict_proba")


def _responding(found: Answer, wrapper: Any) -> Answer:
    """The answer inside a wrapper, which must be of the kind that it was fitted to."""
    if wrapper.response_method_ != found.method:
        raise ValueError(
            f"{type(wrapper).__name__} can be exported with response_method={found.method!r} "
            f"only, got {wrapper.response_method_!r}"
        )
    return found


def _completed(graph: Graph, wrapper: ImputedLabels, x: Value) -> Answer:
    return answer(graph, wrapper.estimator_, x)


def _several_labels(graph: Graph, model: MLPClassifier, x: Value) -> Answer:
    if model.n_outputs_ < 2 or model.out_activation_ != "logistic":
        raise ValueError(f"{type(model).__name__} can be exported with several labels only")
    return _above_cut(graph, class_scores(graph, model, x, "predict_proba"), "predict_proba")


def _threshold(graph: Graph, wrapper: ThresholdClassifier, x: Value) -> Answer:
    found = _responding(answer(graph, wrapper.estimator_, x), wrapper)
    sets = cut(graph, wrapper.strategy_, found.scores)
    if wrapper.nonempty_:
        sets = graph.nonempty(sets, found.scores, wrapper.n_labels_)
    return found._replace(sets=sets)


LEARNERS: dict[type, Callable[[Graph, Any, Value], Answer]] = {
    AutoClassifier: _automatic,
    BPMLL: _network,
    BRkNN: counted_neighbors,
    BinaryRelevance: _binary_relevance,
    CalibratedClassifier: _calibrated,
    ClassifierChain: _chain,
    DWMLkNN: counted_neighbors,
    EnsembleOfChains: _ensemble,
    ImputedLabels: _completed,
    LabelPowerset: _powerset,
    MLDecisionTree: _trees,
    MLGradientBoosting: _boosted,
    MLPClassifier: _several_labels,
    MLRandomForest: _trees,
    MLkNN: counted_neighbors,
    MLkNNCV: counted_neighbors,
    OneVsAllLinear: _one_vs_all,
    RankSVM: _rank_svm,
    ThresholdClassifier: _threshold,
}
"""How each is written down. Classes derived from these may do as they like, and are not known."""
