"""The exponential losses, whose weights the rounds work on.

The papers carry the weights along, multiplying by exp(-y h) and dividing by Z_t in each round. The
same weights follow from the scores f = sum of h so far, without rounding errors that add up; and
the product of all Z_t is the mean loss itself, which bounds the training error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix


class Loss(ABC):
    """Weights of the instance-label pairs as V (n, 2q): W+ where the label is, W- where not."""

    link_slope: float
    """P(label) = sigmoid(link_slope * f) where f minimises the expected loss."""

    def __init__(self, Y: LabelMatrix):
        # The weights are dense whatever Y is: every pair has one.
        self.have = (Y.toarray() if sparse.issparse(Y) else Y).astype(bool)

    @abstractmethod
    def start(self) -> float:
        """The loss of f = 0; 0 if there is nothing to learn."""

    @abstractmethod
    def weights(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Weights of the pairs, which sum to one, and the loss: the product of the Z_t."""

    def _sides(self, D: NDArray[np.float64]) -> NDArray[np.float64]:
        n, q = D.shape
        V = np.empty((n, 2 * q))
        np.multiply(D, self.have, out=V[:, :q])
        np.subtract(D, V[:, :q], out=V[:, q:])
        return V


class PairLoss(Loss):
    """AdaBoost.MH: the mean over all pairs (i, l) of exp(-Y_i[l] f(x_i, l))."""

    link_slope = 2.0

    def start(self) -> float:
        """One: D_1(i, l) = 1 / (mk)."""
        return 1.0

    def weights(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """D(i, l), and the loss."""
        D = np.exp(np.where(self.have, -f, f))
        bound = float(D.mean())
        if bound > 0:
            D /= bound * D.size
        return self._sides(D), bound


class RankLoss(Loss):
    """AdaBoost.MR: the mean over crucial pairs of exp((f(x_i, l0) - f(x_i, l1)) / 2).

    l1 is a label of instance i, l0 is none; each instance counts alike, those with no label or
    with all of them do not count. The weight D(i, l0, l1) = v(i, l0) v(i, l1) is never formed.
    """

    link_slope = 1.0

    def __init__(self, Y: LabelMatrix):
        super().__init__(Y)
        size = self.have.sum(axis=1)
        pairs = size * (self.have.shape[1] - size)  # |Y_i| |Y - Y_i|
        self.m = int((pairs > 0).sum())
        self.scale = np.divide(1.0, self.m * pairs, where=pairs > 0, out=np.zeros(len(pairs)))

    def start(self) -> float:
        """One, or zero where no instance has a pair to rank."""
        return 1.0 if self.m else 0.0

    def weights(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """d(i, l), half the weight of the pairs that l is in, and the loss."""
        centred = f - f.mean(axis=1, keepdims=True)  # a shift changes no pair
        v = np.exp(np.where(self.have, -0.5, 0.5) * centred)
        V = self._sides(v)
        q = v.shape[1]
        of_labels = V[:, :q].sum(axis=1)
        of_others = V[:, q:].sum(axis=1)
        bound = float(np.sum(self.scale * of_labels * of_others))
        if bound > 0:
            half = 0.5 * self.scale / bound
            V[:, :q] *= (half * of_others)[:, np.newaxis]
            V[:, q:] *= (half * of_labels)[:, np.newaxis]
        return V, bound
