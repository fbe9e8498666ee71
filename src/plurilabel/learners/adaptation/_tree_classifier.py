"""The base class of trees and forests that scikit-learn grows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import entr
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier, validate_features
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import constraints_of
from plurilabel._core.explanation.contributions import Given, Parts
from plurilabel._core.explanation.models import path_parts
from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.limits import check_size
from plurilabel._core.soft import expanded
from plurilabel._core.unknown import UnknownLabels

BLOCK = 2**17  # probabilities computed at once: they stay in the cache over all trees


@dataclass(eq=False, repr=False)
class TreeClassifier(ProbabilisticClassifier):
    """Base class of multi-label trees and forests.

    Hooks: ``_engine(criterion)`` returns scikit-learn's estimator, ``_trees()`` the fitted trees.
    """

    _X_form: ClassVar[dict[str, Any]] = {"dtype": np.float32, "ensure_all_finite": "allow-nan"}
    _parameter_constraints = constraints_of(
        DecisionTreeClassifier, "max_depth", "min_samples_split", "min_samples_leaf",
        "min_weight_fraction_leaf", "max_features", "max_leaf_nodes", "min_impurity_decrease",
        "ccp_alpha", "random_state",
    )  # fmt: skip
    _fitted: ClassVar[Declared] = {"constant_": numbers("n_labels_", finite=False)}

    _learns_from_known = True
    n_jobs: ClassVar[int | None] = None  # of learners without the parameter

    _: KW_ONLY
    criterion: Literal["entropy", "gini"] = "entropy"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    random_state: Any = None

    @abstractmethod
    def _engine(self, criterion: str) -> Any: ...

    @abstractmethod
    def _trees(self) -> list[Any]: ...

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Dense features may have missing values (NaN).
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Sparse labels are made dense. Probabilities between 0 and 1 are soft labels: see
            :func:`plurilabel.datasets.soft_copies`.
        sample_weight : array-like of shape (n,) or (n, q), default=None
        """
        X, y, sample_weight = expanded(self, X, y, sample_weight)
        self._fit(*self._validate_fit(X, y), sample_weight)
        return self

    def _fit(self, X: Any, Y: LabelMatrix, sample_weight: Any = None) -> None:
        self._check_memory(*Y.shape)
        if isinstance(Y, UnknownLabels):
            self._fit_known(X, dense(Y.Y), dense(Y.unknown), sample_weight)
            return
        Y = dense(Y)
        # scikit-learn keeps one class for a label that never varies; NaN marks those that do
        self.constant_ = np.where(Y.min(axis=0) == Y.max(axis=0), Y[0], np.nan)
        engine = self._engine(self.criterion)
        self.estimator_ = engine.fit(X, engine_labels(Y), sample_weight=sample_weight)

    def _check_memory(self, n: int, q: int) -> None:
        memory = 17.0 * n * q  # Y in int8, and twice in float64
        instead = "HOMER around it, or a lazy learner such as MLkNN"
        check_size(self, f"{n:,} instances and {q:,} labels", memory=memory, instead=instead)

    def _fit_known(
        self, X: Any, Y: NDArray[np.int8], unknown: NDArray[np.bool_], sample_weight: Any
    ) -> None:
        """Fit the splits with unknown labels set to their mean, the leaves to known labels."""
        n_known = (~unknown).sum(axis=0)
        present = Y.sum(axis=0, dtype=np.int64)
        self.constant_ = np.where(present == 0, 0.0, np.where(present == n_known, 1.0, np.nan))
        filled = engine_labels(np.where(unknown, present / np.maximum(n_known, 1), Y))
        self.estimator_ = self._engine("gini").fit(X, filled, sample_weight=sample_weight)
        weight = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight)
        for tree, drawn in zip(self._trees(), self._samples(len(Y))):
            w = sparse.diags_array(weight * drawn)
            count_known(tree, X, w @ Y, w @ ~unknown)

    def _samples(self, n: int) -> Iterator[NDArray[np.int64]]:
        """How often the sample of each tree contains each of n instances."""
        yield np.ones(n, dtype=np.int64)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        # Threads divide the rows, not the trees: sums do not depend on n_jobs.
        trees, n, q = self._trees(), X.shape[0], self.n_labels_
        tables = [tree.tree_.value[:, :, -1] for tree in trees]  # views, (nodes, q)
        total = np.zeros((n, q))

        def add(rows: slice) -> None:
            some, sums = X[rows], total[rows]
            for tree, table in zip(trees, tables):
                sums += table[tree.apply(some, check_input=False)]

        jobs = effective_n_jobs(self.n_jobs)
        blocks = row_blocks(n, 1, min(max(256, BLOCK // q), -(-n // jobs)))
        if jobs == 1:  # joblib's overhead exceeds the work of a small tree
            for rows in blocks:
                add(rows)
        else:
            Parallel(self.n_jobs, require="sharedmem")(delayed(add)(rows) for rows in blocks)
        total /= len(trees)
        fixed = ~np.isnan(self.constant_)
        total[:, fixed] = self.constant_[fixed]
        return total

    def _parts(self, x: Any, given: Given) -> Parts:
        grown = [tree.tree_ for tree in self._trees()]
        tables = [tree.value[:, :, -1] for tree in grown]
        fixed = ~np.isnan(self.constant_)
        return path_parts(grown, tables, x, given.names).fixed(fixed, self.constant_)

    def _frequencies(self, tree: Any) -> NDArray[np.float64]:
        """Frequency of each label in each node of a ``tree_``, (nodes, q)."""
        varies = np.isnan(self.constant_)
        return np.where(varies, tree.value[:, :, -1], self.constant_)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        form = {**self._X_form, "ensure_all_finite": True} if sparse.issparse(X) else self._X_form
        # values beyond float32 become infinite, which the validation reports: no second warning
        with np.errstate(over="ignore"):
            return validate_features(self, X, reset=reset, **form)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity, shape (d,)."""
        check_is_fitted(self)
        return self.estimator_.feature_importances_

    @property
    def label_importances_(self) -> NDArray[np.float64]:
        """Share of each label in the decrease of impurity, shape (q,)."""
        return self.label_feature_importances_.sum(axis=1)

    @property
    def label_feature_importances_(self) -> NDArray[np.float64]:
        """Share of each label and feature in the decrease of impurity, shape (q, d)."""
        check_is_fitted(self)
        grown = [tree.tree_ for tree in self._trees() if tree.tree_.node_count > 1]
        shares = np.zeros((self.n_labels_, self.n_features_in_))
        for tree in grown:
            decrease = impurity_decrease(tree, self._frequencies(tree), self.estimator_.criterion)
            shares += decrease / (decrease.sum() * len(grown))
        return shares


def engine_labels(Y: NDArray[Any]) -> NDArray[Any]:
    """Y as scikit-learn's trees expect it: 1-D for a single label."""
    return Y.ravel() if Y.shape[1] == 1 else Y


def count_known(tree: Any, X: Any, have: NDArray[Any], known: NDArray[Any]) -> None:
    """Set the node values of a tree to the frequencies among known labels."""
    # ``have`` and ``known`` (n, q) are the weights of instances that have, and know, each label. A
    # node that knows nothing about a label has the frequency of its parent.
    inner, n = tree.tree_, X.shape[0]
    leaf = sparse.csr_array(
        (np.ones(n), (tree.apply(X, check_input=False), np.arange(n))), (inner.node_count, n)
    )
    have, known = leaf @ have, leaf @ known  # (nodes, q)
    parents = [v for v in range(inner.node_count) if inner.children_left[v] != -1]
    children = [(inner.children_left[v], inner.children_right[v]) for v in parents]
    for v, (left, right) in zip(parents[::-1], children[::-1]):  # children come after parents
        have[v] += have[left] + have[right]
        known[v] += known[left] + known[right]
    share = np.divide(have, known, out=np.full(have.shape, np.nan), where=known > 0)
    share[0] = np.nan_to_num(share[0])
    for v, pair in zip(parents, children):
        for child in pair:
            silent = np.isnan(share[child])
            share[child, silent] = share[v, silent]
    inner.value[:, :, 0] = share


def impurity_decrease(tree: Any, p: NDArray[np.float64], criterion: str) -> NDArray[np.float64]:
    """Decrease of each label's own impurity by the splits on each feature, (q, d)."""
    # A split adds w H - w_left H_left - w_right H_right, where w is the weight of a node and H the
    # impurity of the label there, given its frequencies p (nodes, q).
    impurity = entr(p) + entr(1 - p) if criterion == "entropy" else 2 * p * (1 - p)
    weighted = tree.weighted_n_node_samples[:, None] * impurity  # (nodes, q)
    inner = np.flatnonzero(tree.children_left != -1)
    left, right = tree.children_left[inner], tree.children_right[inner]
    decrease = weighted[inner] - weighted[left] - weighted[right]
    split_on = sparse.csr_array(
        (np.ones(len(inner)), tree.feature[inner], np.arange(len(inner) + 1)),
        shape=(len(inner), tree.n_features),
    )
    return np.asarray((split_on.T @ decrease).T)
