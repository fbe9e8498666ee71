"""ML-kNN on a window that moves with the stream."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cache
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import AtLeastTwo
from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.shared import posterior, ratio
from plurilabel.streams._learners._window import Before, NeighborWindow, Slots
from plurilabel.streams._stream_classifier import Floats, Labels, StreamClassifier


@cache
def _offsets(q: int, size: int) -> Slots:
    return size * np.arange(q)


class CountingWindow(NeighborWindow):
    """The counts of ML-kNN for the rows of a window.

    ``counts[b, l, j]`` is the number of rows with value b of label l and j neighbors with label l.
    Rows with unknown l are not counted, and as neighbors do not have it.
    """

    _fitted: ClassVar[Declared] = {"counts": numbers(2, "q", None), "cells": numbers("size", "q")}

    def __init__(self, size: int, metric: str, k: int, s: float, rng: np.random.Generator | None):
        super().__init__(size, metric, k)
        self.s, self.rng = s, rng  # no rng for a sliding window
        self.counts = np.zeros((2, 0, k + 1), dtype=np.int64)
        self.cells = np.zeros((size, 0), dtype=np.intp)  # where each row and label is counted

    def learn(self, x: Floats, y: Labels) -> None:
        """Add a row; in a full window, it replaces the oldest or a random one."""
        slot, drawn = self.n, {} if self.rng is None else self.rng.bit_generator.state
        if slot == self.size:
            slot = int(self.seen % slot if self.rng is None else self.rng.integers(slot))
        before = Before(self)
        try:
            self._learn(slot, x, y, before)
        except BaseException:  # the lists and counts follow from the rows
            before.restore()
            self.search_all()
            self.counts, self.cells = np.zeros_like(self.counts), np.zeros_like(self.cells)
            self._count(np.arange(self.n), np.arange(0))
            if self.rng is not None:
                self.rng.bit_generator.state = drawn
            raise

    def _learn(self, slot: int, x: Floats, y: Labels, before: Before) -> None:
        was, changed = self.n, self.replace(slot, x, y, before)
        q, size = self.labels.shape[1], self.k + 1
        if q > self.cells.shape[1] or was < self.n <= size:
            # a new label, or one more neighbor for all: count every row again
            self.counts = np.zeros((2, q, size), dtype=np.int64)
            self.cells = np.zeros((self.size, q), dtype=np.intp)
            self._count(np.arange(self.n), np.arange(0))
        else:
            self._count(changed, changed if was == self.n else changed[changed != slot])

    def _count(self, rows: Slots, gone: Slots) -> None:
        """Count rows, and subtract the counts of removed ones."""
        _, q, size = self.counts.shape
        before = self.cells[gone].ravel()
        nearest = self.neighbors[rows, : max(min(self.k, self.n - 1), 0)]
        delta = np.add.reduce(self.labels.take(nearest, axis=0) == 1, axis=1, dtype=np.intp)
        y = self.labels[rows].astype(np.intp)  # numbers of cells are larger than its own type
        y *= q * size
        y += _offsets(q, size)
        unknown, cells = y < 0, y + delta
        cells[unknown] = most = 2 * q * size  # the number of cells: those for unknown labels
        self.cells[rows] = cells
        change = np.bincount(cells.ravel(), minlength=most)[:most]
        change -= np.bincount(before, minlength=most)[:most]
        self.counts += change.reshape(self.counts.shape)

    def score(self, x: Floats) -> Floats:
        """P(H1 | E_j) of each label, by the formulas of :class:`~plurilabel.MLkNN`."""
        k, s, q = min(self.k, self.n - 1), self.s, len(self.counts[1])
        nearest = self.kept(self.around, self.prepared(x))[1][: max(k, 0)]
        delta = np.add.reduce(self.labels.take(nearest, axis=0) == 1, axis=0, dtype=np.intp)
        total = self.counts.sum(axis=-1)  # (2, q)
        events = self.counts.reshape(2, -1).take(_offsets(q, self.k + 1) + delta, axis=1)
        if s == 0:  # some labels or counts may be missing
            prior = ratio(total[1], total.sum(axis=0))
            return posterior(prior, *ratio(events, total))
        prior = (s + total[1]) / (2 * s + total.sum(axis=0))
        no, yes = (s + events) / (s * (k + 1) + total)
        no *= 1 - prior
        yes *= prior
        return yes / (yes + no)


@dataclass(eq=False, repr=False)
class WindowMLkNN(StreamClassifier):
    """ML-kNN on the last rows of a stream, updated exactly.

    Predictions always equal, bit for bit, those of :class:`~plurilabel.MLkNN` fitted on the rows
    of the window, at a fraction of the cost: a new row is compared with the window once, and only
    rows whose neighbors change are counted again.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors (k); fewer while there are fewer rows.
    window_size : int, default=1000
        Number of rows in the window.
    forgetting : {"sliding", "fading"}, default="sliding"
        Whether a new row replaces the oldest or a random one. With "fading", a row survives m
        further rows with probability ``(1 - 1 / window_size) ** m``, as in Aggarwal's biased
        reservoirs.
    smoothing : float, default=1.0
        Strength of the uniform prior (s); 1 is Laplace smoothing.
    metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        Distance, as in :class:`~plurilabel.ExactIndex`.
    random_state : int or None, default=None
        Seed for the rows that fade.

    Attributes
    ----------
    rows_ : ndarray of shape (n,)
        Numbers of the rows in the window, ascending, counting only rows with a known label.
    core_ : object
        The window.

    Notes
    -----
    A row with an unknown label is not counted for this label; as a neighbor, it counts as a row
    without it.

    References
    ----------
    C. C. Aggarwal. On biased reservoir sampling in the presence of stream evolution. VLDB 2006.

    Examples
    --------
    >>> from plurilabel import WindowMLkNN
    >>> learner = WindowMLkNN(n_neighbors=2, window_size=6)
    >>> for i in range(30):
    ...     learner.learn_one({"x": i % 10}, {"low": i % 10 < 7, "early": i < 20})
    >>> learner.rows_
    array([24, 25, 26, 27, 28, 29])
    >>> learner.predict_one({"x": 8.8})
    {'low': False, 'early': False}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "random_state": [None, Integral],
    }

    n_neighbors: int = 10
    _: KW_ONLY
    window_size: AtLeastTwo = 1000
    forgetting: Literal["sliding", "fading"] = "sliding"
    smoothing: float = 1.0
    metric: Literal["euclidean", "cosine", "manhattan", "chebyshev"] = "euclidean"
    random_state: int | None = None

    def _new_core(self) -> CountingWindow:
        if self.n_neighbors >= self.window_size:
            most = f"window_size={self.window_size}"
            raise ValueError(f"n_neighbors must be smaller than {most}, got {self.n_neighbors}")
        fading = self.forgetting == "fading"
        rng = np.random.default_rng(self.random_state) if fading else None
        return CountingWindow(self.window_size, self.metric, self.n_neighbors, self.smoothing, rng)

    @property
    def rows_(self) -> NDArray[np.int64]:
        """Numbers of the rows in the window, ascending."""
        return np.sort(self.core_.born[: self.core_.n])
