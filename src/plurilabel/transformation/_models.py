"""The one place where base estimators are trained and asked.

A label that training shows only absent, or only present, never reaches a base estimator: an
``Always`` stands in for its model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from plurilabel.base import LabelMatrix
from plurilabel.transformation._linear import in_batches, is_linear, linear_scores
from plurilabel.transformation._together import Always, Together, learns_together

Params: TypeAlias = Mapping[str, Any]
"""What goes to the base estimator's ``fit`` beside X and y."""

NO_PARAMS: Params = {}


def fit_binary(estimator: Any, X: Any, y: NDArray[Any], params: Params = NO_PARAMS) -> Any:
    """Train a fresh clone of the base estimator to tell y = 1 from y = 0."""
    present = int(np.count_nonzero(y))
    if present in (0, len(y)):
        return Always(present > 0, len(y))
    return clone(estimator).fit(X, y, **params)


def binary_scores(model: Any, X: Any, method: str) -> NDArray[np.floating]:
    """Score of y = 1 for each row, shape (n,)."""
    if isinstance(model, Always):
        return np.full(X.shape[0], model.score(method))
    if is_linear(model, method):
        return linear_scores([model], X, method).ravel()
    scores = np.asarray(getattr(model, method)(X))
    return scores[:, 1] if method == "predict_proba" else scores.ravel()


def cut_of(method: str) -> float:
    """The cut above which a score means yes."""
    return 0.5 if method == "predict_proba" else 0.0


def fit_each(
    estimator: Any,
    X: Any,
    Y: LabelMatrix,
    params: Params = NO_PARAMS,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any] | Together:
    """A binary model for each column of Y, or one for all where that gives the same for less."""
    if learns_together(estimator) and isinstance(Y, np.ndarray):
        return Together.fit(estimator, X, Y, params)
    jobs = ((estimator, X, y, params) for y in columns(Y))
    return in_parallel(fit_binary, jobs, n_jobs=n_jobs, verbose=verbose)


def score_each(
    models: list[Any] | Together, X: Any, method: str, *, n_jobs: int | None = None
) -> NDArray[np.floating]:
    """Scores (n, q) of one binary model per label."""
    if isinstance(models, Together):
        return models.scores(X, method)
    # a sparse X is gone through once for many linear models
    linear = [l for l, m in enumerate(models) if sparse.issparse(X) and is_linear(m, method)]
    batches = in_batches(linear, X.shape[1])
    if len(linear) == len(models) and len(batches) == 1:
        return linear_scores(models, X, method)
    others = sorted(set(range(len(models))) - set(linear))
    jobs = ((models[l], X, method) for l in others)
    found: dict[int, NDArray[np.floating]] = dict(
        zip(others, in_parallel(binary_scores, jobs, n_jobs=n_jobs))
    )
    for some in batches:
        found.update(zip(some, linear_scores([models[l] for l in some], X, method).T))
    return np.column_stack([found[l] for l in range(len(models))])


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
    if effective_n_jobs(n_jobs) == 1 and not verbose:  # the ceremony of joblib adds up
        return [function(*arguments) for arguments in jobs]
    work = (delayed(function)(*arguments) for arguments in jobs)
    return Parallel(n_jobs=n_jobs, verbose=verbose, prefer="threads")(work)


def columns(Y: LabelMatrix) -> Iterator[NDArray[np.int64]]:
    """The columns of Y, one at a time, dense and in the integers that classifiers expect."""
    if isinstance(Y, np.ndarray):
        for j in range(Y.shape[1]):
            yield Y[:, j].astype(np.int64)
        return
    csc = sparse.csc_array(Y)
    for j in range(csc.shape[1]):
        y = np.zeros(csc.shape[0], dtype=np.int64)
        y[csc.indices[csc.indptr[j] : csc.indptr[j + 1]]] = 1
        yield y


def dense(Y: LabelMatrix) -> NDArray[np.int8]:
    """A few columns or rows of the labels as an array."""
    return Y if isinstance(Y, np.ndarray) else Y.toarray()


def rows_of_params(params: Params, rows: NDArray[np.integer], n: int) -> dict[str, Any]:
    """Metadata for some of the n rows: what has an entry per row goes with its rows."""
    return {
        name: value[rows] if isinstance(value, np.ndarray) and value.shape[:1] == (n,) else value
        for name, value in params.items()
    }


def draw_seeds(rng: np.random.RandomState, size: int) -> list[int]:
    """Seeds drawn before any work starts, so that its order does not matter."""
    return [int(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=size)]


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every ``random_state`` is drawn from one seed."""
    fresh = clone(estimator)
    rng = np.random.RandomState(seed)
    keys = sorted(key for key in fresh.get_params() if key.split("__")[-1] == "random_state")
    return fresh.set_params(**dict(zip(keys, draw_seeds(rng, len(keys)))))
