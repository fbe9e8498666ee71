"""Exact null distributions of rank statistics, with whatever ties the data have."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_SUMS = 2_000_000
"""Rank sums that :func:`exact_friedman` may look at: less than a second."""
MOST_LEARNERS = 7
"""Beyond, the k! orders of one dataset are too many for more than two datasets."""


def exact_friedman(ranks: NDArray[np.float64], most: int = MOST_SUMS) -> float | None:
    """P that permuted ranks have a sum of squared rank sums as large as these; None if too much.

    Under the null hypothesis every order of the ranks within a dataset is equally likely. The
    rank sums are built up dataset by dataset. Only their sorted form matters, since the next
    order does not care which column is which; so few states stay distinct.
    """
    n, k = ranks.shape
    if k > MOST_LEARNERS:
        return None
    doubled = np.rint(2 * ranks).astype(np.int64)  # ties give halves
    found = np.sum(doubled.sum(axis=0) ** 2)
    base = np.int64(2 * n * k + 1)
    if k * np.log2(float(base)) > 62:  # a state must fit into one integer
        return None
    weights = base ** np.arange(k, dtype=np.int64)
    states = np.sort(doubled[:1], axis=1)
    shares: NDArray[Any] = np.ones(1)
    for i, row in enumerate(doubled[1:], start=2):
        orders = np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)
        most -= len(states) * len(orders)
        if most < 0:
            return None
        sums = (states[:, None, :] + orders).reshape(-1, k)
        each = np.repeat(shares / len(orders), len(orders))
        if i == n:
            return float(min(each[np.sum(sums**2, axis=1) >= found].sum(), 1.0))
        sums.sort(axis=1)
        keys, where = np.unique(sums @ weights, return_inverse=True)
        shares = np.bincount(where.ravel(), weights=each)
        states = keys[:, None] // weights % base
    return 1.0  # one dataset: every order has the same sum of squares


def exact_signed_rank(ranks: NDArray[Any], statistic: float) -> float:
    """Two-sided P of a sum of positive ranks as far from its middle as this one.

    Every choice of signs is equally likely; the ranks are those of the differences that are not
    zero, with halves for ties.
    """
    doubled = np.rint(2 * np.asarray(ranks)).astype(np.int64)
    total = int(doubled.sum())
    share = np.zeros(total + 1)
    share[0] = 1.0
    for rank in doubled:
        share = (share + np.concatenate([np.zeros(rank), share[: total + 1 - rank]])) / 2
    away = np.abs(2 * np.arange(total + 1) - total)
    return float(min(share[away >= abs(round(4 * statistic) - total)].sum(), 1.0))
