"""Training and scoring of base estimators.

A label that all training instances have, or none, never reaches a base estimator: a
``DummyClassifier`` stands in for its model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from functools import cache
from itertools import repeat
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import HasMethods, rows_of_params
from plurilabel._core.explanation.contributions import Given, Parts, constant_parts, side_by_side
from plurilabel._core.explanation.models import class_parts, output_parts
from plurilabel._core.scores import score_matrix
from plurilabel._core.unknown import UnknownLabels, cell_weights

# parameters of the base estimator's ``fit`` other than X and y
Params: TypeAlias = Mapping[str, Any]

ONE_MODEL: dict[str, list[Any]] = {
    "estimator": [HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"])]
}
"""Parameters of learners with one model: a base estimator."""

# parameters of learners with many models
MANY_MODELS = {**ONE_MODEL, "n_jobs": [None, Integral], "verbose": ["verbose"]}
# classifiers of scikit-learn with weights (classes, d)
LINEAR = (LogisticRegression, LinearSVC, Perceptron, RidgeClassifier, SGDClassifier)
ENTRIES = 2**23  # weights of linear models put side by side at once: 64 megabytes


# one label --------------------------------------------------------------------------------


def fit_binary(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    params: Params,
    known: Any = None,
    balanced: bool = False,
) -> Any:
    """Train a clone to tell y = 1 from y = 0, where known; balanced, both weigh the same."""
    weights = params.get("sample_weight")
    used = np.ones(len(y), dtype=bool) if known is None else known
    used = used if weights is None else used & (weights != 0)
    if not used.all():
        rows = np.flatnonzero(used)
        X, y, params = X[rows], y[rows], rows_of_params(X, params, rows)
        weights = params.get("sample_weight")
    n, present = len(y), int(np.count_nonzero(y))
    if 0 < present < n:
        if balanced:
            cells = cell_weights("balanced", y[:, np.newaxis], None, weights).ravel()
            total = cells if weights is None else cells * weights
            params = {**params, weight_parameter(estimator) or "": total}
        return clone(estimator).fit(X, y, **params)
    stand_in = copy(_sure_model())
    stand_in.n_features_in_ = X.shape[1]
    if n and weights is not None:  # as many as they weigh
        present, n = (present // n) * counted_weight(weights), counted_weight(weights)
    # the frequencies of y if there were one instance more, half of it with the label
    stand_in.class_prior_ = np.array([n - present + 0.5, present + 0.5]) / (n + 1)
    return stand_in


def weight_parameter(estimator: Any) -> str | None:
    """The name of the sample weights in ``fit``; None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def counted_weight(weights: NDArray[np.float64]) -> int:
    """The number of instances that the weights stand for, rounded."""
    return max(1, round(float(weights.sum())))


def counted_instances(X: Any, params: Params) -> int:
    """The number of training instances, or what they weigh together."""
    weights = params.get("sample_weight")
    return X.shape[0] if weights is None else counted_weight(weights)


@cache
def _sure_model() -> DummyClassifier:
    """A model of two classes that is sure of the more frequent one; to be copied."""
    return DummyClassifier(strategy="most_frequent").fit([[0.0], [0.0]], [0, 1])


def binary_scores(model: Any, X: Any, method: str) -> NDArray[np.floating]:
    """Score of y = 1 for each row, shape (n,)."""
    if isinstance(model, DummyClassifier) and model.strategy == "most_frequent":
        absent, present = model.class_prior_
        sure = method == "predict_proba"
        return np.full(X.shape[0], float(present > absent) if sure else np.log(present / absent))
    if is_linear(model, method):
        return linear_scores([model], X, method).ravel()
    scores = np.asarray(getattr(model, method)(X))
    return scores[:, 1] if method == "predict_proba" else scores.ravel()


def constant_score(present: bool, n: int, method: str) -> float:
    """Score of a label that all of n training instances have, or none.

    Probability 1 or 0; as a decision value the log-odds if half an instance disagreed. These,
    +- log(2 n + 1), lie beyond the usual range of margins, so that a label never seen ranks last,
    and are small enough to be averaged and fitted.
    """
    if method == "predict_proba":
        return float(present)
    return float(np.log(2 * n + 1)) * (1 if present else -1)


def is_linear(model: Any, method: str) -> bool:
    """Whether the scores of a model of scikit-learn's own are one product with its weights."""
    if type(model) is LogisticRegression:
        # until scikit-learn 1.7 this made other probabilities of two classes
        known = getattr(model, "multi_class", "auto") != "multinomial"
    else:
        known = method == "decision_function" and type(model) in LINEAR
    return known and (model.coef_.ndim == 1 or len(model.coef_) == 1)


def linear_scores(models: Sequence[Any], X: Any, method: str) -> NDArray[np.floating]:
    """Scores of y = 1, a column for each linear model, for X that has been checked.

    Each model's own method would check X again, and go through a sparse X alone. Several models
    have the same scores, bit for bit, only if X is sparse: BLAS rounds wider products differently.
    """
    weights = np.vstack([np.atleast_2d(model.coef_) for model in models])
    values = X @ weights.T + np.concatenate([np.ravel(model.intercept_) for model in models])
    return expit(values) if method == "predict_proba" else values


# a model for each label -------------------------------------------------------------------


def fit_each(
    estimator: Any,
    X: Any,
    Y: LabelMatrix,
    params: Params,
    *,
    balanced: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """A binary model for each column of Y.

    Labels share one model where fitting all of them gives the same and costs as much as one: with
    neighbours, where the search is the work, and ridge regression, where the factorisation is.
    """
    if _learns_together(estimator) and isinstance(Y, np.ndarray) and not balanced:
        varies = Y.min(axis=0) != Y.max(axis=0)
        if varies.sum() > 1:
            shared = clone(estimator).fit(X, Y[:, varies].astype(np.int64), **params)
            return [
                shared if varies[l] else fit_binary(estimator, X, Y[:, l], params)
                for l in range(Y.shape[1])
            ]
    known: Iterable[Any] = repeat(None)
    if isinstance(Y, UnknownLabels):
        known, Y = map(Y.known_rows, range(Y.shape[1])), Y.Y
    jobs = ((estimator, X, y, params, k, balanced) for y, k in zip(columns(Y), known))
    return in_parallel(fit_binary, jobs, n_jobs=n_jobs, verbose=verbose)


def fit_more(
    estimator: Any,
    models: Sequence[Any],
    X: Any,
    Y: LabelMatrix,
    params: Params,
    *,
    n_jobs: int | None = None,
) -> list[Any]:
    """Copies of the models that have seen further instances; new ones where there is none."""
    known: Iterable[Any] = repeat(None)
    if isinstance(Y, UnknownLabels):
        known, Y = map(Y.known_rows, range(Y.shape[1])), Y.Y

    def learn(model: Any, y: NDArray[Any], rows: Any) -> Any:
        kept = np.arange(len(y)) if rows is None else np.flatnonzero(rows)
        if not len(kept):  # a stand-in if there is no model yet
            return fit_binary(estimator, X[:0], y[:0], {}) if model is None else model
        # a copy, so that an error in another label changes nothing
        more = deepcopy(model) if hasattr(model, "partial_fit") else clone(estimator)
        part = rows_of_params(X, params, kept)
        return more.partial_fit(X[kept], y[kept], classes=[0, 1], **part)

    return in_parallel(learn, zip(models, columns(Y), known), n_jobs=n_jobs)


def _learns_together(estimator: Any) -> bool:
    if type(estimator) is RidgeClassifier:
        return estimator.class_weight is None
    return type(estimator) in (KNeighborsClassifier, RadiusNeighborsClassifier)


def score_each(
    models: list[Any], X: Any, method: str, *, n_jobs: int | None = None
) -> NDArray[np.floating]:
    """Scores (n, q) of the models that :func:`fit_each` trained."""
    groups = _asked_together(models, X, method)
    jobs = (([models[l] for l in labels], X, method) for labels in groups)
    scores = in_parallel(_score_group, jobs, n_jobs=n_jobs)
    together = np.hstack(scores) if len(scores) > 1 else scores[0]
    if len(groups) in (1, len(models)):  # in the order of the labels
        return together
    return together.take(np.argsort(np.concatenate(groups)), axis=1)


def _score_group(models: list[Any], X: Any, method: str) -> NDArray[np.floating]:
    if len(models) == 1:
        return binary_scores(models[0], X, method)[:, np.newaxis]
    if models[0] is models[1]:
        return score_matrix(getattr(models[0], method)(X), n_labels=len(models))
    return linear_scores(models, X, method)


def _asked_together(models: list[Any], X: Any, method: str) -> list[list[int]]:
    """Labels in groups: those that share a model, and many linear models for a sparse X."""
    groups: dict[tuple[str, int], list[int]] = {}
    n_linear, at_once = 0, max(1, ENTRIES // max(1, X.shape[1]))
    for l, model in enumerate(models):
        key = "model", id(model)
        if sparse.issparse(X) and is_linear(model, method):
            key, n_linear = ("linear", n_linear // at_once), n_linear + 1
        groups.setdefault(key, []).append(l)
    return list(groups.values())


def out_of_fold(
    estimator: Any,
    X: Any,
    Y: LabelMatrix,
    splits: list[tuple[NDArray[np.integer], NDArray[np.integer]]],
    method: str,
    params: Params,
    n_jobs: int | None = None,
    *,
    cut: float | None = None,
) -> Any:
    """Scores (n, q) of the training instances, from models trained on the other folds.

    With a cut, in CSR where they are above it: dense scores are then those of one fold at a time.
    """
    n, q = Y.shape
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n)
    if not (tested == 1).all():
        raise ValueError("cv must test each training instance exactly once, as KFold does")
    over_folds, over_labels = (n_jobs, None) if q == 1 else (None, n_jobs)

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> Any:
        part = rows_of_params(X, params, train)
        models = fit_each(estimator, X[train], Y[train], part, n_jobs=over_labels)
        found = score_each(models, X[test], method, n_jobs=over_labels)
        return found if cut is None else sparse.csr_array(found > cut)

    if cut is not None:
        place = np.argsort(np.concatenate([test for _, test in splits]))
        return sparse.vstack(in_parallel(score, splits, n_jobs=over_folds), format="csr")[place]
    scores = np.empty((n, q))
    for (_, test), found in zip(splits, in_parallel(score, splits, n_jobs=over_folds)):
        scores[test] = found
    return scores


def explain_each(models: list[Any], x: Any, method: str, given: Given) -> Parts:
    """Parts of the scores of one row by the models that :func:`fit_each` trained."""
    shared: dict[int, list[int]] = {}
    for l, model in enumerate(models):
        shared.setdefault(id(model), []).append(l)
    found = []
    for labels in shared.values():
        explain = explain_binary if len(labels) == 1 else output_parts
        found.append(explain(models[labels[0]], x, method, given))
    return side_by_side(found).columns(np.argsort(np.concatenate(list(shared.values()))))


def explain_binary(model: Any, x: Any, method: str, given: Given) -> Parts:
    """Parts of the score of y = 1 for one row."""
    if isinstance(model, DummyClassifier) and model.strategy == "most_frequent":
        return constant_parts(binary_scores(model, x, method))
    return class_parts(model, x, method, given)


# what the models see ----------------------------------------------------------------------


def columns(Y: LabelMatrix) -> Iterator[NDArray[np.int64]]:
    """The columns of Y, one at a time, dense and in the integers that classifiers expect."""
    csc = None if isinstance(Y, np.ndarray) else sparse.csc_array(Y)
    for j in range(Y.shape[1]):
        if csc is None:
            yield Y[:, j].astype(np.int64)
        else:
            y = np.zeros(csc.shape[0], dtype=np.int64)
            y[csc.indices[csc.indptr[j] : csc.indptr[j + 1]]] = 1
            yield y


def with_columns(X: Any, extra: Any) -> Any:
    """X and further columns, in the type and form (dense or CSR) of X."""
    if sparse.issparse(X):
        added = sparse.csr_array(extra, dtype=X.dtype)
        return sparse.hstack([sparse.csr_array(X), added], format="csr")
    return np.hstack([X, extra.astype(X.dtype, copy=False)])


# many models ------------------------------------------------------------------------------


def in_parallel(
    function: Callable[..., Any],
    jobs: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """The function of each tuple of arguments, in their order, whatever the number of workers.

    Threads are preferred: all workers read the same X, and what takes time in scikit-learn's
    classifiers runs without the interpreter's lock. ``joblib.parallel_config(backend="loky")``
    around the call gives processes instead, to which joblib maps a large X from disk.
    """
    if effective_n_jobs(n_jobs) == 1 and not verbose:  # the overhead of joblib adds up
        return [function(*arguments) for arguments in jobs]
    work = (delayed(function)(*arguments) for arguments in jobs)
    return Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads")(work)


def draw_seeds(rng: np.random.RandomState, size: int) -> list[int]:
    """Seeds drawn before any work starts, so that its order does not matter."""
    return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=size)]


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every ``random_state`` is drawn from one seed."""
    fresh = clone(estimator)
    rng = np.random.RandomState(seed)
    keys = sorted(key for key in fresh.get_params() if key.split("__")[-1] == "random_state")
    return fresh.set_params(**dict(zip(keys, draw_seeds(rng, len(keys)))))
