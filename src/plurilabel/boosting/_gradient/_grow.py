"""One tree or rule: a search for the conditions with the largest gain, level by level.

The sums G and H of the first and second derivatives over the instances of a node make it worth
G^2 / (H + l2) for each label: twice what the Newton step -G / (H + l2) takes off the loss. One
sparse product sums the derivatives of all labels in all bins of all nodes of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.boosting._gradient._binned import Binned
from plurilabel.boosting._rules import Floats, Rows

TIE = 1e-9
"""Gains that differ by a smaller share are equal: the first feature and slot win. So the order of
the training rows, which changes sums by rounding, cannot choose the condition."""


@dataclass(frozen=True)
class Grown:
    """A tree or rule.

    Attributes
    ----------
    feature : ndarray of shape (nodes,)
        -1 for a leaf.
    threshold : ndarray of shape (nodes,)
        Larger values go to the right.
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

    ``which`` is the position of the feature among those drawn, ``right`` says whether the far side
    of the cut is on the right, ``stray`` whether missing values go to the left.
    """

    node: Rows
    which: Rows
    cut: Rows
    right: NDArray[np.bool_]
    stray: NDArray[np.bool_]


@dataclass(frozen=True)
class Splits:
    """The best conditions of some nodes: arrays with one entry for each.

    ``sums`` are those on the left and on the right, (2, nodes, width); ``covers`` is the side
    that a rule goes on with; ``gain`` is minus infinity where there is no condition.
    """

    gain: Floats
    feature: Rows
    cut: Rows
    missing: NDArray[np.bool_]
    covers: Rows
    sums: Floats

    def of(self, nodes: Rows) -> Splits:
        """Those of some of the nodes."""
        return Splits(
            self.gain[nodes], self.feature[nodes], self.cut[nodes], self.missing[nodes],
            self.covers[nodes], self.sums[:, nodes],
        )  # fmt: skip


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
    """

    binned: Binned
    rule: bool
    heads: int
    max_depth: int
    max_features: int
    min_weight: float
    l2: float
    random: Any

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
        sums = W.sum(axis=0, keepdims=True)  # of all nodes so far
        active = np.zeros(1, dtype=np.intp)  # the nodes of this level that may be split
        levels: list[tuple[Rows, Rows, Splits, Floats]] = []
        while len(levels) < self.max_depth and len(self.binned):
            place = np.full(len(sums), -1, dtype=np.intp)
            place[active] = np.arange(len(active))
            at = place[node]
            if drawn is not None:
                at[~drawn] = -1
            splits = self._search(W, at, sums[active])
            if len(labels) > self.heads and splits.gain[0] > 0:
                labels = self._head(splits, sums[0])
                # from here on nothing but the labels of the head counts
                columns = np.concatenate([labels, q + labels, [2 * q]])
                W, sums = np.ascontiguousarray(W[:, columns]), sums[:, columns]
                splits = replace(splits, sums=splits.sums[..., columns])
            found = np.flatnonzero(splits.gain > 0)
            if not len(found):
                break
            left = np.full(len(active), -1, dtype=np.intp)
            left[found] = len(sums) + 2 * np.arange(len(found))
            node = self._descend(node, place, splits, left)
            levels.append((active[found], left[found], splits.of(found), sums[active[found]]))
            # left, right, left, right, ...
            both = splits.sums[:, found].transpose(1, 0, 2).reshape(-1, sums.shape[1])
            sums = np.concatenate([sums, both])
            active = left[found]
            if self.rule:
                active = active + splits.covers[found]
            else:
                active = np.arange(active[0], len(sums))
        return self._grown(labels, node, sums, levels)

    def _grown(
        self,
        labels: Rows,
        node: Rows,
        sums: Floats,
        levels: list[tuple[Rows, Rows, Splits, Floats]],
    ) -> Grown:
        count, m, B = len(sums), len(labels), self.binned
        feature = np.full(count, -1, dtype=np.int32)
        threshold, missing = np.full(count, np.inf), np.zeros(count, dtype=bool)
        left = np.arange(count, dtype=np.int32)
        gains, scored = np.zeros((count, m)), np.ones(count, dtype=bool)
        for nodes, to, splits, totals in levels:
            feature[nodes] = B.features[splits.feature]
            threshold[nodes] = [B.threshold(j, c) for j, c in zip(splits.feature, splits.cut)]
            missing[nodes], left[nodes] = splits.missing, to
            gains[nodes] = self._worth_by_label(splits.sums).sum(axis=0)
            gains[nodes] -= self._worth_by_label(totals)
            if self.rule:
                scored[to + 1 - splits.covers] = False
        scored &= feature < 0
        values = np.zeros((count, m))
        values[scored] = -sums[scored, :m] / (sums[scored, m : 2 * m] + self.l2)
        gains = np.maximum(gains, 0.0)
        return Grown(feature, threshold, missing, left, labels, values, gains, node, len(levels))

    def _search(self, W: Floats, at: Rows, totals: Floats) -> Splits:
        """The best condition for each of some nodes; ``at`` are the instances' nodes, or -1."""
        B, nodes = self.binned, len(totals)
        features = np.arange(len(B))
        if self.max_features < len(B):
            features = np.sort(self.random.choice(len(B), self.max_features, replace=False))
        cuts, far = self._cuts(W, at, features, totals)
        gain, covers_near = self._gains(cuts, far, totals)
        top = np.full(nodes, -np.inf)
        best = np.zeros(nodes, dtype=np.intp)
        if len(gain):
            starts = _starts(cuts.node)
            top[cuts.node[starts]] = np.maximum.reduceat(gain, starts)
            bound = np.where(top > 0, top * (1 - TIE), np.inf)
            good = np.flatnonzero(gain >= bound[cuts.node])
            good = good[_starts(cuts.node[good])]
            best[cuts.node[good]] = good
        else:  # no drawn feature varies: there is nothing to choose from
            none = np.zeros(nodes, dtype=np.intp)
            return Splits(top, none, none, none.astype(bool), none, np.stack([totals, totals]))
        sums = np.stack([far[best], totals - far[best]])
        swap = cuts.right[best]
        sums = np.where(swap[:, np.newaxis], sums[::-1], sums)
        feature = features[cuts.which[best]]
        # values that were never missing go with most of the instances
        missing = np.where(B.missing[feature], ~cuts.stray[best], sums[1, :, -1] > sums[0, :, -1])
        covers = (covers_near[best] ^ swap).astype(np.intp)
        return Splits(top, feature, cuts.cut[best], missing, covers, sums)

    def _cuts(self, W: Floats, at: Rows, features: Rows, totals: Floats) -> tuple[Cuts, Floats]:
        """All cuts of some features in some nodes, with the sums over their far sides."""
        B, nodes = self.binned, len(totals)
        size, common = B.n_slots[features], B.common[features]
        offset, K = np.cumsum(size) - size, int(size.sum())
        which, rows, codes = B.entries(features)
        node = at[rows]
        if node.size and node.min() < 0:
            kept = np.flatnonzero(node >= 0)
            which, rows, codes, node = which[kept], rows[kept], codes[kept], node[kept]
        slot = offset[which]
        if len(features) < K:
            slot += np.where(codes < common[which], codes, (common + size)[which] - codes)
        slot += node * K
        # a cut next to an empty bin is the same as the one before
        full = np.flatnonzero(np.bincount(slot, minlength=nodes * K))
        place = np.empty(nodes * K, dtype=np.int32)
        place[full] = np.arange(len(full), dtype=np.int32)
        member = sparse.coo_array(
            (np.ones(len(slot)), (place[slot], rows)), shape=(len(full), len(W))
        )
        member.has_canonical_format = True  # no entry occurs twice: nothing to look for
        far = np.asarray(member.tocsc() @ W)
        at_node, at_slot = np.divmod(full, K)
        which, bins, cut = (part[at_slot] for part in B.slots(features))
        cuts = Cuts(at_node, which, cut, bins > cut, np.zeros(len(full), dtype=bool))
        if len(features) < K:
            far = _running_sums(far, _starts((at_node * len(features) + which) * 2 + cuts.right))
        if B.missing[features].any():
            return self._with_strays(cuts, far, bins, features, totals)
        return cuts, far

    def _with_strays(
        self, cuts: Cuts, far: Floats, bins: Rows, features: Rows, totals: Floats
    ) -> tuple[Cuts, Floats]:
        """Also the cuts with the missing values on the other side, the left one."""
        B, k = self.binned, len(features)
        gappy = B.missing[features][cuts.which]
        last, common = B.n_slots[features][cuts.which], B.common[features][cuts.which]
        group = cuts.node * k + cuts.which
        # missing values are the last bin: it has a slot, or it is the common bin, and what the
        # last running sum of the feature leaves of the total
        own = np.full(len(totals) * k, -1)
        for those in (gappy & (bins == last), gappy & (common == last)):
            own[group[those]] = np.flatnonzero(those)
        some = np.flatnonzero(gappy & (cuts.cut < last - 1) & (own[group] >= 0))
        lost = far[own[group[some]]]
        unstored = (common == last)[some, np.newaxis]
        lost = np.where(unstored, totals[cuts.node[some]] - lost, lost)
        moved = far[some] + np.where(cuts.right[some], -1.0, 1.0)[:, np.newaxis] * lost
        both = np.concatenate([np.arange(len(far)), some])
        stray = np.arange(len(both)) >= len(far)
        order = np.argsort(cuts.node[both], kind="stable")
        at = both[order]
        moved = np.concatenate([far, moved])[order]
        return (
            Cuts(cuts.node[at], cuts.which[at], cuts.cut[at], cuts.right[at], stray[order]),
            moved,
        )

    def _gains(self, cuts: Cuts, far: Floats, totals: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Gain of each cut, and whether a rule would go on with its near side."""
        q = totals.shape[1] // 2
        sides = (far, totals[cuts.node] - far)
        whole = self._worth(totals)
        if q > self.heads:
            before = self._worth_by_label(totals)[cuts.node]
            worths = [self._worth_by_label(side) for side in sides]
        else:
            before = whole[cuts.node]
            worths = [self._worth(side) for side in sides]
        if not self.rule:
            worths = [worths[0] + worths[1]]
        gains = [worth - before for worth in worths]
        if q > self.heads:
            largest = slice(q - self.heads, None)
            gains = [np.partition(g, q - self.heads, axis=1)[:, largest].sum(1) for g in gains]
        light = [side[:, -1] < self.min_weight for side in sides]
        noise = TIE * whole[cuts.node]
        if self.rule:
            gains = [np.where(few, -np.inf, gain) for few, gain in zip(light, gains)]
            covers_near = gains[1] > gains[0] + noise
            gain = np.maximum(*gains)
        else:
            gain, covers_near = gains[0], np.zeros(len(far), dtype=bool)
            gain[light[0] | light[1]] = -np.inf
        gain[gain <= noise] = -np.inf
        return gain, covers_near

    def _head(self, splits: Splits, total: Floats) -> Rows:
        """The labels that gain most by the first condition."""
        worth = self._worth_by_label(splits.sums[:, 0])
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
        return np.einsum("...l,...l->...", G, H)

    def _descend(self, node: Rows, place: Rows, splits: Splits, left: Rows) -> Rows:
        """The nodes of all instances after a level; ``left`` are the new ones."""
        B, feature = self.binned, splits.feature
        lost = np.where(B.missing[feature], B.n_slots[feature], -1)  # the bin of missing values

        def goes_right(code: NDArray[Any], of: Rows) -> NDArray[np.bool_]:
            return np.where(code == lost[of], splits.missing[of], code > splits.cut[of])

        at = place[node]
        right = goes_right(B.common[feature], np.arange(len(feature)))[at]
        which, rows, codes = B.entries(feature)
        mine = np.flatnonzero(at[rows] == which)
        right[rows[mine]] = goes_right(codes[mine], which[mine])
        return np.where((at >= 0) & (left[at] >= 0), left[at] + right, node)


def _starts(groups: Rows) -> Rows:
    """Where the runs of equal numbers begin."""
    return np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]])[: len(groups)])


def _running_sums(H: Floats, starts: Rows) -> Floats:
    """Running sums along the first axis, in place, anew from each start."""
    if len(starts) < len(H):
        # what a run leaves is taken off where the next begins: all sums stay small, and exact
        H[starts[1:]] -= np.add.reduceat(H, starts, axis=0)[:-1]
        np.cumsum(H, axis=0, out=H)
    return H
