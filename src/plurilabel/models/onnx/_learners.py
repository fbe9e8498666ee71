"""Converters of learners."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from plurilabel._core.base import CUTS
from plurilabel._core.blocks import dense
from plurilabel.learners.adaptation import (
    KernelRegressions,
    MLDecisionTree,
    MLRandomForest,
    RankSVM,
)
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
from plurilabel.models.onnx._kernels import kernel_regressions
from plurilabel.models.onnx._neighbors import counted_neighbors
from plurilabel.models.onnx._steps import as_row, transformed
from plurilabel.models.onnx._to_onnx import Answer, Graph, Value, converter
from plurilabel.models.onnx._trees import leaf_numbers, mean_of_leaves, sum_of_leaves
from plurilabel.wrappers import (
    AutoClassifier,
    CalibratedClassifier,
    ImputedLabels,
    ThresholdClassifier,
)

BOUNDED = ("bpmll", "squared")  # losses of networks with tanh outputs
ADVICE = (
    "Fit with --exportable, exportable=True or AutoClassifier(leave_out=not_exportable) to choose "
    "only among parts that can be exported"
)
SURE = 0.95  # probability of the labels of a predicted set, as in AutoClassifier
TIED = float(np.finfo(np.float64).tiny)  # margin of the labels of the first of tied sets


def answer(graph: Graph, estimator: Any, x: Value) -> Answer:
    """Scores and label sets of a fitted classifier, pipeline, search or wrapper."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        *before, last = (step for _, step in estimator.steps)
        for step in before:
            x = transformed(graph, step, x)
        return answer(graph, last, x)
    convert = converter(LEARNERS, estimator, more=", alone or at the end of a pipeline")
    if getattr(estimator, "single_output_", False):
        raise ValueError("a single-label model cannot be exported: fit it on a label matrix")
    return convert(graph, estimator, x)


def _above_cut(scores: Value, method: str) -> Answer:
    return Answer(scores, scores > np.float64(CUTS[method]), method)


def _binary_relevance(graph: Graph, learner: BinaryRelevance, x: Value) -> Answer:
    method, models = learner._score_method(), learner.estimators_
    found = _above_cut(score_each(graph, models, x, method), method)
    if not learner.nonempty_:
        return found
    return found._replace(sets=graph.nonempty(found.sets, found.scores, len(models)))


def _chain(graph: Graph, learner: ClassifierChain, x: Value) -> Answer:
    if learner.inference_ != "greedy":
        raise ValueError(
            f"ClassifierChain needs inference='greedy' for ONNX, got {learner.inference_!r}"
        )
    method, asked = learner._score_method(), learner._asked()
    columns: list[Value] = []
    seen = x
    for model in learner.estimators_:
        scores = score_each(graph, [model], seen, method)
        columns.append(scores)
        if len(columns) == len(learner.estimators_):
            break
        output = scores if asked == method else score_each(graph, [model], seen, asked)
        if learner.chain_method_ == "predict":
            output = (output > np.float64(CUTS[asked])).cast(np.float64)
        elif learner.chain_method_ == "predict_log_proba":
            output = graph("Log", graph("Max", output, np.float64(np.finfo(np.float32).tiny)))
        seen = graph.concat([seen, output])
    together = graph.concat(columns)
    return _above_cut(together.columns(np.argsort(learner.order_)), method)


def _powerset(graph: Graph, learner: LabelPowerset, x: Value) -> Answer:
    Z, method = dense(learner.sets_).astype(np.float64), learner._score_method()
    c = len(Z)
    if c == 1:
        scores = x.columns([0]).filled(np.float64(1))
    else:
        scores = class_scores(graph, learner.estimator_, x, method)
        if c == 2 and method == "decision_function":  # positive for the second
            scores = graph.concat([-scores, scores])
    best = graph("Gather", Z > 0, scores.best(), axis=0)
    if method == "predict_proba":
        p = graph("Clip", scores @ Z, 0.0, 1.0)
    else:
        p = _margins(graph, scores, Z, best, np.log(2 * learner.n_samples_fit_ + 1))
    found = _above_cut(p, method)
    return found if learner.decision_ == "marginal" else found._replace(sets=best)


def _margins(graph: Graph, scores: Value, Z: Any, best: Value, sure: float) -> Value:
    """Best score of a set (c, q) with each label, minus the best score of a set without it."""
    shares, columns = Z.mean(axis=0), []
    for has in Z.T > 0:
        tops = [scores.columns(np.flatnonzero(m)).largest() for m in (has, ~has) if m.any()]
        columns.append(tops[0] - tops[1] if len(tops) == 2 else tops[0])
    margins = graph.concat(columns)
    tied = best & margins.equals(0.0)
    margins = graph("Where", tied, TIED, margins)
    return margins.fixed(np.select([shares == 0, shares == 1], [-sure, sure], np.nan))


def _ensemble(graph: Graph, learner: EnsembleOfChains, x: Value) -> Answer:
    found = [_chain(graph, member, x) for member in learner.estimators_]
    votes = [one.scores for one in found]
    if learner.voting_ == "hard":
        votes = [one.sets.cast(np.float64) for one in found]
    return _above_cut(reduce(add, votes) / float(len(votes)), learner._score_method())


def _trees(graph: Graph, learner: MLDecisionTree | MLRandomForest, x: Value) -> Answer:
    trees = [tree.tree_ for tree in learner._trees()]
    scores = mean_of_leaves(graph, trees, [tree.value[:, :, -1] for tree in trees], x)
    return _above_cut(scores.fixed(learner.constant_), "predict_proba")


def _network(graph: Graph, learner: BPMLL, x: Value) -> Answer:
    h = (x - learner.scaler_.mean_[np.newaxis]) / learner.scaler_.scale_[np.newaxis]
    last = "tanh" if learner.trained_loss_ in BOUNDED else "identity"
    h = layers(graph, h, learner, learner.activation_, last)
    if learner.threshold_ is not None:
        h = h - linear_cuts(learner.threshold_, h)
    never, always = learner.label_counts_ == 0, learner.label_counts_ == learner.n_seen_
    h = _sure(graph, h, never, always)
    found = _above_cut(h, "decision_function")
    if not hasattr(learner, "predict_proba"):
        return found
    return found._replace(scores=graph("Sigmoid", h), method="predict_proba")


def _sure(graph: Graph, scores: Value, never: Any, always: Any) -> Value:
    """Never predict labels of no training row, and always predict labels of all of them."""
    if never.any():
        scores = graph("Min", scores, np.where(never, -1.0, np.inf)[np.newaxis])
    if always.any():
        scores = graph("Max", scores, np.where(always, 1.0, -np.inf)[np.newaxis])
    return scores


def _rank_svm(graph: Graph, learner: RankSVM, x: Value) -> Answer:
    if learner.kernel_ == "linear":
        f = x @ dense(learner.coef_).T
    else:
        centred = x if learner._centre is None else x - as_row(learner._centre)
        params = {"coef0": 1.0, "degree": 3, **learner._params}
        K = similarities(graph, centred, learner._support_vectors, learner.kernel_, params)
        f = K @ learner.dual_coef_
    f = f + learner.intercept_[np.newaxis]
    never, always = np.asarray(learner._never) > 0, np.asarray(learner._always) > 0
    if (never | always).all():
        raise ValueError("RankSVM cannot be exported if no label varies")
    learned = f.columns(np.flatnonzero(~(never | always)))
    for which, extreme, step in ((never, "Min", -1.0), (always, "Max", 1.0)):
        if which.any():  # beyond all labels that vary, and beyond 0
            most = graph(f"Reduce{extreme}", learned, axes=[1], keepdims=1)
            most = graph(extreme, most, 0.0) + step
            f = graph("Where", which[np.newaxis], most, f)
    if learner.threshold_ is not None:
        f = f - linear_cuts(learner.threshold_, learned)
    return _above_cut(_sure(graph, f, never, always), "decision_function")


def _one_vs_all(graph: Graph, learner: OneVsAllLinear, x: Value) -> Answer:
    return _above_cut(one_vs_all(graph, learner, x), learner._score_method())


def _boosted(graph: Graph, learner: MLGradientBoosting, x: Value) -> Answer:
    if hasattr(learner, "is_categorical_"):
        raise ValueError("MLGradientBoosting cannot be exported with categorical_features")
    numbers = leaf_numbers(
        graph, x, learner.roots_, learner.feature_, learner.threshold_.astype(np.float64),
        ~np.asarray(learner.missing_right_, dtype=bool), learner.left_, learner.left_ + 1,
    )  # fmt: skip
    f = sum_of_leaves(graph, numbers, learner.values_, len(learner.roots_))
    f = f + as_row(learner.start_)
    method = learner._score_method()
    found = _above_cut(graph("Sigmoid", f) if method == "predict_proba" else f, method)
    if learner.loss_ != "joint":
        return found
    # the set with the smallest loss has the smallest sum of these changes over its labels
    most = abs(f).largest()
    change = graph("Exp", -f - most) - graph("Exp", f - most)
    sets = np.asarray(learner.label_sets_)
    best = graph("ArgMin", change @ sets.T.astype(np.float64), axis=1, keepdims=0)
    return found._replace(sets=graph("Gather", sets > 0, best, axis=0))


def _automatic(graph: Graph, learner: AutoClassifier, x: Value) -> Answer:
    if learner.top_ is not None:
        raise ValueError("sparse scores of many labels cannot be exported; use OneVsAllLinear")
    try:
        x = transformed(graph, learner.encoder_, x)
    except ValueError as error:
        raise ValueError(f"{error}. {ADVICE}") from None
    total = graph.constant(np.zeros((1, 1)))
    parts = zip(learner.names_, learner.estimators_, learner.calibrators_, learner.weights_)
    for name, member, calibrator, weights in parts:
        try:
            found = answer(graph, member, x)
        except ValueError as error:
            problem = f"the member {name!r} cannot be exported: {error}"
            raise ValueError(f"{problem}. {ADVICE}") from None
        forms = (
            lambda found, _: graph("Clip", found.scores, 0.0, 1.0),
            lambda found, calibrator: calibrated(graph, calibrator, found.scores),
            lambda found, _: graph("Where", found.sets, SURE, 1 - SURE),
        )
        for form, weight in zip(forms, weights):
            if weight > 0:
                total = total + form(found, calibrator) * float(weight)
    scores = graph("Clip", total, 0.0, 1.0)
    return _cut(graph, learner.cut_, Answer(scores, scores, "predict_proba"), learner)


def _cut(graph: Graph, strategy: Any, found: Answer, wrapper: Any) -> Answer:
    sets = cut(graph, strategy, found.scores)
    if wrapper.nonempty_:
        sets = graph.nonempty(sets, found.scores, wrapper.n_labels_)
    return found._replace(sets=sets)


def _calibrated(graph: Graph, wrapper: CalibratedClassifier, x: Value) -> Answer:
    found = _responding(answer(graph, wrapper.estimator_, x), wrapper)
    return _above_cut(calibrated(graph, wrapper.calibrator_, found.scores), "predict_proba")


def _threshold(graph: Graph, wrapper: ThresholdClassifier, x: Value) -> Answer:
    found = _responding(answer(graph, wrapper.estimator_, x), wrapper)
    return _cut(graph, wrapper.strategy_, found, wrapper)


def _responding(found: Answer, wrapper: Any) -> Answer:
    """Check that a wrapper was fitted to scores of this kind."""
    if wrapper.response_method_ != found.method:
        raise ValueError(
            f"{type(wrapper).__name__} can be exported with response_method={found.method!r} "
            f"only, got {wrapper.response_method_!r}"
        )
    return found


def _several_labels(graph: Graph, model: MLPClassifier, x: Value) -> Answer:
    if model.n_outputs_ < 2 or model.out_activation_ != "logistic":
        raise ValueError(f"{type(model).__name__} can be exported with several labels only")
    return _above_cut(class_scores(graph, model, x, "predict_proba"), "predict_proba")


LEARNERS: dict[type, Callable[[Graph, Any, Value], Answer]] = {
    AutoClassifier: _automatic,
    BPMLL: _network,
    BRkNN: counted_neighbors,
    BinaryRelevance: _binary_relevance,
    CalibratedClassifier: _calibrated,
    ClassifierChain: _chain,
    DWMLkNN: counted_neighbors,
    EnsembleOfChains: _ensemble,
    ImputedLabels: lambda graph, wrapper, x: answer(graph, wrapper.estimator_, x),
    KernelRegressions: kernel_regressions,
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
