"""The counts of ML-kNN on a GPU, where the neighbours were found there, and answers from them.

The same numbers as on the CPU: counts are whole, and scores are looked up in a table. The tally of
sparse labels never makes them dense: the labels of all neighbours are written one after the other,
and sorting brings equal ones together. Answers are made from dense counts of some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import csr_of_rows, row_blocks

Tensor: TypeAlias = torch.Tensor

AT_ONCE = 1 << 25
"""Labels of neighbours, or cells of rows and labels, that are looked at together."""


def tally(
    neighbors: NDArray[np.int64], Y: Any, own: Any, device: str, at_once: int = AT_ONCE
) -> NDArray[np.int64]:
    """Frequency arrays (2, q, k + 1) of instances with these neighbours and own labels.

    ``[1, l, j]`` is the number of instances with label l of whose neighbours j have it,
    ``[0, l, j]`` that of instances without it.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
        Row numbers in Y.
    Y : 0/1 matrix of shape (N, q), dense or CSR
        The labels of all training instances.
    own : 0/1 matrix of shape (n, q), like Y
        Those of the instances that are counted.
    device : str
    """
    k, q = neighbors.shape[1], Y.shape[1]
    near = torch.from_numpy(neighbors).to(device)
    count = _of_sparse if sparse.issparse(Y) else _of_dense
    table = torch.zeros(2 * q * (k + 1), dtype=torch.int64, device=device)
    for cells in count(near, Y, own, at_once):
        table += torch.bincount(cells, minlength=len(table))
    table = table.view(2, q, k + 1)
    have = torch.from_numpy(np.asarray(own.sum(axis=0, dtype=np.int64)).ravel()).to(device)
    all_ = torch.stack([len(neighbors) - have, have])
    table[:, :, 0] += all_ - table.sum(dim=2)  # of whose neighbours none has the label
    return table.cpu().numpy()


def scores(
    neighbors: NDArray[np.int64], Y: Any, table: Any, device: str, at_once: int = AT_ONCE
) -> NDArray[np.float64]:
    """``table[l, j]`` (n, q), where j of the neighbours have label l."""
    found = np.empty((len(neighbors), Y.shape[1]))
    values = _flat(table, device)
    for rows, cells in _cells(neighbors, Y, device, at_once):
        torch.from_numpy(found[rows]).copy_(values.take(cells))
    return found


def above(
    neighbors: NDArray[np.int64],
    Y: Any,
    table: Any,
    cut: float,
    device: str,
    at_once: int = AT_ONCE,
) -> sparse.csr_array:
    """Where the scores exceed a cut: ones, (n, q)."""
    chosen = _flat(table, device) > cut
    sizes, labels = [], []
    for _, cells in _cells(neighbors, Y, device, at_once):
        there = chosen.take(cells)
        sizes.append(there.sum(dim=1).cpu().numpy())
        labels.append(there.nonzero()[:, 1].to(torch.int32).cpu().numpy())
    columns = np.concatenate(labels)
    ones = np.ones(len(columns), dtype=np.int64)
    return csr_of_rows(ones, columns, np.concatenate(sizes), Y.shape[1])


def top(
    neighbors: NDArray[np.int64], Y: Any, table: Any, k: int, device: str, at_once: int = AT_ONCE
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels and scores of the k best, each (n, k); among equal scores the first labels.

    All cells of the table are ranked, each differently: what is best then does not depend on how
    a GPU chooses between equals.
    """
    values = _flat(table, device)
    order = (-values).argsort(stable=True)  # cells of the first labels come first
    rank = torch.empty(len(order), dtype=torch.int32, device=device)
    rank[order] = torch.arange(len(order), dtype=torch.int32, device=device)
    labels = np.empty((len(neighbors), k), dtype=np.int64)
    best = np.empty((len(neighbors), k))
    for rows, cells in _cells(neighbors, Y, device, at_once):
        cell = order[rank.take(cells).topk(k, dim=1, largest=False).values.long()]
        labels[rows] = (cell // table.shape[1]).cpu().numpy()
        best[rows] = values[cell].cpu().numpy()
    return labels, best


def _flat(table: Any, device: str) -> Tensor:
    return torch.from_numpy(np.array(table, dtype=np.float64)).to(device).ravel()


def _cells(
    neighbors: NDArray[np.int64], Y: Any, device: str, at_once: int
) -> Iterator[tuple[slice, Tensor]]:
    """Some rows at a time, and for each of their labels the cell ``l (k + 1) + j`` of a table."""
    near = torch.from_numpy(neighbors).to(device)
    (n, k), q = near.shape, Y.shape[1]
    offset = (k + 1) * torch.arange(q, device=device)
    width = float(q)
    if sparse.issparse(Y):
        first, labels = (torch.from_numpy(a).to(device).long() for a in (Y.indptr, Y.indices))
        width = max(q, k * Y.nnz / Y.shape[0])
    else:
        labels = torch.from_numpy(np.ascontiguousarray(Y)).to(device)
    for rows in row_blocks(n, width, at_once):
        cells = offset.repeat(rows.stop - rows.start, 1)
        if sparse.issparse(Y):
            row, label = _labels_of(near[rows], first, labels)
            cells.view(-1).index_add_(0, row * q + label, torch.ones_like(row))
        else:
            for j in range(k):
                cells += labels[near[rows, j]]
        yield rows, cells


def _labels_of(near: Tensor, first: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs (row, label): one for each label of each neighbour; CSR's pointers and columns."""
    of = near.ravel()
    times = first[of + 1] - first[of]
    each = torch.arange(int(times.sum()), device=near.device)
    each += (first[of] - times.cumsum(0) + times).repeat_interleave(times)
    row = torch.arange(len(near), device=near.device).repeat_interleave(near.shape[1])
    return row.repeat_interleave(times), labels[each]


def _of_dense(near: Tensor, Y: Any, own: Any, at_once: int) -> Iterator[Tensor]:
    (n, k), q = near.shape, Y.shape[1]
    labels = torch.from_numpy(np.ascontiguousarray(Y)).to(near.device)
    offset = (k + 1) * torch.arange(q, device=near.device)
    for rows in torch.arange(n, device=near.device).split(max(1, at_once // q)):
        delta = torch.zeros((len(rows), q), dtype=torch.int64, device=near.device)
        for j in range(k):
            delta += labels[near[rows, j]]
        has = torch.from_numpy(own[rows[0] : rows[-1] + 1].astype(np.int64)).to(near.device)
        yield (delta + offset + q * (k + 1) * has).ravel()


def _of_sparse(near: Tensor, Y: Any, own: Any, at_once: int) -> Iterator[Tensor]:
    (n, k), q = near.shape, Y.shape[1]
    first, labels = (torch.from_numpy(a).to(near.device).long() for a in (Y.indptr, Y.indices))
    there = _places(own, near.device)  # of each own label, i q + l, ascending
    work = first.diff()[near].sum(dim=1).cumsum(0)
    start = 0
    while start < n:
        done = int(work[start - 1]) if start else 0
        stop = max(start + 1, int(torch.searchsorted(work, done + at_once, right=True)))
        row, label = _labels_of(near[start:stop], first, labels)
        place, j = ((row + start) * q + label).unique(return_counts=True)
        at = torch.searchsorted(there, place).clamp_max(max(len(there) - 1, 0))
        has = there[at] == place if len(there) else torch.zeros_like(place)
        yield place % q * (k + 1) + j + q * (k + 1) * has
        start = stop


def _places(own: Any, device: torch.device) -> Tensor:
    row = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
    return torch.from_numpy(np.sort(row * own.shape[1] + own.indices)).to(device)
