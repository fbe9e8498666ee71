"""Linear models of many labels at once: a Newton method on blocks of labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from plurilabel._core.blocks import squared_norms

SURE = 30.0  # score of a label that all instances have; minus this for one that none has
LARGEST = 1e70  # of values that are not scaled: Newton steps have their fourth powers
CELLS = 2**21  # instances (or features) times labels of a block: a dozen arrays of this size
FEW_ROWS = 1000  # with a fourth of the features or less: solved in the space that they span
JITTER = 1e-6  # added to the squared length of rows, which is 1, so that equal rows do no harm


class Settings(NamedTuple):
    """How models are learned, as the parameters of LabelTree say."""

    loss: str
    C: float
    tol: float
    max_iter: int
    prune: float


class Trained(NamedTuple):
    """Linear models of m labels."""

    weights: NDArray[np.floating[Any]]  # (d, m)
    biases: NDArray[np.float64]  # (m,)
    curvatures: NDArray[np.float64]  # (m,), the sums of the second derivatives of the losses
    n_iter: int  # the most steps that one took


class Prior(NamedTuple):
    """What is known before training: means and precisions (d + 1, m), the last row of biases."""

    means: NDArray[np.floating[Any]]
    precisions: NDArray[np.floating[Any]]


def prepared(X: Any, *, unit: bool) -> sparse.csr_array:
    """Instances for the solver: CSR, in rows of length 1 and single precision, or as they are."""
    X = sparse.csr_array(X, dtype=np.float64)
    if not unit:
        if (size := abs(X.data).max(initial=0.0)) > LARGEST:
            raise ValueError(
                f"X must hold values up to {LARGEST:g} with normalize=False, got {size:g}"
            )
        return X
    # by the largest entry first: squares of tiny or huge ones would vanish or overflow
    for size in (abs(X).max(axis=1).toarray().ravel(), None):
        length = np.sqrt(squared_norms(X)) if size is None else size
        scale = np.divide(1.0, length, out=np.ones_like(length), where=length > 1e-300)
        parts = (X.data * np.repeat(scale, np.diff(X.indptr)), X.indices, X.indptr)
        X = sparse.csr_array(parts, shape=X.shape)
    return X.astype(np.float32)


class RowSpace:
    """The space that few rows of many features span, where models have a weight for each row.

    The best weights of all features lie in it, and lengths are the same there.
    """

    def __init__(self, X: sparse.csr_array) -> None:
        self.T = sparse.csr_array(X.T)
        exact = X.astype(np.float64)  # sums in single precision may lose the jitter
        products = (exact @ exact.T).toarray()
        self.root = cholesky(products + JITTER * np.eye(len(products)), lower=True)
        self.X = self.root.astype(np.float32)  # (n, n), the rows

    @staticmethod
    def suits(X: sparse.csr_array) -> bool:
        """Whether rows, of length 1, are few enough."""
        return X.shape[0] <= min(FEW_ROWS, X.shape[1] // 4)

    def inside(self, W: NDArray[Any]) -> NDArray[np.float64]:
        """Weights (n + 1, m) in the space; those of features and biases are given."""
        found = solve_triangular(self.root, self.T.T @ W[:-1], lower=True)
        return np.vstack([found, W[-1:]])

    def outside(self, W: NDArray[Any]) -> NDArray[np.float32]:
        """Weights (d, m) of the features."""
        found = solve_triangular(self.root, W, lower=True, trans="T")
        return np.asarray(self.T @ found.astype(np.float32))


def train(
    X: sparse.csr_array | NDArray[np.float32],
    Y: sparse.csc_array,
    settings: Settings,
    weights: NDArray[np.float64] | None = None,
    worth: NDArray[np.float64] | None = None,
    prior: Prior | None = None,
    *,
    start: Any = None,
    unknown: Any = None,
) -> Trained:
    """Linear models with L2 penalty, one for each label, in the precision of X.

    Minimises ½|w|² + C Σ_i c_i loss(y_i (w x_i + b)) over w and b for each label, where the bias
    is a weight like others, of a feature that is 1. The c_i are ``weights`` (n,), times ``worth``
    (m,) if the instance has the label. With a prior, for labels that are learned further, the
    penalty is ½ Σ_j q_j (w_j - m_j)², of means m and precisions q. A label is done where the norm
    of its gradient is below tol times that at 0, times the share of the rarer class; this is
    liblinear's rule. It begins at ``start`` (d + 1, m), the last row of biases, if given. Entries
    of ``unknown`` (n, m), CSC, are left out of the sum.
    """
    n, d = X.shape
    m = Y.shape[1]
    with_bias, transposed = _with_bias(X)
    present = np.diff(Y.indptr)
    known = n if unknown is None else n - np.diff(unknown.indptr)
    found = np.zeros((d + 1, m), dtype=X.dtype)
    # a label without a choice needs no model
    found[d] = np.where(present == 0, -SURE, SURE)
    open_ = np.flatnonzero((present > 0) & (present < known)) if prior is None else np.arange(m)
    n_iter, curvatures = 1, np.zeros(m)
    step = max(1, CELLS // max(n, d, 1))
    for at in range(0, len(open_), step):
        some = open_[at : at + step]
        sign = np.where(Y[:, some].toarray() > 0, 1, -1).astype(X.dtype)  # (n, m')
        cost = np.full(sign.shape, settings.C, dtype=X.dtype)
        if worth is not None:
            cost = np.where(sign > 0, cost * worth[some], cost).astype(X.dtype)
        if weights is not None:
            cost *= weights[:, None].astype(X.dtype)
        if unknown is not None:
            cost[unknown[:, some].toarray() > 0] = 0
        before = None if prior is None else Prior(*(part[:, some] for part in prior))
        first = None if start is None else np.asarray(start[:, some], dtype=X.dtype)
        found[:, some], curvatures[some], steps = _newton(
            with_bias, transposed, sign, cost, settings, before, first
        )
        n_iter = max(n_iter, steps)
    return Trained(found[:d], found[d].astype(np.float64), curvatures, n_iter)


def ridge(X: sparse.csr_array, Z: NDArray[np.floating[Any]], C: float) -> NDArray[np.float64]:
    """Weights (d + 1, k) of linear models of targets Z (n, k), the last row the intercepts."""
    # Minimises ½|w|² + ½C Σ_i (w x_i + b - z_i)² for each target, like :func:`train`.
    with_bias, transposed = _with_bias(X)
    W = np.zeros((with_bias.shape[1], Z.shape[1]))
    curve = np.full((X.shape[0], Z.shape[1]), C, dtype=np.float64)
    for _ in range(4):  # each takes a digit off the error
        G = W + transposed @ (curve * (with_bias @ W - Z))
        size = np.sqrt(_dots(G, G))
        W += _direction(with_bias, transposed, G, curve, size)[0]
    return W


def _with_bias(X: Any) -> tuple[Any, Any]:
    """X with a feature that is 1, and its transpose."""
    if isinstance(X, np.ndarray):
        wide = np.hstack([X, np.ones((len(X), 1), dtype=X.dtype)])
        return wide, wide.T
    ones = sparse.csr_array(np.ones((X.shape[0], 1), dtype=X.dtype))
    both = sparse.csr_array(sparse.hstack([X, ones], format="csr"))
    return both, sparse.csr_array(both.T)


def _newton(
    X: Any, T: Any, sign: Any, cost: Any, settings: Settings, prior: Prior | None, start: Any
) -> tuple[NDArray[np.floating[Any]], NDArray[np.float64], int]:
    """Weights, curvatures and steps, by a truncated Newton method on all columns at once."""
    # A step of the inner loop is two sparse products. A column that is done leaves.
    (n, m), loss = sign.shape, settings.loss
    # W is what is added to the means of the prior; Z is X times both
    W = np.zeros((X.shape[1], m), dtype=X.dtype)
    Z = np.zeros((n, m), dtype=X.dtype) if prior is None else X @ prior.means
    Q = None if prior is None else prior.precisions
    done, curved = np.empty_like(W), np.empty(m)
    at = np.arange(m)
    rarer = np.minimum((sign > 0).sum(axis=0), (sign < 0).sum(axis=0))
    tol_of = settings.tol * np.maximum(rarer, 1) / n
    first: Any = None
    if start is not None:
        G = T @ _derivatives(sign, Z, cost, loss)[0]
        first = np.sqrt(_dots(G, G))
        W, Z = start, X @ start
    n_iter = 0
    while len(at):
        slope, curve = _derivatives(sign, Z, cost, loss)
        G = T @ slope
        G += W if Q is None else Q * W
        size = np.sqrt(_dots(G, G))
        first = size if first is None else first
        going = size > tol_of * first
        if not going.all():
            done[:, at[~going]] = W[:, ~going]
            curved[at[~going]] = curve[:, ~going].sum(axis=0, dtype=np.float64)
            W, Z, G, curve, sign, cost = (
                np.ascontiguousarray(part[:, going]) for part in (W, Z, G, curve, sign, cost)
            )
            at, tol_of, first, size = at[going], tol_of[going], first[going], size[going]
            Q = None if Q is None else np.ascontiguousarray(Q[:, going])
        if not len(at):
            break
        if n_iter == settings.max_iter:
            done[:, at] = W
            curved[at] = curve.sum(axis=0, dtype=np.float64)
            break
        V, XV = _direction(X, T, G, curve, size, Q)
        step = _step(sign, cost, loss, (W, Z), (V, XV), _dots(G, V), Q)
        W += step * V
        Z += step * XV
        n_iter += 1
    return done if prior is None else done + prior.means, curved, n_iter


def _derivatives(sign: Any, Z: Any, cost: Any, loss: str) -> tuple[Any, Any]:
    """First and second derivatives of the losses by the scores, each (n, m)."""
    margin = sign * Z
    if loss == "squared_hinge":
        short = np.maximum(1 - margin, 0)
        curve = 2 * cost * (short > 0)
        short *= curve
        short *= -sign
        return short, curve
    with np.errstate(over="ignore"):  # then p is 0
        p = 1 / (1 + np.exp(margin))
    slope = cost * p
    curve = slope * (1 - p)
    slope *= -sign
    return slope, curve


def _direction(X: Any, T: Any, G: Any, curve: Any, size: Any, Q: Any = None) -> tuple[Any, Any]:
    """The Newton direction and its product with X, by conjugate gradients."""
    # Solves (Q + XᵀDX) V = -G, where Q is diagonal and 1 by default, until the residual is a tenth
    # of G in each column. A column that is there stays as it is: but for rounding, the result does
    # not depend on the others. Such columns leave, once they are many.
    V, XV = np.zeros_like(G), np.zeros((X.shape[0], G.shape[1]), dtype=G.dtype)
    live = np.arange(G.shape[1])
    R = -G
    P = R.copy()
    rr = size.astype(G.dtype) ** 2
    enough = 0.01 * rr
    going = size > 0
    for _ in range(30):
        if not going.any():
            break
        XP = X @ P
        HP = T @ (curve * XP)
        HP += P if Q is None else Q * P
        alpha = np.divide(rr, _dots(P, HP), out=np.zeros_like(rr), where=going)
        there: Any = slice(None) if len(live) == V.shape[1] else live  # a slice is not copied
        V[:, there] += alpha * P
        XP *= alpha
        XV[:, there] += XP
        HP *= alpha
        R -= HP
        new = _dots(R, R)
        going &= new > enough
        beta = np.divide(new, rr, out=np.zeros_like(rr), where=going)
        rr = new
        if 0 < going.mean() < 0.7:
            R, P, curve = (np.ascontiguousarray(part[:, going]) for part in (R, P, curve))
            Q = None if Q is None else np.ascontiguousarray(Q[:, going])
            live, beta, rr, enough = live[going], beta[going], rr[going], enough[going]
            going = going[going]
        P *= beta
        P += R
    return V, XV


def _step(sign: Any, cost: Any, loss: str, now: Any, along: Any, slope: Any, Q: Any = None) -> Any:
    """How far to go in each column: half the way, until the objective falls as it should."""
    (W, Z), (V, XV) = now, along
    pull = V if Q is None else Q * V
    wv, vv = _dots(W, pull), _dots(V, pull)
    before = _losses(sign, Z, cost, loss)
    step = np.ones(len(slope), dtype=Z.dtype)
    for _ in range(10):
        change = _losses(sign, Z + step * XV, cost, loss) - before
        change += step * wv + 0.5 * step**2 * vv
        poor = change > 0.01 * step * slope + 1e-6 * before  # rounding counts as no change
        if not poor.any():
            break
        step = np.where(poor, step / 2, step).astype(Z.dtype)
    return step


def _losses(sign: Any, Z: Any, cost: Any, loss: str) -> Any:
    """The sum of the losses of each column."""
    margin = sign * Z
    if loss == "squared_hinge":
        short = np.maximum(1 - margin, 0)
        return _dots(cost * short, short)
    # log(1 + exp(-margin)); the functions that add 1 themselves are ten times slower
    return _dots(cost, np.log(1 + np.exp(-abs(margin))) + np.maximum(-margin, 0))


def _dots(A: Any, B: Any) -> Any:
    return np.einsum("ij,ij->j", A, B)
