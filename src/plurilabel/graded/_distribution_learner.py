"""Base class of learners of label distributions."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import column_names, default_label_names
from plurilabel._core.fitted import Declared, values
from plurilabel.graded._graded_classifier import GradedLearner
from plurilabel.graded._measures import check_distributions, intersection_similarity


class DistributionLearner(GradedLearner):
    """Base class of learners of label distributions. Subclasses write two hooks.

    Degrees tell how far labels describe an instance; they are non-negative and sum to one.

    ``_fit(X, D)``
        X is float64 or float32, dense or CSR; D is float64 of shape (n, q).
    ``_distributions(X)``
        returns degrees (n, q) that sum to one.

    A 1-D y is one class per instance; ``predict`` then returns the one with the highest degree.

    Attributes
    ----------
    label_names_ : ndarray of shape (q,)
    n_labels_ : int
    single_output_ : bool
        Whether ``y`` was 1-D.
    classes_ : ndarray of shape (q,)
        The classes of a 1-D y, else the numbers of the labels.

    Examples
    --------
    A learner that always gives the mean of the training distributions:

    >>> import numpy as np
    >>> from plurilabel import DistributionLearner
    >>> class Mean(DistributionLearner):
    ...     def _fit(self, X, D):
    ...         self.mean_ = D.mean(axis=0)
    ...
    ...     def _distributions(self, X):
    ...         return np.tile(self.mean_, (X.shape[0], 1))
    >>> Mean().fit([[0.0], [1.0]], [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]).predict([[3.0]])
    array([[0.25, 0.75, 0.  ]])
    """

    _fitted: ClassVar[Declared] = {"classes_": values("n_labels_")}

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from instances and the degrees of their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : array-like or data frame of shape (n, q), or 1-D classes
            Non-negative degrees; rows sum to one up to a thousandth, and are scaled to do so.
        """
        X = self._checked(X, y)
        D = self._encode(y)
        check_consistent_length(X, D)
        self._fit(X, D)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict label distributions.

        Returns
        -------
        ndarray of shape (n, q)
            Degrees that sum to one in each row. Classes of shape (n,) if ``y`` was 1-D.
        """
        degrees = self.predict_proba(X)
        return self.classes_[degrees.argmax(axis=1)] if self.single_output_ else degrees

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Degrees of the labels, of shape (n, q), whatever the form of ``y`` was."""
        check_is_fitted(self)
        return self._distributions(self._validate_X(X, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Mean intersection of true and predicted distributions, or accuracy for 1-D classes."""
        predicted = self.predict(X)
        if self.single_output_:
            return float(accuracy_score(y, predicted))
        return intersection_similarity(y, predicted)

    @abstractmethod
    def _fit(self, X: Any, D: NDArray[np.float64]) -> None: ...

    @abstractmethod
    def _distributions(self, X: Any) -> NDArray[np.float64]: ...

    def _encode(self, y: Any) -> NDArray[np.float64]:
        """Degrees (n, q); remembers the form of y."""
        names, flat = column_names(y), None if sparse.issparse(y) else _classes(y)
        self.single_output_ = flat is not None
        if flat is None:
            D = check_distributions(y, name="y")
            D = D / D.sum(axis=1, keepdims=True)
            self.classes_ = np.arange(D.shape[1])
        else:
            assert_all_finite(flat, input_name="y")
            check_classification_targets(flat)
            self.classes_, place = np.unique(flat, return_inverse=True)
            D = np.eye(len(self.classes_))[place]
            names = [str(c) for c in self.classes_]
        self.n_labels_ = D.shape[1]
        self.label_names_ = np.asarray(names or default_label_names(D.shape[1]), dtype=object)
        return D


def _classes(y: Any) -> NDArray[Any] | None:
    """The 1-D form of y if it gives one class to each instance, None if it has degrees."""
    # A single column that is not all ones cannot be degrees of one label: it is read as classes,
    # with scikit-learn's warning.
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1 and not (y == 1).all():
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. "
            "It is read as one class per instance.",
            DataConversionWarning,
            stacklevel=4,
        )
        return y.ravel()
    return y if y.ndim == 1 else None
