"""Rank-SVM by operator splitting, for problems with many entries of beta.

With rho > 0, a step of Douglas and Rachford (1956; Eckstein and Bertsekas 1992) takes turns with
the two parts of the problem: weights and biases for targets T, which is least squares, and the
hinge, which is a projection of each row,

    B = (K + 1/rho)^-1 (T - 1 b'),  z = T - B / rho = K B + 1 b',   b such that 1' B = 0

    beta = projection on Z of (B + rho (Y - z) - 1 mu'),            mu such that 1' beta = 0

    T <- T + (beta - B) / rho

until B = beta. All labels share one factor of K + 1/rho, so that a step takes as long as a few
products with X, however ill-conditioned K is. mu is improved by one Newton step each time. The
map from T to T is piecewise affine, and its steps are extrapolated from the last ones (Anderson
1965; Fu, Zhang and Boyd 2020); if that makes the next difference larger, the plain step is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plurilabel.learners.adaptation._ranksvm._hinge import Floats, LabelSets, project
from plurilabel.learners.adaptation._ranksvm._kernel import Gram

RELAXED = 1.6  # times the plain step; 1 to 2 converge
MEMORY = 5  # steps that an extrapolation looks back
WORSE = 2.0  # growth of the difference after which an extrapolation is taken back
DAMPED = 0.01  # of all rows, beside those that move: then few of them cannot shift mu far
ROUNDS = 10  # of the steps above, in one step of the solver
PATIENCE = 12  # of these, in which both sides should come closer by half


def spread(K: Gram) -> float:
    """Mean of K(x, x), seen from the mean: what instances share is left to the biases."""
    n, mean = len(K.diagonal), float(K.diagonal.mean())
    return max(mean - float((K @ np.ones((n, 1))).sum()) / n**2, 1e-12 * mean)


def split_points(K: Gram, sets: LabelSets) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Points on the way to the optimum: beta (n, q) in Z, B of sum 0, biases (q,).

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
                T, least = plain, np.inf
                extrapolate.forget()
                continue
            plain, least = T + change, size
            T = extrapolate(plain, change)
        yield beta, B, b - b.mean()
        apart.append(float(np.linalg.norm(beta - B)))
        if min(apart[-PATIENCE:]) > min(apart[:-PATIENCE], default=np.inf) / 2:
            return


class _Extrapolation:
    """From points g(T) and differences g(T) - T of the last steps to one of least difference."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.last: tuple[Floats, Floats] | None = None
        self.points: list[Floats] = []
        self.changes: list[Floats] = []
        self.products = np.zeros((0, 0))  # of the changes

    def __call__(self, point: Floats, change: Floats) -> Floats:
        last, self.last = self.last, (point, change)
        if last is None:
            return point
        if len(self.changes) == MEMORY:
            del self.points[0], self.changes[0]
            self.products = self.products[1:, 1:]
        self.points.append(point - last[0])
        self.changes.append(change - last[1])
        row = [np.vdot(self.changes[-1], other) for other in self.changes]
        products = np.zeros((len(row), len(row)))
        products[:-1, :-1], products[-1], products[:, -1] = self.products, row, row
        self.products = products
        right = np.array([np.vdot(other, change) for other in self.changes])
        ridge = 1e-10 * np.trace(products) * np.eye(len(row))
        if len(row) == 1 or not np.trace(products) > 0:
            return point
        for a, other in zip(np.linalg.solve(products + ridge, right), self.points):
            point = point - a * other
        return point
