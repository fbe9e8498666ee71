"""Learners whose score is looked up by how often a label occurs among the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from plurilabel.lazy._base import LazyClassifier
from plurilabel.lazy._counts import graph_blocks, label_counts, look_up


class CountingClassifier(LazyClassifier):
    """Score of label l is ``table_[l, j]``, where j counts the neighbours that have l.

    For sparse labels nothing of size (n, q) is built in ``predict`` and ``predict_top``: a label
    that no neighbour has scores ``table_[l, 0]`` for every instance.
    """

    table_: NDArray[np.float64]  # (q, k + 1)

    def _events(self, distances: NDArray[np.float64], neighbors: NDArray[np.intp]) -> Any:
        """The event j of each instance and label, (n, q); 0 where no neighbour has the label."""
        del distances
        return label_counts(neighbors, self.Y_)

    def _from_neighbors(
        self, X: Any, distances: NDArray[np.float64], neighbors: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        del X
        delta = self._events(distances, neighbors)
        if not sparse.issparse(delta):
            return look_up(self.table_, delta)
        scores = np.tile(self.table_[:, 0], (delta.shape[0], 1))
        rows = np.repeat(np.arange(delta.shape[0]), np.diff(delta.indptr))
        scores[rows, delta.indices] = self.table_[delta.indices, delta.data]
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
        usual = np.flatnonzero(self.table_[:, 0] > self._cut)  # predicted unless neighbours object
        parts = []
        for rows in graph_blocks(neighbors, self.Y_):
            delta = self._events(distances[rows], neighbors[rows])
            chosen = self.table_[delta.indices, delta.data] > self._cut
            above = sparse.csr_array((chosen, delta.indices, delta.indptr), delta.shape)
            if len(usual):
                unasked = sparse.csc_array(delta[:, usual].toarray() == 0)
                pointers = np.zeros(delta.shape[1] + 1, dtype=unasked.indptr.dtype)
                pointers[usual + 1] = np.diff(unasked.indptr)
                wide = (unasked.data, unasked.indices, np.cumsum(pointers))
                above = above + sparse.csc_array(wide, delta.shape).tocsr()
            above.eliminate_zeros()
            parts.append(above.astype(np.int64))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def _top(
        self, X: Any, distances: NDArray[np.float64], neighbors: NDArray[np.intp], k: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        if not self.sparse_output_:
            return super()._top(X, distances, neighbors, k)
        delta = self._events(distances, neighbors)
        n = delta.shape[0]
        stored = np.diff(delta.indptr)
        # the best labels that no neighbour has are the same everywhere; enough of them for all
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
