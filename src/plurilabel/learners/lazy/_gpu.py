"""Labels of neighbours on a GPU, where the neighbours were found, and leave-one-out there.

The same numbers as on the CPU, bit for bit: counts are whole, scores are looked up in a table, and
leave-one-out makes the same operations in the same order. The tally of sparse labels never makes
them dense: the labels of all neighbours are written one after the other, and sorting brings equal
ones together. Scores are looked up by dense counts of some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel.learners.lazy._neighbor_labels import Best, Counts, Floats, NeighborLabels, Rows

Tensor: TypeAlias = torch.Tensor
AT_ONCE = 1 << 25  # labels of neighbours, or cells of rows and labels, that are worked on together
# training instances whose labels are sent to a GPU in the time of one query on the CPU
SENT_FOR_ONE = 100


@dataclass(frozen=True)
class GpuNeighborLabels(NeighborLabels):
    """Labels that are all known, counted on a GPU where there are enough rows to gain by it."""

    device: str = "cuda"
    at_once: int = AT_ONCE

    def _pays(self, neighbors: Rows) -> bool:
        return len(neighbors) * SENT_FOR_ONE >= self.Y.shape[0]

    def tally(self, distances: Floats, neighbors: Rows, rows: Rows | None = None) -> Counts:  # noqa: ARG002
        k, q, own = self.k, self.n_labels, self._rows(rows)[0]
        near = torch.from_numpy(neighbors).to(self.device)
        if sparse.issparse(self.Y):
            counted = _of_sparse(near, self.Y, own, self.at_once)
        else:
            counted = self._of_dense(neighbors, own)
        table = torch.zeros(2 * q * (k + 1), dtype=torch.int64, device=self.device)
        for cells in counted:
            table += torch.bincount(cells, minlength=len(table))
        table = table.view(2, q, k + 1)
        have = np.asarray(own.sum(axis=0, dtype=np.int64)).ravel()
        have = torch.from_numpy(have).to(self.device)
        all_ = torch.stack([len(neighbors) - have, have])
        table[:, :, 0] += all_ - table.sum(dim=2)  # of whose neighbours none has the label
        return table.cpu().numpy()

    def scores(self, distances: Floats, neighbors: Rows, table: Floats) -> Floats:
        if not self._pays(neighbors):
            return super().scores(distances, neighbors, table)
        found = np.empty((len(neighbors), self.n_labels))
        values = self._flat(table)
        for rows, cells in self._cells(neighbors):
            torch.from_numpy(found[rows]).copy_(values.take(cells))
        return found

    def above(
        self, distances: Floats, neighbors: Rows, table: Floats, cut: float
    ) -> sparse.csr_array:
        if not self._pays(neighbors):
            return super().above(distances, neighbors, table, cut)
        chosen = self._flat(table) > cut
        sizes, labels = [], []
        for _, cells in self._cells(neighbors):
            there = chosen.take(cells)
            sizes.append(there.sum(dim=1).cpu().numpy())
            labels.append(there.nonzero()[:, 1].to(torch.int32).cpu().numpy())
        columns = np.concatenate(labels)
        ones = np.ones(len(columns), dtype=np.int64)
        return csr_of_rows(ones, columns, np.concatenate(sizes), self.n_labels)

    def top(self, distances: Floats, neighbors: Rows, table: Floats, n_best: int) -> Best:
        """As on the CPU: among equal scores the first labels."""
        # All cells of the table are ranked, each differently, so that the best do not depend on
        # how a GPU chooses between equals.
        if not self._pays(neighbors):
            return super().top(distances, neighbors, table, n_best)
        values = self._flat(table)
        order = (-values).argsort(stable=True)  # cells of the first labels come first
        rank = torch.empty(len(order), dtype=torch.int32, device=self.device)
        rank[order] = torch.arange(len(order), dtype=torch.int32, device=self.device)
        labels = np.empty((len(neighbors), n_best), dtype=np.int64)
        best = np.empty((len(neighbors), n_best))
        for rows, cells in self._cells(neighbors):
            cell = order[rank.take(cells).topk(n_best, dim=1, largest=False).values.long()]
            labels[rows] = (cell // table.shape[1]).cpu().numpy()
            best[rows] = values[cell].cpu().numpy()
        return labels, best

    def _of_dense(self, neighbors: Rows, own: Any) -> Iterator[Tensor]:
        for rows, cells in self._cells(neighbors):
            has = torch.from_numpy(own[rows].astype(np.int64)).to(self.device)
            yield (cells + self.n_labels * (self.k + 1) * has).ravel()

    def _flat(self, table: Floats) -> Tensor:
        return torch.from_numpy(np.array(table, dtype=np.float64)).to(self.device).ravel()

    def _cells(self, neighbors: Rows) -> Iterator[tuple[slice, Tensor]]:
        """Some rows at a time, with the cell ``l (k + 1) + j`` of each label in a table."""
        Y, near = self.Y, torch.from_numpy(neighbors).to(self.device)
        (n, k), q = near.shape, self.n_labels
        offset = (k + 1) * torch.arange(q, device=self.device)
        width = float(q)
        if sparse.issparse(Y):
            first, labels = (
                torch.from_numpy(a).to(self.device).long() for a in (Y.indptr, Y.indices)
            )
            width = max(q, k * Y.nnz / Y.shape[0])
        else:
            labels = torch.from_numpy(np.ascontiguousarray(Y)).to(self.device)
        for rows in row_blocks(n, width, self.at_once):
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


# leave-one-out ---------------------------------------------------------------------------------


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
    wanted = event + Y  # the value of ``wider`` at which j comes to the event of i
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
