"""The counts of ML-kNN on a GPU, where the neighbours were found there.

The same whole numbers as on the CPU. Sparse labels are never made dense: the labels of all
neighbours are written one after the other, and sorting brings equal ones together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

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
    lengths = first.diff()
    work = lengths[near].sum(dim=1).cumsum(0)
    start = 0
    while start < n:
        done = int(work[start - 1]) if start else 0
        stop = max(start + 1, int(torch.searchsorted(work, done + at_once, right=True)))
        of = near[start:stop].ravel()
        times = lengths[of]
        each = torch.arange(int(times.sum()), device=near.device)
        each += (first[of] - times.cumsum(0) + times).repeat_interleave(times)
        row = torch.arange(start, stop, device=near.device).repeat_interleave(k)
        place, j = (row.repeat_interleave(times) * q + labels[each]).unique(return_counts=True)
        at = torch.searchsorted(there, place).clamp_max(max(len(there) - 1, 0))
        has = there[at] == place if len(there) else torch.zeros_like(place)
        yield place % q * (k + 1) + j + q * (k + 1) * has
        start = stop


def _places(own: Any, device: torch.device) -> Tensor:
    row = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
    return torch.from_numpy(np.sort(row * own.shape[1] + own.indices)).to(device)
