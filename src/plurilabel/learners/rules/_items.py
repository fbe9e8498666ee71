"""Features as items: the conditions that a rule can be made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Bits = NDArray[np.uint64]
"""Rows of bits (m, w): which instances have an item, 64 to a number."""


@dataclass(frozen=True, eq=False)
class Items:
    """Items (m,): feature j with a value above ``low`` and not above ``high``.

    Attributes
    ----------
    feature : array of int
        In rising order.
    low, high : arrays of float
    present : array of bool
        Whether the value 0 does not count, as in features of which half or more is 0.
    """

    feature: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Any, max_bins: int) -> Items:
        """The items of X: values where a feature has few, else intervals between quantiles.

        A feature of which half or more is 0 is present or not: its items are of other values.
        """
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
            if not len(values):
                continue
            cuts = _cuts(values, max_bins)
            if not mostly_0 and not len(cuts):
                continue  # constant: says nothing
            ends = np.concatenate([[-np.inf], cuts, [np.inf]])
            parts += [(j, low, high, mostly_0) for low, high in pairwise(ends)]
        feature, low, high, present = zip(*parts) if parts else ((), (), (), ())
        return cls(
            np.array(feature, dtype=np.intp),
            np.array(low, dtype=np.float64),
            np.array(high, dtype=np.float64),
            np.array(present, dtype=bool),
        )

    def table(self) -> NDArray[np.float64]:
        """All of it as numbers (m, 4), for files."""
        return np.column_stack([self.feature, self.low, self.high, self.present]).astype(float)

    @classmethod
    def from_table(cls, table: NDArray[np.float64]) -> Items:
        """Items from their numbers."""
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
        """An item in words."""
        name, low, high = names[self.feature[i]], self.low[i], self.high[i]
        if np.isinf(low) and np.isinf(high):
            return f"{name} is present"
        if np.isinf(low):
            return f"{name} is at most {high:.4g}"
        if np.isinf(high):
            return f"{name} is above {low:.4g}"
        return f"{name} is above {low:.4g} and at most {high:.4g}"


def _cuts(values: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Where to cut: between distinct values if these are few, else near quantiles."""
    distinct = np.unique(values)
    if len(distinct) > max_bins:
        steps = np.arange(1, max_bins) / max_bins
        distinct = np.unique(np.quantile(values, steps, method="lower"))
        return distinct[distinct < values.max()]
    # halves first: a sum of large values would overflow
    return distinct[:-1] / 2 + distinct[1:] / 2


def pack(columns: NDArray[Any]) -> Bits:
    """Columns of 0 and 1 as rows of bits.

    Examples
    --------
    >>> pack(np.array([[1, 0], [1, 1]]))
    array([[3], [2]], dtype=uint64)
    """
    n, m = columns.shape
    found = np.zeros((m, -(-n // 64) * 8), dtype=np.uint8)
    found[:, : -(-n // 8)] = np.packbits(columns.astype(bool), axis=0, bitorder="little").T
    return found.view(np.uint64)


def unpack(bits: Bits, n: int) -> NDArray[np.bool_]:
    """Rows of bits as columns (n, m) of True and False.

    Examples
    --------
    >>> unpack(np.array([[3], [2]], dtype=np.uint64), 2).astype(int)
    array([[1, 0], [1, 1]])
    """
    return np.unpackbits(bits.view(np.uint8), axis=1, count=n, bitorder="little").T.astype(bool)
