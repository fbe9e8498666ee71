"""Leave-one-out for ML-kNN, for every k, from one neighbour graph.

Leaving instance i out does two things to the frequency arrays. Its own entry goes; and every
instance j of which i was one of the k neighbours has the next one in its place, which may move j
to another entry. The first is the same for all instances with the same label and event, so it is
a table; the second is counted for each instance and label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._blocks import row_blocks
from plurilabel.lazy._base import CELLS, Floats, Rows, graph_blocks
from plurilabel.lazy._counts import look_up, posterior, ratio, tally


@dataclass
class LeftOut:
    """The frequency arrays of one k, as each instance would see them without itself."""

    table: NDArray[np.int64]  # (2, q, k + 1)
    event: NDArray[Any]  # (n, q)
    Y: NDArray[np.int8]  # (n, q)
    moved: NDArray[Any] | None  # (2, n, q): how many others came to the instance's entry

    def __post_init__(self) -> None:
        self.have = self.table[1].sum(axis=1)  # instances with each label, (q,)

    def scores(self, s: float, cut: float | None = None) -> NDArray[Any]:
        """Leave-one-out posteriors for smoothing s, or whether they exceed a cut, (n, q)."""
        size = self.table.shape[2]
        usual = np.concatenate(self._usual(s), axis=1)  # (q, 2 * size): by y, then by event
        scores = np.empty(self.Y.shape, dtype=np.float64 if cut is None else bool)
        for rows in row_blocks(len(self.Y), self.Y.shape[1], CELLS):
            Y, event = self.Y[rows], self.event[rows]
            found = look_up(usual, event + size * Y.astype(np.int64))
            if self.moved is not None:
                moved = self.moved[:, rows]
                i, l = np.nonzero(moved[0] | moved[1])
                entries = self.table[:, l, event[i, l]] + moved[:, i, l]
                found[i, l] = self._posterior(Y[i, l], entries, self.have[l], s)
            scores[rows] = found if cut is None else found > cut
        return scores

    def hamming_loss(self, s: float, cut: float) -> float:
        """Hamming loss of the scores cut there; without moves the frequency arrays tell it."""
        if self.moved is not None:
            return float((self.scores(s, cut) != self.Y).mean())
        predicted = self._usual(s) > cut
        wrong = self.table[0][predicted[0]].sum() + self.table[1][~predicted[1]].sum()
        return float(wrong / self.Y.size)

    def _usual(self, s: float) -> Floats:
        """Posterior by the instance's own y, label and event, (2, q, size), without moves."""
        y = np.array([0, 1])[:, None, None]
        return self._posterior(y, self.table, self.have[:, None], s)

    def _posterior(
        self, y: NDArray[Any], entries: NDArray[Any], have: NDArray[Any], s: float
    ) -> Floats:
        """P(H1 | E) of an instance with label value y that is left out."""
        others, size = len(self.Y) - 1, self.table.shape[2]
        have = have - y  # other instances that have the label
        against = ratio(s + entries[0] - (y == 0), s * size + others - have)
        for_ = ratio(s + entries[1] - (y == 1), s * size + have)
        return posterior((s + have) / (2 * s + others), against, for_)


def leave_one_out(
    neighbors: Rows, Y: NDArray[np.int8], ks: set[int], *, replace: bool
) -> Iterator[tuple[int, LeftOut]]:
    """For each k, in increasing order, the arrays with each instance left out.

    With ``replace`` the next neighbour takes the place of the instance that is left out, for
    which ``neighbors`` has one column more than the largest k.
    """
    # event[j, l]: how many of the k nearest neighbours of j have label l
    event = np.zeros(Y.shape, dtype=np.min_scalar_type(max(ks) + 1))
    reverse = _Reverse(neighbors[:, : max(ks)]) if replace else None
    for k in range(1, max(ks) + 1):
        event += Y[neighbors[:, k - 1]].view(np.uint8)
        if k in ks:
            table = np.zeros((2, Y.shape[1], k + 1), dtype=np.int64)
            for rows in graph_blocks(neighbors, Y):
                table += tally(event[rows], Y[rows], k + 1)
            moved = None if reverse is None else _moves(reverse, k, neighbors[:, k], event, Y)
            yield k, LeftOut(table, event, Y, moved)


class _Reverse:
    """The graph turned round: the instances of which i is one of the k nearest, for every k."""

    def __init__(self, neighbors: Rows):
        n, most = neighbors.shape
        edge = np.argsort(neighbors.ravel(), kind="stable")
        j, place = np.divmod(edge, most)
        # small numbers: they are read again for every k
        self.i, self.j = (a.astype(np.min_scalar_type(n)) for a in (neighbors.ravel()[edge], j))
        self.place, self.n = place.astype(np.min_scalar_type(most)), n

    def within(self, k: int) -> tuple[Rows, Rows]:
        """The instances j, by i, and where those of each i begin, (n + 1,)."""
        near = self.place < k
        size = np.bincount(self.i[near], minlength=self.n)
        return self.j[near], np.r_[0, np.cumsum(size)]


def _moves(
    reverse: _Reverse, k: int, following: Rows, event: NDArray[Any], Y: NDArray[np.int8]
) -> NDArray[Any]:
    """How many instances come to the event of i, less those that leave it, if i is left out.

    ``[b, i, l]`` is about the instances whose label l is b. Without i, the k nearest neighbours of
    j are its k + 1 nearest but for i. So the event of j becomes that of k + 1 neighbours, less one
    if i has the label. Only the n k instances that have i among their neighbours are looked at.
    """
    n, q = Y.shape
    (j, start), has = reverse.within(k), Y.view(np.uint8)
    most = int(np.diff(start).max())
    moved = np.empty((2, n, q), dtype=np.min_scalar_type(-max(most, 1)))
    # event of j now and with k + 1 neighbours; what these must be, to be in the event of i
    now_and_then = np.hstack([event, event + has[following]])
    wanted = np.hstack([event, event + has])
    for rows in row_blocks(n, k * q, CELLS):
        begin = start[rows.start : rows.stop + 1]
        near = j[begin[0] : begin[-1]]
        own = np.repeat(wanted[rows], np.diff(begin), axis=0)
        same = (now_and_then.take(near, axis=0) == own).view(np.int8)
        comes = (same[:, q:] - same[:, :q]).astype(moved.dtype, copy=False)
        edge = np.ones(len(near), moved.dtype), np.arange(len(near)), begin - begin[0]
        to_i = sparse.csr_array(edge, (len(begin) - 1, len(near)))
        moved[0, rows] = to_i @ comes
        moved[1, rows] = to_i @ (comes * Y.take(near, axis=0))
    moved[0] -= moved[1]
    return moved
