"""The search for the condition with the smallest Z: the heart of a round.

For every cut, the weights on both sides come from sums over bins. Each label costs 2 sqrt(W+ W-)
on each side (or what the algorithm makes of it), and Z grows with the sum of the costs. Costs are
concave in the weights: as a cut moves through a bin, weight goes from one side to the other, and
a label costs least when all or none of the bin's W+, and all or none of its W-, has moved. The
least of these four cases is a lower bound for every cut inside the bin, so that few bins have to
be searched and no cut is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.unknown import known_part
from plurilabel.learners.boosting._bins import ENTRIES, Bins, Sums, between
from plurilabel.learners.boosting._rules import Condition, Floats, Rows

# Values of Z that differ by less are ties, which the first feature and the lowest cut win:
# rounding, which depends on the order of the training rows, must not choose the rule.
TIE = 1e-9


def by_sign(D: Floats, has: NDArray[np.bool_]) -> Floats:
    """Weights D (n, q) as (n, 2q), whose sums over instances are the W+ and W- of the labels."""
    n, q = D.shape
    V = np.empty((n, 2 * q))
    np.multiply(D, has, out=V[:, :q])
    np.subtract(D, V[:, :q], out=V[:, q:])
    return V


def bools_of(Y: LabelMatrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Boolean masks (n, q) of the labels that instances have, and of unknown labels or None."""
    Y, unknown = known_part(Y)
    return dense(Y).astype(bool), None if unknown is None else dense(unknown)


class PairWeights:
    """The weights D (m, k) of all pairs of an instance and a label; 0 for unknown labels."""

    def __init__(
        self, has: NDArray[np.bool_], weights: Floats | None, unknown: NDArray[np.bool_] | None
    ):
        m, k = has.shape
        self._has = has
        self._D_1: Floats | None = None  # None: all pairs weigh the same at first
        if unknown is not None:
            D_1 = np.where(unknown, 0.0, 1.0 if weights is None else weights[:, np.newaxis])
            self._D_1 = D_1 / (D_1.sum() or 1.0)
        elif weights is not None:
            self._D_1 = (weights / (weights.sum() * k))[:, np.newaxis]
        self.D = np.full((m, k), 1.0 / (m * k) if self._D_1 is None else self._D_1)

    def update(self, f: Floats) -> float:
        """Weigh by the scores f = h_1 + ... + h_t; return Z_1 ... Z_t."""
        # D_{t+1} = D_t exp(-Y h_t) / Z_t is D_1 exp(-Y f) / (Z_1 ... Z_t): from f, rounding errors
        # do not accumulate, and the product of the Z is a mean.
        D = self.D
        np.copyto(D, f)
        np.negative(D, where=self._has, out=D)
        np.exp(D, out=D)
        if self._D_1 is not None:
            D *= self._D_1
        Z = float(D.mean() if self._D_1 is None else D.sum())
        D /= (Z or 1.0) * (D.size if self._D_1 is None else 1)
        return Z


def log_ratio(W: Floats, smoothing: float) -> Floats:
    """The score ln((W+ + eps) / (W- + eps)) / 2 of a block (BoosTexter, section 5.1)."""
    q = W.shape[-1] // 2
    return 0.5 * (np.log(W[..., :q] + smoothing) - np.log(W[..., q:] + smoothing))


@dataclass(frozen=True)
class Criterion:
    """How an algorithm computes Z, and on which sides (yes, no) it predicts."""

    predicts: tuple[bool, bool]
    no: Callable[[Floats, Floats], Floats]  # cost of a label on a side with weights W+ and W-
    yes: Callable[[Floats, Floats], Floats]
    Z: Callable[[Floats, Floats, Floats], Floats]  # from all costs, the weight covered and missing


@dataclass(frozen=True)
class Found:
    """The best condition of a search."""

    condition: Condition
    Z: float  # what is left of the weight of the rows searched
    predicts: tuple[bool, bool] = (True, True)  # where the condition holds, and where it does not

    def rank(self) -> tuple[int, float, bool]:
        """The order of conditions with equal Z."""
        return self.condition.feature, self.condition.threshold or 0.0, not self.predicts[0]


def best_condition(
    bins: Bins, V: Floats, algorithm: str, rows: Rows | None = None
) -> Found | None:
    """Search all cuts of all features for weights V of :func:`by_sign`; None if there is none."""
    best = np.inf
    firsts: list[Found] = []  # the first of the best cuts in each part of the search
    for sums in bins.sums(V, rows):
        below, above = _below_and_above(sums.H)
        covered = sums.H.sum(axis=(1, 2))[:, np.newaxis]
        for criterion in _criteria(algorithm, bins.presence):
            Z = _Z(criterion, below, above, covered, sums.missing)  # (g, b - 1)
            best = min(best, float(Z.min()))
            g, cut = _first(Z)
            feature = int(sums.chunk.features[g])
            condition = Condition(feature, bins.threshold(feature, cut))
            firsts.append(Found(condition, float(Z.min()), criterion.predicts))
            if sums.chunk.values is not None:
                for found in _inside(sums, below, above, covered, criterion, best):
                    best = min(best, found.Z)
                    firsts.append(found)
    ties = [found for found in firsts if best + TIE >= found.Z]
    return replace(min(ties, key=Found.rank), Z=best) if ties else None


def _inside(
    sums: Sums, below: Floats, above: Floats, covered: Floats, criterion: Criterion, best: float
) -> Iterator[Found]:
    """The first of the best cuts inside bins, for some bins at a time."""
    sizes, width = sums.chunk.counts[:, : sums.chunk.n_bins], sums.H.shape[2]
    bins = np.argwhere(sizes > 1)
    promising = []
    for some in row_blocks(len(bins), width, ENTRIES):
        g, k = bins[some].T
        h, L, R = sums.H[g, k], _before(below, g, k), _after(above, g, k)
        costs = _least_costs(criterion, L, R, h)
        promising.append(criterion.Z(costs, covered[g, 0], sums.missing[g, 0]) <= best + TIE)
    bins = bins[np.concatenate(promising)] if promising else bins
    for some in row_blocks(len(bins), int(sizes.max()) * width, ENTRIES):
        g, k = bins[some].T
        weights, values = sums.inside(g, k)
        up, down = _below_and_above(weights)
        up += _before(below, g, k)[:, np.newaxis]
        down += _after(above, g, k)[:, np.newaxis]
        Z = _Z(criterion, up, down, covered[g], sums.missing[g])
        Z[~(values[:, :-1] < values[:, 1:])] = np.inf
        i, j = _first(Z)
        if np.isfinite(Z[i, j]):
            threshold = float(between(values[i, j : j + 2])[0])
            condition = Condition(int(sums.chunk.features[g[i]]), threshold)
            yield Found(condition, float(Z.min()), criterion.predicts)


def _least_costs(criterion: Criterion, L: Floats, R: Floats, h: Floats) -> Floats:
    """The least cost of a cut inside a bin, from the weights below, above and in it."""
    q, cases = h.shape[1] // 2, []
    for plus, minus in product((0, 1), repeat=2):  # whether W+ and W- of the bin are below the cut
        no = criterion.no(L[:, :q] + plus * h[:, :q], L[:, q:] + minus * h[:, q:])
        rest = R[:, :q] + (1 - plus) * h[:, :q], R[:, q:] + (1 - minus) * h[:, q:]
        cases.append(no + criterion.yes(*rest))
    return np.minimum.reduce(cases).sum(axis=1)


def _before(below: Floats, g: Rows, k: Rows) -> Floats:
    """Weight in the bins before bin k."""
    return np.where((k > 0)[:, np.newaxis], below[g, np.maximum(k - 1, 0)], 0.0)


def _after(above: Floats, g: Rows, k: Rows) -> Floats:
    """Weight in the bins after bin k."""
    last = above.shape[1]
    return np.where((k < last)[:, np.newaxis], above[g, np.minimum(k, last - 1)], 0.0)


def _Z(criterion: Criterion, no: Floats, yes: Floats, covered: Floats, missing: Floats) -> Floats:
    q = no.shape[-1] // 2
    costs = criterion.no(no[..., :q], no[..., q:]).sum(axis=-1)
    costs += criterion.yes(yes[..., :q], yes[..., q:]).sum(axis=-1)
    return criterion.Z(costs, covered, missing)


def _first(Z: Floats) -> tuple[int, int]:
    """Row and column of the first of the smallest values."""
    row, column = np.unravel_index(np.argmax(Z.min() + TIE >= Z), Z.shape)
    return int(row), int(column)


def _below_and_above(H: Floats) -> tuple[Floats, Floats]:
    """Sums on both sides of each cut, (g, b - 1, 2q)."""
    if H.shape[1] == 2:
        return H[:, :1], H[:, 1:]
    below = np.cumsum(H[:, :-1], axis=1)
    # Summed from the other end, not total - below: a side without weight must be exactly zero,
    # because the square root magnifies rounding errors.
    above = np.cumsum(H[:, :0:-1], axis=1)[:, ::-1]
    return below, above


def _criteria(algorithm: str, presence: bool) -> list[Criterion]:
    if algorithm == "real":
        return [Criterion((True, True), _root, _root, _sum)]
    if algorithm == "discrete":
        return [Criterion((True, True), np.minimum, np.minimum, _at_best_alpha)]
    choices = [Criterion((True, False), np.add, _root, _sum)]  # a silent side keeps its weight
    if not presence:  # BoosTexter predicts where the word is present; a threshold has equal sides
        choices.append(Criterion((False, True), _root, np.add, _sum))
    return choices


def _root(plus: Floats, minus: Floats) -> Floats:
    """Cost of a side that predicts: the score ln(W+ / W-) / 2 leaves the weight 2 sqrt(W+ W-)."""
    cost = plus * minus
    np.sqrt(cost, out=cost)
    cost *= 2
    return cost


def _sum(costs: Floats, _covered: Floats, missing: Floats) -> Floats:
    return costs + missing


def _at_best_alpha(wrong: Floats, covered: Floats, missing: Floats) -> Floats:
    """Z of a rule with one weight alpha that predicts the heavier of W+ and W- everywhere."""
    return 2 * np.sqrt(wrong * (covered - wrong)) + missing
