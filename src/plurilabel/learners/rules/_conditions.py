"""Conditions of rules: features as items, and the search for conditions that imply labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Bits = NDArray[np.uint64]  # rows of bits (m, w): which instances have an item, 64 to a number


@dataclass(frozen=True, eq=False)
class Items:
    """Items (m,): feature j with a value above ``low`` and not above ``high``."""

    feature: NDArray[np.intp]  # in rising order
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    present: NDArray[np.bool_]  # whether the value 0 does not count, as where it is common

    @classmethod
    def of(cls, X: Any, max_bins: int) -> Items:
        """The items of X: values where a feature has few, else intervals between quantiles."""
        # A feature that is mostly 0 has items for its other values; if there is only one of them,
        # the item is that it is not 0.
        n, d = X.shape
        columns = sparse.csc_array(X)
        columns.sum_duplicates()
        parts = []
        for j in range(d):
            values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
            values = values[values != 0]
            mostly_0 = 2 * len(values) <= n
            if not mostly_0:
                values = np.concatenate([values, np.zeros(n - len(values))])
            parts += [(j, low, high, mostly_0) for low, high in _items(values, max_bins, mostly_0)]
        return cls.from_table(np.array(parts, dtype=np.float64).reshape(-1, 4))

    def table(self) -> NDArray[np.float64]:
        """All of it as numbers (m, 4), for files."""
        return np.column_stack([self.feature, self.low, self.high, self.present]).astype(float)

    @classmethod
    def from_table(cls, table: NDArray[np.float64]) -> Items:
        feature, low, high, present = table.T
        return cls(feature.astype(np.intp), low, high, present.astype(bool))

    def __len__(self) -> int:
        return len(self.feature)

    def bits(self, X: Any) -> Bits:
        """Which rows of X have each item (m, w)."""
        n = X.shape[0]
        columns = sparse.csc_array(X)
        columns.sum_duplicates()
        found = np.zeros((len(self), -(-n // 64) * 8), dtype=np.uint8)
        column, at = np.empty(n), -1
        for i, j in enumerate(self.feature):
            if j != at:
                own = slice(columns.indptr[j], columns.indptr[j + 1])
                column[:] = 0.0
                column[columns.indices[own]] = columns.data[own]
                at = j
            has = (column > self.low[i]) & (column <= self.high[i])
            if self.present[i]:
                has &= column != 0
            found[i, : -(-n // 8)] = np.packbits(has, bitorder="little")
        return found.view(np.uint64)

    def text(self, i: int, names: Any) -> str:
        name, low, high = names[self.feature[i]], self.low[i], self.high[i]
        if np.isinf(low) and np.isinf(high):
            return f"{name} is present"
        if low == np.nextafter(high, -np.inf):
            return f"{name} is {high:.10g}"
        if np.isinf(low):
            return f"{name} is at most {high:.4g}"
        if np.isinf(high):
            return f"{name} is above {low:.4g}"
        return f"{name} is above {low:.4g} and at most {high:.4g}"


def _items(values: NDArray[Any], max_bins: int, mostly_0: bool) -> list[tuple[float, float]]:
    """The items of a feature, as intervals above ``low`` up to ``high``; none if it is constant.

    A value is the interval that holds nothing else: another one, never seen, is not that item.
    """
    distinct = np.unique(values)
    if 1 < len(distinct) <= max_bins:
        return list(zip(np.nextafter(distinct, -np.inf), distinct))
    cuts = distinct[:0]
    if len(distinct) > 1:
        steps = np.arange(1, max_bins) / max_bins
        cuts = np.unique(np.quantile(values, steps, method="lower"))
        cuts = cuts[cuts < distinct[-1]]
    if not len(cuts) and not (mostly_0 and len(distinct)):
        return []  # constant, or nearly: says nothing
    return list(pairwise([-np.inf, *cuts, np.inf]))


def pack(columns: NDArray[Any]) -> Bits:
    """Columns of 0 and 1 as rows of bits."""
    n, m = columns.shape
    found = np.zeros((m, -(-n // 64) * 8), dtype=np.uint8)
    found[:, : -(-n // 8)] = np.packbits(columns.astype(bool), axis=0, bitorder="little").T
    return found.view(np.uint64)


def unpack(bits: Bits, n: int) -> NDArray[np.bool_]:
    """Rows of bits as columns (n, m) of True and False."""
    return np.unpackbits(bits.view(np.uint8), axis=1, count=n, bitorder="little").T.astype(bool)


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
    min_count: int,
    min_confidence: float,
    max_length: int,
) -> list[Found]:
    """All conditions with at least one label of enough support and confidence."""
    # A depth-first search: a condition is a prefix and one item of a later feature. It is followed
    # only while some label has enough support, since longer conditions have less. A condition has
    # at most one item (m, w) of a ``feature`` (m,), and only instances ``alive`` (w,) count.
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
