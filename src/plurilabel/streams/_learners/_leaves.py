"""Leaves of a Hoeffding tree: counts for splits, and learners (ML-kNN, or pruned sets)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from math import log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks
from plurilabel._core.fitted import Declared, numbers
from plurilabel.streams._learners._mlsampknn import goodness
from plurilabel.streams._learners._pruned_sets import LabelSet, SetCounts
from plurilabel.streams._learners._window_mlknn import CountingWindow
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels

N_THRESHOLDS = 8  # thresholds of each feature in a leaf
FEWEST = 0.01  # the share of the rows that each side of a split must have, as in MOA


def hoeffding_bound(delta: float, n: int) -> float:
    """Largest error of the mean of n values between 0 and 1, except with probability delta."""
    return sqrt(log(1 / delta) / (2 * n))


def thresholds(points: Floats) -> Floats:
    """Thresholds of each feature for rows (n, d), ascending and padded with inf, (d, 8)."""
    # They are midpoints of adjacent values, evenly spaced among the distinct values. A feature
    # with a single value is split into lower, equal and higher values.
    edges = np.full((points.shape[1], N_THRESHOLDS), np.inf)
    for j, column in enumerate(points.T):
        found = np.unique(column)
        if len(found) == 1:
            edges[j, :2] = np.nextafter(found[0], -np.inf), found[0]
            continue
        middle = found[:-1] + (found[1:] - found[:-1]) / 2
        # rounding may give the upper value, which belongs to the other side
        middle = np.where(middle < found[1:], middle, found[:-1])
        at = np.linspace(0, len(middle) - 1, min(N_THRESHOLDS, len(middle)))
        middle = middle[np.unique(np.round(at).astype(np.intp))]
        edges[j, : len(middle)] = middle
    return edges


class Best(NamedTuple):
    """The best split of a leaf, and its lead over the best split on another feature."""

    gain: float
    lead: float
    feature: int
    threshold: float


class SplitCounts:
    """Counts of rows with and without each label, in each interval of each feature."""

    _fitted: ClassVar[Declared] = {
        "edges": numbers("d", N_THRESHOLDS, finite=False),
        "counts": numbers("d", N_THRESHOLDS + 1, 2, None),
        "rows": numbers("d", N_THRESHOLDS + 1),
    }

    def __init__(self, points: Floats, q: int) -> None:
        self.edges = thresholds(points)  # interval b: above threshold b - 1, up to threshold b
        d, bins = len(self.edges), N_THRESHOLDS + 1
        # rows without and with each label; unknown labels are in neither
        self.counts = np.zeros((d, bins, 2, q), dtype=np.int32)
        self.rows = np.zeros((d, bins), dtype=np.int64)  # also with unknown labels

    def widen(self, d: int, q: int) -> None:
        """Add features, which were 0 so far, and labels, which were unknown."""
        if (more := d - len(self.edges)) > 0:
            self.edges = np.vstack([self.edges, thresholds(np.zeros((1, more)))])
            counts = np.zeros((more, *self.counts.shape[1:]), dtype=np.int32)
            rows = np.zeros((more, N_THRESHOLDS + 1), dtype=np.int64)
            counts[:, 1] = self.counts[:1].sum(axis=(0, 1))
            rows[:, 1] = self.rows[:1].sum()
            self.counts, self.rows = np.vstack([self.counts, counts]), np.vstack([self.rows, rows])
        if (more := q - self.counts.shape[-1]) > 0:
            new = np.zeros((*self.counts.shape[:-1], more), dtype=np.int32)
            self.counts = np.concatenate([self.counts, new], axis=-1)

    def bins(self, x: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The interval of each feature, as an index into the first two dimensions."""
        x = resized(x, len(self.edges))
        return np.arange(len(x)), (x[:, None] > self.edges).sum(axis=1)

    def add(self, x: Floats, y: Labels, undo: list[Callable[[], None]]) -> None:
        """Count a row; steps to undo this are added to a list first."""
        undo.append(partial(vars(self).update, vars(self).copy()))
        self.widen(len(x), len(y))
        at, told = self.bins(x), np.zeros((2, self.counts.shape[-1]), dtype=np.int32)
        told[:, : len(y)] = y == 0, y == 1
        counts, rows = self.counts, self.rows
        undo.append(partial(counts.__setitem__, at, counts[at]))
        undo.append(partial(rows.__setitem__, at, rows[at]))
        counts[at] += told
        rows[at] += 1

    def best(self) -> Best | None:
        """The split with the highest gain; None if there is none."""
        # The gain is the sum of the information gains of all labels, divided by the sum of their
        # entropies: a number between 0 and 1.
        if not len(self.edges):
            return None
        whole = self.counts[0].sum(axis=0)  # (2, q)
        vary = (whole > 0).all(axis=0)
        if not vary.any():
            return None
        n_l = whole[:, vary].sum(axis=0)
        entropy = (_spread(whole[:, vary]) / n_l).sum()
        gains = np.empty(self.edges.shape)
        for part in row_blocks(len(gains), 2 * N_THRESHOLDS * int(vary.sum()), 1 << 20):
            left = self.counts[part][..., vary].cumsum(axis=1)[:, :-1]  # (features, 8, 2, q)
            after = (_spread(left) + _spread(whole[:, vary] - left)) / n_l
            gains[part] = 1 - after.sum(axis=-1) / entropy
        n, left_rows = self.rows[0].sum(), self.rows.cumsum(axis=1)[:, :-1]
        fewest = max(1.0, FEWEST * n)
        gains[(left_rows < fewest) | (n - left_rows < fewest)] = -np.inf
        at = gains.argmax(axis=1)
        of_feature = gains[np.arange(len(gains)), at]
        feature = int(of_feature.argmax())
        gain = float(of_feature[feature])
        if gain <= 0:
            return None
        others = np.delete(of_feature, feature).max(initial=0.0)
        threshold = float(self.edges[feature, at[feature]])
        return Best(gain, gain - float(others), feature, threshold)

    def shares(self, feature: int, threshold: float) -> tuple[Floats, Floats]:
        """The share of each label on both sides of a split, smoothed."""
        counts = self.counts[feature].astype(np.float64)
        below = counts[:-1][self.edges[feature] <= threshold].sum(axis=0)
        above = counts.sum(axis=0) - below
        return (below[1] + 1) / (below.sum(axis=0) + 2), (above[1] + 1) / (above.sum(axis=0) + 2)


def _spread(counts: NDArray[np.integer]) -> Floats:
    """Entropy in bits times n, from numbers of rows without and with a label: (..., 2, q)."""
    terms, n = counts * np.log2(np.maximum(counts, 1)), counts.sum(axis=-2)
    return np.asarray(n * np.log2(np.maximum(n, 1)) - terms.sum(axis=-2))


def resized(x: Floats, d: int) -> Floats:
    """A row with d features: missing ones are 0, further ones are dropped."""
    return x[:d] if len(x) >= d else np.concatenate([x, np.zeros(d - len(x))])


SKETCH = 50  # rows of a leaf from which its thresholds are drawn
LATELY = 0.99  # weight of the past, relative to one row later


class Neighbors(CountingWindow):
    """ML-kNN on the last rows of a leaf."""

    def learn(self, x: Floats, y: Labels, _counts: SplitCounts | None = None) -> None:
        super().learn(x, y)

    def score(self, x: Floats, _counts: SplitCounts | None = None) -> Floats:
        return super().score(x)


class BayesOfSets:
    """Naive Bayes for the frequent label sets of a leaf, on the intervals of its features.

    If the frequencies alone have recently been more accurate, they are used instead, as in MOA's
    adaptive leaves.
    """

    _fitted: ClassVar[Declared] = {
        "n": numbers("c"),
        "n_in": numbers(None, N_THRESHOLDS + 1, "c"),
        "members": numbers("c", None),
        "skill": numbers(2),
    }

    def __init__(self, min_count: int, max_sets: int) -> None:
        self.sets = SetCounts(min_count, max_sets)
        self.classes: dict[LabelSet, int] = {}
        self.n = np.zeros(0)  # rows of each class
        self.n_in = np.zeros((0, N_THRESHOLDS + 1, 0), dtype=np.int32)  # in each interval
        self.members = np.zeros((0, 0))  # (classes, q), 1 for the labels of a class
        self.skill = np.zeros(2)  # of the frequencies alone, and with naive Bayes

    def learn(self, x: Floats, y: Labels, counts: SplitCounts | None) -> None:
        """Learn the label set of a row, if all labels are known."""
        held = vars(self).copy()
        try:
            self._widen(len(y), counts)
            if (y == UNKNOWN).any():
                return
            self._judge(x, y, counts)
            self.sets = self.sets.copy()
            for labels in self.sets.add(tuple(np.flatnonzero(y).tolist())):
                c = self._class(labels)
                self.n = self.n + (np.arange(len(self.n)) == c)
                if counts is not None:  # the last step, in place
                    self.n_in[(*counts.bins(x), c)] += 1
        except BaseException:
            vars(self).update(held)
            raise

    def _widen(self, q: int, counts: SplitCounts | None) -> None:
        if (more := q - self.members.shape[1]) > 0:
            self.members = np.hstack([self.members, np.zeros((len(self.members), more))])
        if counts is not None and (more := len(counts.edges) - len(self.n_in)) > 0:
            new = np.zeros((more, *self.n_in.shape[1:]), dtype=np.int32)
            new[:, 1] = self.n  # the feature was 0
            self.n_in = np.vstack([self.n_in, new])

    def _class(self, labels: LabelSet) -> int:
        if labels not in self.classes:
            self.classes = {**self.classes, labels: len(self.classes)}
            member = np.zeros((1, self.members.shape[1]))
            member[0, list(labels)] = 1
            self.members, self.n = np.vstack([self.members, member]), np.append(self.n, 0)
            new = np.zeros((*self.n_in.shape[:2], 1), dtype=np.int32)
            self.n_in = np.concatenate([self.n_in, new], axis=2)
        return self.classes[labels]

    def _judge(self, x: Floats, y: Labels, counts: SplitCounts | None) -> None:
        if counts is not None and len(self.n):
            predicted = self._both(x, counts)[:, : len(y)] > 0.5
            right = goodness(predicted, y == 1, np.ones(len(y), dtype=bool))
            self.skill = LATELY * self.skill + (1 - LATELY) * right

    def _both(self, x: Floats, counts: SplitCounts) -> Floats:
        """Scores by the frequencies alone, and with naive Bayes: (2, q)."""
        prior = np.log(self.n + 1)
        features, bins = (part[: len(self.n_in)] for part in counts.bins(x))
        n_bins = np.isfinite(counts.edges[: len(features)]).sum(axis=1)[:, None] + 1
        inside = self.n_in[features, bins]  # (d, classes)
        # smooth classes with few rows towards all rows of the leaf
        usual = (inside.sum(axis=1, keepdims=True) + 1) / (self.n.sum() + n_bins)
        given = np.log((inside + usual) / (self.n + 1))
        logs = np.stack([prior, prior + given.sum(axis=0)])
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True) @ self.members)

    def score(self, x: Floats, counts: SplitCounts | None) -> Floats:
        """Sum of the probabilities of the sets that have the label."""
        if not len(self.n):
            return np.zeros(self.members.shape[1])
        if counts is None:
            return self.n @ self.members / self.n.sum()
        return np.clip(self._both(x, counts)[int(self.skill.argmax())], 0.0, 1.0)


def restore(node: Any, held: dict[str, Any], undo: Iterable[Callable[[], None]]) -> None:
    """Restore the attributes of a node, then undo changes made in place."""
    vars(node).update(held)
    for step in undo:
        step()


class Row(NamedTuple):
    number: int
    x: Floats
    y: Labels


class Leaf:
    """The last ``size`` rows, the counts for splits, and the learner of a leaf.

    ``make`` creates the learner, ``watch`` monitors its errors, and ``shares`` are the scores
    before the first row. If ``learn`` raises an error, nothing has changed.
    """

    _fitted: ClassVar[Declared] = {"shares": numbers(None)}

    def __init__(self, size: int, make: Callable[[], Any], watch: Any, shares: Floats) -> None:
        self.make, self.watch, self.shares = make, watch, shares
        self.rows: deque[Row] = deque(maxlen=size)
        self.n = 0  # rows so far
        self.answer = make()
        self.counts: SplitCounts | None = None

    def learn(self, number: int, x: Floats, y: Labels) -> None:
        held, undo = vars(self).copy(), list[Callable[[], None]]()
        try:
            self.rows = self.rows.copy()
            self.rows.append(Row(number, x.copy(), y.copy()))
            self.n += 1
            if self.counts is None and self.n >= min(SKETCH, self.rows.maxlen or SKETCH):
                self._sketch()
                return
            if self.counts is not None:
                self.counts.add(x, y, undo)
            self.answer.learn(x, y, self.counts)
        except BaseException:
            restore(self, held, undo)
            raise

    def _sketch(self) -> None:
        """Set the thresholds from the rows so far, and learn these again."""
        d, q = len(self.rows[-1].x), len(self.rows[-1].y)
        counts = SplitCounts(np.array([resized(row.x, d) for row in self.rows]), q)
        answer = self.make()
        for row in self.rows:
            counts.add(row.x, row.y, [])
            answer.learn(row.x, row.y, counts)
        self.counts, self.answer = counts, answer

    def score(self, x: Floats) -> Floats:
        return self.answer.score(x, self.counts) if self.n else self.shares
