"""Training and scoring of base estimators.

A label that all or no training instances have never reaches a base estimator: a
``DummyClassifier`` takes the place of its model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from functools import cache
from itertools import repeat
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
# parameter constraints of a base estimator
ONE_MODEL = [HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"])]
# scikit-learn's classifiers with coefficients of shape (classes, d)
LINEAR = (LogisticRegression, LinearSVC, Perceptron, RidgeClassifier, SGDClassifier)
ENTRIES = 2**23  # coefficients of linear models that are stacked at once: 64 MB


def fit_binary(
    estimator: Any, X: Any, y: Any, params: Params, known: Any = None, balanced: bool = False
) -> Any:
    """Fit a clone to tell y = 1 from y = 0 where known; ``balanced`` gives both equal weight."""
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
    if n and weights is not None:
        total = counted_instances(X, params)
        present, n = (present // n) * total, total
    return sure_model(X.shape[1], n, present)


def sure_model(d: int, n: int, present: int) -> DummyClassifier:
    """The model of a label that all of n instances have, or none, with d features."""
    stand_in = copy(_sure_model())
    stand_in.n_features_in_ = d
    # class frequencies with one more instance, half of which has the label
    stand_in.class_prior_ = np.array([n - present + 0.5, present + 0.5]) / (n + 1)
    return stand_in


def weight_parameter(estimator: Any) -> str | None:
    """The name of ``sample_weight`` in ``fit``, with the prefix of a pipeline; None if missing."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def counted_instances(X: Any, params: Params) -> int:
    """The number of training instances, or their total weight, rounded and at least 1."""
    weights = params.get("sample_weight")
    return X.shape[0] if weights is None else max(1, round(float(weights.sum())))


@cache
def _sure_model() -> DummyClassifier:
    """A model of two classes that predicts the more frequent one; callers copy it."""
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
    """Score of a label that all of n training instances have, or none."""
    # The probability is 1 or 0. The decision value is the log-odds if half an instance disagreed,
    # +- log(2 n + 1): beyond the usual margins, so that a label never seen ranks last, but small
    # enough to be averaged.
    return float(present if method == "predict_proba" else np.log(2 * n + 1) * (2 * present - 1))


def is_linear(model: Any, method: str) -> bool:
    """Whether a model is one of scikit-learn's whose scores are one product with ``coef_``."""
    if type(model) is LogisticRegression:
        # before scikit-learn 1.8, multinomial models of two classes have other probabilities
        known = getattr(model, "multi_class", "auto") != "multinomial"
    else:
        known = method == "decision_function" and type(model) in LINEAR
    return known and (model.coef_.ndim == 1 or len(model.coef_) == 1)


def linear_scores(models: Sequence[Any], X: Any, method: str) -> NDArray[np.floating]:
    """Scores of y = 1 for validated X, one column per linear model."""
    # Each model's own method would validate X again and pass through a sparse X alone. Stack
    # models only for sparse X: BLAS rounds wider dense products differently.
    weights = np.vstack([np.atleast_2d(model.coef_) for model in models])
    values = X @ weights.T + np.concatenate([np.ravel(model.intercept_) for model in models])
    return expit(values) if method == "predict_proba" else values


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
    """Fit a binary model for each column of Y."""
    # Labels share one model where fitting all of them costs as much as one and gives the same
    # result: nearest neighbours share the search, ridge regression the factorisation.
    together = type(estimator) in (KNeighborsClassifier, RadiusNeighborsClassifier)
    together |= type(estimator) is RidgeClassifier and estimator.class_weight is None
    if together and isinstance(Y, np.ndarray) and not balanced:
        varies = Y.min(axis=0) != Y.max(axis=0)
        if varies.sum() > 1:
            shared = clone(estimator).fit(X, Y[:, varies].astype(np.int64), **params)
            return [
                shared if varies[l] else fit_binary(estimator, X, Y[:, l], params)
                for l in range(Y.shape[1])
            ]
    jobs = ((estimator, X, y, params, known, balanced) for y, known in known_columns(Y))
    return in_parallel(fit_binary, jobs, n_jobs=n_jobs, verbose=verbose)


def fit_more(
    estimator: Any, models: Sequence[Any], X: Any, Y: LabelMatrix, params: Params, n_jobs: Any
) -> list[Any]:
    """Copies of the models after ``partial_fit``; a None among them becomes a new model."""

    def learn(model: Any, y: NDArray[Any], known: Any) -> Any:
        kept = np.arange(len(y)) if known is None else np.flatnonzero(known)
        if not len(kept):
            return fit_binary(estimator, X[:0], y[:0], {}) if model is None else model
        # a copy, so that an error in another label leaves this model as it was
        more = deepcopy(model) if hasattr(model, "partial_fit") else clone(estimator)
        part = rows_of_params(X, params, kept)
        return more.partial_fit(X[kept], y[kept], classes=[0, 1], **part)

    jobs = ((model, *column) for model, column in zip(models, known_columns(Y)))
    return in_parallel(learn, jobs, n_jobs=n_jobs)


def score_each(models: list[Any], X: Any, method: str, *, n_jobs: Any = None) -> NDArray[Any]:
    """Scores (n, q) of the models of :func:`fit_each`."""
    groups = _scored_together(models, X, method)
    jobs = (([models[l] for l in labels], X, method) for labels in groups)
    scores = in_parallel(_score_group, jobs, n_jobs=n_jobs)
    together = np.hstack(scores) if len(scores) > 1 else scores[0]
    if len(groups) in (1, len(models)):  # already in the order of the labels
        return together
    return together.take(np.argsort(np.concatenate(groups)), axis=1)


def _score_group(models: list[Any], X: Any, method: str) -> NDArray[np.floating]:
    if len(models) == 1:
        return binary_scores(models[0], X, method)[:, np.newaxis]
    if models[0] is models[1]:
        return score_matrix(getattr(models[0], method)(X), n_labels=len(models))
    return linear_scores(models, X, method)


def _scored_together(models: list[Any], X: Any, method: str) -> list[list[int]]:
    """Group labels that share a model and, for sparse X, labels with linear models."""
    groups: dict[tuple[str, int], list[int]] = {}
    n_linear, at_once = 0, max(1, ENTRIES // max(1, X.shape[1]))
    for l, model in enumerate(models):
        key = "model", id(model)
        if sparse.issparse(X) and is_linear(model, method):
            key, n_linear = ("linear", n_linear // at_once), n_linear + 1
        groups.setdefault(key, []).append(l)
    return list(groups.values())


def out_of_fold(
    estimator: Any, X: Any, Y: LabelMatrix, splits: list[Any], method: str, params: Params,
    n_jobs: int | None = None, *, cut: float | None = None,
) -> Any:  # fmt: skip
    """Scores (n, q) of the training instances by models trained on the other folds."""
    # With a cut, return where they are above it, in CSR: only one fold has dense scores at a time.
    n, q = Y.shape
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(n)):
        raise ValueError("cv must test each training instance exactly once, as KFold does")
    over_folds, over_labels = (n_jobs, None) if q == 1 else (None, n_jobs)

    def score(train: NDArray[np.integer], test: NDArray[np.integer]) -> Any:
        part = rows_of_params(X, params, train)
        models = fit_each(estimator, X[train], Y[train], part, n_jobs=over_labels)
        found = score_each(models, X[test], method, n_jobs=over_labels)
        return found if cut is None else sparse.csr_array(found > cut)

    found, back = in_parallel(score, splits, n_jobs=over_folds), np.argsort(tested)
    stacked = np.vstack(found, dtype=np.float64) if cut is None else sparse.vstack(found, "csr")
    return stacked[back]


def explain_each(models: list[Any], x: Any, method: str, given: Given) -> Parts:
    """Parts of the scores of one row by the models of :func:`fit_each`."""
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


def columns(Y: LabelMatrix) -> Iterator[NDArray[np.int64]]:
    """Yield the columns of Y as dense int64, as classifiers expect them."""
    csc = None if isinstance(Y, np.ndarray) else sparse.csc_array(Y)
    for j in range(Y.shape[1]):
        if csc is None:
            yield Y[:, j].astype(np.int64)
        else:
            y = np.zeros(csc.shape[0], dtype=np.int64)
            y[csc.indices[csc.indptr[j] : csc.indptr[j + 1]]] = 1
            yield y


def known_columns(Y: LabelMatrix) -> Iterable[tuple[NDArray[np.int64], Any]]:
    """Each column of Y with the mask of its known rows, None if all are known."""
    if isinstance(Y, UnknownLabels):
        return zip(columns(Y.Y), map(Y.known_rows, range(Y.shape[1])))
    return zip(columns(Y), repeat(None))


def with_columns(X: Any, extra: Any) -> Any:
    """Append columns to X, in the dtype and format (dense or CSR) of X."""
    if sparse.issparse(X):
        added = sparse.csr_array(extra, dtype=X.dtype)
        return sparse.hstack([sparse.csr_array(X), added], format="csr")
    return np.hstack([X, extra.astype(X.dtype, copy=False)])


def in_parallel(
    function: Callable[..., Any], jobs: Iterable[Any], *, n_jobs: Any = None, verbose: int = 0
) -> list[Any]:
    """Call the function with each tuple of arguments; return the results in order."""
    # Threads are preferred: workers share X, and scikit-learn's classifiers release the GIL where
    # they spend their time. ``joblib.parallel_config(backend="loky")`` around the call uses
    # processes instead, with a large X mapped from disk.
    if effective_n_jobs(n_jobs) == 1 and not verbose:  # joblib's overhead adds up
        return [function(*arguments) for arguments in jobs]
    work = (delayed(function)(*arguments) for arguments in jobs)
    return Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads")(work)


def draw_seeds(rng: np.random.RandomState, size: int) -> list[int]:
    """Draw seeds before any work starts, so that its order does not matter."""
    return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=size)]


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every ``random_state`` is drawn from one seed."""
    fresh = clone(estimator)
    rng = np.random.RandomState(seed)
    keys = sorted(key for key in fresh.get_params() if key.split("__")[-1] == "random_state")
    return fresh.set_params(**dict(zip(keys, draw_seeds(rng, len(keys)))))
