"""Kernel regressions of the labels, with penalties and weights by leave-one-out in closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import expit, logit
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis

from plurilabel._core.base import LabelMatrix, ProbabilisticClassifier
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import AtLeastOne, StrOptions
from plurilabel._core.fitted import Declared, numbers, parameter
from plurilabel._core.limits import check_size
from plurilabel.thresholds import ScoreCalibrator

Floats = NDArray[np.float64]

KERNELS = ("linear", "rbf", "laplacian", "ranked_rbf", "ranked_laplacian")
FARTHEST = 8.0  # standard deviations: values farther from the mean are clipped
REACH = {"rbf": 1.0, "laplacian": 2.0, "ranked_rbf": 2.0, "ranked_laplacian": 2.0}
INTERVALS = 8  # of a feature's ranks, whose labels are compared to weigh it
HELD = 4  # times the components: rows with leave-one-out answers, at most
AT_ONCE = 2**22  # kernel values in a block


@dataclass(eq=False, repr=False)
class KernelRegressions(ProbabilisticClassifier):
    r"""Weighted mean of kernel ridge regressions of the labels, with a sigmoid for each label.

    Each regression is one decomposition for all labels. It also gives the answers for the training
    rows as if each row had been left out, without another fit: these choose the penalties, weigh
    the kernels and calibrate the probabilities. There is nothing to tune.

    Parameters
    ----------
    kernels : str or sequence of str
        By default all of the following. With z the standardized features and d a distance divided
        by its mean:

        ``"linear"``
            the product of z and z', divided by the mean of z z.
        ``"rbf"``
            exp(-d), of squared Euclidean distances.
        ``"laplacian"``
            exp(-2 d), of Manhattan distances.
        ``"ranked_rbf"``, ``"ranked_laplacian"``
            exp(-2 d) of both distances, of ranks in place of values; features count the more,
            the more they say about the labels.
    alphas : sequence of float, default=(0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
        Penalties, of which each kernel takes the one with the smallest leave-one-out error.
    n_components : int, default=1024
        Rows that the kernels compare all rows with, at most (Nystroem's method). They are drawn at
        random if there are more.
    random_state : int, RandomState instance or None, default=None
        Determines the rows that are drawn.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_kernels,)
        The penalty of each kernel.
    weights_ : ndarray of shape (n_kernels,)
        The weight of each kernel, by non-negative least squares of the leave-one-out answers; all
        are 0 if no kernel says anything about the labels.
    errors_ : ndarray of shape (n_kernels, n_alphas)
        Leave-one-out squared errors, as shares of the variance of a label, in the mean.
    feature_weights_ : ndarray of shape (d,)
        What ranked kernels multiply ranks with, 1 in the mean.
    components_ : ndarray or CSR matrix of shape (m, d)
        The rows that the kernels compare with.
    dual_coef_, intercept_ : ndarrays of shape (n_kernels, m, q) and (q,)
        The log odds are the intercept and the sum of all kernels times their coefficients.
    label_names_ : ndarray of shape (q,)

    See Also
    --------
    sklearn.kernel_ridge.KernelRidge : One kernel, with given penalty and scale.

    Notes
    -----
    With the kernel C (n, m) of all rows and the components, K (m, m) that of the components, and
    R the labels minus their frequencies, a regression is

    .. math:: \min_A \|R - C A\|^2 + \alpha \operatorname{tr} A^T K A.

    Let :math:`K = L L^T`, :math:`B = C L^{-T}`, :math:`B^T B = V S V^T` and :math:`P = B V`. The
    answers are :math:`H R` with :math:`H = P (S + \alpha)^{-1} P^T` for all penalties at once, and
    that for row i without it is :math:`(h_i R - h_{ii} r_i) / (1 - h_{ii})`. Means, scales, ranks
    and label frequencies are those of all rows, and are not computed again without the row.

    With more rows than ``n_components``, ranks and scales are those of the components, and
    leave-one-out answers those of at most four times as many rows, while the regressions learn
    from all rows. Time is linear in the rows, and memory is that of these two and of blocks.

    Sparse X stays sparse, with the same answers: distances do not change if the value or rank of 0
    is subtracted.

    References
    ----------
    R. Rifkin, R. Lippert. Notes on regularized least squares. MIT, 2007. C. Williams, M. Seeger.
    Using the Nystroem method to speed up kernel machines. NIPS 2000. L. Breiman. Stacked
    regressions. Machine Learning, 1996.

    Examples
    --------
    >>> from plurilabel import KernelRegressions, datasets, metrics, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = KernelRegressions(random_state=0).fit(X_train, Y_train)
    >>> round(metrics.f1(Y_test, learner.predict(X_test)), 2)
    0.99
    """

    _learns_from_soft = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernels": [StrOptions({*KERNELS}), list, tuple],
        "alphas": [list, tuple, np.ndarray],
    }
    _fitted: ClassVar[Declared] = {
        "kernels_": parameter(),
        "components_": numbers("m", "n_features_in_"),
        "mean_": numbers("n_features_in_"), "scale_": numbers("n_features_in_", finite=False),
        "feature_weights_": numbers("n_features_in_"),
        "gamma_": numbers("kernels"), "alpha_": numbers("kernels"),
        "weights_": numbers("kernels"), "errors_": numbers("kernels", None),
        "dual_coef_": numbers("kernels", "m", "n_labels_"), "intercept_": numbers("n_labels_"),
    }  # fmt: skip

    kernels: str | Sequence[str] = KERNELS
    _: KW_ONLY
    alphas: Sequence[float] = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    n_components: AtLeastOne = 1024
    random_state: Any = None

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.kernels_, alphas = self._checked()
        (n, q), k = Y.shape, len(self.kernels_)
        m, h = min(n, self.n_components), min(n, HELD * self.n_components)
        memory = 8.0 * (m * (6 * m + 3 * h) + q * (k * (m + h) + len(alphas) * h))
        sizes, instead = f"{q:,} labels and {m:,} components", "fewer n_components"
        check_size(self, sizes, memory=memory, instead=f"{instead}, or OneVsAllLinear")
        order = check_random_state(self.random_state).permutation(n)
        rows, held, rest = map(np.sort, (order[:m], order[:h], order[h:]))
        f = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel() / n
        Y_held, self.components_ = dense(Y[held]).astype(np.float64), _in_double(X[rows])
        R = Y_held - f
        self._standardize()
        Y_m = dense(Y[rows])
        self.feature_weights_ = self._relevance(Y_m - Y_m.mean(axis=0))
        self.gamma_, self.alpha_ = np.ones(k), np.empty(k)
        self.errors_ = np.empty((k, len(alphas)))
        coef, answers = np.empty((k, m, q)), np.empty((k, h, q))
        variance = np.square(R).mean(axis=0)
        varies = variance > 0
        for j, name in enumerate(self.kernels_):
            Z = self._view(self.components_, name)
            D = _compare(Z, Z, name)
            size = D.diagonal().mean() if name == "linear" else D.mean() / REACH[name]
            self.gamma_[j] = 1.0 / size if size > 0 else 1.0
            K = _kernel(D, self.gamma_[j], name)
            K[np.diag_indices(m)] += 1e-8 * K.diagonal().mean() + 1e-12
            L = cholesky(K, lower=True)
            B = np.empty((m, h))
            for part, C in self._blocks(X, j, held):
                B[:, part] = solve_triangular(L, C.T, lower=True)
            BB, BR = B @ B.T, B @ R
            for part, C in self._blocks(X, j, rest):
                b = solve_triangular(L, C.T, lower=True)
                BB += b @ b.T
                BR += b @ (dense(Y[rest[part]]) - f)
            S, V = np.linalg.eigh(BB)
            S, T, P = np.maximum(S, 0.0), V.T @ BR, B.T @ V
            found = [_left_out(P, S + alpha, T, R) for alpha in alphas]
            errors = np.array([np.square(each - R).mean(axis=0) for each in found])
            self.errors_[j] = (errors[:, varies] / variance[varies]).sum(axis=1) / q
            best = int(self.errors_[j].argmin())
            self.alpha_[j], answers[j] = alphas[best], found[best]
            scaled = V @ (T / (S + alphas[best])[:, None])
            coef[j] = solve_triangular(L, scaled, lower=True, trans="T")
        scale = np.sqrt(np.where(varies, variance, 1.0))
        self.weights_ = nnls((answers / scale).reshape(k, -1).T, (R / scale).ravel())[0]
        mean = np.tensordot(self.weights_, answers, 1)
        slope, self.intercept_ = _sigmoids(mean, Y_held, f, n)
        self.dual_coef_ = coef * self.weights_[:, None, None] * slope

    def _scores(self, X: Any) -> Floats:
        total = np.tile(self.intercept_, (X.shape[0], 1))
        for j, coef in enumerate(self.dual_coef_):
            if coef.any():
                for part, C in self._blocks(X, j, np.arange(X.shape[0])):
                    total[part] += C @ coef
        return expit(total)

    def _blocks(self, X: Any, j: int, rows: NDArray[np.intp]) -> Iterator[tuple[slice, Floats]]:
        """Slices of some rows, by their numbers, and the kernel j of these and the components."""
        name = self.kernels_[j]
        Z = self._view(self.components_, name)
        for part in row_blocks(len(rows), max(self.components_.shape), AT_ONCE):
            z = self._view(_in_double(X[rows[part]]), name)
            yield part, _kernel(_compare(z, Z, name), self.gamma_[j], name)

    def _checked(self) -> tuple[tuple[str, ...], Floats]:
        """Kernels and penalties."""
        names = (self.kernels,) if isinstance(self.kernels, str) else tuple(self.kernels)
        alphas = np.asarray(self.alphas)
        if not names or not set(names) <= set(KERNELS):
            raise ValueError(f"kernels must be some of {', '.join(KERNELS)}, got {names}")
        if (
            alphas.ndim != 1
            or not len(alphas)
            or alphas.dtype.kind not in "iuf"
            or min(alphas) <= 0
        ):
            raise ValueError(f"alphas must be positive numbers, got {self.alphas!r}")
        return names, alphas.astype(np.float64)

    # what kernels see of a row -----------------------------------------------------------------

    def _standardize(self) -> None:
        """Set means and standard deviations, which are infinite where nothing varies."""
        X = self.components_
        low, high = (dense(found(axis=0)).ravel() for found in (X.min, X.max))
        largest = np.maximum(abs(low), abs(high))
        largest[largest == 0] = 1.0  # without it, squares of huge values would overflow
        if sparse.issparse(X):
            mean, variance = mean_variance_axis(_stored(X, X.data / largest[X.indices]), axis=0)
        else:
            mean, variance = (X / largest).mean(axis=0), (X / largest).var(axis=0)
        self.mean_, deviation = mean * largest, np.sqrt(variance) * largest
        self.scale_ = np.where((low < high) & (deviation > 0), deviation, np.inf)

    def _view(self, X: Any, name: str) -> tuple[Any, Floats]:
        """What a kernel sees of the rows, less what it sees of zeros if X is sparse, and that."""
        if name == "ranked_rbf":
            return self._ranks(X, np.sqrt(self.feature_weights_))
        if name == "ranked_laplacian":
            return self._ranks(X, self.feature_weights_)
        mean, scale = self.mean_, self.scale_

        def standardized(values: Any, columns: Any = slice(None)) -> Floats:
            with np.errstate(over="ignore"):
                return np.clip((values - mean[columns]) / scale[columns], -FARTHEST, FARTHEST)

        if not sparse.issparse(X):
            return standardized(X), np.zeros(X.shape[1])
        zero = standardized(0.0)
        return _stored(X, standardized(X.data, X.indices) - zero[X.indices]), zero

    def _ranks(self, X: Any, weights: Floats) -> tuple[Any, Floats]:
        """Shares of the components with lower values, and half of those with equal ones."""
        m, d = self.components_.shape
        if not sparse.issparse(X):
            known = np.sort(dense(self.components_), axis=0)
            found = [_rank(known[:, l], 0, X[:, l]) for l in range(d)]
            return np.column_stack(found) / m * weights, np.zeros(d)
        known, X, zero = sparse.csc_array(self.components_), sparse.csc_array(X), np.empty(d)
        data = np.empty(X.nnz)
        for l in range(d):
            stored = np.sort(known.data[known.indptr[l] : known.indptr[l + 1]])
            own = slice(X.indptr[l], X.indptr[l + 1])
            zero[l] = _rank(stored, m - len(stored), np.zeros(1))[0]
            data[own] = _rank(stored, m - len(stored), X.data[own]) - zero[l]
        weights = weights / m
        found = _stored(X, data * np.repeat(weights, np.diff(X.indptr)))
        return sparse.csr_array(found), zero * weights

    def _relevance(self, R: Floats) -> Floats:
        """Weights of features: roots of the variance of labels that intervals of ranks explain."""
        m, d = self.components_.shape
        ranks, zero = self._ranks(self.components_, np.ones(d))
        is_sparse = sparse.issparse(ranks)
        values = ranks.data + zero[ranks.indices] if is_sparse else ranks
        interval, of_zero = (np.minimum((INTERVALS * r + 1e-9).astype(int), INTERVALS - 1)
                             for r in (values, zero))  # fmt: skip
        share = np.zeros((d, R.shape[1]))
        stored = _stored(ranks, np.ones(ranks.nnz)) if is_sparse else np.ones(ranks.shape)
        implicit = R.sum(axis=0) - safe_sparse_dot(stored.T, R), m - np.asarray(stored.sum(axis=0))
        for number in range(INTERVALS):
            inside: Any = (interval == number).astype(np.float64)
            inside = _stored(ranks, inside) if is_sparse else inside
            has_zero = of_zero == number
            sums = safe_sparse_dot(inside.T, R) + has_zero[:, None] * implicit[0]
            counts = np.asarray(inside.sum(axis=0)) + has_zero * implicit[1]
            share += np.square(sums) / np.maximum(counts, 1)[:, None]
        total = np.square(R).sum(axis=0)
        share /= np.where(total > 0, total, np.inf)
        # what intervals explain by chance is subtracted
        explained = np.maximum(share - (INTERVALS - 1) / m, 0.0).mean(axis=1)
        mean = explained.mean()
        weights = np.sqrt(explained / mean if mean > 0 else explained) + 0.1
        return weights / weights.mean()


def _in_double(X: Any) -> Any:
    return X.astype(np.float64) if sparse.issparse(X) else np.asarray(X, np.float64, order="C")


def _stored(X: Any, data: Floats) -> Any:
    """A sparse matrix with other values in the same places."""
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def _rank(stored: Floats, zeros: int, values: Floats) -> Floats:
    """Mean of the numbers of lower, and of lower or equal values, some zeros among them."""
    below = np.searchsorted(stored, values, "left") + zeros * (values > 0)
    return (below + np.searchsorted(stored, values, "right") + zeros * (values >= 0)) / 2


def _compare(a: tuple[Any, Floats], b: tuple[Any, Floats], name: str) -> Floats:
    """Products, or distances, of all pairs of rows."""
    (A, zero), (B, _) = a, b
    if name == "linear":
        own, other = (np.asarray(Z @ zero)[:, None] for Z in (A, B))
        return safe_sparse_dot(A, B.T, dense_output=True) + own + other.T + zero @ zero
    if name.endswith("rbf"):
        return euclidean_distances(A, B, squared=True)
    return manhattan_distances(A, B)


def _kernel(compared: Floats, gamma: float, name: str) -> Floats:
    return gamma * compared if name == "linear" else np.exp(-gamma * compared)


def _left_out(P: Floats, S: Floats, T: Floats, R: Floats) -> Floats:
    """Answers for rows that are left out themselves: (h_i R - h_ii r_i) / (1 - h_ii)."""
    h = (np.square(P) @ (1 / S))[:, None]
    return (P @ (T / S[:, None]) - h * R) / (1 - h)


def _sigmoids(answers: Floats, Y: Floats, f: Floats, n: int) -> tuple[Floats, Floats]:
    """Slope and intercept of the log odds of each label, by Platt's method."""
    # Scores between 0 and 1 would be taken for probabilities.
    shift = 1.0 + (f + answers).max()
    calibrator = ScoreCalibrator("sigmoid").fit(f + answers - shift, Y)
    slope, intercept = np.empty((2, len(f)))
    for l, number in enumerate(calibrator.map_of_label_):
        found = calibrator.maps_[number]
        if found.shape == (1, 2):
            slope[l], intercept[l] = found[0, 0], found[0] @ (f[l] - shift, 1.0)
        elif 0 < f[l] < 1:  # it does not vary among the components: the tangent at f
            slope[l], intercept[l] = 1 / (f[l] * (1 - f[l])), logit(f[l])
        else:
            slope[l], intercept[l] = 0.0, logit((n * f[l] + 1) / (n + 2))
    return slope, intercept
