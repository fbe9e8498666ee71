"""Labels of the neighbours: counted, weighted, tallied over a training set, and looked up.

:class:`NeighborLabels` gives the same numbers for dense and sparse labels, on the CPU and a GPU,
and leaves unknown labels out. Sparse labels are never made dense, because a label that no
neighbour has needs no entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks, stack_rows

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.signedinteger[Any]]  # numbers of training instances
Graph: TypeAlias = tuple[Floats, Rows]  # distances and numbers of the k nearest, each (n, k)
Best: TypeAlias = tuple[Rows, Floats]  # labels and scores of the best, each (n, n_best)
CELLS = 1 << 18  # rows times labels worked on at a time: few enough for a processor's cache
TOO_SMALL = 1e-12  # rounding may leave this much of a sum of weights whose largest is 1


class Events(NamedTuple):
    """The event of each instance and label: how many of its neighbours have the label."""

    count: Any  # integers from 0 to k, (n, q), CSR for CSR labels
    silent: Any = None  # where no neighbour knows the label, in the same form; None: nowhere


@dataclass(frozen=True)
class NeighborLabels:
    """The labels of a training set, as the neighbours of an instance have them."""

    Y: LabelMatrix  # (n, q), dense or CSR; for ``shares`` also degrees from 0 to 1
    unknown: Any  # which labels are unknown, (n, q) in the form of Y; None if none is
    k: int  # the nearest neighbours that know a label, of which so many are consulted
    power: float = 0  # they weigh 1 / distance**power; those at distance 0 share all the weight

    @property
    def n_labels(self) -> int:
        return self.Y.shape[1]

    def blocks(self, neighbors: Rows) -> list[slice]:
        """Slices of the rows of a graph whose neighbours' labels take little room."""
        width: float = self.n_labels
        if sparse.issparse(self.Y):
            # A table (2, q, k + 1) is made for each block: not too many of them.
            width = self.Y.nnz * neighbors.shape[1] / max(self.Y.shape[0], 1) / 4
        return row_blocks(len(neighbors), width, CELLS)

    def events(self, distances: Floats, neighbors: Rows) -> Events:
        """How many of the k neighbours have each label, weighted by ``power`` and rounded."""
        # Where fewer than k neighbours know a label, their number is scaled to k; where none does,
        # the frequency of the label is. Halves are rounded to even.
        if self.unknown is not None:
            return self._known_events(distances, neighbors)
        if not self.power:
            return Events(label_counts(neighbors, self.Y))
        share = self.shares(distances, neighbors)
        if not sparse.issparse(share):
            return Events(whole(self.k * share).astype(np.min_scalar_type(self.k)))
        count = whole(self.k * share.data).astype(np.int32)
        rounded = sparse.csr_array((count, share.indices, share.indptr), share.shape)
        rounded.eliminate_zeros()  # a label of too little weight is one that no neighbour has
        return Events(rounded)

    def shares(self, distances: Floats, neighbors: Rows) -> Any:
        """Weighted share of the neighbours that have each label, (n, q), CSR for CSR labels."""
        # The mean of the training set where no neighbour knows the label.
        if self.unknown is None:
            return weighted_sums(nearness(distances, self.power), neighbors, self.Y)
        parts = []
        for rows in row_blocks(len(neighbors), self.n_labels, CELLS):
            weights = relative_weights(distances[rows], self.power)
            share, silent = self._known_shares(weights, neighbors[rows])
            share = np.where(silent, self._means(), share)
            parts.append(sparse.csr_array(share) if sparse.issparse(self.Y) else share)
        return stack_rows(parts)

    def consulted(self, neighbors: Rows) -> NDArray[np.bool_] | None:
        """Which neighbours of one instance are consulted for each label; None for all."""
        if self.unknown is None:
            return None
        knows = ~dense(self.unknown[neighbors])
        return knows & (knows.cumsum(axis=0) <= self.k)

    def tally(self, distances: Floats, neighbors: Rows, rows: Rows | None = None) -> Counts:
        """The arrays c' and c of ML-kNN, (2, q, k + 1), for training instances (None: all)."""
        # ``[1, l, j]`` is the number of instances with label l of whose neighbours j have it,
        # ``[0, l, j]`` that of instances without it. Instances that do not know the label, or of
        # whose neighbours none does, are left out.
        own, unknown = self._rows(rows)
        c = np.zeros((2, self.n_labels, self.k + 1), dtype=np.int64)
        for part in self.blocks(neighbors):
            j, silent = self.events(distances[part], neighbors[part])
            y = own[part]
            c += tally(j, y, self.k + 1)
            if silent is not None:
                at, l = (silent + unknown[part]).nonzero()  # + is "or" here
                np.subtract.at(c, (cells_of(y, at, l), l, cells_of(j, at, l)), 1)
        return c

    def tally_grown(
        self, c: Counts, before: Graph, graph: Graph, changed: Rows, added: int
    ) -> Counts:
        """The arrays of a graph that has grown: only rows with new neighbours move to other cells.

        The last ``added`` of the changed rows were not in the graph before.
        """
        old = changed[: len(changed) - added]
        gone = self.tally(before[0][old], before[1][old], old)
        come = self.tally(graph[0][changed], graph[1][changed], changed)
        return c - gone + come

    def _rows(self, rows: Rows | None) -> tuple[Any, Any]:
        """Labels of some training instances, and which of them are unknown."""
        if rows is None:
            return self.Y, self.unknown
        return self.Y[rows], None if self.unknown is None else self.unknown[rows]

    def scores(self, distances: Floats, neighbors: Rows, table: Floats) -> Floats:
        """``table[l, j]`` (n, q), where j of the neighbours have label l."""
        scores = np.empty((len(neighbors), self.n_labels))
        for rows in self.blocks(neighbors):
            j = self.events(distances[rows], neighbors[rows]).count
            if sparse.issparse(j):
                scores[rows] = table[:, 0]
                row = np.repeat(np.arange(rows.start, rows.stop), np.diff(j.indptr))
                scores[row, j.indices] = table[j.indices, j.data]
            else:
                scores[rows] = look_up(table, j)
        return scores

    def above(
        self, distances: Floats, neighbors: Rows, table: Floats, cut: float
    ) -> sparse.csr_array:
        """Where the scores exceed a cut, for CSR labels: ones, (n, q)."""
        usual = np.flatnonzero(table[:, 0] > cut)  # predicted unless neighbours object
        parts = []
        for rows in self.blocks(neighbors):
            j = self.events(distances[rows], neighbors[rows]).count
            chosen = table[j.indices, j.data] > cut
            above = sparse.csr_array((chosen, j.indices, j.indptr), j.shape)
            if len(usual):
                row, column = np.nonzero(j[:, usual].toarray() == 0)
                without = (np.ones(len(row), dtype=bool), (row, usual[column]))
                above = above + sparse.csr_array(without, j.shape)
            above.eliminate_zeros()
            parts.append(above.astype(np.int64))
        return stack_rows(parts)

    def top(self, distances: Floats, neighbors: Rows, table: Floats, n_best: int) -> Best:
        """Labels and scores of the best, each (n, n_best); among equal scores the first labels."""
        found = []
        for rows in self.blocks(neighbors):
            part = distances[rows], neighbors[rows], table
            if sparse.issparse(self.Y):
                found.append(self._sparse_top(*part, n_best))
            else:
                found.append(highest(NeighborLabels.scores(self, *part), n_best))
        labels, scores = (np.vstack(parts) for parts in zip(*found))
        return labels, scores

    def _sparse_top(self, distances: Floats, neighbors: Rows, table: Floats, n_best: int) -> Best:
        j = self.events(distances, neighbors).count
        n, stored = j.shape[0], np.diff(j.indptr)
        # The best labels that no neighbour has are the same everywhere; enough of them for all.
        spare = np.argsort(-table[:, 0], kind="stable")[: n_best + stored.max(initial=0)]
        free_row, free = np.nonzero(j[:, spare].toarray() == 0)
        row = np.concatenate([np.repeat(np.arange(n), stored), free_row])
        label = np.concatenate([j.indices, spare[free]])
        score = np.concatenate([table[j.indices, j.data], table[spare[free], 0]])
        order = np.lexsort((label, -score, row))
        first = np.searchsorted(row[order], np.arange(n))
        best = order[first[:, None] + np.arange(n_best)]
        return label[best], score[best]

    def _means(self) -> Floats:
        """Mean of each label over the instances that know it, (q,)."""
        total = np.asarray(self.Y.sum(axis=0)).ravel()
        return ratio(total, self.Y.shape[0] - label_frequencies(self.unknown))

    def _known_events(self, distances: Floats, neighbors: Rows) -> Events:
        weights, usual = relative_weights(distances, self.power), self._means()
        if not sparse.issparse(self.Y):
            share, silent = self._known_shares(weights, neighbors)
            return Events(whole(self.k * np.where(silent, usual, share)).astype(np.int64), silent)
        each = sparse.csr_array(self.unknown).nnz * neighbors.shape[1] / max(1, self.Y.shape[0])
        parts = [
            self._sparse_events([W[rows] for W in weights], neighbors[rows], usual)
            for rows in row_blocks(len(neighbors), each, 8 * CELLS)
        ]
        return Events(*(stack_rows([part[i] for part in parts]) for i in (0, 1)))

    def _known_shares(self, weights: list[Floats], neighbors: Rows) -> tuple[Floats, Any]:
        """Weighted shares over the consulted neighbours, and where there are none (0 there)."""
        # If several weightings (n, searched) are given, the last one that is non-zero for the
        # consulted neighbours is used. Sparse rows of neighbours are made dense.
        asked = np.zeros((len(neighbors), self.n_labels), dtype=np.int64)
        sums = [(np.zeros(asked.shape), np.zeros(asked.shape)) for _ in weights]
        for j, column in enumerate(neighbors.T):  # from near to far
            knows = ~dense(self.unknown[column]) & (asked < self.k)
            value = dense(self.Y[column])
            asked += knows
            for (part, total), W in zip(sums, weights):
                part += np.where(knows, value * W[:, [j]], 0.0)
                total += knows * W[:, [j]]
        share = np.zeros(asked.shape)
        for part, total in sums:
            share = np.where(total > 0, ratio(part, total), share)
        return share, asked == 0

    def _sparse_events(
        self, weights: list[Floats], neighbors: Rows, usual: Floats
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The same from entries alone: a cell is an instance and a label, (n q)."""
        (n, searched), q, k = neighbors.shape, self.n_labels, self.k
        gap, at_gap = _entries_of(neighbors, self.unknown)  # cells and places, in order
        cells, of_cell, first = _runs(gap)
        # A gap is met before k neighbours have answered if fewer than k know the label before it.
        met = at_gap - (np.arange(len(gap)) - first[of_cell]) < k
        gap, at_gap, of_cell = gap[met], at_gap[met], of_cell[met]
        n_met = np.bincount(of_cell, minlength=len(cells))
        last = np.minimum(k + n_met, searched)  # neighbours up to here are consulted
        silent = cells[last == n_met]

        have, at_have = _entries_of(neighbors, self.Y)
        place = np.searchsorted(cells, have)
        inside = np.append(cells, -1)[place] == have
        heard = at_have < np.where(inside, np.append(last, 0)[place], k)
        have, at_have = have[heard], at_have[heard]
        cell, of_have, first = _runs(have)
        row, place, inside = cell // q, place[heard][first], inside[heard][first]
        end = np.where(inside, np.append(last, 0)[place], k)
        share = np.zeros(len(cell))
        for W in weights:
            part = np.bincount(of_have, W[have // q, at_have], minlength=len(cell))
            missed = np.bincount(of_cell, W[gap // q, at_gap], minlength=len(cells) + 1)
            total = np.column_stack([np.zeros(n), W.cumsum(axis=1)])[row, end]
            total = total - np.where(inside, missed[place], 0.0)
            share = np.where(total > TOO_SMALL, ratio(part, total), share)
        at = np.concatenate([cell, silent])  # a cell is in one of them
        count = whole(k * np.concatenate([share, usual[silent % q]])).astype(np.int64)
        at, count = at[count > 0], count[count > 0]
        found = sparse.csr_array((count, np.divmod(at, q)), (n, q))
        nobody = sparse.csr_array((np.ones(len(silent), bool), np.divmod(silent, q)), (n, q))
        return found, nobody


def neighbor_labels(
    Y: LabelMatrix, unknown: Any, k: int, power: float = 0, device: str = "cpu"
) -> NeighborLabels:
    """The labels on a device; weighted, unknown and soft ones stay on the CPU."""
    if Y.dtype.kind == "f":
        from plurilabel.learners.lazy._soft_labels import SoftNeighborLabels

        return SoftNeighborLabels(Y, unknown, k, power)
    if device == "cpu" or power or unknown is not None:
        return NeighborLabels(Y, unknown, k, power)
    from plurilabel.learners.lazy._gpu import GpuNeighborLabels  # torch is there

    return GpuNeighborLabels(Y, unknown, k, device=device)


def enough_known(k: int, unknown: Any) -> int | None:
    """How many neighbours to search so that about k of them know a label; None for k."""
    # At most 20 k: on average 1.5 k of them know the label that is known least often.
    if unknown is None:
        return None
    known = max(1.0 - int(label_frequencies(unknown).max()) / unknown.shape[0], 1 / 20)
    return min(unknown.shape[0] - 1, int(np.ceil(min(1.5 / known, 20) * k)))


def label_frequencies(Y: LabelMatrix) -> NDArray[Any]:
    """How many instances have each label, (q,)."""
    return np.asarray(Y.sum(axis=0)).ravel()


def label_counts(neighbors: Rows, Y: LabelMatrix) -> Any:
    """How many of the neighbours have each label: delta of shape (n, q), CSR for CSR labels."""
    n, k = neighbors.shape
    if sparse.issparse(Y):
        return _sparse_sums(np.ones(n * k, dtype=np.int32), neighbors, Y)
    delta = np.zeros((n, Y.shape[1]), dtype=np.min_scalar_type(k))
    for column in neighbors.T:  # (n, k, q) would be k times as large
        delta += Y.take(column, axis=0).view(np.uint8)
    return delta


def weighted_sums(weights: Floats, neighbors: Rows, Y: LabelMatrix) -> Any:
    """Sum of the weights of the neighbours that have each label: (n, q), CSR for CSR labels."""
    if sparse.issparse(Y):
        return _sparse_sums(weights.ravel(), neighbors, Y)
    shares = np.zeros((len(neighbors), Y.shape[1]))
    for weight, column in zip(weights.T, neighbors.T):
        shares += weight[:, None] * Y.take(column, axis=0)
    return shares


def _sparse_sums(values: NDArray[Any], neighbors: Rows, Y: sparse.csr_array) -> sparse.csr_array:
    """The graph, with a value for each neighbour, times the labels."""
    n, k = neighbors.shape
    pointers = np.arange(0, n * k + 1, k)
    graph = sparse.csr_array((values, neighbors.ravel(), pointers), (n, Y.shape[0]))
    return graph @ sparse.csr_array((Y.data.astype(values.dtype), Y.indices, Y.indptr), Y.shape)


def nearness(distances: Floats, power: float) -> Floats:
    """Weights ``1 / d**power`` that sum to one per row; zero distances share all the weight."""
    if power == 0:
        return np.full(distances.shape, 1 / distances.shape[1])
    nearest = distances.min(axis=1, keepdims=True)
    safe = np.where(distances > 0, distances, 1.0)
    relative = np.where(nearest > 0, (nearest / safe) ** power, distances == 0)
    return relative / relative.sum(axis=1, keepdims=True)


def relative_weights(distances: Floats, power: float) -> list[Floats]:
    """Weightings of neighbours, of which the last one that is non-zero counts."""
    # Equal weights; ``1 / d**power`` with 1 for the nearest; and 1 at distance 0.
    if power == 0:
        return [np.ones(distances.shape)]
    apart = np.where(distances > 0, distances, np.inf)
    inverse = (apart.min(axis=1, keepdims=True) / apart) ** power
    return [np.ones(distances.shape), inverse, (distances == 0).astype(np.float64)]


def whole(weight: Floats) -> Floats:
    """Rounded to whole numbers, halves to even; the last bits of a sum do not matter."""
    return np.rint(np.round(weight, 9))


def tally(
    delta: Any, Y: LabelMatrix, size: int, *, weights: Any = None, background: Any = (1.0, 1.0)
) -> NDArray[Any]:
    """Frequency arrays of a training set, for all labels at once."""
    # ``delta``, integers below ``size``, and the labels Y are (n, q), both dense or both CSR. In
    # the result (2, q, size), ``[1, l, j]`` sums over the instances that have label l and delta j,
    # ``[0, l, j]`` over those that lack l. Each adds one, or its entry of ``weights``, a pair of
    # matrices like delta: the first where it lacks the label, the second where it has it.
    # ``background`` is the weights of entries that a sparse delta does not store.
    n, q = delta.shape
    dtype = np.int64 if weights is None else np.float64
    offset = size * np.arange(q)  # of label l in the flat table
    if sparse.issparse(delta):
        at = np.repeat(np.arange(n), np.diff(delta.indptr))
        has = cells_of(Y, at, delta.indices).astype(bool)
        cell = delta.data + offset[delta.indices] + q * size * has
        w = None if weights is None else np.where(has, weights[1].data, weights[0].data)
        table = np.bincount(cell, w, minlength=2 * q * size).astype(dtype).reshape(2, q, size)
        stored = np.bincount(delta.indices + q * has, minlength=2 * q).reshape(2, q)
        present = label_frequencies(Y)
        unstored = np.stack([n - present, present]) - stored  # rows whose delta is 0
        table[:, :, 0] += (unstored * np.array(background)[:, None]).astype(dtype)
        return table
    has = Y.astype(bool)
    cell = delta + offset + q * size * has
    w = None if weights is None else np.where(has, weights[1], weights[0]).ravel()
    table = np.bincount(cell.ravel(), w, minlength=2 * q * size)
    return table.astype(dtype, copy=False).reshape(2, q, size)


def likelihoods(table: NDArray[Any], s: float) -> Floats:
    """P(E_j | H_b) from frequency arrays (2, q, k+1), smoothed by s."""
    return ratio(s + table, s * table.shape[-1] + table.sum(axis=-1, keepdims=True))


def ratio(part: Any, total: Any) -> Floats:
    """``part / total``, 0 where there is nothing to count and no smoothing."""
    part, total = np.broadcast_arrays(part, total)
    return np.divide(part, total, out=np.zeros(part.shape), where=total > 0)


def posterior(prior: Any, against: Any, for_: Any) -> Floats:
    """P(H1 | E) by Bayes' rule; the prior where no event of that kind has been seen at all."""
    yes, no = prior * for_, (1 - prior) * against
    total = yes + no
    return np.where(total > 0, yes / np.where(total > 0, total, 1.0), prior)


def look_up(table: NDArray[Any], delta: NDArray[Any]) -> NDArray[Any]:
    """``table[l, delta[i, l]]`` for all i and l: shape (n, q)."""
    offset = table.shape[1] * np.arange(len(table))
    return table.ravel().take(delta + offset)


def highest(scores: Floats, n_best: int) -> Best:
    """Labels and scores of the best, each (n, n_best); among equal scores the first labels."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
    return best, np.take_along_axis(scores, best, axis=1)


def cells_of(matrix: Any, rows: Rows, columns: Rows) -> NDArray[Any]:
    """Some cells of a matrix, dense or sparse."""
    if not len(rows):  # SciPy has no array of none
        return np.zeros(0, dtype=matrix.dtype)
    if sparse.issparse(matrix):
        matrix = sparse.csr_matrix(matrix)
    return np.asarray(matrix[rows, columns]).ravel()


def _runs(ordered: Rows) -> tuple[Rows, Rows, Rows]:
    """Distinct values in order, which of them each entry has, and where each begins."""
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    return ordered[first], np.cumsum(new) - 1, first


def _entries_of(neighbors: Rows, matrix: sparse.csr_array) -> tuple[Rows, Rows]:
    """Cells (n q) and places among the neighbours of the entries that these have, in order."""
    n, searched = neighbors.shape
    flat = neighbors.ravel()
    sizes = np.diff(matrix.indptr)[flat]
    start = np.repeat(matrix.indptr[flat] - (np.cumsum(sizes) - sizes), sizes)
    label = matrix.indices[start + np.arange(len(start))].astype(np.int64)
    query = np.repeat(np.arange(n * searched), sizes)
    key = np.sort((query // searched * matrix.shape[1] + label) * searched + query % searched)
    return key // searched, key % searched
