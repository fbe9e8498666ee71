"""Leave-one-out for ML-kNN, for every k, from one neighbour graph.

Leaving instance i out changes the frequency arrays in two ways. Its own entry goes; and every
instance j that had i among its k neighbours has the next one in its place, which may move j to
another entry. The first change is the same for all instances with the same label and event, so it
is a table; the second is counted for each instance and label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.lazy._neighbor_labels import (
    CELLS,
    Floats,
    Rows,
    look_up,
    posterior,
    ratio,
    tally,
    whole,
)
from plurilabel.learners.lazy._soft_labels import in_units, soft_tally

TOGETHER = 1 << 15  # cells (instances, neighbours and labels) that are compared at a time


@dataclass
class LeftOut:
    """The frequency arrays of one k, as each instance would see them without itself."""

    table: NDArray[np.int64]  # (2, q, k + 1)
    event: NDArray[Any]  # (n, q)
    Y: NDArray[np.int8]  # (n, q)
    moved: NDArray[np.int32] | None  # (2, n, q): how many others came to the instance's entry

    def __post_init__(self) -> None:
        self.have = self.table[1].sum(axis=1)  # instances with each label, (q,)

    def scores(self, s: float, cut: float | None = None) -> NDArray[Any]:
        """Leave-one-out posteriors for smoothing s, or whether they exceed a cut, (n, q)."""
        size = self.table.shape[2]
        usual = np.concatenate(self._usual(s), axis=1)  # (q, 2 * size): by y, then by event
        column = self.event + size * self.Y.astype(np.int64)
        scores = look_up(usual if cut is None else usual > cut, column)
        if self.moved is not None:
            # Flat cells: one index array is much faster than three.
            flat = self.moved.reshape(2, -1)
            cell = np.flatnonzero(flat[0] | flat[1])
            l = cell % len(self.have)
            place = l * size + self.event.reshape(-1)[cell]
            entries = self.table.reshape(2, -1).take(place, axis=1) + flat.take(cell, axis=1)
            mended = self._posterior(self.Y.reshape(-1)[cell], entries, self.have[l], s)
            scores.reshape(-1)[cell] = mended if cut is None else mended > cut
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

    def _posterior(self, y: Any, entries: Any, have: Any, s: float) -> Floats:
        """P(H1 | E) of an instance with label value y that is left out."""
        others, size = len(self.Y) - 1, self.table.shape[2]
        have = have - y  # other instances that have the label
        against = ratio(s + entries[0] - (y == 0), s * size + others - have)
        for_ = ratio(s + entries[1] - (y == 1), s * size + have)
        return posterior((s + have) / (2 * s + others), against, for_)


def leave_one_out(
    neighbors: Rows, Y: NDArray[np.int8], ks: set[int], *, replace: bool
) -> Iterator[tuple[int, LeftOut]]:
    """For each k, in increasing order, the arrays with each instance left out."""
    # With ``replace`` the next neighbour takes the place of the instance that is left out, for
    # which ``neighbors`` has one column more than the largest k.
    # event[j, l]: how many of the k nearest neighbours of j have label l
    event = np.zeros(Y.shape, dtype=np.min_scalar_type(max(ks) + 1))
    for k in range(1, max(ks) + 1):
        event += Y[neighbors[:, k - 1]].view(np.uint8)
        if k in ks:
            table = np.zeros((2, Y.shape[1], k + 1), dtype=np.int64)
            for rows in row_blocks(len(Y), Y.shape[1], CELLS):
                table += tally(event[rows], Y[rows], k + 1)
            moved = _moves(neighbors[:, : k + 1], event, Y) if replace else None
            yield k, LeftOut(table, event, Y, moved)


def _moves(neighbors: Rows, event: NDArray[Any], Y: NDArray[np.int8]) -> NDArray[np.int32]:
    """How many instances come to the event of i, less those that leave it, if i is left out."""
    # ``[b, i, l]`` counts instances whose label l is b. Without i, the k nearest neighbours of j
    # are its k + 1 nearest except i, so the event of j becomes that of k + 1 neighbours, less one
    # if i has the label.
    (n, q), k = Y.shape, neighbors.shape[1] - 1
    wider = event + Y[neighbors[:, k]].view(np.uint8)  # event of k + 1 neighbours
    wanted = event + Y.view(np.uint8)  # the value of ``wider`` at which j comes to the event of i
    moved = np.zeros((2, n, q), dtype=np.int32)
    for rows in row_blocks(n, q, CELLS):  # of j
        of_j, width = np.arange(rows.start, rows.stop), rows.stop - rows.start
        for part in row_blocks(k, width * q, TOGETHER):  # several neighbours of few instances
            i = neighbors[rows, part].T  # (neighbours, instances)
            comes = wider[rows] == wanted.take(i, axis=0)
            was_there = event[rows] == event.take(i, axis=0)
            change = np.flatnonzero(comes != was_there)
            pair, l = np.divmod(change, q)
            j = of_j[pair % width]
            # Flat cells [b, i, l]: adding at one index array is much faster than at three.
            cell = (n * Y.reshape(-1)[j * q + l].astype(np.int64) + i.reshape(-1)[pair]) * q + l
            step = np.where(comes.reshape(-1)[change], 1, -1).astype(np.int32)
            np.add.at(moved.reshape(-1), cell, step)
    return moved


@dataclass
class PartlyLeftOut:
    """The same if some labels are unknown or soft; arrays have shape (n, q).

    Leaving an instance out may also take the last neighbour that knows a label, or bring the
    first: then an instance is no longer counted, or is from now on. The counts of soft labels are
    fractions, which are between two whole ones.
    """

    size: int  # k + 1
    event: Floats
    entries: Floats  # (2, 2, n, q): next to the event, below and above, by the others' label
    totals: Floats  # (2, n, q): of all events

    def scores(self, s: float, cut: float | None = None) -> NDArray[Any]:
        """Leave-one-out posteriors for smoothing s, or whether they exceed a cut, (n, q)."""
        lack, have = self.totals
        below, above = (
            posterior(
                ratio(s + have, 2 * s + lack + have),
                *(ratio(s + e, s * self.size + t) for e, t in zip(entries, self.totals)),
            )
            for entries in self.entries
        )
        f = self.event - np.floor(self.event)
        found = (1 - f) * below + f * above
        return found if cut is None else found > cut


def partly_leave_one_out(
    neighbors: Rows, P: NDArray[Any], unknown: Any, reach: dict[int, int], *, replace: bool
) -> Iterator[tuple[int, PartlyLeftOut]]:
    """For each k, the arrays with each instance left out, if some labels are unknown or soft."""
    # ``reach`` has for each k the number of neighbours searched: without one of them, the next is.
    (n, q), rounded = P.shape, in_units if P.dtype.kind == "f" else whole
    known = np.ones((n, q), dtype=bool) if unknown is None else ~unknown
    own = np.stack([1.0 - P, P])
    usual = ratio(P.sum(axis=0) - P, known.sum(axis=0) - known)  # without i
    for k in sorted(reach):
        near = neighbors[:, : reach[k] + 1]
        # of the k nearest that know the label: how many, how often they have it, and the next one
        asked, after = np.zeros((2, n, q), dtype=np.int64)
        has, after_has = np.zeros((2, n, q))
        for c, column in enumerate(near.T):
            says, p = known.take(column, axis=0), P.take(column, axis=0)
            first = says & (asked < k) & (c < reach[k])
            later = says & ~first & (after == 0)
            asked, has = asked + first, has + first * p
            after, after_has = after + later, after_has + later * p
        event, counted = rounded(k * ratio(has, asked)), known & (asked > 0)
        query = np.where(asked > 0, event, rounded(k * usual))
        low = np.floor(query)
        there = np.stack([low, np.minimum(low + 1, k)])  # whole counts, to be looked up
        table = soft_tally(event, P, k + 1, counted)
        entries = np.stack([[look_up(each, c.astype(np.int64)) for each in table] for c in there])
        entries -= counted * own * _nearness(event, there)[:, None]  # without itself
        totals = table.sum(axis=2)[:, None] - counted * own
        rank = np.zeros((n, q), dtype=np.int64)
        for i in near[:, : reach[k]].T if replace else ():
            says = known.take(i, axis=0)
            gone = says & (rank < k)
            rank += says
            comes = (after > 0) & (gone | (asked < k))
            less = asked - gone + comes
            share = ratio(has - gone * P.take(i, axis=0) + comes * after_has, less)
            new, seen = rounded(k * share), known & (less > 0)
            at = there.take(i, axis=1)
            change = seen * _nearness(new, at) - counted * _nearness(event, at)
            entered = seen.astype(np.int64) - counted
            for b in (0, 1):
                for entry, moved in zip(entries, change):
                    np.add.at(entry[b], i, moved * own[b])
                np.add.at(totals[b], i, entered * own[b])
        yield k, PartlyLeftOut(k + 1, query, entries, totals)


def _nearness(event: Floats, count: Floats) -> Floats:
    """The share of a fractional event that counts as a whole count."""
    return np.maximum(1 - np.abs(event - count), 0)
