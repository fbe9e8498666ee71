"""The penalised likelihood of CML, and its gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.learners.adaptation._cml._sets import LabelSets, psi

Floats = NDArray[np.float64]


class Potentials(NamedTuple):
    """The parameters of the field."""

    W: Floats  # (d, q), label-feature potentials
    b: Floats  # (q,)
    interaction: Floats  # (q, q), symmetric, zero on the diagonal


class PenalisedLikelihood:
    """Mean negative log-likelihood plus penalty, as a function of a flat vector.

    The intercepts carry no penalty. So features and label pairs can be centred (which only shifts
    the intercepts) and every parameter can be scaled so that the curvature is about one: the
    minimum stays where it is, and L-BFGS finds it in tens of steps, even on raw features.
    """

    def __init__(self, X: Any, Y: Floats, weights: Floats, sets: LabelSets, C: float):
        d, q = X.shape[1], Y.shape[1]
        n = weights.sum()
        self.Y, self.weights, self.sets, self.C, self.n = Y, weights, sets, C, n
        self.pair = np.triu_indices(q, 1)
        self.mean = np.asarray(weights @ X).ravel() / n  # (d,)
        self.prior = weights @ Y / n  # (q,)
        if sparse.issparse(X):
            self.X = X
            squares = np.asarray(weights @ X.multiply(X)).ravel() / n
            variance = np.maximum(squares - self.mean**2, 0.0)
        else:
            self.X = X - self.mean
            variance = weights @ self.X**2 / n
        self.both = (Y.T * weights) @ Y  # (q, q), how often each pair of labels occurs
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
        U = self._product(W) + b - interaction @ self.prior  # (n, q)
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
        """Every potential zero."""
        return np.zeros(len(self.unit))

    def work(self) -> int:
        """Multiplications in one evaluation, roughly."""
        a, b = len(self.sets.left), len(self.sets.right)
        (n, q), (_, d) = self.Y.shape, self.X.shape
        return n * (a * b + q * (a + b) + (0 if sparse.issparse(self.X) else d * q))

    def potentials(self, v: Floats) -> Potentials:
        """The parameters for features and labels as they are, not centred."""
        W, b, interaction = self._centred(v)
        return Potentials(W, b - self.mean @ W - interaction @ self.prior, interaction)

    def _centred(self, v: Floats) -> Potentials:
        q = len(self.prior)
        W, b, c = np.split(v * self.unit, self.ends)
        interaction = np.zeros((q, q))
        interaction[self.pair] = c
        return Potentials(W.reshape(-1, q), b, interaction + interaction.T)

    def _product(self, W: Floats) -> Floats:
        return self.X @ W - self.mean @ W if sparse.issparse(self.X) else self.X @ W
