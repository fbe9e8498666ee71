"""BRkNN: binary relevance over one neighbour search."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel.learners.lazy._lazy_classifier import CountingClassifier
from plurilabel.learners.lazy._neighbor_labels import Floats, Rows, label_frequencies


@dataclass(eq=False, repr=False)
class BRkNN(CountingClassifier):
    """k nearest neighbours vote on each label.

    The score of a label is the smoothed share of the k neighbours that have it,
    ``(s + votes) / (2 s + k)``.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours (k).
    variant : {None, "a", "b"}, default=None
        The predicted label set. None: the labels of more than half of the neighbours. "a": the
        same, or the label with the highest score if there are none. "b": the labels with the
        highest scores, as many as the neighbours have on average (halves are rounded up). Ties go
        to the label that is more frequent in training.
    smoothing : float, default=0.5
        Votes for and against that are added to each label (s); 0 gives the plain share. It does
        not change predictions.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`.

    Attributes
    ----------
    table_ : ndarray of shape (q, k + 1)
        The score of label l if j neighbours have it.

    Notes
    -----
    Labels may be unknown: the k nearest neighbours that know a label vote on it,
    as in :class:`MLkNN`.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas. An empirical study of lazy multilabel
    classification algorithms. SETN 2008.

    Examples
    --------
    >>> from plurilabel import BRkNN
    >>> X = [[0.0], [0.1], [1.0], [1.1]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1]]
    >>> BRkNN(n_neighbors=2).fit(X, Y).predict([[0.0], [1.2]])
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True

    _: KW_ONLY
    variant: Literal["a", "b"] | None = None
    smoothing: float = 0.5

    def _learn_points(self) -> None:
        k, s = self.fitted_params_["n_neighbors"], self.fitted_params_["smoothing"]
        share = (s + np.arange(k + 1)) / (2 * s + k)
        self.table_ = np.broadcast_to(share, (self.n_labels_, k + 1))

    def _predict(self, X: Any) -> Any:
        if self.fitted_params_["variant"] is None:
            return super()._predict(X)
        chosen = self._chosen(*self._neighbors(X))
        return chosen if self.sparse_output_ else chosen.toarray()

    def training_labels(self, rows: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Label sets (n, q) of training instances, by the rule of ``variant``."""
        if self.fitted_params_["variant"] is None:
            return super().training_labels(rows)
        _, distances, neighbors = self._training_neighbors(rows)
        return self._chosen(distances, neighbors).toarray() == 1

    def _chosen(self, distances: Floats, neighbors: Rows) -> sparse.csr_array:
        variant = self.fitted_params_["variant"]
        votes = sparse.csr_array(self._labels.events(distances, neighbors).count)
        n, k = votes.shape[0], self.n_neighbors_
        stored = np.diff(votes.indptr)
        row = np.repeat(np.arange(n), stored)
        if variant == "b":
            total = np.asarray(votes.sum(axis=1))
            size = ((2 * total + k) // (2 * k)).astype(np.intp)  # the mean, rounded half up
        else:
            size = np.maximum(np.bincount(row[votes.data > k / 2], minlength=n), 1)
        usual = np.argsort(-label_frequencies(self.Y_), kind="stable")
        rank = np.argsort(usual)
        order = np.lexsort((rank[votes.indices], -votes.data.astype(np.float64), row))
        first = np.arange(len(row)) - votes.indptr[row] < size[row]
        # Labels without votes are predicted only by "a", where no neighbour has any label: the
        # mean size of "b" is at most the number of labels that have votes.
        silent = np.flatnonzero(stored < size)
        row = np.concatenate([row[first], silent])
        label = np.concatenate([votes.indices[order][first], np.full(len(silent), usual[0])])
        return sparse.csr_array((np.ones(len(row), dtype=np.int64), (row, label)), votes.shape)
