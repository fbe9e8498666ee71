"""LabelEmbedding: neighbours in a space in which instances with the same labels are close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import csr_of_rows, row_blocks
from plurilabel._core.compat import AtLeastOne
from plurilabel._core.fitted import Declared, count, labels, numbers, parameter
from plurilabel.learners.extreme._linear import prepared, ridge
from plurilabel.learners.extreme._sparse_scores_classifier import SparseScoresClassifier
from plurilabel.neighbors import ExactIndex, query_neighbors

ROWS = 2**16  # instances times neighbours that are worked on together


@dataclass(eq=False, repr=False)
class LabelEmbedding(SparseScoresClassifier):
    """Neighbours in a low-dimensional space that is learned from the labels: a baseline.

    The label sets of the training instances are embedded by a truncated singular value
    decomposition, and a ridge regression maps the features to that space. A prediction is the
    share of the nearest training instances there that have a label, each counted by its cosine.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions of the space, at most the smaller of instances and labels.
    n_neighbors : int, default=20
        Number of neighbours; all training instances if there are fewer.
    C : float, default=1.0
        Weight of the squared errors of the regression against the penalty ½|w|².
    normalize : bool, default=True
        Whether instances are scaled to length 1, in single precision.
    n_jobs : int, default=None
        Threads of the neighbour search. The results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the decomposition.

    Attributes
    ----------
    coef_ : ndarray of shape (d + 1, n_components)
        Weights of the regression; the last row is the intercept.
    embedded_ : ndarray of shape (n, n_components)
        The training instances, of length 1.
    Y_ : csr_array of shape (n, q)
        Their labels.
    index_ : ExactIndex
        Over ``embedded_``.
    n_neighbors_ : int

    Notes
    -----
    In the manner of SLEEC, with two simplifications: there is one space for all instances, not one
    for each of many clusters, and the embedding keeps the inner products of the label sets of all
    pairs of instances, not of near ones only. Label sets are scaled to length 1.

    References
    ----------
    K. Bhatia, H. Jain, P. Kar, M. Varma, P. Jain. Sparse local embeddings for extreme multi-label
    classification. NIPS 2015.

    Examples
    --------
    >>> from plurilabel import LabelEmbedding, datasets, metrics
    >>> data = datasets.make_sparse_multilabel(1000, 500, 200, random_state=0)
    >>> learner = LabelEmbedding(random_state=0).fit(data.X[:800], data.Y[:800])
    >>> top = learner.predict_top(data.X[800:], k=5)
    >>> round(metrics.precision_at_k(data.Y[800:], top, 1), 2)
    0.92
    """

    _fitted: ClassVar[Declared] = {
        "normalize_": parameter(),
        "coef_": numbers("n_features_in_+1", "k"),
        "embedded_": numbers("n", "k"),
        "Y_": labels("n", "n_labels_"),
        "n_neighbors_": count(),
    }

    n_components: AtLeastOne = 100
    _: KW_ONLY
    n_neighbors: int = 20
    C: float = 1.0
    normalize: bool = True
    n_jobs: int | None = None
    random_state: Any = None

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        self.normalize_ = self.normalize
        self.Y_ = sparse.csr_array(Y, copy=True)
        n, q = Y.shape
        self.n_neighbors_ = min(self.n_neighbors, n)
        U, s, _ = randomized_svd(
            prepared(self.Y_, unit=True),
            min(self.n_components, n, q),
            random_state=check_random_state(self.random_state),
        )
        X = prepared(X, unit=self.normalize)
        self.coef_ = ridge(X, U * s, self.C)
        self.embedded_ = self._embed(X)
        self.index_ = ExactIndex(n_jobs=self.n_jobs).fit(self.embedded_)

    def _embed(self, X: Any) -> NDArray[np.float64]:
        Z = (X @ self.coef_[:-1]).astype(np.float64) + self.coef_[-1]
        length = np.linalg.norm(Z, axis=1, keepdims=True)
        return Z / np.where(length > 0, length, 1)

    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]:
        X = prepared(X, unit=self.normalize_)
        k, n = self.n_neighbors_, self.Y_.shape[0]
        found = []
        for rows in row_blocks(X.shape[0], k, ROWS):
            part = self._embed(X[rows])
            distances, near = query_neighbors(self.index_, part, k, n)
            cosine = np.maximum(1 - distances**2 / 2, 1e-9)
            cosine /= cosine.sum(axis=1, keepdims=True)
            share = csr_of_rows(cosine.ravel(), near.ravel(), np.full(len(near), k), n)
            # sums of shares may exceed 1 in the last bit
            scores = sparse.csr_array(share @ self.Y_.astype(np.float64))
            scores.data = np.minimum(scores.data, 1)
            found.append(then(scores))
        return found
