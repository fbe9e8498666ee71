"""IBLR-ML: logistic regression on the labels of the neighbours."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from plurilabel._core.blocks import dense
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.limits import one_blas_thread
from plurilabel.learners.lazy._base import Floats, LazyClassifier, Rows
from plurilabel.learners.lazy._counts import known_counts, label_counts, label_frequencies
from plurilabel.learners.lazy._logistic import Regressions, Solution


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
        Whether the regression also uses the instance's own features. They should be scaled, so
        that the penalty and the search treat them alike; the optimum is found at any scale.
    C : float, default=1.0
        Inverse strength of the regression's L2 penalty.
    max_iter : int, default=1000
        Maximum number of Newton steps; some ten are enough.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`; ``n_jobs`` is also the number of regressions fitted at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (q, q) or (q, q + d)
        ``coef_[l, j]`` is the weight of label j's neighbours for label l: the interdependence of
        the labels. Zero for labels that all or no training instances have.
    intercept_ : ndarray of shape (q,)
    n_iter_ : int
        Steps of the slowest of the regressions.

    Notes
    -----
    Uses dense matrices (n, q), also for sparse labels. Labels may be missing: votes are counted
    as in :class:`MLkNN`, and each regression is learned on the instances that know its label.

    The regressions are solved to within 1e-8 of the optimum of their objective,
    ``C`` times the logistic loss plus half the squared weights.

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

    _learns_from_known = True
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
        device: str = "auto",
    ):
        self.n_neighbors = n_neighbors
        self.own_features = own_features
        self.C = C
        self.max_iter = max_iter
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs
        self.device = device

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        del distances
        F = self._features(neighbors, self.X_)
        (m, q), have = self.Y_.shape, label_frequencies(self.Y_)
        if self.unknown_ is not None:
            m = m - label_frequencies(self.unknown_)
        self.coef_ = np.zeros((q, F.shape[1]))
        # A constant label keeps the odds of its smoothed frequency.
        self.intercept_ = np.log((1 + have) / (1 + m - have))
        varying = np.flatnonzero((have > 0) & (have < m))
        columns = self.Y_.tocsc() if sparse.issparse(self.Y_) else self.Y_
        C, max_iter = self.fitted_params_["C"], self.fitted_params_["max_iter"]
        regressions = Regressions(F, C) if self.unknown_ is None else None

        def solve(label: int) -> Solution:
            y = dense(columns[:, [label]]).ravel()
            if regressions is not None:
                return regressions.solve(y, max_iter)
            rows = np.flatnonzero(~dense(self.unknown_[:, [label]]).ravel())
            return Regressions(F[rows], C).solve(y[rows], max_iter)

        with one_blas_thread():  # many small problems, not one large
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(solve)(l) for l in varying
            )
        for l, one in zip(varying, found):
            self.coef_[l], self.intercept_[l] = one.coef, one.intercept
        self.n_iter_ = max((one.n_iter for one in found), default=0)
        unsolved = sum(not one.converged for one in found)
        if unsolved:
            warnings.warn(
                f"{unsolved} of the {len(found)} regressions of IBLRML did not reach their "
                f"optimum in max_iter={max_iter} steps. Increase max_iter, or decrease C.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _dense_bytes(self) -> float:
        return 24.0  # F, and twice as much while it is made

    def _features(self, neighbors: Rows, X: Any) -> Any:
        # votes for minus votes against, (n, q)
        if self.unknown_ is None:
            counts = label_counts(neighbors, self.Y_)
        else:
            counts = known_counts(neighbors, self.Y_, self.unknown_, self.n_neighbors_)[0]
        F = 2.0 * dense(counts) - self.n_neighbors_
        if not self.fitted_params_["own_features"]:
            return F
        return sparse.hstack([F, X], format="csr") if sparse.issparse(X) else np.hstack([F, X])

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:
        del distances
        return expit(self._features(neighbors, X) @ self.coef_.T + self.intercept_)
