"""AA-kNN: the mean of the neighbours' distributions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from plurilabel._core.fitted import Declared, numbers, parameter
from plurilabel.graded._distribution_learner import DistributionLearner
from plurilabel.neighbors import ExactIndex, query_neighbors


@dataclass(eq=False, repr=False)
class AAkNN(DistributionLearner):
    """AA-kNN: the predicted distribution is the mean of those of the k nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours (k).
    weights : {"uniform", "distance"}, default="uniform"
        Whether all neighbours count the same, as in the paper, or by the inverse of their
        distance; neighbours at distance 0 then count alone.
    metric, index, n_jobs :
        As in :class:`~plurilabel.MLkNN`.

    Attributes
    ----------
    index_ : index
        The index, fitted.
    D_ : ndarray of shape (n, q)
        Degrees of the training instances.

    References
    ----------
    X. Geng. Label distribution learning. IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> from plurilabel import AAkNN
    >>> X = [[0.0], [1.0], [5.0]]
    >>> D = [[0.6, 0.4, 0.0], [0.4, 0.4, 0.2], [0.0, 0.1, 0.9]]
    >>> AAkNN(2).fit(X, D).predict([[0.2]])
    array([[0.5, 0.4, 0.1]])
    """

    _fitted: ClassVar[Declared] = {
        "n_neighbors_": parameter(),
        "weights_": parameter(),
        "D_": numbers(None, "n_labels_"),
    }

    n_neighbors: int = 5
    _: KW_ONLY
    weights: Literal["uniform", "distance"] = "uniform"
    metric: Any = "euclidean"
    index: Any = None
    n_jobs: int | None = None

    def _fit(self, X: Any, D: NDArray[np.float64]) -> None:
        if self.n_neighbors > len(D):
            most = f"the number of training instances, n_samples={len(D)}"
            raise ValueError(f"n_neighbors must be at most {most}, got {self.n_neighbors}")
        default = self.index is None
        index = ExactIndex(self.metric, n_jobs=self.n_jobs) if default else clone(self.index)
        self.n_neighbors_, self.weights_ = self.n_neighbors, self.weights
        self.index_, self.D_ = index.fit(X), D

    def _distributions(self, X: Any) -> NDArray[np.float64]:
        distances, neighbors = query_neighbors(self.index_, X, self.n_neighbors_, len(self.D_))
        w = np.ones_like(distances)
        if self.weights_ == "distance":
            same = distances == 0
            apart = np.where(same, 1.0, distances)
            # scaled by the nearest, which keeps tiny distances from overflowing
            w = np.where(same.any(axis=1, keepdims=True), same, apart[:, :1] / apart)
        w = w / w.sum(axis=1, keepdims=True)
        degrees = np.zeros((len(neighbors), self.n_labels_))
        for j in range(self.n_neighbors_):  # (n, k, q) would be k times as large
            degrees += w[:, [j]] * self.D_.take(neighbors[:, j], axis=0)
        return degrees

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.index is None and self.metric == "precomputed"
        return tags
