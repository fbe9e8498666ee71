"""Pruned sets: a label powerset without the rare label sets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Natural, rows_of_params
from plurilabel.learners.transformation._base_models import counted_instances
from plurilabel.learners.transformation._label_powerset import LabelPowerset, distinct_sets


@dataclass(eq=False, repr=False)
class PrunedSets(LabelPowerset):
    """A label powerset without rare label sets.

    Label sets seen ``pruning_threshold`` times or less are pruned. Their instances are
    reintroduced with subsets of their labels that are frequent label sets.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with ``predict_proba`` or ``decision_function``.
    pruning_threshold : int, default=1
        Only label sets seen more often are classes (p); 0 gives the label powerset.
    reintroduce : {"a", "b", None}, default="a"
        Which frequent, non-empty subsets to use. "a": the ``limit`` best, ranked by number of
        labels, then frequency. "b": all with more than ``limit`` labels. None: drop the instances.
    limit : int, default=2
        The b of the paper's strategies A_b and B_b.
    decision : {"joint", "marginal"}, default="joint"
        As in :class:`LabelPowerset`.

    Attributes
    ----------
    sets_, estimator_, n_samples_fit_, label_names_
        As in :class:`LabelPowerset`.

    Notes
    -----
    An instance with several frequent subsets is in the training set several times, each time with
    its full sample weight.

    With ``sample_weight``, the count of a label set is the total weight of its instances.
    ``pruning_threshold`` is on that scale: weights normalised to a small sum prune everything,
    which is an error.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes. Multi-label classification using ensembles of pruned sets.
    ICDM 2008.

    Examples
    --------
    The set of both labels is seen only once, so its instance is learned with each label alone.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import PrunedSets
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]
    >>> learner = PrunedSets(LogisticRegression(C=10)).fit(X, Y)
    >>> learner.sets_.toarray().tolist()
    [[0, 1], [1, 0]]
    >>> learner.predict_proba([[2.0]]).round(2)
    array([[0.5, 0.5]])
    """

    _: KW_ONLY
    pruning_threshold: Natural = 1
    reintroduce: Literal["a", "b"] | None = "a"
    limit: Natural = 2

    def _fit(self, X: Any, Y: LabelMatrix, **params: Any) -> None:
        self.n_samples_fit_ = counted_instances(X, params)
        weights, how = params.get("sample_weight"), (self.reintroduce, self.limit)
        seen = distinct_sets(Y)
        rows, sets, classes = prune(*seen, self.pruning_threshold, *how, weights)
        if not np.array_equal(rows, np.arange(X.shape[0])):
            X, params = X[rows], rows_of_params(X, params, rows)
        self._fit_classes(X, sets, classes, params)


def prune(
    sets: sparse.csr_array,
    classes: NDArray[np.intp],
    threshold: int,
    reintroduce: str | None,
    limit: int,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.intp], sparse.csr_array, NDArray[np.intp]]:
    """Rows, sets and classes of a training set without the sets seen ``threshold`` times or less.

    The other parameters are those of :class:`PrunedSets`.
    """
    counts = np.bincount(classes, weights, minlength=sets.shape[0])
    frequent = np.flatnonzero(counts > threshold)
    if len(frequent) == len(counts):
        return np.arange(len(classes)), sets, classes
    if len(frequent) == 0:
        raise ValueError(
            f"pruning_threshold must leave some label sets, but none of the {sets.shape[0]} is "
            f"seen more than {threshold} times in n_samples={len(classes)}"
            + ("" if weights is None else f", whose sample_weight sums to {weights.sum():g}")
        )
    size = np.diff(sets.indptr)
    new = np.full(sets.shape[0], -1)
    new[frequent] = np.arange(len(frequent))
    rows = np.flatnonzero(new[classes] >= 0)
    pieces = [(rows, new[classes[rows]])]
    if reintroduce is not None:
        rare = np.flatnonzero(counts <= threshold)
        whole = sets.astype(np.int64)
        shared = (whole[rare] @ whole[frequent].T).toarray()  # labels in common (rare, frequent)
        for r, common in zip(rare, shared):
            subsets = frequent[(common == size[frequent]) & (size[frequent] > 0)]
            if reintroduce == "a":
                subsets = subsets[np.lexsort((-counts[subsets], -size[subsets]))][:limit]
            else:
                subsets = subsets[size[subsets] > limit]
            again = np.flatnonzero(classes == r)
            pieces.append((np.repeat(again, len(subsets)), np.tile(new[subsets], len(again))))
    rows, classes = (np.concatenate(parts) for parts in zip(*pieces))
    order = np.argsort(rows, kind="stable")  # some base estimators depend on the order of rows
    return rows[order], sets[frequent], classes[order]
