"""Leave-one-out for ML-kNN, for every k, from one neighbour graph.

Leaving instance i out does two things to the frequency arrays. Its own entry goes; and every
instance j of which i was one of the k neighbours has the next one in its place, which moves j to
another entry for the labels in which the two differ. The first is the same for all instances with
the same label and event, so it is a table; the second touches some places, which are mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.lazy._counts import look_up, tally


class LeftOut:
    """The frequency arrays of one k, as each instance would see them without itself."""

    def __init__(
        self,
        table: NDArray[np.int64],
        event: NDArray[np.uint8],
        Y: NDArray[np.int8],
        touched: NDArray[Any],
        moved: NDArray[np.int32],
    ):
        self.table, self.event, self.Y = table, event, Y  # (2, q, k+1), (n, q), (n, q)
        self.touched, self.moved = touched, moved  # cells i * q + l, and (2, cells)

    def scores(self, s: float, cut: float | None = None) -> NDArray[Any]:
        """Leave-one-out posteriors for smoothing s, or whether they exceed a cut, (n, q)."""
        q, size = self.table.shape[1:]
        have = self.table[1].sum(axis=1)
        usual = self._usual(s)
        both = np.concatenate([usual[0], usual[1]], axis=1)  # (q, 2 * size): by y, then event
        if cut is not None:
            both = both > cut
        scores = look_up(both, self.event + size * self.Y.astype(np.int16))
        if not len(self.touched):
            return scores
        label = self.touched % q
        event, y = self.event.ravel()[self.touched], self.Y.ravel()[self.touched]
        entries = self.table[:, label, event] + self.moved
        mended = self._posterior(y, entries, have[label], s)
        scores.ravel()[self.touched] = mended if cut is None else mended > cut
        return scores

    def hamming_loss(self, s: float, cut: float) -> float:
        """Hamming loss of the scores cut there; without moves the frequency arrays tell it."""
        if len(self.touched):
            return float((self.scores(s, cut) != self.Y).mean())
        predicted = self._usual(s) > cut
        wrong = self.table[0][predicted[0]].sum() + self.table[1][~predicted[1]].sum()
        return float(wrong / self.Y.size)

    def _usual(self, s: float) -> NDArray[np.float64]:
        """Posterior by the instance's own y, label and event, (2, q, size), but for moves."""
        every_y = np.array([0, 1])[:, None, None]
        return self._posterior(every_y, self.table, self.table[1].sum(axis=1)[:, None], s)

    def _posterior(
        self, y: NDArray[Any], entries: NDArray[Any], have: NDArray[Any], s: float
    ) -> NDArray[np.float64]:
        """P(H1 | E) of an instance with label value y that is left out."""
        m, size = len(self.Y), self.table.shape[2]
        have = have - y  # other instances that have the label
        prior = (s + have) / (2 * s + m - 1)
        yes = prior * _ratio(s + entries[1] - (y == 1), s * size + have)
        no = (1 - prior) * _ratio(s + entries[0] - (y == 0), s * size + m - 1 - have)
        total = yes + no
        return np.where(total > 0, yes / np.where(total > 0, total, 1.0), prior)


def _ratio(a: Any, b: Any) -> NDArray[np.float64]:
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > 0)


def leave_one_out(
    neighbors: NDArray[np.intp], Y: NDArray[np.int8], ks: set[int], *, replace: bool
) -> Iterator[tuple[int, LeftOut]]:
    """For each k, in increasing order, the arrays with each instance left out.

    With ``replace`` the next neighbour takes the place of the instance that is left out, for
    which ``neighbors`` has one column more than the largest k.
    """
    n, q = Y.shape
    cell = np.int32 if n * q < 2**31 else np.int64  # cells are numbered i * q + l
    pointers, labels = _label_lists(Y)
    event = np.zeros((n, q), dtype=np.min_scalar_type(max(ks)))
    moves = Moves(n * q if replace else 0)
    losses: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for k in range(1, max(ks) + 1):
        last = neighbors[:, k - 1]
        event += Y[last].view(np.uint8)
        if not replace:
            if k in ks:
                yield k, LeftOut(tally(event, Y, k + 1), event, Y, *moves.settle())
            continue
        following = neighbors[:, k]
        row, label = _expand(last, pointers, labels)
        losses.append(((row * q + label).astype(cell), (last[row] * q + label).astype(cell)))
        if k not in ks:
            continue
        e, y = event.ravel().astype(np.int16), Y.ravel()
        # i has the label, the following neighbour lacks it: the event of j falls by one
        at_event = 4 * e
        of_j = at_event + 2 * y + Y[following].ravel()
        for at_j, at_i in losses:
            moves.book(at_i, of_j[at_j] - at_event[at_i])
        # the following neighbour has the label, i lacks it: the event of j rises by one
        row, label = _expand(following, pointers, labels)
        at_j = row * q + label
        of_j, of_i = at_event[at_j] - 2 * y[at_j], at_event + y
        for a in range(k):
            at_i = ((neighbors[:, a] * q)[row] + label).astype(cell)
            moves.book(at_i, of_i[at_i] - of_j)
        yield k, LeftOut(tally(event, Y, k + 1), event, Y, *moves.settle())


class Moves:
    """Instances that move from or to the event of an instance that is left out.

    ``book`` takes the cells of the instances left out and a code for each: 4 times the steps from
    its event to that of the other instance, plus 2 if that one has the label, plus 1 if there is
    no move at all.
    """

    def __init__(self, cells: int):
        self.moved = np.zeros(2 * cells, dtype=np.int32)
        self.touched: list[NDArray[Any]] = []

    def book(self, at: NDArray[Any], code: NDArray[np.int16]) -> None:
        """Code 0 and 2: the other leaves this event; 4 and 6: it comes to it."""
        hits = np.flatnonzero((code.view(np.uint16) <= 6) & (code & 1 == 0))
        at, code = at[hits], code[hits]
        place = at + (len(self.moved) // 2) * ((code >> 1) & 1).astype(np.int64)
        np.add.at(self.moved, place, (code >> 1 & 2).astype(np.int32) - 1)
        self.touched.append(at)

    def settle(self) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """The cells touched (some may repeat) and what came to or left them; start anew."""
        cells = np.concatenate(self.touched) if self.touched else np.empty(0, dtype=np.intp)
        both = self.moved.reshape(2, -1)
        moved = both[:, cells]
        both[:, cells] = 0
        self.touched = []
        return cells, moved


def _label_lists(Y: NDArray[np.int8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows, labels = np.nonzero(Y)
    return np.searchsorted(rows, np.arange(len(Y) + 1)), labels


def _expand(
    which: NDArray[np.intp], pointers: NDArray[np.intp], labels: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each position the labels of the instance there: positions and labels, flat."""
    first, sizes = pointers[which], pointers[which + 1] - pointers[which]
    position = np.repeat(np.arange(len(which)), sizes)
    offset = np.arange(len(position)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return position, labels[first[position] + offset]
