"""One tree or rule: a search for the conditions with the largest gain, level by level.

The sums G and H of the first and second derivatives over the instances of a node make it worth
G^2 / (H + l2) for each label: twice what the Newton step -G / (H + l2) takes off the loss. One
sparse product sums the derivatives of all labels in all bins of all nodes of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.boosting._gradient_features import Binned
from plurilabel.learners.boosting._rules import Floats, Rows

SHORT = 16  # mean length of a running sum up to which adding all of its rows anew is faster
# Gains that differ by a smaller share are equal: the first feature and slot win. So the order of
# the training rows, which changes sums by rounding, cannot choose the condition.
TIE = 1e-9
CELLS = 1 << 14  # pairs of a cut and a label that are looked at together: they stay in the cache
POWERS = 8  # products with a matrix to find its first principal component


@dataclass(frozen=True)
class Grown:
    """A tree or rule, node by node."""

    feature: NDArray[np.int32]  # -1 for a leaf
    threshold: Floats  # larger values go to the right
    subset: NDArray[np.bool_]  # (nodes, categories), those that go to the right
    missing: NDArray[np.bool_]  # whether missing values go to the right
    left: NDArray[np.int32]  # the next node is on the right; a leaf leads to itself
    labels: Rows  # (m,), those of the head
    values: Floats  # (nodes, m), Newton steps of leaves; 0 elsewhere and where a rule abstains
    gains: Floats  # (conditions, m), in the order of the nodes that have one
    depth: int


class Cuts(NamedTuple):
    """Cuts to choose from, by node."""

    node: NDArray[Any]
    slot: NDArray[Any]  # among those of all features
    stray: NDArray[np.bool_] | None = None  # whether missing values go to the left; None: nowhere


class Splits(NamedTuple):
    """The best conditions of the nodes that have one, with an entry for each."""

    node: Rows  # position in the level
    slot: NDArray[Any]  # which condition it is
    covers: NDArray[Any]  # the side that a rule goes on with
    sums: Floats  # (nodes, 2, width), on the left and on the right
    worth: Floats  # (nodes, 2), of these sums
    missing: NDArray[np.bool_] | None = None  # whether missing values go to the right
    subset: NDArray[np.bool_] | None = None  # (nodes, categories), those that go to the right


class Summer:
    """Sums rows of matrices by sparse products."""

    def __init__(self) -> None:
        self._members: dict[tuple[int, int], Any] = {}
        self._ones = np.empty(0)

    def __call__(self, rows: NDArray[Any], starts: Rows, W: Floats) -> Floats:
        """The sums of W[rows], anew from each start, and zeros up to a power of two."""
        # scipy takes longer to make a small matrix than to multiply it: it is filled anew
        size = 1 << len(starts).bit_length()
        member = self._members.get((size, len(W)))
        if member is None:
            member = self._members[size, len(W)] = sparse.csr_array((size, len(W)))
        if len(self._ones) < len(rows):
            self._ones = np.ones(2 * len(rows))
        member.data, member.indices = self._ones[: len(rows)], rows
        member.indptr = np.full(size + 1, len(rows), dtype=np.int32)
        member.indptr[: len(starts)] = starts
        return member @ W

    def running(self, H: Floats, starts: Rows, m: int) -> Floats:
        """Running sums of the first m rows of H, anew from each start; H is overwritten."""
        if len(starts) == m:
            return H
        first = np.zeros(m, dtype=np.intp)
        first[starts] = starts
        np.maximum.accumulate(first, out=first)
        # each sum is of the rows from the first of its run to itself
        terms = np.arange(1, m + 1)
        terms -= first
        ends = terms.cumsum()
        if ends[-1] > SHORT * m:
            # what a run leaves is taken off where the next begins: all sums stay small, and exact
            H = H[:m]
            H[starts[1:]] -= np.add.reduceat(H, starts, axis=0)[:-1]
            return np.cumsum(H, axis=0, out=H)
        ends -= terms
        first -= ends
        rows = first.repeat(terms)
        rows += np.arange(len(rows))
        return self(rows.astype(np.int32), ends, H)


@dataclass(frozen=True)
class Grower:
    """Grows trees, or rules, which go on with one side of each condition only."""

    binned: Binned
    rule: bool
    heads: int  # labels that get scores: those that gain most by the first condition
    max_depth: int
    max_features: int  # to draw for each level
    min_weight: float  # of the instances in a leaf
    l2: float
    rate: float  # share of the Newton steps that is taken
    random: Any
    sums: Summer = field(default_factory=Summer)

    def grow(self, W: Floats, drawn: NDArray[np.bool_] | None = None) -> tuple[Grown, Rows]:
        """Grow one from the drawn instances; return it and the leaf of each instance."""
        # W (n, 2q + 1) has the first derivatives, the second derivatives and the weight of each
        # instance: all zero for instances that are not drawn.
        q = W.shape[1] // 2
        labels = np.arange(q)
        node = np.zeros(len(W), dtype=np.intp)
        sums = W.sum(axis=0, keepdims=True)  # of the nodes of this level that may be split
        worth = self._worth(sums)
        number = np.zeros(1, dtype=np.intp)  # of these nodes in the tree
        way = _Way(self.binned, min(2 ** min(self.max_depth, 40), len(W)))
        levels: list[tuple[Rows, Splits]] = []
        every, count = [sums], 1  # all nodes so far
        while len(levels) < self.max_depth and len(self.binned):
            small = np.min_scalar_type(len(number))  # which is sorted faster
            place: NDArray[Any] = np.full(count + 1, len(number), dtype=small)
            place[number] = np.arange(len(number))
            at = node if drawn is None else np.where(drawn, node, count)
            splits = self._search(W, at, place, sums, worth)
            if splits is None:
                break
            if len(labels) > self.heads:
                labels = self._head(splits, sums[0])
                # from here on nothing but the labels of the head counts
                columns = np.concatenate([labels, q + labels, [2 * q]])
                W, sums = np.ascontiguousarray(W[:, columns]), sums[:, columns]
                both, every = splits.sums[..., columns], [sums]
                splits = splits._replace(sums=both, worth=self._worth(both[0])[np.newaxis])
            number = number.take(splits.node)
            levels.append((number, splits))
            way.fork(number, count, splits)
            node = way.step(node)
            # left, right, left, right, ...
            sums = splits.sums.reshape(-1, sums.shape[1])
            worth = splits.worth.ravel()
            every.append(sums)
            number = np.arange(count, count + len(sums))
            count += len(sums)
            if self.rule:
                number, sums = number[splits.covers], sums[splits.covers]
                worth = worth[splits.covers]
        return self._grown(labels, np.concatenate(every), levels), node

    def _grown(self, labels: Rows, sums: Floats, levels: list[tuple[Rows, Splits]]) -> Grown:
        count, m, B = len(sums), len(labels), self.binned
        feature = np.full(count, -1, dtype=np.int32)
        threshold, missing = np.full(count, np.inf), np.zeros(count, dtype=bool)
        subset = np.zeros((count, B.n_categories), dtype=bool)
        left = np.arange(count, dtype=np.int32)
        H = sums[:, m : 2 * m] + self.l2
        values = sums[:, :m] / H
        gains, nodes = np.empty((0, m)), np.empty(0, dtype=np.intp)
        if levels:
            # the nodes of all levels together, in the order of their numbers
            nodes = np.concatenate([numbers for numbers, _ in levels])
            slot = np.concatenate([found.slot for _, found in levels])
            feature[nodes] = B.features[B.owner[slot]]
            threshold[nodes] = B.threshold[slot]
            # values that were never missing go with most of the instances
            missing[nodes] = sums[2::2, -1] > sums[1::2, -1]
            if B.any_missing or B.n_categories:
                missing[nodes] = np.concatenate([found.missing for _, found in levels])
                subset[nodes] = np.concatenate([found.subset for _, found in levels])
            left[nodes] = np.arange(1, count, 2)
            worth = values * sums[:, :m]
            gains = worth[1::2] + worth[2::2]
            gains -= worth.take(nodes, axis=0)
            np.maximum(gains, 0.0, out=gains)
        values *= -self.rate
        values[nodes] = 0.0
        if self.rule and levels:
            covers = np.concatenate([found.covers for _, found in levels])
            values[left[nodes] + 1 - covers] = 0.0
        return Grown(feature, threshold, subset, missing, left, labels, values, gains, len(levels))

    def _search(
        self, W: Floats, node: Rows, place: NDArray[Any], totals: Floats, whole: Floats
    ) -> Splits | None:
        """The best conditions of some nodes, given their place in the level, sums and worth."""
        B = self.binned
        features = B.all
        if self.max_features < len(features):
            features = self.random.choice(len(features), self.max_features, replace=False)
            features.sort()
        cuts, far = self._cuts(W, node, place, features, totals)
        near = totals.take(cuts.node, axis=0)
        near -= far
        whole = whole.take(cuts.node)
        gain, covers_near, worths = self._gains(cuts, far, near, totals, whole)
        some = (gain > TIE * whole).nonzero()[0]
        if self.min_weight > 0 and not self.rule:
            heavy = np.minimum(far[some, -1], near[some, -1]) >= self.min_weight
            some = some[heavy]
        if not len(some):
            return None
        at, gain = cuts.node.take(some), gain.take(some)
        most, first = np.zeros(len(totals)), np.full(len(totals), len(far))
        np.maximum.at(most, at, gain)
        most *= 1 - TIE
        good = (gain >= most.take(at)).nonzero()[0]
        np.minimum.at(first, at.take(good), some.take(good))
        at = (first < len(far)).nonzero()[0]
        best = first.take(at)
        slot = cuts.slot.take(best)
        right = B.right.take(slot)
        sums = _in_pairs(far.take(best, axis=0), near.take(best, axis=0), right)
        worths = worths.take(best, axis=1)
        worth = np.where(right, worths[::-1], worths).T
        covers = right if covers_near is None else (right ^ covers_near[best]).astype(np.intp)
        splits = Splits(at, slot, covers, sums, worth)
        if B.any_missing or B.n_categories:
            return self._with_missing(cuts, best, splits)
        return splits

    def _with_missing(self, cuts: Cuts, best: Rows, splits: Splits) -> Splits:
        """The same conditions, and which sides missing values and categories go to."""
        B = self.binned
        missing = splits.sums[:, 1, -1] > splits.sums[:, 0, -1]
        if cuts.stray is not None:
            missing = np.where(B.missing[B.owner[splits.slot]], ~cuts.stray[best], missing)
        subset = np.zeros((len(best), B.n_categories), dtype=bool)
        if B.n_categories:
            self._subsets(cuts, best, subset, missing)
        return splits._replace(missing=missing, subset=subset)

    def _subsets(
        self, cuts: Cuts, best: Rows, subset: NDArray[np.bool_], missing: NDArray[np.bool_]
    ) -> None:
        """Write down which categories, and missing values, go to the right."""
        B = self.binned
        owner, place = B.owner[cuts.slot], np.full(cuts.node[-1] + 1, -1)
        place[cuts.node[best]] = np.arange(len(best))
        to = place[cuts.node]
        # the cuts of the chosen features, if these are categorical: one for each category seen
        own = (to >= 0) & (owner == owner[best][to]) & (B.categories[owner] > 0)
        own = np.flatnonzero(own)
        to, bins, right = to[own], B.bin[cuts.slot[own]], own > best[to[own]]
        lost = bins == B.categories[owner[own]]
        missing[to[lost]] = right[lost]
        # categories that the node has not seen go where missing values go
        subset[:] = missing[:, np.newaxis]
        subset[to[~lost], bins[~lost]] = right[~lost]

    def _cuts(
        self, W: Floats, node: Rows, place: NDArray[Any], features: Rows, totals: Floats
    ) -> tuple[Cuts, Floats]:
        """All cuts of some features in some nodes, with the sums over their far sides."""
        B, nodes = self.binned, len(totals)
        slot, rows = B.draw(features)
        at = place.take(node.take(rows))
        # entries come in the order of their slots: by node, that of the slots stays
        order = at.argsort(kind="stable")[: np.count_nonzero(at < nodes)]
        rows, slot, at = rows.take(order), slot.take(order), at.take(order)
        # a cut next to an empty bin is the same as the one before
        starts = _starts(at, slot)
        far = self.sums(rows, starts, W)
        at, slot = at.take(starts), slot.take(starts)
        if B.any_runs and B.n_slots.take(features).max() > 1:
            runs = _starts(at, B.start.take(slot))
            if B.n_categories:
                slot, far = self._in_order(slot, far[: len(at)], runs)
            far = self.sums.running(far, runs, len(at))
        cuts, far = Cuts(at, slot), far[: len(at)]
        if B.any_missing and B.missing[features].any():
            return self._with_strays(cuts, far, totals)
        return cuts, far

    def _in_order(self, slots: NDArray[Any], sums: Floats, starts: Rows) -> tuple[Rows, Floats]:
        """Order the categories of each feature in each node by their first principal component."""
        # That is, of their Newton steps. Rare categories are near the middle, because l2 makes
        # their steps small.
        B, q = self.binned, sums.shape[1] // 2
        is_start = np.zeros(len(slots), dtype=bool)
        is_start[starts] = True
        some = np.flatnonzero(B.categories[B.owner[slots]] > 0)
        if not len(some):
            return slots, sums
        begin = np.flatnonzero(is_start[some])
        group = np.cumsum(is_start[some]) - 1
        H = sums[some, q : 2 * q] + self.l2
        steps, weight = sums[some, :q] / H, H.sum(axis=1, keepdims=True)
        mean = np.add.reduceat(weight * steps, begin) / np.add.reduceat(weight, begin)
        centred = steps - mean[group]
        place = centred[:, 0]
        if q > 1:
            weight = weight * centred
            # powers of the covariances, from the category that is farthest from the mean
            size = np.einsum("cl,cl->c", weight, centred)
            farthest = np.lexsort((-size, group))[begin]
            axis = centred[farthest]
            for _ in range(POWERS):
                place = np.einsum("cl,cl->c", centred, axis[group])
                axis = np.add.reduceat(weight * place[:, np.newaxis], begin)
                axis /= np.maximum(np.abs(axis).max(axis=1, keepdims=True), np.finfo(float).tiny)
            place = np.einsum("cl,cl->c", centred, axis[group])
        order = np.arange(len(slots))
        order[some] = some[np.lexsort((place, group))]
        return slots[order], sums[order]

    def _with_strays(self, cuts: Cuts, far: Floats, totals: Floats) -> tuple[Cuts, Floats]:
        """Also the cuts with the missing values on the other side, the left one."""
        B = self.binned
        which = B.owner[cuts.slot]
        bins, cut, right = B.bin[cuts.slot], B.cut[cuts.slot], B.right[cuts.slot]
        gappy = B.missing[which]
        last, common = B.n_slots[which], B.common[which]
        group = np.cumsum(np.diff(cuts.node.astype(np.intp) * len(B) + which, prepend=-1) != 0) - 1
        # missing values are the last bin: it has a slot, or it is the common bin, and what the
        # last running sum of the feature leaves of the total
        own = np.full(len(far), -1)
        for those in (gappy & (bins == last), gappy & (common == last)):
            own[group[those]] = np.flatnonzero(those)
        some = np.flatnonzero(gappy & (cut < last - 1) & (own[group] >= 0))
        lost = far[own[group[some]]]
        unstored = (common == last)[some, np.newaxis]
        lost = np.where(unstored, totals[cuts.node[some]] - lost, lost)
        moved = far[some] + np.where(right[some], -1.0, 1.0)[:, np.newaxis] * lost
        both = np.concatenate([np.arange(len(far)), some])
        stray = np.arange(len(both)) >= len(far)
        # each behind the cut that it comes from: of equal gains the first feature wins
        order = np.argsort(both, kind="stable")
        at = both[order]
        moved = np.concatenate([far, moved])[order]
        return Cuts(cuts.node[at], cuts.slot[at], stray[order]), moved

    def _gains(
        self, cuts: Cuts, far: Floats, near: Floats, totals: Floats, whole: Floats
    ) -> tuple[Floats, NDArray[np.bool_] | None, Floats]:
        """Gain of each cut, whether a rule goes on with its near side, and the worth of sides."""
        q, sides = far.shape[1] // 2, (far, near)
        worths = self._worths(far, near)
        if q <= self.heads:
            gains = list(worths - whole) if self.rule else [worths[0] + worths[1] - whole]
        else:
            before = self._worth_by_label(totals)[cuts.node]
            each = [self._worth_by_label(side) for side in sides]
            each = each if self.rule else [each[0] + each[1]]
            most = (np.partition(g - before, q - self.heads, axis=1) for g in each)
            gains = [g[:, q - self.heads :].sum(axis=1) for g in most]
        if not self.rule:
            return gains[0], None, worths
        light = [side[:, -1] < self.min_weight for side in sides]
        gains = [np.where(few, -np.inf, gain) for few, gain in zip(light, gains)]
        return np.maximum(*gains), gains[1] > gains[0] + TIE * whole, worths

    def _worths(self, far: Floats, near: Floats) -> Floats:
        """The worth of both sides of cuts, (2, cuts)."""
        m, q = len(far), far.shape[1] // 2
        if m * q > CELLS:
            worths = np.empty((2, m))
            for rows in row_blocks(m, q, CELLS):
                worths[0, rows], worths[1, rows] = self._worth(far[rows]), self._worth(near[rows])
            return worths
        # label by label: numpy takes its time for each row of a small matrix
        S = np.empty((2 * q, 2, m))
        S[:, 0], S[:, 1] = far.T[:-1], near.T[:-1]
        G, H = S[:q], S[q:]
        H += self.l2
        np.divide(G, H, out=H)
        H *= G
        return np.add.reduce(H, axis=0)

    def _head(self, splits: Splits, total: Floats) -> Rows:
        """The labels that gain most by the first condition."""
        worth = self._worth_by_label(splits.sums[0])
        gain = worth[splits.covers[0]] if self.rule else worth.sum(axis=0)
        gain = gain - self._worth_by_label(total)
        steps = np.rint(gain / (TIE * (np.abs(gain).max() or 1.0)))  # the first label in a tie
        return np.sort(np.argsort(-steps, kind="stable")[: self.heads])

    def _worth_by_label(self, S: Floats) -> Floats:
        q = S.shape[-1] // 2
        return S[..., :q] ** 2 / (S[..., q : 2 * q] + self.l2)

    def _worth(self, S: Floats) -> Floats:
        """G^2 / (H + l2), summed over the labels."""
        q = S.shape[-1] // 2
        G, H = S[..., :q], S[..., q : 2 * q] + self.l2
        np.divide(G, H, out=H)
        return np.einsum("il,il->i", G, H)


class _Way:
    """The conditions of a tree of at most ``most`` leaves, and where they lead."""

    def __init__(self, binned: Binned, most: int):
        self.binned, nodes = binned, 2 * most
        self._feature = np.zeros(nodes, dtype=np.intp)
        self._cut = np.full(nodes, np.iinfo(np.int32).max)  # at a leaf, nothing goes on
        self._left = np.arange(nodes)
        self._missing = np.zeros(nodes, dtype=bool)
        self._subset = np.zeros((nodes, binned.n_categories), dtype=bool)

    def fork(self, number: Rows, count: int, splits: Splits) -> None:
        """Give conditions to some nodes; the nodes that follow on them are numbered from count."""
        B = self.binned
        self._feature[number] = B.owner.take(splits.slot)
        self._cut[number] = B.cut.take(splits.slot)
        self._left[number] = np.arange(count, count + 2 * len(number), 2)
        if B.any_missing or B.n_categories:
            self._missing[number] = splits.missing
            self._subset[number] = splits.subset

    def step(self, node: Rows) -> Rows:
        """Where instances at some nodes come to."""
        B = self.binned
        feature = self._feature.take(node)
        code = B.bins_of(feature)
        right = code > self._cut.take(node)
        left = self._left.take(node)
        if B.any_missing:
            lost = np.where(B.missing, B.n_slots, -1)  # bin of missing values
            right = np.where(code == lost[feature], self._missing[node], right)
        if B.n_categories:
            number = B.categories[feature]
            right = np.where(number > 0, self._missing[node], right)
            known = np.flatnonzero(code < number)
            right[known] = self._subset[node[known], code[known]]
        left += right
        return left


def _starts(groups: NDArray[Any], parts: NDArray[Any]) -> Rows:
    """Where the runs of equal parts of equal groups begin."""
    new = np.ones(len(groups), dtype=bool)
    np.not_equal(parts[1:], parts[:-1], out=new[1:])
    new[1:] |= groups[1:] != groups[:-1]
    return new.nonzero()[0]


def _in_pairs(far: Floats, near: Floats, right: NDArray[np.bool_]) -> Floats:
    """What is on the left and on the right, given whether the far side is the right one."""
    pairs = np.empty((len(far), 2, far.shape[1]))
    pairs[:, 0], pairs[:, 1] = far, near
    np.copyto(pairs[:, 0], near, where=right[:, np.newaxis])
    np.copyto(pairs[:, 1], far, where=right[:, np.newaxis])
    return pairs
