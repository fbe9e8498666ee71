"""IBLR-ML: logistic regression on the labels of the neighbours."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from plurilabel._core.blocks import dense
from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.limits import one_blas_thread
from plurilabel.learners.lazy._lazy_classifier import LazyClassifier
from plurilabel.learners.lazy._neighbor_labels import Floats, Rows, label_frequencies

GAIN = 1e-12  # a step that gains less than this share of the objective is the last
DIRECT = 500  # dense features up to which the Hessian is factorised, not only multiplied with


@dataclass(eq=False, repr=False)
class IBLRML(LazyClassifier):
    """Instance-based learning and logistic regression.

    The features of an instance are, for each label, the sum over its k nearest neighbours of +1
    for those that have the label and -1 for those that lack it. A logistic regression for each
    label is learned on the features of all labels, so that one label can be evidence for another.
    With ``own_features=True`` the instance's own features are added (IBLR-ML+).

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours.
    own_features : bool, default=False
        Whether the regression also uses the instance's own features. Scale them, so that the
        penalty and the search treat them alike; the optimum is found at any scale.
    C : float, default=1.0
        Inverse strength of the regression's L2 penalty.
    max_iter : int, default=1000
        Maximum number of Newton steps; about ten are enough.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`; ``n_jobs`` is also the number of regressions fitted at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (q, q) or (q, q + d)
        ``coef_[l, j]`` is the weight of label j's neighbours for label l: the interdependence of
        the labels. Zero for labels that all or no training instances have.
    intercept_ : ndarray of shape (q,)
    n_iter_ : int
        Largest number of steps of a regression.

    Notes
    -----
    Uses dense matrices (n, q), also for sparse labels. Labels may be unknown: votes are counted
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
    _fitted: ClassVar[Declared] = {
        "coef_": numbers("n_labels_", None),
        "intercept_": numbers("n_labels_"),
    }

    _: KW_ONLY
    own_features: bool = False
    C: float = 1.0
    max_iter: int = 1000

    def _learn(self, distances: Floats, neighbors: Rows) -> None:
        F = self._features(distances, neighbors, self.X_)
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
            found = Parallel(n_jobs=self.n_jobs, prefer="threads")(map(delayed(solve), varying))
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

    def _features(self, distances: Floats, neighbors: Rows, X: Any) -> Any:
        """Votes for minus votes against each label, (n, q), and the own features."""
        F = 2.0 * dense(self._labels.events(distances, neighbors).count) - self.n_neighbors_
        if not self.fitted_params_["own_features"]:
            return F
        return sparse.hstack([F, X], format="csr") if sparse.issparse(X) else np.hstack([F, X])

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:
        return expit(self._features(distances, neighbors, X) @ self.coef_.T + self.intercept_)


class Solution(NamedTuple):
    """Weights (d,) and intercept, the number of steps, and whether they are the optimum."""

    coef: Floats
    intercept: float
    n_iter: int
    converged: bool


class Regressions:
    """Logistic regressions with an L2 penalty on the same features, solved by Newton's method.

    For label y and features F the objective over weights w and an intercept b is

        C Σ_i log(1 + exp(-s_i (F_i·w + b))) + ‖w‖² / 2        with s_i = ±1

    scikit-learn's solvers stop by the size of the gradient, which depends on the scale of the
    features: with raw features of Emotions they leave the objective 3.4 above its optimum.
    Newton's method knows its distance: a step still gains half of the decrement g·H⁻¹g.

    Dense columns are centred, and columns with values above one are scaled down by a power of two.
    The intercept and the penalty follow, so the solution is that of the features as given.
    """

    def __init__(self, F: Any, C: float):
        d = F.shape[1]
        if sparse.issparse(F):
            self.mean, largest = np.zeros(d), np.zeros(d)
            np.maximum.at(largest, F.indices, np.abs(F.data))
        else:
            self.mean = F.mean(axis=0)
            F = F - self.mean
            largest = np.abs(F).max(axis=0)
        self.scale = np.ldexp(1.0, np.maximum(np.frexp(largest)[1], 0))
        if sparse.issparse(F):
            data = F.data / self.scale[F.indices]
            self.F: Any = sparse.csr_array((data, F.indices, F.indptr), F.shape)
        else:
            self.F = F / self.scale
        self.C, self.penalty = C, np.append(self.scale**-2.0, 0.0)  # of scaled weights

    def solve(self, y: NDArray[Any], max_iter: int) -> Solution:
        F, C, d = self.F, self.C, self.F.shape[1]
        sign = np.where(y > 0.5, 1.0, -1.0)
        other = np.minimum(y, 1 - y)  # share of the other sign, if labels are soft

        def objective(u: Floats) -> tuple[float, Floats]:
            z = F @ u[:d] + u[d]
            loss = np.logaddexp(0, -sign * z) + other * sign * z
            return C * loss.sum() + self.penalty @ u**2 / 2, z

        u = np.zeros(d + 1)  # scaled weights and the intercept
        u[d] = np.log((1 + y.sum()) / (1 + len(y) - y.sum()))
        value, z = objective(u)
        n_iter, last = 0, False
        while n_iter < max_iter and not last:
            n_iter += 1
            p = expit(z)
            slope = C * (p - y)
            g = np.append(F.T @ slope, slope.sum()) + self.penalty * u
            step = self._newton(C * p * (1 - p), g)
            gain = float(g @ step) / 2
            last = gain <= GAIN * value
            length = 1.0
            while True:  # the last step is a full one: only rounding of the objective is left
                u_new = u - length * step
                value_new, z_new = objective(u_new)
                if last or value_new <= value - 1e-4 * length * gain or length < 1e-10:
                    break
                length /= 2
            u, value, z = u_new, value_new, z_new
        coef = u[:d] / self.scale
        return Solution(coef, float(u[d] - self.mean @ coef), n_iter, last)

    def _newton(self, h: Floats, g: Floats) -> Floats:
        """The step H⁻¹ g, where h has the second derivative of each instance's loss."""
        F, d = self.F, self.F.shape[1]
        if isinstance(F, np.ndarray) and d <= DIRECT:
            H = np.empty((d + 1, d + 1))
            weighted = F * h[:, None]
            H[:d, :d], H[d, :d], H[d, d] = weighted.T @ F, weighted.sum(axis=0), h.sum()
            H[:d, d] = H[d, :d]
            H[np.diag_indices(d + 1)] += self.penalty
            # Features that depend on each other may leave it singular after rounding.
            H[np.diag_indices(d + 1)] *= 1 + 1e-14
            return linalg.cho_solve(linalg.cho_factor(H), g)

        def times(v: Floats) -> Floats:
            w = h * (F @ v[:d] + v[d])
            return np.append(F.T @ w, w.sum()) + self.penalty * v

        squares = F.multiply(F) if sparse.issparse(F) else F * F
        diagonal = np.append(squares.T @ h, h.sum()) + self.penalty
        inverse = LinearOperator((d + 1, d + 1), matvec=lambda v: v / diagonal)
        H = LinearOperator((d + 1, d + 1), matvec=times)
        return cg(H, g, rtol=1e-6, maxiter=4 * d, M=inverse)[0]
