"""Conditions with labels of enough support and confidence, by sets of bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurilabel.learners.rules._items import Bits


class Found(NamedTuple):
    """A condition, and the labels that follow from it often and surely enough."""

    confidence: float  # of the surest label
    support: int  # of the most frequent one
    condition: tuple[int, ...]
    labels: tuple[int, ...]

    def rank(self) -> tuple[float, int, int, tuple[int, ...]]:
        """Higher confidence, higher support, shorter condition, earlier items."""
        return -self.confidence, -self.support, len(self.condition), self.condition


def mine(
    items: Bits,
    feature: NDArray[np.intp],
    labels: Bits,
    alive: Bits,
    *,
    min_count: int,
    min_confidence: float,
    max_length: int,
) -> list[Found]:
    """All conditions with at least one label of enough support and confidence.

    A depth-first search: a condition is a prefix and one item of a later feature. It is followed
    only while some label has the support that is asked for, since longer conditions have less.

    Parameters
    ----------
    items : bits (m, w)
    feature : array of shape (m,)
        The feature of each item; a condition has at most one item of a feature.
    labels : bits (q, w)
    alive : bits (w,)
        The instances that count.
    """
    found: list[Found] = []
    wanted = labels & alive

    def follow(prefix: tuple[int, ...], bits: Bits, after: NDArray[np.intp]) -> None:
        inside = items[after] & bits  # (c, w)
        total = np.bitwise_count(inside).sum(axis=1, dtype=np.int64)
        counts = np.stack(
            [np.bitwise_count(inside & one).sum(axis=1, dtype=np.int64) for one in wanted], axis=1
        )
        confidences = counts / np.maximum(total, 1)[:, None]
        frequent = counts >= min_count  # (c, q)
        good = frequent & (confidences >= min_confidence)
        rows = np.flatnonzero(good.any(axis=1))
        surest = np.where(good, confidences, 0.0)[rows].max(axis=1)
        most = np.where(good, counts, 0)[rows].max(axis=1)
        for item, has, confidence, support in zip(
            after[rows].tolist(), good[rows].tolist(), surest.tolist(), most.tolist()
        ):
            which = tuple(l for l, yes in enumerate(has) if yes)
            found.append(Found(confidence, support, (*prefix, item), which))
        if len(prefix) + 1 == max_length:
            return
        followed = np.flatnonzero(frequent.any(axis=1))
        usable = after[followed]
        for c in followed:
            rest = usable[feature[usable] > feature[after[c]]]
            if len(rest):
                follow((*prefix, int(after[c])), inside[c], rest)

    if len(items) and len(labels):
        follow((), alive, np.arange(len(items)))
    return found
