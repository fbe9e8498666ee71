"""Quick Weighted Voting: ask only those pairs of labels that can still change the answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks

Ask = Callable[[int, int, NDArray[np.intp]], NDArray[np.float64]]
"""``ask(j, k, rows)``: the share of the vote, 0 to 1, that label j gets against label k > j."""


def quick_sets(
    votes: NDArray[np.float64], ask: Ask, *, at_once: int = 2**22
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Labels with more votes than the virtual label, and how many pairs were asked.

    Parameters
    ----------
    votes : array of shape (n, q)
        The vote of each label against the virtual one, 1 if it wins.
    ask : callable
        See :data:`Ask`.
    at_once : int
        About how many meetings are kept in memory: a block of n instances has n q^2.

    Returns
    -------
    sets : bool array of shape (n, q)
    asked : int array of shape (n,)
        Pairs of labels asked, without the q of the virtual label.
    """
    n, q = votes.shape
    sets, asked = np.zeros((n, q), dtype=bool), np.zeros(n, dtype=np.int64)
    for rows in row_blocks(n, q * q, at_once):
        sets[rows], asked[rows] = _block(votes[rows], ask, rows.start)
    return sets, asked


def _block(
    votes: NDArray[np.float64], ask: Ask, start: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    n, q = votes.shape
    lost = 1.0 - votes  # (n, q), votes that each label has lost so far
    limit = votes.sum(axis=1, keepdims=True)  # all that the virtual label has lost
    known = np.broadcast_to(np.eye(q, dtype=bool), (n, q, q)).copy()
    many = 1
    while True:
        # A label is in if it loses less than the virtual one: settled when it has lost as much
        # already, or cannot lose as much any more.
        open_ = (lost < limit) & (lost + q - known.sum(axis=2) >= limit)
        if not open_.any():
            return lost < limit, (known.sum(axis=(1, 2)) - q) // 2
        i, l = np.nonzero(open_)
        # Each open label meets the opponents that have lost least, the most likely to beat it:
        # one in the first round, then twice as many each time, so that rounds are few.
        rivals = np.where(known[i, l], np.inf, lost[i])
        opponent = np.argsort(rivals, axis=1, kind="stable")[:, :many]
        new = np.isfinite(np.take_along_axis(rivals, opponent, axis=1))
        i, l = (np.broadcast_to(a[:, np.newaxis], opponent.shape)[new] for a in (i, l))
        opponent, many = opponent[new], 2 * many
        j, k = np.minimum(l, opponent), np.maximum(l, opponent)
        known[i, j, k] = known[i, k, j] = True
        meetings = np.unique((j * q + k) * n + i)  # grouped by pair, each meeting once
        pairs, rows = np.divmod(meetings, n)
        for pair, group in zip(
            np.unique(pairs), np.split(rows, np.flatnonzero(np.diff(pairs)) + 1)
        ):
            j_, k_ = divmod(int(pair), q)
            share = ask(j_, k_, start + group)
            lost[group, j_] += 1.0 - share
            lost[group, k_] += share
