"""BRkNN: binary relevance over one neighbour search."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from plurilabel._sklearn_compat import HasMethods, Interval
from plurilabel.base import LabelMatrix, ProbabilisticClassifier


class BRkNN(ProbabilisticClassifier):
    """k nearest neighbours vote on each label.

    The score of a label is the smoothed share of the k neighbours that have it,
    ``(s + votes) / (2 s + k)``; with ``smoothing=0`` it is the plain share.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that vote.
    smoothing : float, default=0.5
        Votes for and against that are added to each label. It changes no prediction.
    index : object with ``fit(X)`` and ``kneighbors(X, n_neighbors)``, default=None
        Where the neighbours come from; None stands for exact Euclidean search.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "index": [None, HasMethods(["fit", "kneighbors"])],
    }

    def __init__(self, n_neighbors: int = 10, *, smoothing: float = 0.5, index: Any = None):
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.index = index

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        index = NearestNeighbors() if self.index is None else clone(self.index)
        self.index_ = index.fit(X)
        self.Y_ = Y

    def _scores(self, X: Any) -> NDArray[np.floating]:
        k, s = min(self.n_neighbors, self.Y_.shape[0]), self.smoothing
        _, neighbors = self.index_.kneighbors(X, n_neighbors=k)  # (n, k)
        n = len(neighbors)
        graph = sparse.csr_array(
            (np.ones(n * k), neighbors.ravel(), np.arange(0, n * k + 1, k)),
            shape=(n, self.Y_.shape[0]),
        )
        votes = graph @ self.Y_.astype(np.float64)  # (n, q)
        if sparse.issparse(votes):
            votes = votes.toarray()
        return (s + votes) / (2 * s + k)
