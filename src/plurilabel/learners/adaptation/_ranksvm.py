"""Rank-SVM: a large margin between the labels of an instance and the other labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from plurilabel._core.base import LabelMatrix, ScoringClassifier, WeightedFit, validate_features
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import AtLeastOne, Finite, Positive, StrOptions
from plurilabel._core.explanation.contributions import SCORE, Given, Parts, linear_parts, scattered
from plurilabel._core.fitted import Declared, labels, numbers, parameter, places
from plurilabel._core.limits import check_size, one_blas_thread
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.learners.adaptation._ranksvm_hinge import LabelSets
from plurilabel.learners.adaptation._ranksvm_kernel import gram, kernel_matrix
from plurilabel.learners.adaptation._ranksvm_solver import Solution, solve
from plurilabel.thresholds import LinearThreshold

BYTES = 260  # of the solver for each entry of beta (n, q), measured


@dataclass(eq=False, repr=False)
class RankSVM(WeightedFit, ScoringClassifier):
    """Rank-SVM: for each instance, a margin of its labels over all other labels.

    Each label l has a function f_l(x) = <w_l, phi(x)> + b_l. They minimise ::

        1/2 sum_l |w_l|^2 + C sum_i 1 / (|Y_i| |D_i|) sum_{k in Y_i, l in D_i} max(0, 1 - f_k(x_i)
        + f_l(x_i)),

    where Y_i are the labels of instance i and D_i all others: a convex form of the ranking loss.
    Then a threshold t(x), linear in the scores, is fitted to the training scores
    (:class:`~plurilabel.LinearThreshold`), and label l is predicted if f_l(x) > t(x).
    ``decision_function`` is f(x) - t(x), which ranks as f does; ``ranking_function`` is f(x).

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        ``<x, y>``, ``(gamma <x, y> + coef0)^degree``, or ``exp(-gamma |x - y|^2)``. A callable
        takes two matrices and returns the kernel values of their rows. With ``"precomputed"``, X
        is the kernel matrix: (n, n) in ``fit``, (m, n) afterwards.
    C : float, default=1.0
        Weight of the loss against the margin.
    degree : int, default=3
        For ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        For ``"poly"`` and ``"rbf"``, as in :class:`sklearn.svm.SVC`: ``"scale"`` is
        1 / (d var(X)), ``"auto"`` 1 / d.
    coef0 : float, default=1.0
        For ``"poly"``.
    threshold : {"linear"} or None, default="linear"
        The threshold t(x). None is t(x) = 0, for use inside a
        :class:`~plurilabel.ThresholdClassifier` with another strategy.
    tol : float, default=1e-6
        Duality gap, relative to the objective, at which the solver stops.
    max_iter : int, default=100
        Maximum number of steps of the solver; ten to thirty are usual.
    cache_size : float, default=1000
        Megabytes for the kernel matrix. Rows that do not fit are recomputed when needed.

    Attributes
    ----------
    intercept_ : ndarray of shape (q,)
        The biases b, which sum to 0: only differences matter.
    dual_coef_ : ndarray of shape (n_support, q)
        beta, with f_l(x) = sum_i beta_il K(x_i, x) + b_l.
    support_ : ndarray of shape (n_support,)
        Rows of X that ``dual_coef_`` belongs to.
    coef_ : ndarray of shape (q, d)
        w; only with ``kernel="linear"``.
    threshold_ : LinearThreshold or None
        The fitted threshold function.
    objective_ : float
        The value of the objective above.
    dual_gap_ : float
        Upper bound on the relative distance of the objective from its minimum, by a dual point.
    n_iter_ : int
        Number of steps of the solver.

    Notes
    -----
    The quadratic program is solved exactly, but not by the Frank-Wolfe steps of the paper. If q
    times the number of features (or of instances, with a kernel) is at most 4096, an
    interior-point method takes 10 to 30 steps at any scale of the features and any C. (Only if C
    times the mean of K(x, x) exceeds 1e13 and the loss cannot vanish does rounding keep the
    certified gap above 1e-6.) Otherwise, operator splitting or proximal Newton steps work on the
    sums of the dual variables over each label, (n, q) numbers beta, instead of all pairs. A Newton
    step costs products K V with V (n, q), so that time grows with n^2 q, and with C. With a linear
    kernel no kernel matrix is formed, and sparse X stays sparse. Y is made dense: a fit takes
    260 n q bytes, and more than 4 GB are refused.

    The factor 1/2 is that of the paper's dual problem and of other support vector machines; the
    paper's primal problem leaves it out.

    Instances with all labels or none have no pairs and are used for the threshold only. A label
    that all or no training instances have has no finite best bias: its score is one above the
    highest, or one below the lowest, of the others and 0, and it is always or never predicted.
    With a single label the more frequent answer is predicted.

    Labels may be unknown. Only pairs of known labels count, Y_i and D_i are the known labels that
    instance i has and lacks, and the threshold is fitted to the best cut of the known labels. An
    instance whose known labels are all present, or all absent, ranks them against an additional
    label that is discarded after fitting. A label with the same value wherever it is known counts
    in ``|Y_i|`` and ``|D_i|`` like any other, but its bias is free, so that its pairs cost
    nothing. If no pairs connect two groups of labels, as in tables that share no label, only
    differences of biases within a group are determined.

    ``coef0`` is 1 by default because on Yeast the ranking loss of degree 8 is then 0.159, and
    0.197 with 0; 0.179 is published for an unstated kernel.

    References
    ----------
    A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.

    M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning algorithms. IEEE TKDE 26(8), 2014.

    Examples
    --------
    >>> from plurilabel import RankSVM, datasets, model_selection
    >>> from plurilabel.metrics import ranking_loss
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.3, 0.7), random_state=0)
    >>> learner = RankSVM(kernel="rbf", C=10).fit(X_train, Y_train)
    >>> round(ranking_loss(Y_test, learner.decision_function(X_test)), 3)
    0.01
    >>> learner.dual_gap_ < 1e-6
    True
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "support_": places("n_support", below=None),
        "dual_coef_": numbers("n_support", "n_labels_"), "intercept_": numbers("n_labels_"),
        "coef_": numbers("n_labels_", "n_features_in_", optional=True),
        "_never": labels("n_labels_"), "_always": labels("n_labels_"),
        "_centre": numbers("n_features_in_", optional=True),
        "_support_vectors": numbers("n_support", "n_features_in_", optional=True),
        "kernel_": parameter(),
    }  # fmt: skip

    _: KW_ONLY
    kernel: Annotated[
        str | Callable[..., Any], StrOptions({"linear", "poly", "rbf", "precomputed"}), callable
    ] = "linear"
    C: float = 1.0
    degree: AtLeastOne = 3
    gamma: Literal["scale", "auto"] | Positive = "scale"
    coef0: Finite = 1.0
    threshold: Literal["linear"] | None = "linear"
    tol: float = 1e-6
    max_iter: int = 100
    cache_size: Positive = 1000

    def ranking_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The scores f(x) of shape (n, q), before the threshold is subtracted."""
        return self._f_and_threshold(self._validate_predict(X))[0]

    def _fit(self, X: Any, Y: LabelMatrix, weights: Any = None) -> None:
        n, q = Y.shape
        sizes, instead = f"{n:,} instances and {q:,} labels", "BinaryRelevance(LinearSVC())"
        check_size(self, sizes, memory=BYTES * n * q, instead=instead)
        Y, unknown = known_part(Y)
        Y = dense(Y).astype(bool)  # 0 where it is unknown
        D = ~Y if unknown is None else ~(Y | dense(unknown))
        self._never = ~Y.any(axis=0)
        self._always = ~(D.any(axis=0) | self._never)
        varies = ~(self._never | self._always)
        self.kernel_, self._params = self.kernel, self._kernel_params(X, weights)
        # Centring loses less to rounding. The biases absorb it, and distances have no origin.
        moves = self.kernel in ("linear", "rbf") and not sparse.issparse(X)
        self._centre = X.mean(axis=0) if moves else None

        y, d, n_pairs = _ranked_labels(Y, D, varies)
        rows = np.flatnonzero(y.any(axis=1) & d.any(axis=1))
        beta, b = np.zeros((len(rows), q)), np.zeros(q)
        self.objective_, self.dual_gap_, self.n_iter_ = 0.0, 0.0, 0
        if len(rows):
            c = self.C / n_pairs[rows]
            c = c if weights is None else c * weights[rows]
            found, m = self._solve(X, rows, LabelSets(y[rows], d[rows], c)), int(varies.sum())
            beta[:, varies], b[varies] = found.beta[:, :m], found.b[:m]
            if found.b.size > m:
                b[varies] -= b[varies].mean()
            self.objective_, self.dual_gap_, self.n_iter_ = found.primal, found.gap, found.n_iter
        self._keep(X, rows, beta, b)
        self.threshold_ = None
        if self.threshold is not None and varies.any():
            f, Y_known = self._f(X)[:, varies], Y[:, varies]
            known = Y_known if unknown is None else UnknownLabels(Y_known, ~(Y | D)[:, varies])
            # at the optimum many scores are equal except for rounding
            self.threshold_ = LinearThreshold(digits=7).fit(f, known, sample_weight=weights)

    def _solve(self, X: Any, rows: NDArray[np.intp], sets: LabelSets) -> Solution:
        """Solve the quadratic program of some rows of X."""
        some = X[rows][:, rows] if self.kernel == "precomputed" else X[rows]
        if self._centre is not None:
            some = some - self._centre
        # small products are too short for threads
        with one_blas_thread() if len(rows) < 2000 else nullcontext():
            K = gram(some, self.kernel, self._params, self._cache_bytes())
            found = solve(K, sets, tol=self.tol, max_iter=self.max_iter)
        if found.gap > self.tol:
            size = self.C * float(K.diagonal.mean())
            advice = "Increase max_iter" if found.n_iter == self.max_iter else "Increase tol"
            if size > 100:
                advice += (
                    f", lower C, or scale the features: C times the mean of K(x, x) is "
                    f"{size:.0e}; the smaller it is, the fewer steps are needed"
                )
            warnings.warn(
                f"RankSVM stopped after {found.n_iter} steps with a duality gap of "
                f"{found.gap:.1e}, above tol={self.tol:g}. {advice}",
                ConvergenceWarning,
                stacklevel=5,
            )
        return found

    def _keep(
        self, X: Any, rows: NDArray[np.intp], beta: NDArray[np.float64], b: NDArray[np.float64]
    ) -> None:
        """Set the fitted attributes from coefficients (rows, q) and biases (q,)."""
        kept, centre = beta.any(axis=1), self._centre
        self.support_, self.dual_coef_, self.intercept_ = rows[kept], beta[kept], b
        self._support_vectors = None
        self.__dict__.pop("coef_", None)  # of another kernel
        vectors = X[self.support_] if centre is None else X[self.support_] - centre
        if self.kernel == "linear":
            self.coef_ = safe_sparse_dot(vectors.T, self.dual_coef_).T
            if centre is not None:
                self.intercept_ = b - self.coef_ @ centre
                self.intercept_ -= self.intercept_.mean()
        elif self.kernel != "precomputed":
            self._support_vectors = vectors

    def _scores(self, X: Any) -> NDArray[np.float64]:
        f, t = self._f_and_threshold(X)
        scores = f - t[:, None]
        scores[:, self._never] = np.minimum(scores[:, self._never], -1.0)
        scores[:, self._always] = np.maximum(scores[:, self._always], 1.0)
        return scores

    def _parts(self, x: Any, given: Given) -> Parts:
        fixed, q = self._never | self._always, self.n_labels_
        if self.kernel_ == "linear":
            found = linear_parts(x, self.coef_, self.intercept_, given.names, SCORE)
        else:  # f is the sum over the support vectors
            names = [f"like training row {i}" for i in self.support_]
            K = self._similarities(x)[0] if len(names) else np.zeros(0)
            values = K[:, np.newaxis] * self.dual_coef_
            found = Parts(names, values, self.intercept_.astype(np.float64), (SCORE,) * q)
        learned = found.columns(np.flatnonzero(~fixed)).minus_cut(self.threshold_)
        placed = scattered(learned, np.flatnonzero(~fixed), 1.0, q)
        return placed.fixed(fixed, self._scores(x)[0])

    def _f_and_threshold(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
        f = self._f(X)
        learned = f[:, ~(self._never | self._always)]
        t = np.zeros(len(f)) if self.threshold_ is None else self.threshold_.cuts(learned)
        f[:, self._never] = learned.min(axis=1, initial=0.0, keepdims=True) - 1
        f[:, self._always] = learned.max(axis=1, initial=0.0, keepdims=True) + 1
        return f, t

    def _f(self, X: Any) -> NDArray[np.float64]:
        """K beta + b for the rows of X, in blocks that fit into the cache."""
        if self.kernel_ == "linear":
            return safe_sparse_dot(X, self.coef_.T) + self.intercept_
        f = np.tile(self.intercept_, (X.shape[0], 1))
        if len(self.support_) == 0:
            return f
        for rows in row_blocks(X.shape[0], 8 * len(self.support_), self._cache_bytes()):
            f[rows] += self._similarities(X[rows]) @ self.dual_coef_
        return f

    def _similarities(self, X: Any) -> NDArray[np.float64]:
        """The kernel of rows of X and the support vectors."""
        if self._centre is not None:
            X = dense(X) - self._centre
        if self.kernel_ == "precomputed":
            return X[:, self.support_]
        return kernel_matrix(X, self._support_vectors, self.kernel_, self._params)

    def _cache_bytes(self) -> float:
        return self.cache_size * 2.0**20

    def _kernel_params(self, X: Any, weights: Any) -> dict[str, Any]:
        if self.kernel not in ("poly", "rbf"):
            return {}
        gamma = self.gamma
        if gamma == "auto":
            gamma = 1.0 / X.shape[1]
        elif gamma == "scale":
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                if weights is not None:
                    w = weights / weights.sum()
                    first, second = (np.asarray(w @ M).sum() / X.shape[1] for M in (X, X * X))
                    variance = np.float64(second - first**2)
                else:
                    whole = (X * X).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
                    variance = np.float64(whole)
                gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else np.float64(1.0)
            if not np.isfinite([variance, gamma]).all():
                raise ValueError(
                    f"gamma='scale' is undefined for var(X) = {variance:.0e}: scale the features"
                )
        if self.kernel == "rbf":
            return {"gamma": gamma}
        return {"gamma": gamma, "coef0": self.coef0, "degree": self.degree}

    def _validate_X(self, X: Any, *, reset: bool) -> Any:
        kernel = self.kernel if reset else getattr(self, "kernel_", self.kernel)
        given = kernel == "precomputed"
        # one precision and memory layout, so that equal numbers give equal results
        form = {"accept_sparse": False if given else "csr", "dtype": np.float64, "order": "C"}
        X = validate_features(self, X, reset=reset, **form)
        if given and reset:
            if X.shape[0] != X.shape[1]:
                wanted = 'a square kernel matrix with kernel="precomputed"'
                raise ValueError(f"X must be {wanted}, got {X.shape}")
            if not np.allclose(X, X.T, rtol=1e-7, atol=1e-9 * np.abs(X).max()):
                raise ValueError(
                    'X must be a symmetric kernel matrix with kernel="precomputed", got one that '
                    "differs from its transpose"
                )
        return sparse.csr_array(X) if sparse.issparse(X) else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


def _ranked_labels(
    Y: NDArray[np.bool_], D: NDArray[np.bool_], varies: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.intp]]:
    """The labels to rank above and below the others, and the number of pairs |Y_i| |D_i|."""
    # If known labels of some instances are all present, and those of others all absent, they are
    # ranked against one more label, which these instances lack or have.
    has, lacks = Y.sum(axis=1), D.sum(axis=1)
    y, d, n_pairs = Y[:, varies], D[:, varies], has * lacks
    some = has + lacks < Y.shape[1]
    above, below = some & (has == 0) & (lacks > 0), some & (has > 0) & (lacks == 0)
    if above.any() and below.any():
        y, d = np.column_stack([y, above]), np.column_stack([d, below])
        n_pairs = np.where(above | below, has + lacks, n_pairs)
    return y, d, n_pairs
