"""Logistic regressions with an L2 penalty, solved by Newton's method at any scale of features.

Of label y with features F the objective is, over weights w and an intercept b,

    C Σ_i log(1 + exp(-s_i (F_i·w + b))) + ‖w‖² / 2        with s_i = ±1

scikit-learn's solvers stop by the size of the gradient, which depends on the scale of the
features: with raw features of Emotions they leave the objective 3.4 above its optimum. Newton's
method tells how far it is itself: half of its decrement g·H⁻¹g is what a step still gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

Floats = NDArray[np.float64]

GAIN = 1e-12
"""A step that gains less than this share of the objective is the last."""

DIRECT = 500
"""Features up to which the Hessian is made and factorised; beyond, and for sparse ones, it is
only multiplied by."""


@dataclass(frozen=True)
class Solution:
    """Weights (d,) and intercept, after how many steps, and whether they are the optimum."""

    coef: Floats
    intercept: float
    n_iter: int
    converged: bool


class Regressions:
    """Regressions on the same features.

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
        sign = np.where(y == 1, 1.0, -1.0)

        def objective(u: Floats) -> tuple[float, Floats]:
            z = F @ u[:d] + u[d]
            return C * np.logaddexp(0, -sign * z).sum() + self.penalty @ u**2 / 2, z

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
            while True:  # the last step is a full one: of the objective, only rounding is left
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
            # Of features that depend on each other, rounding may leave it singular.
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
