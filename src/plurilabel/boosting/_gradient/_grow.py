"""One tree or rule: a search for the conditions with the largest gain, level by level.

The sums G and H of the first and second derivatives over the instances of a node make it worth
G^2 / (H + l2) for each label: twice what the Newton step -G / (H + l2) takes off the loss. One
sparse product sums the derivatives of all labels in all bins of all nodes of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.boosting._gradient._binned import Binned
from plurilabel.boosting._rules import Floats, Rows

TIE = 1e-9
"""Gains that differ by a smaller share are equal: the first feature and slot win. So the order of
the training rows, which changes sums by rounding, cannot choose the condition."""

SMALL = 1 << 20
"""Entries times columns up to which entries are better sorted by us than by scipy."""

POWERS = 8
"""Products with a matrix, to find its first principal component."""


@dataclass(frozen=True)
class Grown:
    """A tree or rule.

    Attributes
    ----------
    feature : ndarray of shape (nodes,)
        -1 for a leaf.
    threshold : ndarray of shape (nodes,)
        Larger values go to the right.
    subset : ndarray of bool of shape (nodes, categories)
        The categories that go to the right, where the feature is categorical.
    missing : ndarray of bool of shape (nodes,)
        Whether missing values go to the right.
    left : ndarray of shape (nodes,)
        The node on the left; the one on the right follows it. A leaf leads to itself.
    labels : ndarray of int, shape (m,)
        The labels of its head.
    values : ndarray of shape (nodes, m)
        Newton steps of the leaves, zero for other nodes and where a rule abstains.
    gains : ndarray of shape (nodes, m)
        What the condition of a node gained for each label.
    node : ndarray of shape (n,)
        The leaf of each training instance.
    depth : int
    """

    feature: NDArray[np.int32]
    threshold: Floats
    subset: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    left: NDArray[np.int32]
    labels: Rows
    values: Floats
    gains: Floats
    node: Rows
    depth: int


@dataclass(frozen=True)
class Cuts:
    """Cuts to choose from, by node.

    ``slot`` is the slot of the cut among those of all features, ``stray`` says whether missing
    values go to the left; None: nowhere.
    """

    node: Rows
    slot: Rows
    stray: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Splits:
    """The best conditions of the nodes that have one: arrays with one entry for each.

    ``node`` is the position of the node in its level; ``slot`` says which condition it is;
    ``subset`` (nodes, categories) which categories go to the right, if it is about a categorical
    feature; ``sums`` are those on the left and on the right, (nodes, 2, width); ``covers`` is the
    side that a rule goes on with.
    """

    node: Rows
    slot: Rows
    subset: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    covers: Rows
    sums: Floats


class Summer:
    """Sums rows of a matrix W (n, width) by slots."""

    def __init__(self) -> None:
        self._members: dict[tuple[int, int], Any] = {}

    def __call__(
        self, slot: Rows, rows: NDArray[Any], W: Floats, n_slots: int
    ) -> tuple[Rows, Floats]:
        """The slots with entries, and the sums over the rows of the entries of each."""
        m = len(slot)
        if m * W.shape[1] > SMALL:
            full = np.flatnonzero(np.bincount(slot, minlength=n_slots))
            place = np.empty(n_slots, dtype=np.int32)
            place[full] = np.arange(len(full), dtype=np.int32)
            member = sparse.coo_array((np.ones(m), (place[slot], rows)), shape=(len(full), len(W)))
            member.has_canonical_format = True  # no entry occurs twice: nothing to look for
            return full, np.asarray(member.tocsc() @ W)
        # numbers of 16 bits are sorted twice as fast
        order = (slot.astype(np.uint16) if n_slots <= 1 << 16 else slot).argsort(kind="stable")
        slot = slot[order]
        starts = _starts(slot)
        size = 1 << len(starts).bit_length()
        member = self._members.get((size, len(W)))
        if member is None:
            # scipy takes longer to make a small matrix than to multiply it: it is filled anew
            member = self._members[size, len(W)] = sparse.csr_array((size, len(W)))
        member.data, member.indices = np.ones(m), rows[order]
        member.indptr = np.full(size + 1, m, dtype=np.int32)
        member.indptr[: len(starts)] = starts
        return slot[starts], (member @ W)[: len(starts)]


@dataclass(frozen=True)
class Grower:
    """Grows trees or rules.

    Parameters
    ----------
    binned : Binned
    rule : bool
        Go on with one side of each condition only; on the other side the rule abstains.
    heads : int
        Number of labels that get scores: those that gain most by the first condition.
    max_depth : int
    max_features : int
        Features to draw for each level.
    min_weight : float
        Least weight of the instances in a leaf.
    l2 : float
    random : Generator
    sums : Summer
    """

    binned: Binned
    rule: bool
    heads: int
    max_depth: int
    max_features: int
    min_weight: float
    l2: float
    random: Any
    sums: Summer = field(default_factory=Summer)

    def grow(self, W: Floats, drawn: NDArray[np.bool_] | None = None) -> Grown:
        """Grow one.

        Parameters
        ----------
        W : ndarray of shape (n, 2q + 1)
            First derivatives, second derivatives, and the weight of each instance: all zero for
            instances that are not drawn.
        drawn : ndarray of bool of shape (n,), optional
            The instances that count; None: all.
        """
        q = W.shape[1] // 2
        labels = np.arange(q)
        node = np.zeros(len(W), dtype=np.intp)
        sums = W.sum(axis=0, keepdims=True)  # of the nodes of this level that may be split
        number = np.zeros(1, dtype=np.intp)  # of these nodes in the tree
        at, count = node, 1  # where the instances are among them, or -1; all nodes so far
        levels: list[tuple[Rows, int, Splits, Floats]] = []
        every = [sums]
        while len(levels) < self.max_depth and len(self.binned):
            counts = at if drawn is None else np.where(drawn, at, -1)
            splits = self._search(W, counts, sums)
            if splits is None:
                break
            if len(labels) > self.heads:
                labels = self._head(splits, sums[0])
                # from here on nothing but the labels of the head counts
                columns = np.concatenate([labels, q + labels, [2 * q]])
                W, sums = np.ascontiguousarray(W[:, columns]), sums[:, columns]
                splits, every = replace(splits, sums=splits.sums[..., columns]), [sums]
            levels.append((number[splits.node], count, splits, sums[splits.node]))
            to = self._descend(at, splits, len(sums))
            node = np.where(to < 0, node, count + to)
            # left, right, left, right, ...
            sums = splits.sums.reshape(-1, sums.shape[1])
            every.append(sums)
            number, at = np.arange(count, count + len(sums)), to
            count += len(sums)
            if self.rule:
                number, sums = number[splits.covers], sums[splits.covers]
                at = np.where(to == splits.covers, 0, -1)
        return self._grown(labels, node, np.concatenate(every), levels)

    def _grown(
        self,
        labels: Rows,
        node: Rows,
        sums: Floats,
        levels: list[tuple[Rows, int, Splits, Floats]],
    ) -> Grown:
        count, m, B = len(sums), len(labels), self.binned
        feature = np.full(count, -1, dtype=np.int32)
        threshold, missing = np.full(count, np.inf), np.zeros(count, dtype=bool)
        subset = np.zeros((count, B.n_categories), dtype=bool)
        left = np.arange(count, dtype=np.int32)
        gains, scored = np.zeros((count, m)), np.ones(count, dtype=bool)
        if levels:
            # the nodes of all levels together, in the order of their numbers
            nodes = np.concatenate([numbers for numbers, *_ in levels])
            splits = [found for _, _, found, _ in levels]
            slot = np.concatenate([found.slot for found in splits])
            feature[nodes] = B.features[B.run[slot] // 2]
            threshold[nodes] = B.threshold[slot]
            subset[nodes] = np.concatenate([found.subset for found in splits])
            missing[nodes] = np.concatenate([found.missing for found in splits])
            left[nodes] = 1 + 2 * np.arange(len(nodes))
            both = self._worth_by_label(np.concatenate([found.sums for found in splits]))
            gains[nodes] = both[:, 0] + both[:, 1]
            gains[nodes] -= self._worth_by_label(np.concatenate([total for *_, total in levels]))
            if self.rule:
                covers = np.concatenate([found.covers for found in splits])
                scored[left[nodes] + 1 - covers] = False
        scored &= feature < 0
        values = np.zeros((count, m))
        values[scored] = -sums[scored, :m] / (sums[scored, m : 2 * m] + self.l2)
        gains = np.maximum(gains, 0.0)
        return Grown(
            feature, threshold, subset, missing, left, labels, values, gains, node, len(levels)
        )

    def _search(self, W: Floats, at: Rows, totals: Floats) -> Splits | None:
        """The best conditions of some nodes; ``at`` are the instances' nodes, or -1."""
        B = self.binned
        features = np.arange(len(B))
        if self.max_features < len(B):
            features = self.random.choice(len(B), self.max_features, replace=False)
            features.sort()
        cuts, far = self._cuts(W, at, features, totals)
        gain, covers_near, some = self._gains(cuts, far, totals)
        if not len(some):
            return None
        node, gain = cuts.node[some], gain[some]
        starts = _starts(node)
        bound = np.empty(len(totals))
        bound[node[starts]] = np.maximum.reduceat(gain, starts) * (1 - TIE)
        good = (gain >= bound[node]).nonzero()[0]
        good = good[_starts(node[good])]
        best, node = some[good], node[good]
        slot = cuts.slot[best]
        right = B.right[slot]
        turn, side = right.astype(np.intp), np.arange(len(node))
        sums = np.empty((len(node), 2, totals.shape[1]))
        sums[side, turn] = far[best]
        sums[side, 1 - turn] = totals[node] - far[best]
        # values that were never missing go with most of the instances
        missing = sums[:, 1, -1] > sums[:, 0, -1]
        if cuts.stray is not None:
            missing = np.where(B.missing[B.run[slot] // 2], ~cuts.stray[best], missing)
        subset = np.zeros((len(node), B.n_categories), dtype=bool)
        if B.n_categories:
            self._subsets(cuts, best, subset, missing)
        covers = turn if covers_near is None else turn ^ covers_near[best]
        return Splits(node, slot, subset, missing, covers, sums)

    def _subsets(
        self, cuts: Cuts, best: Rows, subset: NDArray[np.bool_], missing: NDArray[np.bool_]
    ) -> None:
        """Write down which categories, and missing values, go to the right."""
        B = self.binned
        run, place = B.run[cuts.slot], np.full(cuts.node[-1] + 1, -1)
        place[cuts.node[best]] = np.arange(len(best))
        to = place[cuts.node]
        # the cuts of the chosen features, if these are categorical: one for each category seen
        own = (to >= 0) & (run == run[best][to]) & (B.categories[run // 2] > 0)
        own = np.flatnonzero(own)
        to, bins, right = to[own], B.bin[cuts.slot[own]], own > best[to[own]]
        lost = bins == B.categories[run[own] // 2]
        missing[to[lost]] = right[lost]
        # categories that the node has not seen go where missing values go
        subset[:] = missing[:, np.newaxis]
        subset[to[~lost], bins[~lost]] = right[~lost]

    def _cuts(self, W: Floats, at: Rows, features: Rows, totals: Floats) -> tuple[Cuts, Floats]:
        """All cuts of some features in some nodes, with the sums over their far sides."""
        B, nodes = self.binned, len(totals)
        drawn = B.draw(features)
        rows, slot, K = drawn.rows, drawn.slot, len(drawn.slots)
        if nodes > 1 or at.min() < 0:
            node = at[rows]
            if at.min() < 0:
                kept = (node >= 0).nonzero()[0]
                rows, slot, node = rows[kept], slot[kept], node[kept]
            slot = slot + node * K
        # a cut next to an empty bin is the same as the one before
        full, far = self.sums(slot, rows, W, nodes * K)
        at_node = full // K
        slots = drawn.slots[full - at_node * K]
        if len(features) < K:
            group = at_node * (2 * len(B)) + B.run[slots]
            starts = _starts(group)
            if B.n_categories:
                slots, far = self._in_order(slots, far, starts)
            far = _running_sums(far, starts)
        cuts = Cuts(at_node, slots)
        if B.any_missing and B.missing[features].any():
            return self._with_strays(cuts, far, totals)
        return cuts, far

    def _in_order(self, slots: Rows, sums: Floats, starts: Rows) -> tuple[Rows, Floats]:
        """Put the categories of each feature in each node into an order in which to cut them.

        It is that of the Newton steps along their first principal component. Rare categories are
        near the middle, because l2 makes their steps small.
        """
        B, q = self.binned, sums.shape[1] // 2
        is_start = np.zeros(len(slots), dtype=bool)
        is_start[starts] = True
        some = np.flatnonzero(B.categories[B.run[slots] // 2] > 0)
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
        which = B.run[cuts.slot] // 2
        bins, cut, right = B.bin[cuts.slot], B.cut[cuts.slot], B.right[cuts.slot]
        gappy = B.missing[which]
        last, common = B.n_slots[which], B.common[which]
        group = np.cumsum(np.diff(cuts.node * len(B) + which, prepend=-1) != 0) - 1
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
        order = np.argsort(cuts.node[both], kind="stable")
        at = both[order]
        moved = np.concatenate([far, moved])[order]
        return Cuts(cuts.node[at], cuts.slot[at], stray[order]), moved

    def _gains(
        self, cuts: Cuts, far: Floats, totals: Floats
    ) -> tuple[Floats, NDArray[np.bool_] | None, Rows]:
        """Gain of each cut, whether a rule goes on with its near side, and which cuts gain."""
        q = totals.shape[1] // 2
        near = totals[cuts.node]
        near -= far
        sides, whole = (far, near), self._worth(totals)[cuts.node]
        if q > self.heads:
            before = self._worth_by_label(totals)[cuts.node]
            worths = [self._worth_by_label(side) for side in sides]
        else:
            before, worths = whole, [self._worth(side) for side in sides]
        if not self.rule:
            worths = [worths[0] + worths[1]]
        gains = [worth - before for worth in worths]
        if q > self.heads:
            largest = slice(q - self.heads, None)
            gains = [np.partition(g, q - self.heads, axis=1)[:, largest].sum(1) for g in gains]
        noise = TIE * whole
        if self.rule:
            light = [side[:, -1] < self.min_weight for side in sides]
            gains = [np.where(few, -np.inf, gain) for few, gain in zip(light, gains)]
            gain = np.maximum(*gains)
            return gain, gains[1] > gains[0] + noise, (gain > noise).nonzero()[0]
        some = (gains[0] > noise).nonzero()[0]
        heavy = np.minimum(far[some, -1], near[some, -1]) >= self.min_weight
        return gains[0], None, some[heavy]

    def _head(self, splits: Splits, total: Floats) -> Rows:
        """The labels that gain most by the first condition."""
        worth = self._worth_by_label(splits.sums[0])
        gain = (worth[splits.covers[0]] if self.rule else worth.sum(axis=0)) - (
            self._worth_by_label(total)
        )
        return np.sort(np.argsort(-gain, kind="stable")[: self.heads])

    def _worth_by_label(self, S: Floats) -> Floats:
        q = S.shape[-1] // 2
        return S[..., :q] ** 2 / (S[..., q : 2 * q] + self.l2)

    def _worth(self, S: Floats) -> Floats:
        """G^2 / (H + l2), summed over the labels."""
        q = S.shape[-1] // 2
        G, H = S[..., :q], S[..., q : 2 * q] + self.l2
        np.divide(G, H, out=H)
        return np.einsum("il,il->i", G, H)

    def _descend(self, at: Rows, splits: Splits, nodes: int) -> Rows:
        """Where instances at some nodes come to in the level below, or -1."""
        B = self.binned
        place = np.full(nodes + 1, -1)  # the last is for instances that are nowhere
        place[splits.node] = np.arange(len(splits.node))
        at = place[at]
        feature = B.run[splits.slot] // 2
        code = B.bins_of(at, feature)
        right = code > B.cut[splits.slot][at]
        if B.any_missing:
            lost = np.where(B.missing[feature], B.n_slots[feature], -1)  # bin of missing values
            right = np.where(code == lost[at], splits.missing[at], right)
        if B.n_categories:
            number = B.categories[feature][at]
            right = np.where(number > 0, splits.missing[at], right)
            known = np.flatnonzero(code < number)
            right[known] = splits.subset[at[known], code[known]]
        return np.where(at < 0, -1, 2 * at + right)


def _starts(groups: Rows) -> Rows:
    """Where the runs of equal numbers begin."""
    new = np.empty(len(groups), dtype=bool)
    new[:1] = True
    np.not_equal(groups[1:], groups[:-1], out=new[1:])
    return new.nonzero()[0]


def _running_sums(H: Floats, starts: Rows) -> Floats:
    """Running sums along the first axis, in place, anew from each start."""
    if len(starts) < len(H):
        # what a run leaves is taken off where the next begins: all sums stay small, and exact
        H[starts[1:]] -= np.add.reduceat(H, starts, axis=0)[:-1]
        np.cumsum(H, axis=0, out=H)
    return H
