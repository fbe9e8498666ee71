"""Labels among the neighbours: counts, weighted shares, and the tables learned from them.

Dense and sparse labels give the same numbers; sparse ones are never made dense, because a label
that no neighbour has needs no entry.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks, stack_rows
from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.lazy._base import CELLS, Floats, LazyClassifier, Rows, graph_blocks

SENT_FOR_ONE = 100
"""Training instances whose labels are sent to a GPU in the time that one query takes here."""


def label_frequencies(Y: LabelMatrix) -> NDArray[np.int64]:
    """How many instances have each label, (q,)."""
    return np.asarray(Y.sum(axis=0, dtype=np.int64)).ravel()


def label_counts(neighbors: Rows, Y: LabelMatrix) -> Any:
    """How many of the neighbours have each label: delta of shape (n, q), CSR for CSR labels."""
    n, k = neighbors.shape
    if sparse.issparse(Y):
        return _sparse_sums(np.ones(n * k, dtype=np.int32), neighbors, Y)
    delta = np.zeros((n, Y.shape[1]), dtype=np.min_scalar_type(k))
    for column in neighbors.T:  # (n, k, q) would be k times as large
        delta += Y.take(column, axis=0).view(np.uint8)
    return delta


def known_counts(neighbors: Rows, Y: LabelMatrix, unknown: Any, k: int) -> tuple[Any, Any]:
    """How many of the k nearest neighbours that know a label have it, and where none knows it.

    Where fewer than k know the label, their number is scaled to k and rounded, halves to even;
    where none does, the label's frequency takes its place. Both are matrices (n, q), CSR for CSR
    labels.
    """
    return _known_events([np.ones(neighbors.shape)], neighbors, Y, unknown, k)


def known_weights(
    distances: Floats, neighbors: Rows, Y: LabelMatrix, unknown: Any, k: int
) -> tuple[Any, Any]:
    """The same of neighbours that weigh 1/d^2; those at distance 0 share all the weight."""
    return _known_events(relative_weights(distances, 2), neighbors, Y, unknown, k)


def relative_weights(distances: Floats, power: float) -> list[Floats]:
    """Weights of neighbours of which the last counts that some of those asked have.

    Equal ones; ``1 / d**power``, the largest 1; and 1 at distance 0.
    """
    if power == 0:
        return [np.ones(distances.shape)]
    apart = np.where(distances > 0, distances, np.inf)
    inverse = (apart.min(axis=1, keepdims=True) / apart) ** power  # the largest is 1
    return [np.ones(distances.shape), inverse, (distances == 0).astype(np.float64)]


def _known_events(
    weights: list[Floats], neighbors: Rows, Y: LabelMatrix, unknown: Any, k: int
) -> tuple[Any, Any]:
    """The share of the weight of the k nearest that know a label which is of those that have it.

    It is multiplied by k and rounded. Of several weights (n, searched), the last counts of which
    those that are asked have any. The second result is where nobody knows the label.
    """
    usual = ratio(label_frequencies(Y), Y.shape[0] - label_frequencies(unknown))
    if sparse.issparse(Y):
        each = sparse.csr_array(unknown).nnz * neighbors.shape[1] / max(1, Y.shape[0])
        parts = [
            _sparse_events([W[rows] for W in weights], neighbors[rows], Y, unknown, k, usual)
            for rows in row_blocks(len(neighbors), each, 8 * CELLS)
        ]
        events, silent = (stack_rows([part[i] for part in parts]) for i in (0, 1))
        return events, silent
    asked = np.zeros((len(neighbors), Y.shape[1]), dtype=np.int64)
    sums = [(np.zeros(asked.shape), np.zeros(asked.shape)) for _ in weights]
    for j, column in enumerate(neighbors.T):  # from near to far
        knows = ~unknown.take(column, axis=0) & (asked < k)
        has = knows & (Y.take(column, axis=0) == 1)
        asked += knows
        for (part, total), W in zip(sums, weights):
            part += has * W[:, [j]]
            total += knows * W[:, [j]]
    share = np.broadcast_to(usual, asked.shape)
    for part, total in sums:
        share = np.where(total > 0, ratio(part, total), share)
    return whole(k * share).astype(np.int64), asked == 0


def known_shares(
    weights: list[Floats], neighbors: Rows, values: Any, unknown: Any, k: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Means of the neighbours' values (n, q), over the k nearest that know a label, weighted.

    Of several weights (n, searched), the last counts of which those that are asked have any. The
    second result is where nobody knows the label; there the share is 0. Values may be sparse: rows
    of neighbours are made dense, so that few are wanted at a time.
    """
    asked = np.zeros((len(neighbors), values.shape[1]), dtype=np.int64)
    sums = [(np.zeros(asked.shape), np.zeros(asked.shape)) for _ in weights]
    for j, column in enumerate(neighbors.T):  # from near to far
        knows = ~dense(unknown[column]) & (asked < k)
        value = dense(values[column])
        asked += knows
        for (part, total), W in zip(sums, weights):
            part += np.where(knows, value * W[:, [j]], 0.0)
            total += knows * W[:, [j]]
    share = np.zeros(asked.shape)
    for part, total in sums:
        share = np.where(total > 0, ratio(part, total), share)
    return share, asked == 0


def _sparse_events(
    weights: list[Floats],
    neighbors: Rows,
    Y: sparse.csr_array,
    unknown: sparse.csr_array,
    k: int,
    usual: Floats,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The same from entries alone: a cell is an instance and a label, (n q)."""
    (n, searched), q = neighbors.shape, Y.shape[1]
    gap, at_gap = _entries_of(neighbors, unknown)  # cells and places, in order
    cells, of_cell, first = _runs(gap)
    # A gap is met before k neighbours have answered if fewer than k know the label before it.
    met = at_gap - (np.arange(len(gap)) - first[of_cell]) < k
    gap, at_gap, of_cell = gap[met], at_gap[met], of_cell[met]
    n_met = np.bincount(of_cell, minlength=len(cells))
    last = np.minimum(k + n_met, searched)  # neighbours up to here are asked
    silent = cells[last == n_met]

    have, at_have = _entries_of(neighbors, Y)
    place, inside = _found(cells, have)
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
    events = whole(k * np.concatenate([share, usual[silent % q]])).astype(np.int64)
    at, events = at[events > 0], events[events > 0]
    found = sparse.csr_array((events, np.divmod(at, q)), (n, q))
    nobody = sparse.csr_array((np.ones(len(silent), bool), np.divmod(silent, q)), (n, q))
    return found, nobody


def _runs(ordered: Rows) -> tuple[Rows, Rows, Rows]:
    """Distinct values in order, which of them each entry has, and where each begins."""
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    return ordered[first], np.cumsum(new) - 1, first


def _found(ordered: Rows, wanted: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Where values are in an array in order, and whether they are there."""
    place = np.searchsorted(ordered, wanted)
    return place, np.append(ordered, -1)[place] == wanted


TOO_SMALL = 1e-12
"""What rounding may leave of a sum of weights of which the largest is 1."""


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


def cells_of(matrix: Any, rows: Rows, columns: Rows) -> NDArray[Any]:
    """Some cells of a matrix, dense or sparse."""
    if not len(rows):  # SciPy has no array of none
        return np.zeros(0, dtype=matrix.dtype)
    if sparse.issparse(matrix):
        matrix = sparse.csr_matrix(matrix)
    return np.asarray(matrix[rows, columns]).ravel()


def whole(weight: Floats) -> Floats:
    """Rounded to whole numbers, halves to even; the last bits of a sum do not matter."""
    return np.rint(np.round(weight, 9))


def label_shares(weights: Floats, neighbors: Rows, Y: LabelMatrix) -> Any:
    """Sum of the weights of the neighbours that have each label: (n, q), CSR for CSR labels."""
    n, k = neighbors.shape
    if sparse.issparse(Y):
        return _sparse_sums(weights.ravel(), neighbors, Y)
    shares = np.zeros((n, Y.shape[1]))
    for j in range(k):
        shares += weights[:, j, None] * Y.take(neighbors[:, j], axis=0)
    return shares


def nearness(distances: Floats, power: float) -> Floats:
    """Weights ``1 / d**power`` that sum to one per row; zero distances share all the weight."""
    if power == 0:
        return np.full(distances.shape, 1 / distances.shape[1])
    nearest = distances.min(axis=1, keepdims=True)
    safe = np.where(distances > 0, distances, 1.0)
    relative = np.where(nearest > 0, (nearest / safe) ** power, distances == 0)
    return relative / relative.sum(axis=1, keepdims=True)


def _sparse_sums(values: NDArray[Any], neighbors: Rows, Y: sparse.csr_array) -> sparse.csr_array:
    """The graph, with a value for each neighbour, times the labels."""
    n, k = neighbors.shape
    pointers = np.arange(0, n * k + 1, k)
    graph = sparse.csr_array((values, neighbors.ravel(), pointers), (n, Y.shape[0]))
    return graph @ sparse.csr_array((Y.data.astype(values.dtype), Y.indices, Y.indptr), Y.shape)


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
    n, q = delta.shape
    dtype = np.int64 if weights is None else np.float64
    offset = size * np.arange(q)  # of label l in the flat table
    if sparse.issparse(delta):
        has = _values_at(Y, delta).astype(bool)
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


def _values_at(matrix: sparse.csr_array, pattern: sparse.csr_array) -> NDArray[Any]:
    """Values of a matrix at the stored places of another of the same shape."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return cells_of(matrix, rows, pattern.indices)


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


class CountingClassifier(LazyClassifier):
    """Score of label l is ``table_[l, j]``, where j counts the neighbours that have l.

    For sparse labels nothing of size (n, q) is built in ``predict`` and ``predict_top``: a label
    that no neighbour has scores ``table_[l, 0]`` for every instance.
    """

    _fitted: ClassVar[Declared] = {
        "table_": numbers("n_labels_", "n_neighbors_+1", finite=False),
    }

    table_: Floats  # (q, k + 1)

    _weighs_neighbors = False
    """Whether events are other than numbers of neighbours."""

    def _counting_device(self) -> str | None:
        """The GPU that counts labels: that of the search, if events are numbers of neighbours."""
        device = getattr(self.index_, "device_", "cpu")
        usual = self.unknown_ is None and not self._weighs_neighbors
        return device if usual and device != "cpu" else None

    def _answering_device(self, neighbors: Rows) -> str | None:
        """The same, where there are so many queries that sending the labels there pays."""
        pays = len(neighbors) * SENT_FOR_ONE >= self.Y_.shape[0]
        return self._counting_device() if pays else None

    def _events(self, distances: Floats, neighbors: Rows) -> Any:
        """The event j of each instance and label, (n, q); 0 where no neighbour has the label."""
        if self.unknown_ is not None:
            return self._known_events(distances, neighbors)[0]
        return label_counts(neighbors, self.Y_)

    def _known_events(self, distances: Floats, neighbors: Rows) -> tuple[Any, Any]:
        """The events where some labels are not known, and where no neighbour knows the label."""
        del distances
        return known_counts(neighbors, self.Y_, self.unknown_, self.n_neighbors_)

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:
        del X
        if (device := self._answering_device(neighbors)) is not None:
            from plurilabel.learners.lazy import _device  # torch is there

            return _device.scores(neighbors, self.Y_, self.table_, device)
        scores = np.empty((len(neighbors), self.n_labels_))
        for rows in graph_blocks(neighbors, self.Y_):
            delta = self._events(distances[rows], neighbors[rows])
            if sparse.issparse(delta):
                scores[rows] = self.table_[:, 0]
                row = np.repeat(np.arange(rows.start, rows.stop), np.diff(delta.indptr))
                scores[row, delta.indices] = self.table_[delta.indices, delta.data]
            else:
                scores[rows] = look_up(self.table_, delta)
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any] | sparse.csr_array:
        """Predict label sets: scores strictly above 0.5.

        Returns
        -------
        0/1 matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse;
        classes of shape (n,) if they were 1-D.
        """
        check_is_fitted(self)
        if not self.sparse_output_:
            return super().predict(X)
        distances, neighbors = self._neighbors(self._validate_X(X, reset=False))
        if (device := self._answering_device(neighbors)) is not None:
            from plurilabel.learners.lazy import _device

            return _device.above(neighbors, self.Y_, self.table_, self._cut, device)
        usual = np.flatnonzero(self.table_[:, 0] > self._cut)  # predicted unless neighbours object
        parts = []
        for rows in graph_blocks(neighbors, self.Y_):
            delta = self._events(distances[rows], neighbors[rows])
            chosen = self.table_[delta.indices, delta.data] > self._cut
            above = sparse.csr_array((chosen, delta.indices, delta.indptr), delta.shape)
            if len(usual):
                row, column = np.nonzero(delta[:, usual].toarray() == 0)
                unasked = (np.ones(len(row), dtype=bool), (row, usual[column]))
                above = above + sparse.csr_array(unasked, delta.shape)
            above.eliminate_zeros()
            parts.append(above.astype(np.int64))
        return stack_rows(parts)

    def _top_of_all(
        self, X: Any, distances: Floats, neighbors: Rows, k: int
    ) -> tuple[Rows, Floats]:
        if (device := self._answering_device(neighbors)) is not None:
            from plurilabel.learners.lazy import _device

            return _device.top(neighbors, self.Y_, self.table_, k, device)
        return super()._top_of_all(X, distances, neighbors, k)

    def _top(self, X: Any, distances: Floats, neighbors: Rows, k: int) -> tuple[Rows, Floats]:
        if not self.sparse_output_:
            return super()._top(X, distances, neighbors, k)
        delta = self._events(distances, neighbors)
        n = delta.shape[0]
        stored = np.diff(delta.indptr)
        # The best labels that no neighbour has are the same everywhere; enough of them for all.
        spare = np.argsort(-self.table_[:, 0], kind="stable")[: k + stored.max(initial=0)]
        free_row, free = np.nonzero(delta[:, spare].toarray() == 0)
        row = np.concatenate([np.repeat(np.arange(n), stored), free_row])
        label = np.concatenate([delta.indices, spare[free]])
        score = np.concatenate(
            [self.table_[delta.indices, delta.data], self.table_[spare[free], 0]]
        )
        order = np.lexsort((label, -score, row))
        first = np.searchsorted(row[order], np.arange(n))
        best = order[first[:, None] + np.arange(k)]
        return label[best], score[best]
