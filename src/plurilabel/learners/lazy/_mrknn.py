"""Mr.KNN: neighbours vote with a soft relevance of each of their labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import Interval, NotNegative
from plurilabel._core.fitted import Declared, numbers
from plurilabel.learners.lazy._lazy_classifier import LazyClassifier
from plurilabel.learners.lazy._neighbor_labels import CELLS, Floats, NeighborLabels, Rows


@dataclass(eq=False, repr=False)
class MrkNN(LazyClassifier):
    """k nearest neighbours vote with the soft relevance of each of their labels.

    Not all labels of an instance are equally relevant. A step like fuzzy c-means, in which each
    label has a center and an instance may only belong to the labels that it has, estimates the
    relevance of each label of each training instance. The score of a label is the mean of the
    neighbours' relevances, weighted by ``1 / distance ** power``.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours that vote.
    fuzziness : float, default=4.0
        m of fuzzy c-means, above 1. Near 1 an instance belongs to the label with the nearest
        center only; as it grows, all its labels become equally relevant.
    power : float, default=2.0
        Power of the distance in the weights of the neighbours; 0 for equal weights.
    max_iter : int, default=100
        Maximum number of steps of the relevances.
    tol : float, default=1e-4
        The steps end when no membership changes by more.
    metric, index, n_jobs, device :
        As in :class:`MLkNN`. Centers are means, and distances from them are always Euclidean.

    Attributes
    ----------
    relevance_ : matrix of shape (n, q), CSR if the labels given to ``fit`` were sparse
        Relevance of each label of each training instance: 1 for the most relevant label of an
        instance, less for its others, 0 for labels that it does not have. A label that all
        instances have has relevance 1.
    centers_ : array or CSR matrix of shape (q, d)
        Centers of the labels.
    n_iter_ : int
        Number of steps of the relevances.

    Notes
    -----
    The step minimises the sum of ``u_il ** m * ||x_i - c_l|| ** 2`` over memberships u and centers
    c, where the memberships of an instance sum to 1 over its labels. Memberships that sum to 1
    cannot all be above one half, so that labels could never be predicted together; the relevance
    of a label is therefore its membership divided by the largest of the instance. Labels may be
    unknown: an instance then belongs to the labels that it is known to have, and the k nearest
    neighbours that know a label vote on it. With soft labels p, memberships are proportional to p,
    an instance counts ``p * (max(p) * u / p) ** m`` for a center, and its largest relevance is
    its largest p.

    The scaling is our own reading: only the abstract of the paper and citations were available.

    On Emotions, Yeast and Scene, soft relevances do not help (``fuzziness=1e6`` makes them equal),
    distance weights do.

    References
    ----------
    X. Lin, X. Chen. Mr.KNN: soft relevance for multi-label classification. CIKM 2010.

    Examples
    --------
    >>> from plurilabel import MrkNN
    >>> X = [[0.0], [0.1], [0.4], [1.0], [1.1]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]]
    >>> learner = MrkNN(n_neighbors=2).fit(X, Y)
    >>> learner.relevance_[2].round(2)  # nearer to the instances with the first label
    array([1.  , 0.64])
    >>> learner.predict([[0.0], [1.2]])
    array([[1, 0],
           [0, 1]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fuzziness": [Interval(Real, 1, None, closed="neither")],
    }
    _fitted: ClassVar[Declared] = {
        "relevance_": numbers("n", "n_labels_"),
        "centers_": numbers("n_labels_", "n_features_in_"),
    }

    n_neighbors: int = 20
    _: KW_ONLY
    fuzziness: float = 4.0
    power: NotNegative = 2.0
    max_iter: int = 100
    tol: float = 1e-4

    def _learn_points(self) -> None:
        self._check_features("fit")  # centers are means of features
        m, max_iter, tol = (self.fitted_params_[k] for k in ("fuzziness", "max_iter", "tol"))
        relevance, self.centers_, self.n_iter_ = soft_relevance(
            self.X_, self.Y_, m, max_iter=max_iter, tol=tol, unknown=self.unknown_
        )
        self.relevance_ = relevance if self.sparse_output_ else relevance.toarray()

    def _shares(self, distances: Floats, neighbors: Rows) -> Any:
        """Scores (n, q), CSR for sparse labels."""
        power = self.fitted_params_["power"]
        relevance = NeighborLabels(self.relevance_, self.unknown_, self.n_neighbors_, power)
        return relevance.shares(distances, neighbors)

    def _from_neighbors(self, X: Any, distances: Floats, neighbors: Rows) -> Floats:  # noqa: ARG002
        return np.minimum(dense(self._shares(distances, neighbors)), 1.0)

    def _predict(self, X: Any) -> Any:
        return self._shares(*self._neighbors(X)) > self._cut  # labels without a vote are below it


def soft_relevance(
    X: Any, Y: LabelMatrix, m: float, *, max_iter: int, tol: float, unknown: Any = None
) -> tuple[sparse.csr_array, Any, int]:
    """Relevance of each label to each instance that has it, centers, and number of steps."""
    Y = sparse.csr_array(Y).astype(np.float64)
    known = Y.shape[0] - (0 if unknown is None else np.asarray(unknown.sum(axis=0)).ravel())
    usual = np.asarray(Y.sum(axis=0)).ravel() == known
    always, Y = (sparse.csr_array(Y.multiply(which)) for which in (usual, ~usual))
    for labels in (always, Y):
        labels.eliminate_zeros()
        labels.sort_indices()
    some = np.flatnonzero(np.diff(Y.indptr))  # instances with a label
    starts, sizes = Y.indptr[some], np.diff(Y.indptr)[some]
    X = (sparse.csr_array(X) if sparse.issparse(X) else X).astype(np.float64)
    # memberships do not depend on the unit of the features, but squares may vanish or overflow
    scale = float(abs(X).max()) or 1.0
    X = X / scale
    p = Y.data  # 1, or less for soft labels
    most = np.repeat(np.maximum.reduceat(p, starts), sizes) if len(p) else p
    u = p / np.repeat(np.add.reduceat(p, starts), sizes) if len(p) else p
    steps, change = 0, np.inf
    while True:
        weight = sparse.csr_array((p * (most * u / p) ** m, Y.indices, Y.indptr), Y.shape)
        centers = _centers(X, always + weight)
        if steps == max_iter or change <= tol or len(u) == 0:
            break
        square = _squared_distances(X, centers, Y)
        least = np.repeat(np.minimum.reduceat(square, starts), sizes)
        share = np.where(least > 0, least / np.where(square > 0, square, 1.0), square == 0)
        share = p * share ** (1 / (m - 1))
        before, u = u, share / np.repeat(np.add.reduceat(share, starts), sizes)
        steps, change = steps + 1, float(np.abs(u - before).max())
    if len(u):
        u = most * (u / np.repeat(np.maximum.reduceat(u, starts), sizes))
    relevance = always + sparse.csr_array((u, Y.indices, Y.indptr), Y.shape)
    return relevance, centers * scale, steps


def _centers(X: Any, weights: sparse.csr_array) -> Any:
    """Weighted means of the instances with each label, (q, d); zeros for a label without any."""
    total = np.asarray(weights.sum(axis=0)).ravel()
    scaled = weights.T.multiply(1 / np.where(total > 0, total, 1.0)[:, None])
    sums = sparse.csr_array(scaled) @ X
    return sparse.csr_array(sums) if sparse.issparse(sums) else sums


def _squared_distances(X: Any, centers: Any, Y: sparse.csr_array) -> Floats:
    """From each instance to the center of each of its labels, in the order of Y's entries."""
    square = np.empty(Y.nnz)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    for part in row_blocks(Y.nnz, X.shape[1], CELLS):
        away = X[rows[part]] - centers[Y.indices[part]]
        squares = away.multiply(away) if sparse.issparse(away) else away * away
        square[part] = np.asarray(squares.sum(axis=1)).ravel()
    return square
