"""IBLR-ML: logistic regression on the labels of the neighbours."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from plurilabel._blocks import dense
from plurilabel._compat import Interval
from plurilabel._fitted import Declared, numbers
from plurilabel.lazy._base import Floats, LazyClassifier, Rows
from plurilabel.lazy._counts import label_counts, label_frequencies


class IBLRML(LazyClassifier):
    """Instance-based learning and logistic regression.

    The features of an instance are, for each label, the sum over its k nearest neighbours of +1
    for those that have the label and -1 for those that lack it. A logistic regression for each
    label is learned on the features of all labels, so that one label can be evidence for another.
    With ``own_features=True`` the instance's own features are added (IBLR-ML+).

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that are counted.
    own_features : bool, default=False
        Whether the regression also uses the instance's own features. They should be scaled.
    C : float, default=1.0
        Inverse strength of the regression's L2 penalty.
    max_iter : int, default=1000
        Maximum number of iterations of its solver.
    metric, index, n_jobs :
        As in :class:`MLkNN`; ``n_jobs`` is also the number of regressions fitted at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (q, q) or (q, q + d)
        ``coef_[l, j]`` is the weight of label j's neighbours for label l: the interdependence of
        the labels. Zero for labels that all or no training instances have.
    intercept_ : ndarray of shape (q,)
    n_iter_ : int
        Iterations of the slowest of the regressions.

    Notes
    -----
    Uses dense matrices (n, q), also for sparse labels.

    References
    ----------
    W. Cheng, E. Hüllermeier. Combining instance-based learning and logistic regression for
    multilabel classification. Machine Learning 76, 2009.

    Examples
    --------
    >>> from plurilabel import IBLRML
    >>> X = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]]
    >>> Y = [[1, 0]] * 4 + [[0, 1]] * 4
    >>> IBLRML(n_neighbors=2).fit(X, Y).predict([[0.0], [1.4]])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LazyClassifier._parameter_constraints,
        "own_features": ["boolean"],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _fitted: ClassVar[Declared] = {
        "coef_": numbers("n_labels_", None),
        "intercept_": numbers("n_labels_"),
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        own_features: bool = False,
        C: float = 1.0,
        max_iter: int = 1000,
        metric: Any = "euclidean",
        index: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.own_features = own_features
        self.C = C
        self.max_iter = max_iter
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        del distances
        F = self._features(neighbors, self.X_)
        (m, q), have = self.Y_.shape, label_frequencies(self.Y_)
        self.coef_ = np.zeros((q, F.shape[1]))
        # A constant label keeps the odds of its smoothed frequency.
        self.intercept_ = np.log((1 + have) / (1 + m - have))
        varying = np.flatnonzero((have > 0) & (have < m))
        columns = self.Y_.tocsc() if sparse.issparse(self.Y_) else self.Y_
        regression = LogisticRegression(C=self.C, max_iter=self.max_iter)
        with threadpool_limits(1, user_api="blas"):  # many small problems, not one large
            models = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(clone(regression).fit)(F, dense(columns[:, [l]]).ravel()) for l in varying
            )
        for l, model in zip(varying, models):
            self.coef_[l], self.intercept_[l] = model.coef_[0], model.intercept_[0]
        self.n_iter_ = max((int(model.n_iter_[0]) for model in models), default=0)

    def _features(self, neighbors: Rows, X: Any) -> Any:
        # votes for minus votes against, (n, q)
        F = 2.0 * dense(label_counts(neighbors, self.Y_)) - self.n_neighbors
        if not self.own_features:
            return F
        return sparse.hstack([F, X], format="csr") if sparse.issparse(X) else np.hstack([F, X])

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:
        del distances
        return expit(self._features(neighbors, X) @ self.coef_.T + self.intercept_)
