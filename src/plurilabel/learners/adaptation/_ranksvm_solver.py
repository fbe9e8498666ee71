"""The quadratic program of Rank-SVM, and a certificate of its solution.

With K the kernel matrix, beta (n, q) the coefficients and Z_i the sets of ``_ranksvm_hinge``:

    primal  min_{beta, b}  sum_l beta_l' K beta_l / 2 + sum_i h_i(z_i),   z = K beta + 1 b'
    dual    max_beta       <Y, beta> - sum_l beta_l' K beta_l / 2,   beta_i in Z_i,  1' beta = 0

Every point that a method proposes is measured by both objectives, which bound the optimum from
both sides, whatever the rounding on the way. Problems with few weights are left to the
interior-point method of ``_ranksvm_interior``; the rest of this file is for all others.

The proximal method of multipliers (Rockafellar 1976) adds |beta - beta_t|^2 / (2 sigma) to the
dual and |b - b_t|^2 / (2 tau) to the primal problem, which makes biases an ordinary feature of
weight tau. A step then solves one equation,

    beta = projection on Z of (beta_t + sigma (Y - z)),   z = (K + tau 1 1') beta + b_t,

which is piecewise linear, by a Newton method with conjugate gradients inside: a semismooth Newton
proximal method, as Li, Sun and Toh (2018) use for the lasso. The left side is a primal point, and
the right side is in Z, close to a dual feasible point.

Unless C is small, the equation has so many pieces that Newton steps are cut short. If a matrix as
large as the rank of K can be factorised, operator splitting is tried first (``split_points``): at
C = 100 it takes a tenth of the time on scene and yeast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from plurilabel.learners.adaptation._ranksvm_hinge import (
    Floats,
    Groups,
    LabelSets,
    pairwise_hinge,
    project,
)
from plurilabel.learners.adaptation._ranksvm_interior import conjugate_gradients, interior_points
from plurilabel.learners.adaptation._ranksvm_kernel import NOT_PSD, Gram

FEW_WEIGHTS = 2**12  # for the interior-point method, whose matrix then takes 128 MB
MOST_PAIRS = 2**22  # for the same
FAST = 3e9  # multiplications per step up to which it is tried first
RANGE = 1e-10, 1e9  # of C times the mean of K(x, x), within which its steps are accurate
LARGE = 1e3  # C times the mean of K(x, x) beyond which beta is ill-conditioned
UNSEEN = 1e-100  # the same, below which features cannot change the objective
SMALL = 1.0  # C times the spread of K below which proximal steps are faster than splitting

NEWTON_STEPS = 30  # most of one proximal step; a handful is usual
FIRST_STEPS = 25  # after which the interior-point method is tried, if it can be
STEP_ACCURACY = 1e-3  # of a proximal step, relative to its length
CG_ACCURACY = 1e-4  # of a Newton step; a looser one leaves the biases inexact
CG_STEPS = 500


@dataclass(frozen=True)
class Solution:
    """A primal point and its certificate."""

    beta: Floats  # (n, q)
    b: Floats  # (q,), of sum 0
    primal: float
    dual: float
    gap: float  # (primal - dual) / primal
    n_iter: int


def solve(K: Gram, sets: LabelSets, *, tol: float, max_iter: int) -> Solution:
    """Minimise the primal objective until the relative duality gap is at most tol."""
    # ``max_iter`` limits the steps of all methods together.
    if K.diagonal.min() < 0:
        raise ValueError(NOT_PSD)
    if (b := _levels(sets)) is not None:
        return Solution(np.zeros(sets.A.shape), b, 0.0, 0.0, 0.0, 0)
    dual, n_iter, gap = -np.inf, 0, np.inf
    best, part = (np.zeros(sets.A.shape), np.zeros(sets.A.shape[1])), sets.parts()
    primal = pairwise_hinge(best[0], sets)
    for hoped, low, high in _points(K, sets):
        n_iter += 1
        for beta, b, K_beta in high:
            value = float(np.vdot(beta, K_beta)) / 2 + pairwise_hinge(K_beta + b, sets)
            if value < primal:
                primal, best = value, (beta, _centred(b, part))
        # a certificate takes as long as several Newton steps: only where it may be the last
        if primal - hoped <= 2 * tol * primal or n_iter == max_iter:
            for beta, square in low():
                dual = max(dual, float(beta[sets.A].sum()) - square / 2)
            gap = (primal - dual) / primal
            if gap <= tol or n_iter == max_iter:
                break
    if gap < -1e-6:
        raise ValueError(NOT_PSD)
    return Solution(*best, primal, dual, gap, n_iter)


def _centred(b: Floats, part: NDArray[np.intp]) -> Floats:
    """Biases of mean 0 in each component of the labels: a common shift changes nothing."""
    if not part.any():
        return b - b.mean()
    return b - (np.bincount(part, b) / np.bincount(part))[part]


def _levels(sets: LabelSets) -> Floats | None:
    """Biases that alone rank all pairs with margins of 1; None if there are none."""
    # Label k must come before l if an instance has k and not l. If, and only if, this order has no
    # cycle, the minimum of the objective is 0, with levels of the order as biases.
    before = sets.before()
    if connected_components(before, connection="strong")[0] < len(before):
        return None
    level = np.zeros(len(before))
    for l in np.argsort(before.sum(axis=0))[::-1]:  # most predecessors first
        level[l] = 1 + np.max(level[before[l]], initial=-1.0)
    return level - level.mean()


Dual: TypeAlias = list[tuple[Floats, float]]
Points: TypeAlias = Iterator[tuple[float, Callable[[], Dual], list[tuple[Floats, Floats, Floats]]]]
"""For each step: an estimate of the dual objective; a function that returns dual feasible points
(beta, |w|^2); and primal points (beta, b, K beta)."""


def _points(K: Gram, sets: LabelSets) -> Points:
    """Points of the method that suits the problem."""
    (n, q), n_pairs = sets.A.shape, int(sets.n_pairs.sum())
    weights = (K.rank + 1) * q
    few = weights <= FEW_WEIGHTS and n_pairs <= MOST_PAIRS and n * q * q <= MOST_PAIRS
    if not few or weights**2 * (n / 2 + weights / 3) > FAST:
        C = float(np.mean(sets.c * sets.n_pairs))
        split = K.can_be_factorised and C * spread(K) >= SMALL
        if split:
            points = _split_points(K, sets)
            yield from points if not few else islice(points, FIRST_STEPS)
        if not (split and few):
            yield from _proximal_points(K, sets, patient=not few)
    if few:
        yield from _interior_points(K, K.root(), sets)


def _interior_points(K: Gram, Phi: Floats, sets: LabelSets) -> Points:
    """Points of ``interior_points``, for features of mean 0 and mean square 1."""
    # If C is outside ``RANGE``, the problem is solved at the end of the range: there the weights
    # hardly depend on C, and beta is either proportional to C or constant.
    Phi = Phi - Phi.mean(axis=0)
    scale = float(np.sqrt(np.mean(np.einsum("ij,ij->i", Phi, Phi))))
    C = float(np.mean(sets.c * sets.n_pairs))
    if C * scale**2 < UNSEEN:  # biases alone
        Phi, scale = np.zeros_like(Phi), 1.0
    Phi = Phi / scale
    C *= scale**2
    inside = min(max(C, RANGE[0]), RANGE[1]) / C
    # if beta is large, weights are small differences, which coefficients of least norm preserve
    to_beta = np.linalg.pinv(Phi).T / scale if C > LARGE else None
    scaled = replace(sets, c=inside * scale**2 * sets.c)
    for point, W, b, without in interior_points(Phi, scaled):
        beta = balance(point, scaled) / scale**2
        if inside > 1:
            beta /= inside
        low = [beta]
        if inside < 1:
            low.append(balance(without / (inside * scale**2), sets))
        # the barrier keeps coefficients off zero: drop those next to it
        size = np.abs(beta).max(axis=1, keepdims=True)
        few = np.where(size > 1e-8 * size.max(), beta, 0.0)
        high = [few] if to_beta is None else [few, to_beta @ (W / scale)]
        products = [(B, K @ B) for B in high]
        squares = [float(np.sum((scale * (Phi.T @ beta)) ** 2)) for beta in low]
        found = list(zip(low, squares))
        high_points = [(B, b - KB.mean(axis=0), KB) for B, KB in products]
        yield np.inf, partial(list, found), high_points


def _proximal_points(K: Gram, sets: LabelSets, patient: bool) -> Points:
    """Points of the proximal method of multipliers; ends where it crawls, unless patient."""
    (n, q), loss = sets.A.shape, sets.c * sets.n_pairs  # of each instance at z = 0
    curvature = float(K.diagonal.mean()) or 1.0
    # a first step that overshoots neither the margin nor the largest coefficients
    sigma = min(1.0 / curvature, float(loss.mean()) / q)
    # and one that moves the biases by the margin if the weights cannot
    tau = max(curvature, q / float(loss.sum()))
    most_tau = max(curvature, 1000 * q / float(loss.sum()))
    beta, b, K_beta = np.zeros((n, q)), np.zeros(q), np.zeros((n, q))
    n_steps = 0
    while True:
        step = _ProximalStep(K, sets, sigma, tau, beta, b)
        beta, K_beta = step.solve(K_beta)
        b = b + tau * step.B.sum(axis=0)
        b -= b.mean()
        # the Lagrangian at these biases, close to the certificate
        hoped = float(np.vdot(beta, sets.A - b) - np.vdot(beta, K_beta) / 2)
        low = partial(_feasible, K, sets, beta, K_beta)
        yield hoped if patient else np.inf, low, [(step.B, b, step.KB)]
        n_steps += 1
        if not patient and (step.n_newton == NEWTON_STEPS or n_steps == FIRST_STEPS):
            return
        # longer steps are fewer but harder: let the work of the last one decide
        work = step.n_newton / NEWTON_STEPS
        sigma *= 3.0 if work <= 0.2 else 1.5 if work <= 0.4 else 1.0 if work < 1 else 0.3
        tau = min(3 * tau, most_tau)


def _split_points(K: Gram, sets: LabelSets) -> Points:
    """Points of ``split_points``, with their certificates."""
    for beta, B, b in split_points(K, sets):
        few = np.where(beta.any(axis=1, keepdims=True), B, 0.0)  # at the end, B is 0 elsewhere
        K_beta = K @ beta
        hoped = float(np.vdot(beta, sets.A - b) - np.vdot(beta, K_beta) / 2)
        high = [(few, b, K @ few), (B, b, K @ B)]
        yield hoped, partial(_feasible, K, sets, beta, K_beta), high


def _feasible(K: Gram, sets: LabelSets, beta: Floats, K_beta: Floats) -> Dual:
    """The nearest dual feasible point."""
    feasible = balance(beta, sets)
    return [(feasible, float(np.vdot(feasible, K_beta + K @ (feasible - beta))))]


@dataclass
class _ProximalStep:
    """One proximal step: the root of B -> B - projection(beta_t + sigma (Y - z(B)))."""

    K: Gram
    sets: LabelSets
    sigma: float
    tau: float
    beta_t: Floats
    b_t: Floats

    def solve(self, K_beta: Floats) -> tuple[Floats, Floats]:
        """The projection at the root and K times it, given K beta_t; B and K B are kept."""
        B, KB = self.beta_t, K_beta + self.tau * self.beta_t.sum(axis=0)
        value, beta, groups = self._objective(B, KB)
        for self.n_newton in range(NEWTON_STEPS + 1):
            R = B - beta
            K_R = self._times_K(R)
            size, moved = np.linalg.norm(R), np.linalg.norm(beta - self.beta_t)
            exact = size <= STEP_ACCURACY * moved or size <= 1e-14 * np.linalg.norm(beta)
            if exact or self.n_newton == NEWTON_STEPS:
                break
            y = self._newton(K_R, groups)
            K_y = self._times_K(y)
            dB, K_dB = -R - y, -K_R - K_y
            slope, length = float(np.vdot(R, K_dB)), 1.0
            while True:
                new = self._objective(B + length * dB, KB + length * K_dB)
                rise = new[0] - value
                if rise <= 1e-4 * length * slope + 1e-12 * abs(value) or length < 1e-6:
                    break
                # the minimum of the interpolating parabola, within bounds
                bend = rise - length * slope
                length *= min(0.5, max(0.1, -slope * length / (2 * bend)))
            B, KB = B + length * dB, KB + length * K_dB
            value, beta, groups = new
        self.B, self.KB = B, KB - self.tau * B.sum(axis=0)
        return beta, KB - K_R - self.tau * beta.sum(axis=0)

    def _times_K(self, V: Floats) -> Floats:
        return self.K @ V + self.tau * V.sum(axis=0)

    def _objective(self, B: Floats, KB: Floats) -> tuple[float, Floats, Groups]:
        """The step's primal objective at f = (K + tau) B, with its beta in Z and the groups."""
        slack = self.sets.A - KB - self.b_t
        beta, groups = project(self.beta_t + self.sigma * slack, self.sets)
        moved = beta - self.beta_t
        envelope = np.vdot(beta, slack) - np.vdot(moved, moved) / (2 * self.sigma)
        return float(np.vdot(B, KB) / 2 + envelope), beta, groups

    def _newton(self, K_R: Floats, groups: Groups) -> Floats:
        """The y with (1/sigma + Q (K + tau) Q) y = - Q (K + tau) R."""
        # Q, the derivative of the projection, makes y zero outside the groups, which are few where
        # most margins are met. The preconditioner of the conjugate gradients has the diagonal of
        # K, which commutes with Q, and the q directions of the biases exactly (Woodbury).
        q, Q, column = K_R.shape[1], groups.centred, groups.column
        scale = 1.0 / (1.0 / self.sigma + self.K.diagonal)
        J = groups.summed(scale, q) + np.eye(q) / self.tau
        inverse, scale = np.linalg.inv(J), scale[groups.row]
        of_weights = self.K.among(groups.row, column, q)

        def times_K(v: Floats) -> Floats:
            return of_weights(v) + self.tau * np.bincount(column, v, q)[column]

        def precondition(r: Floats) -> Floats:
            h = scale * r
            nu = inverse @ np.bincount(column, h, minlength=q)
            return h - scale * Q(nu[column])

        def times(p: Floats) -> Floats:
            A_p = p / self.sigma + Q(times_K(p))
            if float(np.vdot(p, A_p)) <= 0:
                raise ValueError(NOT_PSD)
            return A_p

        right = -Q(K_R[groups.row, column])
        y = conjugate_gradients(times, precondition, right, CG_STEPS, CG_ACCURACY**2)
        step = np.zeros_like(K_R)
        step[groups.row, column] = y
        return step


def balance(beta: Floats, sets: LabelSets) -> Floats:
    """Projection of beta on {beta_i in Z_i, 1' beta = 0}: Newton steps in its q multipliers."""
    # If the sums do not vanish up to rounding, which was never observed, 0 is feasible.
    mu = np.zeros(beta.shape[1])
    weight = np.ones(len(beta))
    for _ in range(30):
        point, groups = project(beta - mu, sets)
        excess = point.sum(axis=0)
        if np.abs(excess).max() <= 1e-13 * np.abs(point).sum():
            return point
        mu = mu + np.linalg.lstsq(groups.summed(weight, len(mu)), excess, rcond=1e-10)[0]
    return np.zeros_like(beta)


RELAXED = 1.6  # over-relaxation, between 1 and 2
MEMORY = 5  # steps that an extrapolation looks back
WORSE = 2.0  # growth of the difference after which an extrapolation is undone
DAMPED = 0.01  # of all rows, added to those that move: few rows cannot shift mu far
ROUNDS = 10  # iterations in one step of the solver
PATIENCE = 12  # steps in which both sides must come closer by half


def spread(K: Gram) -> float:
    """Mean of the centred K(x, x): what instances share is left to the biases."""
    n, mean = len(K.diagonal), float(K.diagonal.mean())
    return max(mean - float((K @ np.ones((n, 1))).sum()) / n**2, 1e-12 * mean)


def split_points(K: Gram, sets: LabelSets) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Operator splitting: beta (n, q) in Z, B of sum 0 and biases (q,) on the way to the optimum.

    With rho > 0, a step of Douglas and Rachford (1956; Eckstein and Bertsekas 1992) alternates
    between the two parts of the problem: weights and biases for targets T, which is least squares,
    and the hinge, which is a projection of each row,

        B = (K + 1/rho)^-1 (T - 1 b'),  z = T - B / rho = K B + 1 b',   b such that 1' B = 0

        beta = projection on Z of (B + rho (Y - z) - 1 mu'),            mu such that 1' beta = 0

        T <- T + (beta - B) / rho

    until B = beta. All labels share one factor of K + 1/rho, so that a step takes as long as a few
    products with X, however ill-conditioned K is. mu is improved by one Newton step each time. The
    map from T to T is piecewise affine, and its steps are extrapolated (Anderson 1965; Fu, Zhang
    and Boyd 2020), unless that makes the next difference larger.

    Ends where the two sides hardly come closer: on some problems they never meet.
    """
    (n, q), Y = sets.A.shape, sets.A
    rho = 1.0 / spread(K)  # both sides converge alike
    apart: list[float] = []
    inverse = K.inverse(1 / rho)
    centre = inverse(np.ones((n, 1)))[:, 0]
    centre /= centre.sum()
    T, mu, weight = np.zeros((n, q)), np.zeros(q), np.ones(n)
    damping = DAMPED * n * np.eye(q)
    extrapolate, plain, least = _Extrapolation(), T, np.inf
    while True:
        for _ in range(ROUNDS):
            b = centre @ T
            B = inverse(T - b)
            beta, groups = project(2 * B + rho * (Y - T) - mu, sets)
            b = b + mu / rho
            sums = groups.summed(weight, q) + damping
            mu = mu + np.linalg.solve(sums, beta.sum(axis=0))
            change = (beta - B) * (RELAXED / rho)
            size = float(np.linalg.norm(change))
            if size > WORSE * least and T is not plain:
                T, least, extrapolate = plain, np.inf, _Extrapolation()
                continue
            plain, least = T + change, size
            T = extrapolate(plain, change)
        yield beta, B, b - b.mean()
        apart.append(float(np.linalg.norm(beta - B)))
        if min(apart[-PATIENCE:]) > min(apart[:-PATIENCE], default=np.inf) / 2:
            return


class _Extrapolation:
    """Extrapolates points g(T) to the least difference g(T) - T over the last steps."""

    def __init__(self) -> None:
        self.steps: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY + 1)

    def __call__(self, point: Floats, change: Floats) -> Floats:
        self.steps.append((point, change))
        moves = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(self.steps)]
        products = np.array([[np.vdot(d, other) for _, other in moves] for _, d in moves])
        if len(moves) < 2 or not np.trace(products) > 0:
            return point
        ridge = 1e-10 * np.trace(products) * np.eye(len(moves))
        right = np.array([np.vdot(d, change) for _, d in moves])
        for a, (move, _) in zip(np.linalg.solve(products + ridge, right), moves):
            point = point - a * move
        return point
