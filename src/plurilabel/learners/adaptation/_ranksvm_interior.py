"""Rank-SVM by an interior-point method, for problems with few weights.

The proximal steps of ``_ranksvm_solver`` are fast if C times the kernel is moderate. If it is
large, the problem resembles a linear program, and they crawl. A primal-dual interior-point method
(Mehrotra 1992) takes a few dozen steps at any C, but lists all pairs and factorises a matrix with
a row for each weight, q times the rank of K.

With K = Phi Phi', w = Phi' beta, and p = (i, k, l) a pair of instance i of margin z_ik - z_il:

    max_alpha  sum_p alpha_p - |w|^2 / 2,   beta = A alpha,  0 <= alpha <= c,  1' beta = 0

    margin_p - 1 = u_p - v_p,   alpha_p u_p = mu,   (c_p - alpha_p) v_p = mu,   mu -> 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from plurilabel._core.blocks import ranges
from plurilabel.learners.adaptation._ranksvm_hinge import Floats, LabelSets

REFINE = 20  # most steps of conjugate gradients, preconditioned by a Cholesky factor


def interior_points(Phi: Floats, sets: LabelSets) -> Iterator[tuple[Floats, ...]]:
    """Points on the way to the optimum: beta (n, q) in Z, weights (r, q) and biases (q,)."""
    # Also yields another beta near the first, with weights near 0: a multiple of it is nearly
    # optimal for that multiple of a large c. ``Phi`` (n, r) are the features; for a kernel, a
    # square root of its matrix. Ends where rounding leaves no further step.
    A, part = Pairs(sets), sets.parts()
    (n, r), q = Phi.shape, sets.A.shape[1]
    Phi_1 = np.column_stack([Phi, np.ones(n)])  # biases are weights of a constant feature
    upper = sets.c[A.row]
    # alpha and the slack below its upper bound, with their multipliers u and v
    alpha, slack = upper / 2, upper / 2
    u, v = np.ones(len(upper)), np.full(len(upper), 2.0)
    W = np.zeros((r + 1, q))
    # only differences of biases matter: the last of each component stays 0
    pinned = q - 1 - np.unique(part[::-1], return_index=True)[1]

    def direction(r_u: Floats, r_v: Floats, at: Any) -> tuple[Floats, Floats, Floats, Floats]:
        """The Newton step of W, alpha, u and v to alpha u + r_u and slack v + r_v."""
        alpha, slack, u, v, theta, r_margin, r_W, newton = at
        g = r_margin + r_u / alpha - r_v / slack
        dW = newton(Phi_1.T @ A.sums(theta * g) - r_W)
        d_alpha = theta * (g - A.margins(Phi_1 @ dW))
        return dW, d_alpha, (r_u - u * d_alpha) / alpha, (r_v + v * d_alpha) / slack

    def room(x: Floats, dx: Floats) -> float:
        """The longest step, at most 1, that keeps x positive."""
        return min(1.0, float(np.min(-x[dx < 0] / dx[dx < 0], initial=1.0)))

    while True:
        beta = A.sums(alpha)
        r_margin = 1 - A.margins(Phi_1 @ W) + u - v
        r_W = np.vstack([W[:r] - Phi.T @ beta, -beta.sum(axis=0)])
        theta = 1 / (u / alpha + v / slack)
        try:
            newton = _newton_system(A, theta, Phi_1, pinned)
        except linalg.LinAlgError:
            return

        at = alpha, slack, u, v, theta, r_margin, r_W, newton
        # predictor: how far a step to mu = 0 would get; then the corrector (Mehrotra)
        mu = (alpha @ u + slack @ v) / (2 * len(upper))
        _, da, du, dv = direction(-alpha * u, -slack * v, at)
        a = min(room(alpha, da), room(slack, -da), room(u, du), room(v, dv))
        left = (alpha + a * da) @ (u + a * du) + (slack - a * da) @ (v + a * dv)
        mu *= (left / (2 * len(upper)) / mu) ** 3
        dW, da, du, dv = direction(mu - alpha * u - da * du, mu - slack * v + da * dv, at)
        a = 0.995 * min(room(alpha, da), room(slack, -da), room(u, du), room(v, dv))
        if not a > 1e-8 or not np.isfinite(dW).all():
            return
        W = W + a * dW
        alpha, slack, u, v = alpha + a * da, slack - a * da, u + a * du, v + a * dv
        without = alpha - theta * A.margins(Phi_1 @ newton(np.vstack([W[:r], np.zeros(q)])))
        yield A.sums(alpha), W[:r], W[r], A.sums(without)


class Pairs:
    """The pairs p = (i, k, l) with k in the label set of i and l not: the matrix A."""

    def __init__(self, sets: LabelSets):
        self.shape = sets.A.shape
        q, n_others = self.shape[1], sets.D.sum(axis=1)
        with_k = np.flatnonzero(sets.A)  # (i, k), as numbers i q + k
        others = n_others[with_k // q]
        self.plus = np.repeat(with_k, others)
        self.row = self.plus // q
        # the labels that i lacks, once for each that it has
        begin = np.concatenate([[0], np.cumsum(n_others)])[with_k // q]
        self.minus = np.flatnonzero(sets.D)[ranges(begin, others)]

    def margins(self, z: Floats) -> Floats:
        """A' z: the difference of the two scores of each pair."""
        z = z.ravel()
        return z[self.plus] - z[self.minus]

    def sums(self, alpha: Floats) -> Floats:
        """A alpha, (n, q)."""
        size = self.shape[0] * self.shape[1]
        beta = np.bincount(self.plus, alpha, size) - np.bincount(self.minus, alpha, size)
        return np.asarray(beta.reshape(self.shape), dtype=np.float64)

    def laplacians(self, theta: Floats) -> Floats:
        """A diag(theta) A', a matrix (q, q) for each instance."""
        n, q = self.shape
        above = np.bincount(self.plus * q + self.minus % q, theta, n * q * q).reshape(n, q, q)
        M: Floats = -(above + above.transpose(0, 2, 1)).astype(np.float64)
        M[:, np.arange(q), np.arange(q)] = -M.sum(axis=2)
        return M


def _newton_system(
    A: Pairs, theta: Floats, Phi_1: Floats, pinned: NDArray[np.intp]
) -> Callable[[Floats], Floats]:
    """Solver of G dW = right, G = I + Phi' A diag(theta) A' Phi; the biases have no I."""
    # Entries of theta differ by many orders of magnitude: a Cholesky factor of G is only a
    # preconditioner, and G is applied without being formed.
    q, size = A.shape[1], Phi_1.shape[1]
    L = A.laplacians(theta)
    blocks = np.zeros((q, size, q, size))
    for k in range(q):
        for l in range(k, q):
            some = np.flatnonzero(L[:, k, l])
            blocks[k, :, l] = Phi_1[some].T @ (L[some, k, l, None] * Phi_1[some])
            blocks[l, :, k] = blocks[k, :, l].T
    ridge = np.ones((q, size))
    ridge[:, -1] = 0.0
    for last in pinned:
        blocks[last, -1] = blocks[:, :, last, -1] = 0.0
        blocks[last, -1, last, -1] = 1.0
    G = blocks.reshape(q * size, q * size)
    diagonal = np.einsum("ii->i", G)
    diagonal += ridge.ravel()
    scale = 1 / np.sqrt(diagonal)
    G *= scale
    G *= scale[:, None]
    diagonal += 1e-14
    factor = linalg.cho_factor(G, overwrite_a=True)
    scale = scale.reshape(q, size).T

    def times_G(V: Floats) -> Floats:
        product = Phi_1.T @ A.sums(theta * A.margins(Phi_1 @ V))
        product[:-1] += V[:-1]
        product[-1, pinned] = V[-1, pinned]
        return product

    def precondition(R: Floats) -> Floats:
        x = linalg.cho_solve(factor, (scale * R).T.ravel(), check_finite=False)
        return scale * x.reshape(q, size).T

    def solve(right: Floats) -> Floats:
        right = right.copy()
        right[-1, pinned] = 0.0
        return conjugate_gradients(times_G, precondition, right, REFINE, 1e-24)

    return solve


def conjugate_gradients(
    times: Callable[..., Floats], precondition: Any, right: Floats, steps: int, accuracy: float
) -> Floats:
    """Solve times(x) = right until the preconditioned square of the residual is small enough."""
    x, r = np.zeros_like(right), right
    p = h = precondition(r)
    rh = first = float(np.vdot(r, h))
    for _ in range(steps):
        if not rh > accuracy * first:
            break
        A_p = times(p)
        a = rh / float(np.vdot(p, A_p))
        x, r = x + a * p, r - a * A_p
        h = precondition(r)
        rh, before = float(np.vdot(r, h)), rh
        p = h + rh / before * p
    return x
