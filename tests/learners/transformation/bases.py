"""Base estimators that cost almost nothing, so that the tests' time is that of the learners."""

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin


class Line(ClassifierMixin, BaseEstimator):
    """Least squares on targets -1 and 1; takes sparse rows and several classes."""

    def fit(self, X, y, sample_weight=None):
        A = self._with_one(X)
        self.classes_ = np.unique(y)
        T = np.where(np.asarray(y)[:, None] == self.classes_, 1.0, -1.0)
        w = np.ones(len(A)) if sample_weight is None else np.asarray(sample_weight)
        gram = A.T @ (w[:, None] * A) + 1e-3 * np.eye(A.shape[1])
        self.coef_ = np.linalg.solve(gram, A.T @ (w[:, None] * T))
        return self

    def decision_function(self, X):
        values = self._with_one(X) @ self.coef_
        return values[:, 1] if len(self.classes_) == 2 else values

    def predict(self, X):
        return self.classes_[(self._with_one(X) @ self.coef_).argmax(axis=1)]

    def _with_one(self, X):
        X = X.toarray() if sparse.issparse(X) else X
        return np.column_stack([X, np.ones(len(X))]).astype(float)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SureLine(Line):
    """The same with probabilities."""

    def predict_proba(self, X):
        return softmax(4 * (self._with_one(X) @ self.coef_), axis=1)
