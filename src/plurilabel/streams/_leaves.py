"""Leaves of a Hoeffding tree, which answer with ML-kNN or with pruned sets and naive Bayes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from plurilabel._core.fitted import Declared, numbers
from plurilabel.streams._base import UNKNOWN, Floats, Labels
from plurilabel.streams._hoeffding import N_THRESHOLDS, SplitCounts, resized
from plurilabel.streams._pruned_sets import LabelSet, SetCounts
from plurilabel.streams._self_adjusting import goodness
from plurilabel.streams._window_mlknn import CountingWindow

SKETCH = 50
"""Rows of a leaf from which its thresholds are drawn."""

LATELY = 0.99
"""What was right one row earlier counts that much less."""


class Answer(Protocol):
    """What answers in a leaf."""

    def learn(self, x: Floats, y: Labels, counts: SplitCounts | None) -> None:
        """Learn a row, or raise and be as before; ``counts`` has the intervals of the leaf."""

    def score(self, x: Floats, counts: SplitCounts | None) -> Floats:
        """The probability of each label that was seen."""


class Neighbors(CountingWindow):
    """ML-kNN on the last rows of a leaf."""

    def learn(self, x: Floats, y: Labels, counts: SplitCounts | None = None) -> None:  # noqa: ARG002
        """Add a row to the window."""
        super().learn(x, y)

    def score(self, x: Floats, counts: SplitCounts | None = None) -> Floats:  # noqa: ARG002
        """What ML-kNN says."""
        return super().score(x)


class BayesOfSets:
    """Naive Bayes for the frequent label sets of a leaf, on the intervals of its features.

    Where the frequencies of the sets alone have been right more often lately, they answer, as in
    MOA's adaptive leaves.
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
        """Learn the set of a row; one with unknown labels has none."""
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
            said = self._both(x, counts)[:, : len(y)] > 0.5
            right = goodness(said, y == 1, np.ones(len(y), dtype=bool))
            self.skill = LATELY * self.skill + (1 - LATELY) * right

    def _both(self, x: Floats, counts: SplitCounts) -> Floats:
        """Scores by the frequencies alone, and with naive Bayes: (2, q)."""
        prior = np.log(self.n + 1)
        features, bins = (part[: len(self.n_in)] for part in counts.bins(x))
        n_bins = np.isfinite(counts.edges[: len(features)]).sum(axis=1)[:, None] + 1
        inside = self.n_in[features, bins]  # (d, classes)
        # a class with few rows is taken to be as all rows of the leaf are
        usual = (inside.sum(axis=1, keepdims=True) + 1) / (self.n.sum() + n_bins)
        given = np.log((inside + usual) / (self.n + 1))
        logs = np.stack([prior, prior + given.sum(axis=0)])
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares: Floats = p / p.sum(axis=1, keepdims=True) @ self.members
        return shares

    def score(self, x: Floats, counts: SplitCounts | None) -> Floats:
        """Sum of the probabilities of the sets that have the label."""
        if not len(self.n):
            return np.zeros(self.members.shape[1])
        if counts is None:
            return self.n @ self.members / self.n.sum()
        return np.clip(self._both(x, counts)[int(self.skill.argmax())], 0.0, 1.0)


class Row(NamedTuple):
    """A row that a leaf remembers, and its number in the stream."""

    number: int
    x: Floats
    y: Labels


class Leaf:
    """The last rows, the counts for a split, and what answers.

    Parameters
    ----------
    size : int
        Rows that are remembered.
    make : callable
        Makes what answers.
    watch : Watch
        Looks at the errors.
    shares : ndarray of shape (q,)
        The answer as long as there are no rows.
    """

    _fitted: ClassVar[Declared] = {"shares": numbers(None)}

    def __init__(self, size: int, make: Callable[[], Answer], watch: Any, shares: Floats) -> None:
        self.make, self.watch, self.shares = make, watch, shares
        self.rows: deque[Row] = deque(maxlen=size)
        self.n = 0  # rows so far
        self.answer = make()
        self.counts: SplitCounts | None = None

    def learn(self, number: int, x: Floats, y: Labels) -> None:
        """Learn a row, or raise and be as before."""
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
            self.restore(held, undo)
            raise

    def restore(self, held: dict[str, Any], undo: Iterable[Callable[[], None]]) -> None:
        """Be what is held, and undo what was done."""
        vars(self).update(held)
        for step in undo:
            step()

    def _sketch(self) -> None:
        """Draw the thresholds from the rows so far, and learn these again with them."""
        d, q = len(self.rows[-1].x), len(self.rows[-1].y)
        counts = SplitCounts(np.array([resized(row.x, d) for row in self.rows]), q)
        answer = self.make()
        for row in self.rows:
            counts.add(row.x, row.y, [])
            answer.learn(row.x, row.y, counts)
        self.counts, self.answer = counts, answer

    def score(self, x: Floats) -> Floats:
        """The probability of each label that the leaf knows of."""
        return self.answer.score(x, self.counts) if self.n else self.shares
