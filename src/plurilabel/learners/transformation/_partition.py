"""Partitions of the labels: labels that occur together are put together."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.base import check_labels
from plurilabel._core.compat import check_sample_weight


def partition_labels(
    Y: ArrayLike,
    n_clusters: int,
    *,
    max_iter: int = 10,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
) -> list[NDArray[np.intp]]:
    """Divide the labels into parts of even size, keeping labels that occur together.

    This is balanced k-means on the columns of Y (figure 2 of the paper of
    :class:`~plurilabel.HOMER`): each label is assigned to the nearest centre
    whose part has room. A part holds at most q / n_clusters labels, rounded up; a label that is
    nearer to the centre of a full part than one of its labels displaces it.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    n_clusters : int
        At most the number of labels. Empty clusters are left out of the result.
    max_iter : int, default=10
        Maximum number of rounds.
    random_state : int, RandomState instance or None, default=None
        For the first centres, which are random labels.
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    list of ndarray
        The labels of each part, ascending; parts are ordered by their first label.

    Notes
    -----
    A round costs two products of Y with a matrix of n_clusters columns; Y stays sparse.

    Examples
    --------
    >>> from plurilabel.learners import partition_labels
    >>> Y = [[1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]]
    >>> [part.tolist() for part in partition_labels(Y, 2, random_state=0)]
    [[0, 2], [1, 3]]
    """
    W: Any = check_labels(Y).astype(np.float64)
    q = W.shape[1]
    if not 1 <= n_clusters <= q:
        raise ValueError(f"n_clusters must be between 1 and the {q} labels, got {n_clusters}")
    if sample_weight is None:
        squares = np.asarray(W.sum(axis=0)).ravel()  # |w_l|^2 of a 0/1 column
    else:  # an instance of weight w adds w to every product of two columns
        weights = np.maximum(check_sample_weight(sample_weight, W, non_negative=False), 0.0)
        squares = np.asarray(weights @ W).ravel()
        W = sparse.diags_array(np.sqrt(weights)) @ W
    members = np.zeros((q, n_clusters))
    first = check_random_state(random_state).permutation(q)[:n_clusters]
    members[first, np.arange(n_clusters)] = 1
    part = np.full(q, -1)
    for _ in range(max_iter):
        centres = (W @ members) / np.maximum(members.sum(axis=0), 1)  # (n, k)
        # |w - c|^2 = |w|^2 - 2 <w, c> + |c|^2, and <w, c> is a mean of co-occurrence counts
        distances = squares[:, None] - 2 * (W.T @ centres) + (centres**2).sum(axis=0)
        before, part = part, _assign(distances.round(9), -(-q // n_clusters))
        if np.array_equal(part, before):
            break
        members = (part[:, None] == np.arange(n_clusters)).astype(np.float64)
    found = [np.flatnonzero(part == c) for c in np.unique(part)]
    return sorted(found, key=lambda labels: int(labels[0]))


def _assign(distances: NDArray[np.float64], room: int) -> NDArray[np.intp]:
    """Assign each label to the nearest centre that keeps it; full parts drop their farthest."""
    q, k = distances.shape
    wishes = np.argsort(distances, axis=1, kind="stable")
    part, asked = np.full(q, -1), np.zeros(q, dtype=int)
    kept: list[list[tuple[float, int]]] = [[] for _ in range(k)]  # heaps, farthest on top
    looking = list(range(q - 1, -1, -1))
    while looking:
        l = looking.pop()
        c = int(wishes[l, asked[l]])
        asked[l] += 1
        part[l] = c
        heapq.heappush(kept[c], (-float(distances[l, c]), -l))
        if len(kept[c]) > room:
            dropped = -heapq.heappop(kept[c])[1]
            looking.append(dropped)
    return part
