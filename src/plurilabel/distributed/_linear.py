"""Linear models of all labels from blocks of rows.

All labels are learned together by L-BFGS: a pass over the rows gives each its gradient, with one
product for all, and each goes its own way. The bound X'X / 4 on all Hessians (Böhning), factored
once, takes the place of the usual first guess: the number of passes does not depend on the scales
and correlations of the features.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.limits import check_size
from plurilabel._core.unknown import known_part
from plurilabel.learners.shared import sure_model

Floats = NDArray[np.float64]

CELLS = 1 << 17  # scores of a block at a time: they stay in the cache
PRODUCT = 1000  # factors from 1 to 2 that do not overflow
WIDEST = 2048  # features up to which their products with each other are summed
MEMORY = 10  # steps that L-BFGS remembers


class Objective(NamedTuple):
    """C times the sum of the losses of a label, and penalty / 2 times the squared weights."""

    loss: str
    C: float
    penalty: float
    intercept: float | None  # penalty of the intercept; None: there is none
    balanced: bool
    tol: float  # of each derivative, divided by the sum of the weights of the losses
    max_iter: int


class Sums(NamedTuple):
    """What one pass over the rows tells before training."""

    known: Floats  # (q,), rows in which each label is known
    present: Floats  # (q,), rows that have it
    products: Floats  # (d + 1, d + 1) of the features and 1, or (d + 1,) of each with itself


def logistic(F: Floats, has: Floats, weights: Any) -> tuple[Floats, Floats]:
    """Loss log(1 + exp(F)) - F y of each label, summed over rows, and its derivatives (n, q)."""
    e = np.exp(-np.abs(F))
    one = 1 + e
    R = np.where(F > 0, 1.0, e)
    R /= one
    R -= has
    if weights is None:
        # one logarithm for many rows; R is done first, as F is overwritten
        loss = np.log(np.multiply.reduce(one, axis=0)) - np.einsum("nq,nq->q", F, has)
        return loss + np.maximum(F, 0, out=F).sum(axis=0), R
    return _weighted(np.log1p(e) + np.maximum(F, 0) - F * has, R, weights)


def squared_hinge(F: Floats, has: Floats, weights: Any) -> tuple[Floats, Floats]:
    """Loss max(0, 1 - m)^2 of the margins m."""
    sign = 2 * has - 1
    short = np.maximum(0, 1 - sign * F)
    return _weighted(short**2, -2 * sign * short, weights)


def squared(F: Floats, has: Floats, weights: Any) -> tuple[Floats, Floats]:
    """Loss (F - y)^2 / 2, with y = 1 or -1."""
    R = F - (2 * has - 1)
    return _weighted(R**2 / 2, R, weights)


def _weighted(losses: Floats, R: Floats, weights: Any) -> tuple[Floats, Floats]:
    if weights is not None:
        losses, R = losses * weights, R * weights
    return losses.sum(axis=0), R


# and the largest second derivative
LOSSES: dict[str, tuple[Callable[..., tuple[Floats, Floats]], float]] = {
    "logistic": (logistic, 0.25),
    "squared_hinge": (squared_hinge, 2.0),
    "squared": (squared, 1.0),
}
# values for which a model has the objective above
ALLOWED: dict[type, dict[str, tuple[Any, ...]]] = {
    LogisticRegression: {
        "penalty": ("deprecated", "l2", None), "l1_ratio": (None, 0), "dual": (False,),
        "solver": ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"),
    },
    LinearSVC: {"penalty": ("l2",), "loss": ("squared_hinge",), "intercept_scaling": (1,)},
    RidgeClassifier: {"positive": (False,)},
}  # fmt: skip


def objective_of(learner: Any) -> Objective:
    """What binary relevance minimises, or an error that says why it cannot be on blocks."""
    model = learner.estimator
    if type(model) not in ALLOWED:
        names = ", ".join(cls.__name__ for cls in ALLOWED)
        raise ValueError(
            f"BinaryRelevance is fitted to blocks around {names}, got {type(model).__name__}"
        )
    given = model.get_params()
    allowed = {**ALLOWED[type(model)], "class_weight": (None, "balanced")}
    for name, values in allowed.items():
        if name in given and given[name] not in values:
            raise ValueError(f"{name}={given[name]!r} is not supported on blocks of rows")
    C, penalty = (1.0, model.alpha) if isinstance(model, RidgeClassifier) else (model.C, 1.0)
    if given.get("penalty", "l2") is None or np.isinf(C):
        C, penalty = 1.0, 0.0
    loss = {LogisticRegression: "logistic", LinearSVC: "squared_hinge"}.get(type(model), "squared")
    free = 1.0 if isinstance(model, LinearSVC) else 0.0
    balanced = learner.label_weight is not None or model.class_weight is not None
    return Objective(
        loss, C, penalty, free if model.fit_intercept else None, balanced, model.tol,
        model.max_iter or 1000,
    )  # fmt: skip


def sums_of(X: Any, Y: Any) -> Sums:
    """The sums of a checked block."""
    Y, unknown = known_part(Y)
    missing = 0 if unknown is None else np.asarray(unknown.sum(axis=0), dtype=float).ravel()
    n, d = X.shape
    X = X.astype(np.float64)
    column = np.asarray(X.sum(axis=0)).reshape(1, -1)
    if d <= WIDEST:
        products = np.block([[dense(X.T @ X), column.T], [column, np.full((1, 1), float(n))]])
    else:
        squares = X.multiply(X) if hasattr(X, "multiply") else X * X
        products = np.append(np.asarray(squares.sum(axis=0)).ravel(), n)
    present = np.asarray(Y.sum(axis=0), dtype=float).ravel()
    return Sums(n - missing + np.zeros(Y.shape[1]), present, products)


def losses_of(X: Any, Y: Any, labels: Any, W: Floats, loss: str, weights: Any) -> Any:
    """Losses (q',) and derivatives (d + 1, q') of some labels of a checked block, by weights W.

    The weights of rows are (2, q'), without and with the label, or None.
    """
    Y, unknown = known_part(Y)
    total, G = np.zeros(W.shape[1]), np.zeros(W.shape)
    for rows in row_blocks(X.shape[0], max(W.shape[1], CELLS // PRODUCT), CELLS):
        x = X[rows].astype(np.float64)
        has = dense(Y[rows][:, labels]).astype(np.float64)
        cells = None if weights is None else np.where(has > 0, weights[1], weights[0])
        if unknown is not None:
            cells = (1.0 if cells is None else cells) * ~dense(unknown[rows][:, labels])
        losses, R = LOSSES[loss][0](x @ W[:-1] + W[-1], has, cells)
        total += losses
        G[:-1] += x.T @ R
        G[-1] += R.sum(axis=0)
    return total, G


def solve(sums: Sums, about: Objective, losses: Callable[..., Any]) -> Any:
    """Weights (d + 1, q), the last row of intercepts, and the passes that each label took.

    ``losses(labels, W, weights)`` is :func:`losses_of` of all rows.
    """
    q, width = len(sums.known), len(sums.products)
    sizes, memory = f"{width - 1:,} features and {q:,} labels", 8.0 * (2 * MEMORY + 8) * width * q
    check_size("distributed.fit", sizes, memory=memory, instead="fewer labels at a time")
    weights = None
    if about.balanced:
        varies = (sums.present > 0) & (sums.present < sums.known)
        each = np.where(varies, [sums.known - sums.present, sums.present], 0.5)
        weights = np.where(varies, sums.known, 1.0) / (2 * each)
    pull = np.full((width, 1), float(about.penalty))
    pull[-1] = about.intercept or 0.0
    kept = np.ones((width, 1))
    kept[-1] = about.intercept is not None
    products = sums.products * (kept * kept.T if sums.products.ndim == 2 else kept.ravel())
    inverse = _inverse(products, about.C * LOSSES[about.loss][1], pull)

    def derivatives(labels: Any, W: Floats) -> tuple[Floats, Floats]:
        f, G = losses(labels, W, None if weights is None else weights[:, labels])
        penalty = (pull * W * W).sum(axis=0) / 2
        return about.C * f + penalty, kept * (about.C * G + pull * W)

    enough = about.tol * about.C * sums.known
    open_ = (sums.present > 0) & (sums.present < sums.known)
    W, passes = _lbfgs(derivatives, inverse, np.zeros((width, q)), open_, enough, about.max_iter)
    return W, passes


def _inverse(products: Floats, bound: float, pull: Floats) -> Callable[[Floats], Floats]:
    """Multiply by the inverse of the bound on the Hessians."""
    if products.ndim == 1:
        diagonal = (bound * products)[:, np.newaxis] + pull
        return lambda G: G / np.where(diagonal > 0, diagonal, 1.0)
    P = bound * products + np.diag(pull.ravel())
    # for repeated features without a penalty; it changes nothing but the steps
    P[np.diag_indices_from(P)] += 1e-10 * P.diagonal() + 1e-300
    factor = cho_factor(P)
    return lambda G: cho_solve(factor, G)


def _lbfgs(
    derivatives: Callable[..., Any], inverse: Callable[[Floats], Floats], W: Floats,
    open_: NDArray[np.bool_], enough: Floats, most: int,
) -> tuple[Floats, NDArray[np.int32]]:  # fmt: skip
    """Minimise for all open labels, each with its own steps, until no derivative is above enough.

    A label whose step does not lower its objective waits with a shorter one.
    """
    size, passes = W.shape[1], np.zeros(W.shape[1], dtype=np.int32)
    f, G, D = np.zeros(size), np.zeros_like(W), np.zeros_like(W)
    gamma, step = np.ones(size), np.ones(size)
    some = np.flatnonzero(open_)
    if not len(some):
        return W, passes
    f[some], G[:, some] = derivatives(some, W[:, some])
    passes[some] = 1
    pairs: deque[Any] = deque(maxlen=MEMORY)
    moved = open_
    while True:
        D = np.where(moved, -_two_loops(G, pairs, gamma, inverse), D)
        some = np.flatnonzero(open_ & (np.abs(G).max(axis=0) > enough))
        if not len(some) or passes.max() >= most:
            break
        new_f, new_W, new_G = f.copy(), W.copy(), G.copy()
        new_W[:, some] += (step * D)[:, some]
        new_f[some], new_G[:, some] = derivatives(some, new_W[:, some])
        passes[some] += 1
        slope = (G * D).sum(axis=0)
        # sums of many losses are rounded
        moved = new_f <= f + 1e-4 * step * slope + 1e-12 * np.abs(f)
        moved &= np.isin(np.arange(size), some)
        S, T = (np.where(moved, after - before, 0.0) for after, before in ((new_W, W), (new_G, G)))
        ST = (S * T).sum(axis=0)
        usable = ST > 0
        scale = (T * inverse(T)).sum(axis=0)
        gamma = np.where(usable, ST / np.where(usable, scale, 1), gamma)
        # labels that did not move have a pair of zeros, which changes nothing
        pairs.append((S, T, np.where(usable, 1 / np.where(usable, ST, 1), 0.0)))
        # of the parabola through what is known; not finite: half as long
        with np.errstate(all="ignore"):
            least = -slope * step**2 / (2 * (new_f - f - slope * step))
        shorter = np.clip(np.nan_to_num(least, nan=0.0), 0.1 * step, 0.5 * step)
        step = np.where(moved | (passes < passes.max()), 1.0, shorter)
        f, W, G = (np.where(moved, *pair) for pair in ((new_f, f), (new_W, W), (new_G, G)))
    if len(some):
        warnings.warn(
            f"{len(some)} of {size} labels did not converge in {most} passes; raise max_iter or "
            "tol",
            ConvergenceWarning,
            stacklevel=5,
        )
    return W, passes


def _two_loops(
    G: Floats, pairs: Any, gamma: Floats, inverse: Callable[[Floats], Floats]
) -> Floats:
    """Gradients times the inverse Hessians as the pairs of steps and changes tell them."""
    V, parts = G.copy(), []
    for S, T, rho in reversed(pairs):
        parts.append(rho * (S * V).sum(axis=0))
        V -= parts[-1] * T
    V = gamma * inverse(V)
    for (S, T, rho), part in zip(pairs, reversed(parts)):
        V += (part - rho * (T * V).sum(axis=0)) * S
    return V


def models_of(estimator: Any, sums: Sums, W: Floats, passes: Any) -> list[Any]:
    """Fitted models as ``BinaryRelevance`` has them."""
    d = len(W) - 1
    fitted = clone(estimator).fit(np.zeros((2, d)), np.array([0, 1], dtype=np.int8))
    models: list[Any] = []
    for l, (known, present) in enumerate(zip(sums.known.tolist(), sums.present.tolist())):
        if not 0 < present < known:
            models.append(sure_model(d, int(known), int(present)))
            continue
        model = copy(fitted)
        model.coef_, model.intercept_ = W[np.newaxis, :-1, l].copy(), W[-1:, l].copy()
        if fitted.n_iter_ is not None:
            model.n_iter_ = fitted.n_iter_ * 0 + passes[l]
        models.append(model)
    return models
