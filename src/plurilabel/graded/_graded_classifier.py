"""Base class of learners of grades on an ordinal scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import AllOrNothing, default_label_names, validate_features
from plurilabel._core.compat import check_params
from plurilabel._core.fitted import Declared, count, flag, parameter, values
from plurilabel.graded._measures import mean_absolute_error
from plurilabel.graded._scale import at_least, consistent, read_grades


class GradedLearner(AllOrNothing, ClassifierMixin, BaseEstimator, ABC):
    """What learners of grades and of label distributions share."""

    _fitted: ClassVar[Declared] = {
        "n_features_in_": count(), "n_labels_": count(), "label_names_": values("n_labels_"),
        "single_output_": flag(),
    }  # fmt: skip

    def _checked(self, X: Any, y: Any) -> Any:
        """X of ``fit``, validated after the parameters."""
        if y is None:
            who = type(self).__name__
            raise ValueError(f"{who} requires y to be passed, but the target y is None")
        check_params(self)
        return self._validate_X(X, reset=True)

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        return validate_features(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags


class GradedClassifier(GradedLearner):
    """Base class of learners of grades. Subclasses write two hooks.

    Internally a grade is its rank on the scale, 0 to m - 1, and a learner learns the cut sets:
    whether the rank of label l is at least g, for g = 1, ..., m - 1.

    ``_fit(X, cuts)``
        X is float64 or float32, dense or CSR; cuts is 0/1 in int8, of shape (n, q, m - 1).
    ``_cumulative(X)``
        returns estimates (n, q, m - 1) of P(rank of l at least g). They need not be consistent:
        :func:`~plurilabel.graded.consistent` is applied to them.

    Subclasses have the parameters ``grades`` and ``decision``, see :class:`VerticalReduction`.

    Attributes
    ----------
    grades_ : ndarray of shape (m,)
        The scale, the lowest grade first; also as ``classes_``.
    label_names_ : ndarray of shape (q,)
    n_labels_ : int
    single_output_ : bool
        Whether ``y`` was 1-D: the grades of one label.

    Examples
    --------
    A learner that always gives the training frequencies:

    >>> import numpy as np
    >>> from plurilabel import GradedClassifier
    >>> class Frequencies(GradedClassifier):
    ...     def __init__(self, *, grades=None, decision="median"):
    ...         self.grades = grades
    ...         self.decision = decision
    ...
    ...     def _fit(self, X, cuts):
    ...         self.shares_ = cuts.mean(axis=0)
    ...
    ...     def _cumulative(self, X):
    ...         return np.broadcast_to(self.shares_, (X.shape[0], *self.shares_.shape))
    >>> learner = Frequencies().fit([[0.0], [1.0], [2.0]], [[1, 5], [3, 5], [3, 1]])
    >>> learner.predict([[7.0]])
    array([[3, 5]])
    """

    _fitted: ClassVar[Declared] = {
        "grades_": values("m"), "classes_": values("m"), "decision_": parameter(),
    }  # fmt: skip

    grades: Annotated[Any, None, "array-like"]
    decision: Literal["median", "mode"]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from instances and the grades of their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
        y : grades of shape (n, q)
            Integers, ordered categories (the columns of a data frame), or whatever is in the
            parameter ``grades``. 1-D for a single label.
        """
        X, cuts = self._validate_fit(X, y)
        if cuts.shape[2]:
            self._fit(X, cuts)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict grades.

        Returns
        -------
        ndarray of shape (n, q)
            The median of the predicted distribution (the lower one of two), best for absolute
            errors, or its mode, best for the share of wrong grades. (n,) if ``y`` was 1-D.
        """
        cumulative = self._consistent(X)
        if self.decision_ == "median":
            ranks = (cumulative > 0.5).sum(axis=2)
        else:
            ranks = _shares(cumulative).argmax(axis=2)
        return self.grades_[ranks[:, 0] if self.single_output_ else ranks]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each grade of each label.

        Returns
        -------
        ndarray of shape (n, q, m)
            Sums to one over the last axis. Shape (n, m) if ``y`` was 1-D.
        """
        shares = _shares(self._consistent(X))
        return shares[:, 0] if self.single_output_ else shares

    def predict_at_least(self, X: ArrayLike) -> NDArray[np.float64]:
        """Cumulative probabilities: that a label has at least a grade.

        Returns
        -------
        ndarray of shape (n, q, m - 1)
            For all grades but the lowest, never rising. Shape (n, m - 1) if ``y`` was 1-D.
        """
        cumulative = self._consistent(X)
        return cumulative[:, 0] if self.single_output_ else cumulative

    def expected_rank(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean rank on the scale, from 0 to m - 1: a score for ranking labels.

        Returns
        -------
        ndarray of shape (n, q)
            Shape (n,) if ``y`` was 1-D.
        """
        means = self._consistent(X).sum(axis=2)
        return means[:, 0] if self.single_output_ else means

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """One minus the mean absolute error in ranks divided by m - 1: 1 is best, 0 worst."""
        error = mean_absolute_error(y, self.predict(X), grades=self.grades_)
        return 1 - error / max(1, len(self.grades_) - 1)

    @abstractmethod
    def _fit(self, X: Any, cuts: NDArray[np.int8]) -> None: ...

    @abstractmethod
    def _cumulative(self, X: Any) -> NDArray[np.floating]: ...

    def _validate_fit(self, X: Any, y: Any) -> tuple[Any, NDArray[np.int8]]:
        """Validate X and y, remember the form of y, and return X and the cuts."""
        X = self._checked(X, y)
        found = read_grades(y, self.grades)
        check_consistent_length(X, found.ranks)
        self.decision_ = self.decision
        self.grades_ = self.classes_ = found.scale
        self.single_output_ = found.single
        self.n_labels_ = q = found.ranks.shape[1]
        self.label_names_ = np.asarray(found.names or default_label_names(q), dtype=object)
        return X, at_least(found.ranks, len(found.scale))

    def _consistent(self, X: Any) -> NDArray[np.float64]:
        """Cumulative probabilities (n, q, m - 1) for unchecked X."""
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if len(self.grades_) == 1:
            return np.empty((X.shape[0], self.n_labels_, 0))
        return consistent(self._cumulative(X))


def _shares(cumulative: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(rank = r) from P(rank >= g): (n, q, m)."""
    n, q, _ = cumulative.shape
    ends = np.concatenate([np.ones((n, q, 1)), cumulative, np.zeros((n, q, 1))], axis=2)
    return ends[:, :, :-1] - ends[:, :, 1:]
