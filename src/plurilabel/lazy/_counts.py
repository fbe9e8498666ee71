"""Labels among the neighbours: counts, weighted shares, and the tables learned from them.

Dense and sparse labels give the same numbers; sparse ones are never made dense, because a label
that no neighbour has needs no entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix

CELLS = 1 << 18
"""Cells (rows times labels) worked on at a time: few enough to stay in a processor's cache."""


def row_blocks(n: int, q: int) -> Iterator[slice]:
    """Slices of rows of about ``CELLS`` cells each."""
    step = max(1, CELLS // max(q, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def graph_blocks(neighbors: NDArray[np.intp], Y: LabelMatrix) -> Iterator[slice]:
    """Slices of the rows of a graph such that the labels of their neighbours take little room."""
    if not sparse.issparse(Y):
        return row_blocks(len(neighbors), Y.shape[1])
    each = 1 + Y.nnz * neighbors.shape[1] // max(Y.shape[0], 1)
    # a table (2, q, k + 1) is made for each block: not too many of them
    return row_blocks(len(neighbors), max(1, each // 4))


def label_counts(neighbors: NDArray[np.intp], Y: LabelMatrix) -> Any:
    """How many of the neighbours have each label: delta of shape (n, q), CSR for CSR labels."""
    n, k = neighbors.shape
    if sparse.issparse(Y):
        return _graph(neighbors, np.ones(n * k, dtype=np.int32), Y.shape[0]) @ _as(Y, np.int32)
    delta = np.zeros((n, Y.shape[1]), dtype=np.min_scalar_type(k))
    for column in neighbors.T:  # (n, k, q) would be k times as large
        delta += Y.take(column, axis=0).view(np.uint8)
    return delta


def label_shares(weights: NDArray[np.float64], neighbors: NDArray[np.intp], Y: LabelMatrix) -> Any:
    """Sum of the weights of the neighbours that have each label: (n, q), CSR for CSR labels."""
    n, k = neighbors.shape
    if sparse.issparse(Y):
        return _graph(neighbors, weights.ravel(), Y.shape[0]) @ _as(Y, np.float64)
    shares = np.zeros((n, Y.shape[1]))
    for rows in row_blocks(n, Y.shape[1]):
        for j in range(k):
            shares[rows] += weights[rows, j, None] * Y.take(neighbors[rows, j], axis=0)
    return shares


def _as(Y: sparse.csr_array, dtype: Any) -> sparse.csr_array:
    """Labels with another type of number; their places are not copied."""
    return sparse.csr_array((Y.data.astype(dtype), Y.indices, Y.indptr), Y.shape)


def _graph(neighbors: NDArray[np.intp], values: NDArray[Any], m: int) -> sparse.csr_array:
    n, k = neighbors.shape
    return sparse.csr_array((values, neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, m))


def tally(
    delta: Any,
    Y: LabelMatrix,
    size: int,
    *,
    weights: Any = None,
    background: tuple[float, float] = (1.0, 1.0),
) -> NDArray[Any]:
    """Frequency arrays of a training set, for all labels at once.

    Parameters
    ----------
    delta : integers below ``size``, shape (n, q), dense or CSR
    Y : labels, shape (n, q), dense or CSR as delta is
    weights : pair of matrices (n, q) like delta, optional
        What an instance adds to its cell: the first where it lacks the label, the second where
        it has it. Without them each instance adds one.
    background : pair of floats
        The weights of entries that a sparse delta does not store.

    Returns
    -------
    ndarray of shape (2, q, size)
        ``[1, l, j]`` sums over the instances that have label l and delta j, ``[0, l, j]`` over
        those that lack l. Integers if there are no weights.
    """
    if sparse.issparse(delta):
        return _tally_sparse(delta, Y, size, weights, background)
    n, q = delta.shape
    flat = np.zeros(2 * q * size, dtype=np.int64 if weights is None else np.float64)
    offset = size * np.arange(q)
    for rows in row_blocks(n, q):
        has = Y[rows].astype(bool)
        cell = delta[rows] + offset + q * size * has
        w = None if weights is None else np.where(has, weights[1][rows], weights[0][rows]).ravel()
        flat += np.bincount(cell.ravel(), w, minlength=flat.size)
    return flat.reshape(2, q, size)


def _tally_sparse(
    delta: sparse.csr_array,
    Y: sparse.csr_array,
    size: int,
    weights: Any,
    background: tuple[float, float],
) -> NDArray[Any]:
    n, q = delta.shape
    has = entries_of(Y, delta).astype(bool)  # for each stored delta: does the row have the label?
    cell = delta.data + size * delta.indices.astype(np.int64) + q * size * has
    w = None if weights is None else np.where(has, weights[1].data, weights[0].data)
    dtype = np.int64 if weights is None else np.float64
    table = np.bincount(cell, w, minlength=2 * q * size).astype(dtype).reshape(2, q, size)
    stored = np.bincount(delta.indices + q * has, minlength=2 * q).reshape(2, q)
    present = np.bincount(Y.indices, minlength=q)
    absent = np.stack([n - present, present]) - stored  # rows whose delta is 0, unstored
    table[:, :, 0] += (absent.T * np.asarray(background, dtype=dtype)).T.astype(dtype)
    return table


def entries_of(matrix: sparse.csr_array, pattern: sparse.csr_array) -> NDArray[Any]:
    """Values of a matrix at the stored places of another of the same shape."""
    rows = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))
    wanted = rows * pattern.shape[1] + pattern.indices
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    there = rows * matrix.shape[1] + matrix.indices
    if there.size == 0:
        return np.zeros(wanted.size, dtype=matrix.dtype)
    place = np.searchsorted(there, wanted)
    place[place == there.size] = 0
    return np.where(there[place] == wanted, matrix.data[place], 0)


def likelihoods(table: NDArray[Any], s: float) -> NDArray[np.float64]:
    """P(E_j | H_b) from frequency arrays (2, q, k+1), smoothed by s.

    A label with nothing to count and no smoothing has the likelihood 0 everywhere.
    """
    size = table.shape[-1]
    total = s * size + table.sum(axis=-1, keepdims=True)
    return np.divide(s + table, total, out=np.zeros(table.shape), where=total > 0)


def posterior(
    prior: NDArray[np.float64], against: NDArray[np.float64], for_: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(H1 | E) by Bayes' rule; the prior where no event of that kind has been seen at all.

    ``prior`` has shape (q,), the likelihoods (q, size).
    """
    prior = prior[:, None]
    yes, no = prior * for_, (1 - prior) * against
    total = yes + no
    return np.where(total > 0, yes / np.where(total > 0, total, 1.0), prior)


def look_up(table: NDArray[Any], delta: NDArray[Any]) -> NDArray[Any]:
    """``table[l, delta[i, l]]`` for all i and l: shape (n, q)."""
    n, q = delta.shape
    scores = np.empty((n, q), dtype=table.dtype)
    offset = table.shape[1] * np.arange(q)
    flat = np.ascontiguousarray(table).ravel()
    for rows in row_blocks(n, q):
        np.take(flat, delta[rows] + offset, out=scores[rows])
    return scores
