"""Losses of scores f (n, q) for labels y, with their first and second derivatives.

All are of the margins m = y f, where y is 1 for the labels that an instance has and -1 for the
others. The joint loss is of all margins of an instance; its second derivatives are the diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.boosting._gradient_trees import Grown
from plurilabel.learners.boosting._rules import Floats

Bools = NDArray[np.bool_]
Known = Bools | None  # None: all labels

CELLS = 1 << 15  # pairs of an instance and a label worked on at a time: they stay in the cache


def margins(f: Floats, has: Bools) -> Floats:
    """The scores, negated where the instance does not have the label."""
    return np.where(has, f, -f)


class Logistic:
    """log(1 + exp(-m)): the scores are log odds."""

    def start(self, share: Floats) -> Floats:
        """The scores that are best for all instances alike, from the share with each label."""
        return np.log(share) - np.log1p(-share)

    def derivatives(self, f: Floats, has: Bools, _known: Known = None) -> tuple[Floats, Floats]:
        """First and second derivatives by f, (n, q) each, of any value for unknown labels."""
        with np.errstate(over="ignore"):
            p = np.exp(-f)  # three times as fast as scipy's expit
        p += 1
        np.reciprocal(p, out=p)
        h = p * (1 - p)
        p -= has
        return p, h

    def values(self, f: Floats, has: Bools, _known: Known = None) -> Floats:
        """The loss of each instance and label (n, q), or of each instance (n, 1)."""
        return np.logaddexp(0.0, -margins(f, has))


class Squared:
    """(f - y)^2 / 2."""

    def start(self, share: Floats) -> Floats:
        return 2 * share - 1

    def derivatives(self, f: Floats, has: Bools, _known: Known = None) -> tuple[Floats, Floats]:
        return f - np.where(has, 1.0, -1.0), np.ones(f.shape)

    def values(self, f: Floats, has: Bools, _known: Known = None) -> Floats:
        return 0.5 * (f - np.where(has, 1.0, -1.0)) ** 2


class SquaredHinge(Squared):
    """max(0, 1 - m)^2 / 2: margins above one cost nothing."""

    def derivatives(self, f: Floats, has: Bools, _known: Known = None) -> tuple[Floats, Floats]:
        short = np.maximum(0.0, 1 - margins(f, has))
        return np.where(has, -short, short), (short > 0).astype(np.float64)

    def values(self, f: Floats, has: Bools, _known: Known = None) -> Floats:
        return 0.5 * np.maximum(0.0, 1 - margins(f, has)) ** 2


class JointLogistic(Logistic):
    """log(1 + sum of exp(-m) over the labels): small only if no label of the set is wrong."""

    def derivatives(self, f: Floats, has: Bools, known: Known = None) -> tuple[Floats, Floats]:
        e, one, _ = self._exponentials(f, has, known)
        e /= e.sum(axis=1, keepdims=True) + one
        return np.where(has, -e, e), e * (1 - e)

    def values(self, f: Floats, has: Bools, known: Known = None) -> Floats:
        e, one, most = self._exponentials(f, has, known)
        return most + np.log(e.sum(axis=1, keepdims=True) + one)

    def _exponentials(self, f: Floats, has: Bools, known: Known) -> tuple[Floats, Floats, Floats]:
        """exp(-m) and 1, both divided by exp(most), so that nothing overflows."""
        m = margins(f, has)
        if known is not None:
            m[~known] = np.inf
        most = np.maximum(0.0, -m.min(axis=1, keepdims=True))
        return np.exp(-m - most), np.exp(-most), most


LOSSES: dict[str, Logistic | Squared] = {
    "logistic": Logistic(),
    "squared": Squared(),
    "hinge": SquaredHinge(),
    "joint": JointLogistic(),
}


class Run:
    """The scores of some instances as trees are added, and the loss of them."""

    def __init__(self, loss: str, f: Floats, has: Bools, cells: Floats):
        self.f, self._loss, self._has = f, LOSSES[loss], has
        # derivatives are multiplied only where a weight is not one
        self._cells = None if (cells == 1).all() else cells
        self._known = None if (cells > 0).all() else np.broadcast_to(cells > 0, has.shape)
        self._weight = cells.max(axis=1)

    def derivatives(self, W: Floats) -> None:
        """Write first and second derivatives, and the weights of the instances, to W."""
        q = self.f.shape[1]
        for rows in row_blocks(len(W), q, CELLS):
            known = None if self._known is None else self._known[rows]
            both = self._loss.derivatives(self.f[rows], self._has[rows], known)
            cells = 1.0 if self._cells is None else self._cells[rows]
            for part, each in enumerate(both):
                np.multiply(each, cells, out=W[rows, part * q : (part + 1) * q])
        W[:, -1] = self._weight

    def add(self, tree: Grown, node: NDArray[Any], first: int = 0) -> None:
        """Add the scores of the leaves of some instances, from the first on."""
        for rows in row_blocks(len(node), len(tree.labels), CELLS):
            f = self.f[first + rows.start : first + rows.stop]
            if len(tree.labels) == f.shape[1]:
                f += tree.values.take(node[rows], axis=0)
            else:
                f[:, tree.labels] += tree.values.take(node[rows], axis=0)

    def loss(self) -> float:
        """The mean loss."""
        losses = self._loss.values(self.f, self._has, self._known)
        if self._cells is None:
            return float(losses.mean())
        weights = np.broadcast_to(self._cells, self.f.shape)
        if losses.shape[1] == 1:
            weights = self._weight[:, np.newaxis]
        total = weights.sum()
        return float((losses * weights).sum() / total) if total > 0 else 0.0
