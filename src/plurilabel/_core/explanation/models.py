"""Base estimators taken apart: linear models, trees, boosted trees, naive Bayes, neighbours.

A decomposition is used only if its parts add up to the model's own score of the row; otherwise
the model is explained by occlusion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel._core.base import MultiLabelClassifier, default_feature_names
from plurilabel._core.blocks import dense
from plurilabel._core.compat import class_numbers, fitted_gamma
from plurilabel._core.explanation.contributions import (
    LOG_ODDS,
    OCCLUSION,
    OCCLUSION_LOG_ODDS,
    SCORE,
    Floats,
    Given,
    Parts,
    constant_parts,
    linear_parts,
    occlusion,
    side_by_side,
    stored,
)
from plurilabel._core.explanation.marks import readable
from plurilabel._core.scores import score_matrix

BEHIND = "the score of the inner learner, from which this score is computed"
LOGITS = "the decision value of the class, whose softmax is the probability"
Answer = Callable[[Any], Any]


def class_parts(model: Any, x: Any, method: str, given: Given) -> Parts:
    """Parts of the score of each class, for one row x (1, d); for two classes only the second."""
    if isinstance(model, Pipeline):
        return class_parts(model[-1], *through_steps(model, x, method, given))

    def answer(rows: Any) -> Floats:
        return _columns(getattr(model, method)(rows), method)

    scores = answer(x)[0]
    if isinstance(model, MultiLabelClassifier):  # as a classifier of a single 1-D label
        last = [model.n_labels_ - 1] if len(scores) == 1 else range(model.n_labels_)
        return learner_parts(model, x, method, given, scores, answer, last)
    ways = (_constant, _linear, _trees, _boosted_trees, _naive_bayes, _support, _neighbours)
    found = _decomposed(ways, model, x, method, given, scores)
    return occlusion(answer, x, given, method) if found is None else found


def learner_parts(
    model: MultiLabelClassifier, x: Any, method: str, given: Given, scores: Floats,
    answer: Answer, labels: Any,
) -> Parts:  # fmt: skip
    """Parts of the scores of some labels of a learner inside another one."""
    # A learner explains its own scores. For other scores, such as probabilities made from decision
    # values, the scale of the parts says that they are those of the latter.
    found = model._parts(model._validate_predict(x), given).columns(labels)
    total = found.base + found.values.sum(axis=0)
    if set(found.scales) <= {SCORE, LOG_ODDS}:
        values = np.where([scale == SCORE for scale in found.scales], total, expit(total))
        return found if np.allclose(values, scores, rtol=1e-6) else found.rescaled(BEHIND)
    occluded = set(found.scales) <= {OCCLUSION, OCCLUSION_LOG_ODDS}
    return occlusion(answer, x, given, method) if occluded else found


def output_parts(model: Any, x: Any, method: str, given: Given) -> Parts:
    """Parts of the score of each label, for a model of several labels at once."""
    if isinstance(model, MultiOutputClassifier | OneVsRestClassifier):
        return side_by_side([class_parts(one, x, method, given) for one in model.estimators_])

    def answer(rows: Any) -> Floats:
        classes = getattr(model, "classes_", None)
        found = score_matrix(getattr(model, method)(rows), classes=classes)
        return np.asarray(found, dtype=np.float64)

    ways = (_trees, _linear, _neighbours)
    found = _decomposed(ways, model, x, method, given, answer(x)[0])
    return occlusion(answer, x, given, method) if found is None else found


def _decomposed(ways: Any, model: Any, x: Any, method: str, given: Given, scores: Any) -> Any:
    """The parts found by the first way that adds up to the scores, None if none does."""
    for way in ways:
        found = way(model, x, given)
        if found is not None and (known := _adds_up(found, scores, method)) is not None:
            return known
    return None


def through_steps(model: Pipeline, x: Any, method: str, given: Given) -> tuple[Any, str, Given]:
    """What the last step of a pipeline sees of a row, and what its features are called there."""
    steps = model[:-1]
    if len(steps) == 0:
        return x, method, given
    seen = steps.transform(x)
    reference = None
    if given.reference is not None:
        reference = dense(steps.transform(given.reference[np.newaxis]))[0]
    return seen, method, Given(names_after(steps, seen.shape[1], given.names), reference)


def names_after(steps: Any, d: int, names: Sequence[str] | None) -> Sequence[str]:
    """Names of the d features that some steps of a pipeline make, as far as they can tell."""
    for known in (None,) if names is None else (list(names), None):
        try:
            found = steps.get_feature_names_out(known)
        except (AttributeError, ValueError, TypeError):
            continue  # other names were seen in fit, or a step cannot tell
        if found is not None and len(found) == d:
            return [readable(str(name)) for name in found]
    if names is not None and len(names) == d:  # one for one, as far as can be seen
        return names
    return default_feature_names(d)


def _columns(scores: Any, method: str) -> Floats:
    """Scores (n, classes), of two classes those of the second, (n, 1)."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        return scores[:, np.newaxis]
    return scores[:, 1:] if method == "predict_proba" and scores.shape[1] == 2 else scores


def _adds_up(found: Parts, scores: Floats, method: str) -> Parts | None:
    """The parts, with the scale on which they add up to the scores; None if there is none."""
    total = found.base + found.values.sum(axis=0)
    if total.shape != scores.shape:
        return None

    def equal(values: Floats) -> bool:
        return np.allclose(values, scores, rtol=1e-6, atol=1e-9)

    if equal(total):
        return found.rescaled(SCORE)
    if method == "predict_proba":
        if equal(expit(total)):
            return found.rescaled(LOG_ODDS)
        if len(total) > 1 and equal(softmax(total)):
            return found.rescaled(LOGITS)
    return None


def _constant(model: Any, x: Any, _given: Given) -> Parts | None:
    if not isinstance(model, DummyClassifier):
        return None
    return constant_parts(_columns(model.predict_proba(x), "predict_proba")[0])


def _linear(model: Any, x: Any, given: Given) -> Parts | None:
    coef, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if coef is None or intercept is None or not hasattr(model, "decision_function"):
        return None
    coef = np.atleast_2d(dense(coef))
    if coef.shape[1:] != x.shape[1:] or np.size(intercept) not in (1, len(coef)):
        return None
    return linear_parts(x, coef, np.ravel(intercept), given.names, SCORE)


def _trees(model: Any, x: Any, given: Given) -> Parts | None:
    if isinstance(model, DecisionTreeClassifier):
        grown = [model]
    elif isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        grown = list(model.estimators_)
    else:
        return None
    tables: list[Any] = [_frequencies(tree.tree_.value) for tree in grown]
    if any(table is None for table in tables):
        return None
    return path_parts([tree.tree_ for tree in grown], tables, x.astype(np.float32), given.names)


def _frequencies(value: Floats) -> Floats | None:
    """Class frequencies in each node (nodes, classes), or of several labels their second."""
    shares = value / value.sum(axis=2, keepdims=True)
    if value.shape[1] == 1:
        return shares[:, 0, 1:] if value.shape[2] == 2 else shares[:, 0]
    return shares[:, :, 1] if value.shape[2] == 2 else None


def _boosted_trees(model: Any, x: Any, given: Given) -> Parts | None:
    if not isinstance(model, GradientBoostingClassifier):
        return None
    row = x.astype(np.float32)
    parts = []
    for column in model.estimators_.T:
        trees = [one.tree_ for one in column]
        tables = [model.learning_rate * len(trees) * tree.value[:, :, 0] for tree in trees]
        parts.append(path_parts(trees, tables, row, given.names))
    found = side_by_side(parts)
    now = _columns(model.decision_function(x), "decision_function")[0]
    # what the trees do not say is where they began
    return found.shifted(now - found.base - found.values.sum(axis=0))


def _naive_bayes(model: Any, x: Any, given: Given) -> Parts | None:
    at, values = stored(x)
    names = [str(given.names[j]) for j in at]
    if type(model) in (MultinomialNB, ComplementNB):
        coef = model.feature_log_prob_
        base = model.class_log_prior_ if type(model) is MultinomialNB else np.zeros(len(coef))
        joint = values[:, np.newaxis] * coef[:, at].T
    elif type(model) is BernoulliNB:
        row = dense(x)[0]
        at = np.flatnonzero(row != 0 if model.binarize is None else row > model.binarize)
        with_it, without = model.feature_log_prob_, np.log1p(-np.exp(model.feature_log_prob_))
        names = [str(given.names[int(j)]) for j in at]
        joint = (with_it - without)[:, at].T
        base = model.class_log_prior_ + without.sum(axis=1)
    elif type(model) is GaussianNB:
        names = [str(name) for name in given.names]
        squares = (dense(x)[0] - model.theta_) ** 2 / model.var_
        joint = -0.5 * (np.log(2 * np.pi * model.var_) + squares).T
        base = np.log(model.class_prior_)
    else:
        return None
    scales = (LOG_ODDS,) * joint.shape[1]
    found = Parts(names, joint, np.asarray(base, dtype=np.float64), scales)
    return found.mapped([[-1.0], [1.0]], LOG_ODDS) if joint.shape[1] == 2 else found


def _support(model: Any, x: Any, _given: Given) -> Parts | None:
    """A kernel machine for two classes: each support vector, by its similarity."""
    if type(model) is not SVC or len(model.classes_) != 2:
        return None
    if callable(model.kernel) or model.kernel == "precomputed":
        return None
    options = {"gamma": fitted_gamma(model), "coef0": model.coef0, "degree": model.degree}
    options |= {"metric": model.kernel, "filter_params": True}
    K = pairwise_kernels(x, model.support_vectors_, **options)[0]
    values = (K * dense(model.dual_coef_)[0])[:, np.newaxis]
    names = [f"like training row {i}" for i in model.support_]
    return Parts(names, values, np.ravel(model.intercept_), (SCORE,))


def _neighbours(model: Any, x: Any, _given: Given) -> Parts | None:
    """Nearest neighbours: the vote of each."""
    if type(model) is not KNeighborsClassifier or callable(model.weights):
        return None
    distances, rows = model.kneighbors(x)
    votes = np.ones(len(rows[0]))
    if model.weights == "distance":
        with np.errstate(divide="ignore"):
            votes = 1.0 / distances[0]
        if np.isinf(votes).any():
            votes = np.isinf(votes).astype(np.float64)
    votes /= votes.sum()
    y = class_numbers(model)[rows[0]]
    if y.ndim == 2:
        values = votes[:, np.newaxis] * (y == 1)
    elif len(model.classes_) == 2:
        values = (votes * (y == 1))[:, np.newaxis]
    else:
        values = votes[:, np.newaxis] * (y[:, np.newaxis] == np.arange(len(model.classes_)))
    names = [f"training row {i}" for i in rows[0]]
    return Parts(names, values, np.zeros(values.shape[1]), (SCORE,) * values.shape[1])


def path_parts(trees: list[Any], tables: list[Floats], x: Any, names: Sequence[str]) -> Parts:
    """The mean over trees of the steps along the path of one row.

    An instance begins at the root with the root's value; each step from a node to a child adds the
    difference of their values to the feature that the node splits on. The sum is exactly the value
    of the leaf.

    ``trees`` are scikit-learn's ``Tree`` objects, ``tables`` (nodes, q) the values of their nodes,
    ``x`` (1, d) is in float32, as the trees compare it, and ``names`` are those of the features.

    References
    ----------
    A. Palczewska, J. Palczewski, R. M. Robinson, D. Neagu. Interpreting random forest
    classification models using a feature contribution method. Integration of reusable systems,
    2014.
    """
    features, steps = [], []
    base = np.zeros(tables[0].shape[1])
    for tree, table in zip(trees, tables):
        path = np.sort(tree.decision_path(x).indices)  # a child has a higher number than its node
        base += table[path[0]]
        features.append(tree.feature[path[:-1]])
        steps.append(np.diff(table[path], axis=0))
    used, place = np.unique(np.concatenate(features), return_inverse=True)
    values = np.zeros((len(used), len(base)))
    np.add.at(values, place.ravel(), np.concatenate(steps))
    n = len(trees)
    return Parts([str(names[j]) for j in used], values / n, base / n, (SCORE,) * len(base))
