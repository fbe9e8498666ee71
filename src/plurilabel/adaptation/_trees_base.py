"""What the tree and the forest share: the door, scikit-learn's engine, leaves as probabilities."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from plurilabel._compat import Interval, StrOptions
from plurilabel.adaptation._trees_importances import impurity_decrease
from plurilabel.adaptation._trees_leaves import label_frequencies, mean_frequencies
from plurilabel.base import LabelMatrix, ProbabilisticClassifier

FRACTION = Interval(Real, 0.0, 1.0, closed="right")


class TreeClassifier(ProbabilisticClassifier):
    """Trees of multi-label entropy, grown by scikit-learn.

    Hooks: ``_engine()`` makes the estimator that grows them, ``_trees()`` lists the grown ones.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "criterion": [StrOptions({"entropy", "gini"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left"), FRACTION],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            FRACTION,
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
    }

    criterion: str
    n_jobs: int | None = None

    @abstractmethod
    def _engine(self) -> Any: ...

    @abstractmethod
    def _trees(self) -> list[Any]: ...

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from instances and their label sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Dense features may be missing (NaN).
        y : 0/1 matrix of shape (n, q), dense, sparse or a data frame; or 1-D classes
            Sparse labels are made dense: the engine needs them so.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, Y = self._validate_fit(X, y)
        self._fit(X, Y, sample_weight)
        return self

    def _fit(self, X: Any, Y: LabelMatrix, sample_weight: Any = None) -> None:
        Y = dense_labels(Y)
        # the engine keeps a single class for a label that never varies: NaN marks those that do
        self.constant_ = np.where(Y.min(axis=0) == Y.max(axis=0), Y[0], np.nan)
        self.estimator_ = self._engine().fit(X, engine_labels(Y), sample_weight=sample_weight)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return mean_frequencies(self._trees(), X, self.constant_, self.n_jobs)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        # values beyond float32 become infinite, and the check names them: no second warning
        with np.errstate(over="ignore"):
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=np.float32,
                ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
            )
        return _with_short_indices(X) if sparse.issparse(X) else X

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
        grown = [tree for tree in self._trees() if tree.tree_.node_count > 1]
        shares = np.zeros((self.n_labels_, self.n_features_in_))
        for tree in grown:
            decrease = impurity_decrease(
                tree.tree_, label_frequencies(tree.tree_, self.constant_), self.criterion
            )
            shares += decrease / (decrease.sum() * len(grown))
        return shares

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def dense_labels(Y: LabelMatrix) -> NDArray[np.int8]:
    return Y.toarray() if sparse.issparse(Y) else Y


def engine_labels(Y: NDArray[np.int8]) -> NDArray[np.int8]:
    """A single label in the 1-D form that the engine asks for."""
    return Y.ravel() if Y.shape[1] == 1 else Y


def _with_short_indices(X: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with the 32-bit indices that the engine asks for, where they suffice."""
    if X.indices.dtype == X.indptr.dtype == np.intc or max(X.nnz, *X.shape) > 2**31 - 1:
        return X
    parts = (X.data, X.indices.astype(np.intc), X.indptr.astype(np.intc))
    return sparse.csr_array(parts, shape=X.shape)
