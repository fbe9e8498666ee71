"""From the engine's leaves to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

BLOCK = 2**17
"""Numbers in a block of the answer: small enough to stay in the cache over all trees."""


def label_frequencies(tree: Any, constant: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frequency of each label in each node of an engine's ``tree_``, (nodes, q).

    ``constant`` holds the value of the labels that never vary and NaN for the others.
    """
    varies = np.isnan(constant)
    frequencies = tree.value[:, :, -1]
    return frequencies if varies.all() else np.where(varies, frequencies, constant)


def mean_frequencies(
    trees: list[Any], X: Any, constant: NDArray[np.float64], n_jobs: int | None
) -> NDArray[np.float64]:
    """Mean over the trees of the label frequencies in the leaves of X, (n, q).

    Work is divided by rows: each sum runs over the trees in their order, so that the answer does
    not depend on ``n_jobs``.
    """
    n, q = X.shape[0], len(constant)
    tables = [tree.tree_.value[:, :, -1] for tree in trees]  # views, (nodes, q)
    total = np.zeros((n, q))

    def add(rows: slice) -> None:
        some, sums = X[rows], total[rows]
        for tree, table in zip(trees, tables):
            sums += table[tree.apply(some, check_input=False)]

    jobs = effective_n_jobs(n_jobs)
    step = max(1, min(max(256, BLOCK // q), -(-n // jobs)))
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    if jobs == 1:  # the ceremony of joblib takes longer than a small tree
        for rows in blocks:
            add(rows)
    else:
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(add)(rows) for rows in blocks)
    total /= len(trees)
    fixed = ~np.isnan(constant)
    total[:, fixed] = constant[fixed]
    return total


def out_of_bag_frequencies(
    trees: list[Any],
    samples: list[NDArray[np.integer]],
    X: Any,
    constant: NDArray[np.float64],
    n_jobs: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Mean over the trees that did not see a row, (n, q), and how many these are, (n,)."""
    n = X.shape[0]
    unseen = [np.flatnonzero(np.bincount(seen, minlength=n) == 0) for seen in samples]
    leaves = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(tree.apply)(X[rows], check_input=False) for tree, rows in zip(trees, unseen)
    )
    total, count = np.zeros((n, len(constant))), np.zeros(n, dtype=np.int64)
    for tree, rows, found in zip(trees, unseen, leaves):
        total[rows] += label_frequencies(tree.tree_, constant)[found]
        count[rows] += 1
    with np.errstate(invalid="ignore"):
        return total / count[:, None], count
