"""Label sets as classes of a multi-class problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from plurilabel.base import LabelMatrix
from plurilabel.transformation._models import NO_PARAMS, Always, Params, dense, rows_of_params


def distinct_sets(Y: LabelMatrix) -> tuple[sparse.csr_array, NDArray[np.intp]]:
    """The distinct rows of Y, and which of them each row is.

    The sets are in the order of their 0/1 rows, whether Y is dense or sparse.
    """
    q = Y.shape[1]
    if q <= 62:
        codes = dense(Y) @ (np.int64(1) << np.arange(q - 1, -1, -1, dtype=np.int64))
        _, first, classes = np.unique(codes, return_index=True, return_inverse=True)
        return sparse.csr_array(Y[first]), classes.ravel()
    csr = sparse.csr_array(Y)
    # Of two 0/1 rows that one comes later which has a 1 at the first place where they differ;
    # negated column numbers compare in the same way.
    keys = [tuple(-row) for row in np.split(csr.indices, csr.indptr[1:-1])]
    number = {key: c for c, key in enumerate(sorted(set(keys)))}
    classes = np.fromiter((number[key] for key in keys), dtype=np.intp, count=len(keys))
    first = np.unique(classes, return_index=True)[1]
    return csr[first], classes


class LabelSetModel:
    """A multi-class model whose classes are the label sets that occur in training.

    Attributes
    ----------
    sets : csr_array of shape (c, q)
    """

    def __init__(self, sets: sparse.csr_array, model: Any, method: str, n: int):
        self.sets = sets
        self.model = model
        self.method = method
        self.n = n

    @classmethod
    def fit(
        cls,
        estimator: Any,
        X: Any,
        Y: LabelMatrix,
        method: str,
        params: Params = NO_PARAMS,
        *,
        pruning: int = 0,
        reintroduce: str | None = None,
        limit: int = 2,
    ) -> LabelSetModel:
        """Train a clone of the estimator; with ``pruning``, without the rare label sets."""
        n = X.shape[0]
        sets, classes = distinct_sets(Y)
        if pruning:
            rows, classes, sets = prune(sets, classes, pruning, reintroduce, limit)
            if len(rows) < n or not np.array_equal(rows, np.arange(n)):
                X, params = X[rows], rows_of_params(params, rows, n)
        model = None if sets.shape[0] == 1 else clone(estimator).fit(X, classes, **params)
        return cls(sets, model, method, n)

    def set_scores(self, X: Any) -> NDArray[np.floating]:
        """Score of each label set, shape (n, c)."""
        c = self.sets.shape[0]
        if self.model is None:
            return np.ones((X.shape[0], 1))
        scores = np.asarray(getattr(self.model, self.method)(X))
        if scores.ndim == 1:  # two classes, positive for the second
            scores = np.column_stack([-scores, scores])
        if scores.shape[1] != c:
            raise ValueError(
                f"estimator must give a score for each of its {c} classes, but {self.method} of "
                f"{type(self.model).__name__} has {scores.shape[1]} columns; set "
                "decision_function_shape='ovr' if it has that parameter"
            )
        return scores

    def best_sets(self, X: Any) -> NDArray[np.bool_]:
        """The label set with the highest score, shape (n, q)."""
        return self.sets[self.set_scores(X).argmax(axis=1)].toarray() == 1

    def label_scores(self, X: Any) -> NDArray[np.floating]:
        """Score of each label, shape (n, q): its probability, or its margin."""
        scores = self.set_scores(X)
        if self.method == "predict_proba":
            # the class probabilities add up to one only up to rounding
            return np.clip(scores @ self.sets.astype(scores.dtype), 0.0, 1.0)
        return set_margins(scores, self.sets, self.n)


def set_margins(
    scores: NDArray[np.floating], sets: sparse.csr_array, n: int
) -> NDArray[np.float64]:
    """For each label the best score of a set with it, less the best of a set without it.

    Positive for the labels of the best set, and only for those. A label that is in all sets, or
    in none, has the score of a constant label after n training instances.
    """
    members = sparse.csc_array(sets)
    c, q = members.shape
    margins = np.empty((len(scores), q))
    for l in range(q):
        has = np.zeros(c, dtype=bool)
        has[members.indices[members.indptr[l] : members.indptr[l + 1]]] = True
        if has.all() or not has.any():
            margins[:, l] = Always(bool(has.all()), n).score("decision_function")
        else:
            margins[:, l] = scores[:, has].max(axis=1) - scores[:, ~has].max(axis=1)
    return margins


def prune(
    sets: sparse.csr_array,
    classes: NDArray[np.intp],
    threshold: int,
    reintroduce: str | None,
    limit: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], sparse.csr_array]:
    """Rows, classes and sets of a training set without the sets seen ``threshold`` times or less.

    An instance of a rare set comes back once for each frequent subset of its set: with strategy
    "a" for the ``limit`` best ones, largest first, then most frequent; with "b" for all that have
    more than ``limit`` labels.
    """
    counts = np.bincount(classes, minlength=sets.shape[0])
    frequent = np.flatnonzero(counts > threshold)
    if len(frequent) == 0:
        raise ValueError(
            f"pruning_threshold must leave some label sets, but none of the {sets.shape[0]} is "
            f"seen more than {threshold} times in n_samples={len(classes)}"
        )
    new = np.full(sets.shape[0], -1)
    new[frequent] = np.arange(len(frequent))
    rows = np.flatnonzero(new[classes] >= 0)
    pieces = [(rows, new[classes[rows]])]
    if reintroduce is not None:
        for rare, subsets in _frequent_subsets(sets, counts, frequent, reintroduce, limit):
            again = np.flatnonzero(classes == rare)
            pieces.append((np.repeat(again, len(subsets)), np.tile(new[subsets], len(again))))
    rows, classes = (np.concatenate(parts) for parts in zip(*pieces))
    order = np.argsort(rows, kind="stable")  # the order of the data, so that no base is misled
    return rows[order], classes[order], sets[frequent]


def _frequent_subsets(
    sets: sparse.csr_array,
    counts: NDArray[np.integer],
    frequent: NDArray[np.intp],
    strategy: str,
    limit: int,
) -> list[tuple[int, NDArray[np.intp]]]:
    """For each rare set the frequent sets that are to stand for it."""
    rare = np.setdiff1d(np.arange(sets.shape[0]), frequent)
    size = np.diff(sets.indptr)
    whole = sets.astype(np.int64)
    shared = (whole[rare] @ whole[frequent].T).toarray()  # labels in common (rare, frequent)
    result = []
    for r, common in zip(rare, shared):
        subsets = frequent[(common == size[frequent]) & (size[frequent] > 0)]
        if strategy == "a":
            subsets = subsets[np.lexsort((-counts[subsets], -size[subsets]))][:limit]
        else:
            subsets = subsets[size[subsets] > limit]
        if len(subsets):
            result.append((int(r), subsets))
    return result
