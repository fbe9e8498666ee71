"""Sums over label sets: partition function, marginals, pair expectations and the best set.

The score of a label set y, for unary scores u and label interactions I, is

    F(y) = <u, y> + psi(y),    psi(y) = 1/2 y' I y.

The sets are all sums of a row of ``left`` and a row of ``right``, two 0/1 tables that share no
label. So F splits into a part of the left row, a part of the right row and their interaction,
which is the same for every instance: with the matrix E of its exponentials,

    Z = sum_ab exp(F_a) E_ab exp(F_b)

is a matrix product. All 2**q sets then take about 2**(q/2) exponentials per instance instead of
2**q. A plain list of sets has a single empty right row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks

Floats = NDArray[np.float64]

BLOCK = 2**21  # numbers in the largest temporary array
UNDERFLOW = 1e-250  # Z below which significant terms may have been lost


class Expectations(NamedTuple):
    """Expectations that the likelihood and its gradient need."""

    log_Z: Floats  # (n,)
    marginals: Floats  # (n, q), P(label | x)
    pairs: Floats  # (q, q), weighted sum over the instances of P(both labels | x)


class LabelSets:
    """The label sets considered: each row of left plus each row of right."""

    def __init__(self, left: NDArray[Any], right: NDArray[Any]):
        self.left = np.ascontiguousarray(left, dtype=np.float64)  # (a, q)
        self.right = np.ascontiguousarray(right, dtype=np.float64)  # (b, q)

    @classmethod
    def seen(cls, Y: NDArray[np.integer]) -> LabelSets:
        """The distinct rows of Y."""
        return cls(np.unique(Y, axis=0), np.zeros((1, Y.shape[1]), dtype=np.int8))

    @classmethod
    def all(cls, Y: NDArray[np.integer]) -> LabelSets:
        """Every combination of the labels that vary in Y; the others keep their value."""
        varying, tables = np.flatnonzero(Y.min(axis=0) != Y.max(axis=0)), []
        for labels in np.split(varying, [len(varying) // 2]):
            table = np.zeros((2 ** len(labels), Y.shape[1]), dtype=np.int8)
            table[:, labels] = np.arange(len(table))[:, None] >> np.arange(len(labels)) & 1
            tables.append(table)
        tables[0][:, Y.min(axis=0) == 1] = 1
        return cls(*tables)

    def __len__(self) -> int:
        return len(self.left) * len(self.right)

    def contain(self, Y: Floats) -> NDArray[np.bool_]:
        """Whether each row of Y is one of the sets."""
        in_right = self.right.any(axis=0)
        left, right = ({row.tobytes() for row in part} for part in (self.left, self.right))
        parts = zip(np.where(in_right, 0.0, Y), np.where(in_right, Y, 0.0))
        return np.array([a.tobytes() in left and b.tobytes() in right for a, b in parts])

    def expectations(self, U: Floats, interaction: Floats, weights: Any = None) -> Expectations:
        """Expectations under P(y | x) of each row of the unary scores U (n, q)."""
        A, B = self.left, self.right
        weights = np.ones(len(U)) if weights is None else weights
        cross = A @ interaction @ B.T  # (a, b)
        log_Z, marginals = np.empty(len(U)), np.empty_like(U)
        mass = np.zeros_like(cross)  # of each set, summed over the instances
        top = cross.max()
        E = np.exp(cross - top)
        for rows in row_blocks(len(U), len(A) + len(B), BLOCK):
            w = weights[rows]
            left, right = self._part_scores(U[rows], interaction)
            highest = left.max(axis=1) + right.max(axis=1)
            alpha = np.exp(left - left.max(axis=1, keepdims=True))  # (r, a)
            beta = np.exp(right - right.max(axis=1, keepdims=True))  # (r, b)
            alpha_E = alpha @ E
            Z = (alpha_E * beta).sum(axis=1)
            lost = np.flatnonzero(Z < UNDERFLOW)
            Z[lost] = 1.0
            log_Z[rows] = np.log(Z) + highest + top
            beta /= Z[:, None]
            marginals[rows] = (alpha * (beta @ E.T)) @ A + (alpha_E * beta) @ B
            counted = w.copy()
            counted[lost] = 0.0
            mass += (alpha.T @ (beta * counted[:, None])) * E
            for few in row_blocks(len(lost), len(self), BLOCK):
                i = lost[few]
                P, log_Z[rows][i] = _normalised(left[i], cross, right[i])
                marginals[rows][i] = P.sum(axis=2) @ A + P.sum(axis=1) @ B
                mass += np.tensordot(w[i], P, axes=1)
        between = A.T @ mass @ B
        pairs = (A.T * mass.sum(axis=1)) @ A + (B.T * mass.sum(axis=0)) @ B + between + between.T
        return Expectations(log_Z, marginals, pairs)

    def best(self, U: Floats, interaction: Floats) -> NDArray[np.int8]:
        """The set with the highest score for each row of U, as 0/1 rows."""
        cross = self.left @ interaction @ self.right.T
        best = np.empty(U.shape, dtype=np.int8)
        for rows in row_blocks(len(U), len(self), BLOCK):
            left, right = self._part_scores(U[rows], interaction)
            F = _joint(left, cross, right)
            a, b = np.divmod(F.reshape(len(F), -1).argmax(axis=1), len(self.right))
            best[rows] = self.left[a] + self.right[b]
        return best

    def _part_scores(self, U: Floats, interaction: Floats) -> tuple[Floats, Floats]:
        A, B = self.left, self.right
        return U @ A.T + psi(A, interaction), U @ B.T + psi(B, interaction)


def psi(Y: Floats, interaction: Floats) -> Floats:
    """The interactions within each label set: 1/2 y' I y."""
    return 0.5 * ((Y @ interaction) * Y).sum(axis=1)


def _joint(left: Floats, cross: Floats, right: Floats) -> Floats:
    """Scores of every set, (r, a, b)."""
    return left[:, :, None] + cross + right[:, None, :]


def _normalised(left: Floats, cross: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Posteriors of every set (r, a, b) and log Z, by a sum that cannot underflow."""
    F = _joint(left, cross, right)
    top = F.max(axis=(1, 2))
    P = np.exp(F - top[:, None, None])
    Z = P.sum(axis=(1, 2))
    return P / Z[:, None, None], np.log(Z) + top


class Potentials(NamedTuple):
    """The parameters of the field."""

    W: Floats  # (d, q), label-feature potentials
    b: Floats  # (q,)
    interaction: Floats  # (q, q), symmetric, zero on the diagonal


class PenalisedLikelihood:
    """Mean negative log-likelihood plus penalty, as a function of a flat vector.

    The intercepts have no penalty. So features and label pairs can be centred, which only shifts
    the intercepts, and every parameter is scaled to a curvature of about one: L-BFGS then finds
    the minimum in tens of steps, even on raw features.
    """

    def __init__(self, X: Any, Y: Floats, weights: Floats, sets: LabelSets, C: float):
        d, q = X.shape[1], Y.shape[1]
        n = weights.sum()
        self.Y, self.weights, self.sets, self.C, self.n = Y, weights, sets, C, n
        self.pair = np.triu_indices(q, 1)
        self.mean = np.asarray(weights @ X).ravel() / n  # (d,)
        self.prior = weights @ Y / n  # (q,)
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X):
                self.X = X
                squares = np.asarray(weights @ X.multiply(X)).ravel() / n
                variance = np.maximum(squares - self.mean**2, 0.0)
            else:
                self.X = X - self.mean
                variance = weights @ self.X**2 / n
        if not np.isfinite(variance).all():
            raise ValueError(
                f"X must have finite squares, got {float(abs(X).max()):g}: scale the features"
            )
        self.both = (Y.T * weights) @ Y  # (q, q), weight of the instances with both labels
        spread = self.prior * (1 - self.prior)
        j, k = self.pair
        curvature = [
            (np.outer(variance, spread) + 1 / (n * C)).ravel(),
            np.where(spread > 0, spread, 1.0),
            spread[j] * spread[k] + 1 / (4 * n * C),
        ]
        self.unit = 1 / np.sqrt(np.concatenate(curvature))
        self.ends = [d * q, d * q + q]

    def __call__(self, v: Floats) -> tuple[float, Floats]:
        """The value and its gradient."""
        W, b, interaction = self._centred(v)
        w, (j, k) = self.weights, self.pair
        product = self.X @ W - self.mean @ W if sparse.issparse(self.X) else self.X @ W
        U = product + b - interaction @ self.prior  # (n, q)
        log_Z, marginals, pairs = self.sets.expectations(U, interaction, w)
        score = (U * self.Y).sum(axis=1) + psi(self.Y, interaction)
        c = interaction[j, k]
        # four potentials of variance C for each pair are one interaction of variance 4 C
        penalty = (W**2).sum() / (2 * self.C) + (c**2).sum() / (8 * self.C)
        value = w @ (log_Z - score) + penalty

        G = w[:, None] * (marginals - self.Y)  # (n, q), the gradient in U
        total = G.sum(axis=0)
        in_W = self.X.T @ G + W / self.C
        if sparse.issparse(self.X):
            in_W -= np.outer(self.mean, total)
        in_c = (pairs - self.both)[j, k] + c / (4 * self.C)
        in_c -= self.prior[k] * total[j] + self.prior[j] * total[k]
        gradient = np.concatenate([in_W.ravel(), total, in_c])
        return float(value / self.n), gradient * self.unit / self.n

    def start(self) -> Floats:
        """All potentials zero."""
        return np.zeros(len(self.unit))

    def work(self) -> int:
        """Multiplications in one evaluation, roughly."""
        a, b = len(self.sets.left), len(self.sets.right)
        (n, q), (_, d) = self.Y.shape, self.X.shape
        return n * (a * b + q * (a + b) + (0 if sparse.issparse(self.X) else d * q))

    def potentials(self, v: Floats) -> Potentials:
        """The parameters for features and labels that are not centred."""
        W, b, interaction = self._centred(v)
        return Potentials(W, b - self.mean @ W - interaction @ self.prior, interaction)

    def _centred(self, v: Floats) -> Potentials:
        q = len(self.prior)
        W, b, c = np.split(v * self.unit, self.ends)
        interaction = np.zeros((q, q))
        interaction[self.pair] = c
        return Potentials(W.reshape(-1, q), b, interaction + interaction.T)
