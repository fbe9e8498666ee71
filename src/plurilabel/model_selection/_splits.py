"""``cv`` and ``groups`` for all estimators that split their training rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from plurilabel.model_selection._holdout import part_sizes, stratified_split
from plurilabel.model_selection._kfold import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
)
from plurilabel.model_selection._stratification import group_numbers

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def splits_by(
    cv: Any, X: Any, y: Any, groups: Any = None, *, stratify: bool = True,
    random_state: int | None = None, **metadata: Any,
) -> list[Split]:  # fmt: skip
    """Row indices of training and test parts, for any ``cv`` that scikit-learn accepts."""
    # An int is a number of folds, of whole groups if there are any; None means 5. Other values
    # must not separate the rows of a group. ``stratify`` and ``random_state`` apply to a number of
    # folds; without a seed, rows are assigned in order. Folds that are not stratified give an
    # unbiased estimate: the labels of a test part do not depend on those of its training part.
    n = y.shape[0] if hasattr(y, "shape") else len(y)
    if groups is not None:
        groups = group_numbers(groups)
        check_consistent_length(groups, np.empty(n))
    if cv is None or isinstance(cv, Integral):
        folds = 5 if cv is None else int(cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, got {folds}")
        if folds > n:
            raise ValueError(f"cv must be at most n_samples={n}, the number of rows, got {folds}")
        if groups is not None and folds > (found := int(groups.max()) + 1):
            raise ValueError(f"cv must be at most the number of groups, {found}, got {folds}")
        shuffled = {"shuffle": random_state is not None, "random_state": random_state}
        kind = KFold if groups is None and not stratify else IterativeStratifiedKFold
        splitter = kind(folds, **shuffled)
        if groups is not None:
            splitter = IterativeStratifiedGroupKFold(folds, **shuffled)
            # with a single label that all rows have, only group sizes matter
            y = y if stratify else np.ones((n, 1), dtype=np.int8)
    else:
        splitter = check_cv(cv)
    if groups is not None:
        metadata["groups"] = groups
    pairs = [(_rows(train), _rows(test)) for train, test in splitter.split(X, y, **metadata)]
    _check_pairs(pairs, n, groups)
    return pairs


def held_out_rows(
    n: int, share: float, groups: Any = None, *, ordered: bool = False, random_state: int
) -> Split:
    """Training and test rows: random ones, whole groups, or the last ones."""
    # Not stratified, so that measures on the test rows are unbiased.
    sizes = part_sizes(n, (1 - share, share))
    if ordered:
        return np.arange(sizes[0]), np.arange(sizes[0], n)
    if groups is None:
        rows = np.random.RandomState(random_state).permutation(n)
        return rows[: sizes[0]], rows[sizes[0] :]
    # with a single label that all rows have, only group sizes matter
    alike = np.ones((n, 1), dtype=np.int8)
    train, test, *_ = stratified_split(
        np.arange(n), alike, sizes=(1 - share, share), groups=groups, random_state=random_state
    )
    return train, test


def _rows(given: Any) -> NDArray[np.intp]:
    rows = np.asarray(given)
    return np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)


def _check_pairs(pairs: list[Split], n: int, groups: Any) -> None:
    if not pairs:
        raise ValueError("cv must have at least one split, got none")
    for k, (train, test) in enumerate(pairs):
        if not len(train) or not len(test):
            raise ValueError(
                f"cv must leave rows to train and test, got {len(train)}, {len(test)} in split {k}"
            )
        if max(train.max(), test.max()) >= n or min(train.min(), test.min()) < 0:
            raise ValueError(f"cv must contain indices of the {n} rows, got others in split {k}")
        if groups is not None and np.isin(groups[test], groups[train]).any():
            raise ValueError(
                f"cv must keep the rows of a group together, but split {k} separates some; use "
                "a number of folds, or scikit-learn's GroupKFold"
            )


def routed_splitter(cv: Any) -> Any:
    """The splitter of a metadata router: numbers of folds and pairs of rows accept groups."""
    return cv if hasattr(cv, "split") else IterativeStratifiedGroupKFold()


def groups_for(estimator: Any, groups: Any) -> dict[str, Any]:
    """Parameters of ``estimator.fit``: the groups, if it splits its rows itself."""
    if groups is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        wanted = get_routing_for_object(estimator).consumes("fit", ["groups"])
        return {"groups": groups} if wanted else {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in groups_for(last, groups).items()}
    takes = (
        has_fit_parameter(estimator, "groups")
        or isinstance(estimator, GridSearchCV | RandomizedSearchCV)
        or getattr(estimator, "_has_splits", lambda: False)()  # fit has **params
    )
    return {"groups": groups} if takes else {}
