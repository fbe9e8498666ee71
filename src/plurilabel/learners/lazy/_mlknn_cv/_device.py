"""Leave-one-out for ML-kNN on a GPU, where the neighbours were found there.

The same operations as in ``_leave_one_out``, in the same order: the scores are the same, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from plurilabel._core.blocks import row_blocks
from plurilabel.learners.lazy._base import Rows

Tensor: TypeAlias = torch.Tensor

AT_ONCE = 1 << 25
"""Cells of instances and labels that are worked on together."""


class LeftOut:
    """The frequency arrays of one k, as each instance would see them without itself."""

    def __init__(self, k: int, event: Tensor, Y: Tensor, moved: Tensor | None):
        self.event, self.Y, self.moved = event, Y, moved  # (n, q), (n, q), (2, n, q)
        (self.n, self.q), self.size = Y.shape, k + 1
        self.offset = self.size * torch.arange(self.q, device=Y.device)
        table = torch.zeros(2 * self.q * self.size, dtype=torch.int64, device=Y.device)
        for rows in self._blocks():
            table += torch.bincount(self._cells(rows).ravel(), minlength=len(table))
        self.table = table.view(2, self.q, self.size)
        self.have = self.table[1].sum(dim=1)

    def _blocks(self) -> list[slice]:
        return row_blocks(self.n, self.q, AT_ONCE)

    def _cells(self, rows: slice) -> Tensor:
        """Where the entry of each instance and label is in the flat table."""
        of_label = self.Y[rows].long() * (self.q * self.size)
        return of_label.add_(self.offset).add_(self.event[rows])

    def scores(self, s: float, cut: float | None = None) -> NDArray[Any]:
        """Leave-one-out posteriors for smoothing s, or whether they exceed a cut, (n, q)."""
        found = np.empty((self.n, self.q), dtype=np.float64 if cut is None else bool)
        for rows, scores in self._scores(s, cut):
            torch.from_numpy(found[rows]).copy_(scores)
        return found

    def hamming_loss(self, s: float, cut: float) -> float:
        """Hamming loss of the scores cut there."""
        wrong = sum(int((p != self.Y[rows]).sum()) for rows, p in self._scores(s, cut))
        return float(wrong / (self.n * self.q))

    def _scores(self, s: float, cut: float | None) -> Iterator[tuple[slice, Tensor]]:
        y = torch.tensor([0, 1], device=self.Y.device)[:, None, None]
        usual = self._posterior(y, self.table, self.have[:, None], s)
        usual = (usual if cut is None else usual > cut).ravel()
        for rows in self._blocks():
            scores = usual.take(self._cells(rows))
            if self.moved is not None:
                moved = self.moved[:, rows]
                i, l = moved.any(dim=0).nonzero(as_tuple=True)
                y = self.Y[rows][i, l].long()
                entries = self.table[:, l, self.event[rows][i, l].long()] + moved[:, i, l]
                mended = self._posterior(y, entries, self.have[l], s)
                scores[i, l] = mended if cut is None else mended > cut
            yield rows, scores

    def _posterior(self, y: Tensor, entries: Tensor, have: Tensor, s: float) -> Tensor:
        """P(H1 | E) of an instance with label value y that is left out."""
        others, s_all = self.n - 1, s * self.size
        have = have - y  # other instances that have the label
        # Whole numbers become float64 first: with s they would become float32.
        no_y, yes_y, have = (y == 0).double(), (y == 1).double(), have.double()
        against = _ratio(s + entries[0].double() - no_y, s_all + others - have)
        for_ = _ratio(s + entries[1].double() - yes_y, s_all + have)
        # A GPU would multiply by the reciprocal of a plain number: divide by a tensor.
        prior = (s + have) / torch.full_like(have, 2 * s + others)
        yes, no = prior * for_, (1 - prior) * against
        total = yes + no
        return torch.where(total > 0, yes / torch.where(total > 0, total, 1.0), prior)


def leave_one_out(
    neighbors: Rows, Y: NDArray[np.int8], ks: set[int], *, replace: bool, device: str
) -> Iterator[tuple[int, LeftOut]]:
    """For each k, in increasing order, the arrays with each instance left out."""
    near = torch.from_numpy(neighbors).to(device)
    narrow = torch.uint8 if max(ks) + 1 < 256 else torch.int32
    labels = torch.from_numpy(np.ascontiguousarray(Y)).to(device, narrow)
    event = torch.zeros_like(labels)
    for k in range(1, max(ks) + 1):
        event += labels[near[:, k - 1]]
        if k in ks:
            moved = _moves(near[:, : k + 1], event, labels) if replace else None
            yield k, LeftOut(k, event, labels, moved)


def _moves(near: Tensor, event: Tensor, Y: Tensor) -> Tensor:
    """How many instances come to the event of i, less those that leave it, if i is left out."""
    (n, q), k = Y.shape, near.shape[1] - 1
    wider = event + Y[near[:, k]]  # event of k + 1 neighbours
    wanted = event + Y  # what ``wider`` of j must be, to come to the event of i
    moved = torch.zeros((2, n, q), dtype=torch.int32, device=Y.device)
    for rows in row_blocks(n, q, AT_ONCE):  # of j
        for i in near[rows, :k].T:
            comes = wider[rows] == wanted[i]
            j, l = (comes != (event[rows] == event[i])).nonzero(as_tuple=True)
            cell = (n * Y[rows][j, l].long() + i[j]) * q + l
            moved.view(-1).index_add_(0, cell, 2 * comes[j, l].int() - 1)
    return moved


def _ratio(part: Tensor, total: Tensor) -> Tensor:
    part, total = torch.broadcast_tensors(part, total)
    return torch.where(total > 0, part / torch.where(total > 0, total, 1.0), 0.0)
