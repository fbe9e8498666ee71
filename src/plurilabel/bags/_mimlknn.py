"""MIML-kNN: labels of the nearest bags and of those that cite the bag."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix, ScoringClassifier
from plurilabel._core.blocks import csr_of_rows, dense, row_blocks
from plurilabel._core.compat import AtLeastOne
from plurilabel._core.data.bags import Bags
from plurilabel._core.fitted import Declared, count, labels, numbers, parameter, values
from plurilabel._core.least_squares import least_squares
from plurilabel.bags._bag_classifier import BagClassifier, as_targets, constants_of, with_constants
from plurilabel.bags._hausdorff import hausdorff_distances

_AT_ONCE = 2**24  # distances between bags that are kept at a time: 128 MB, and copies


@dataclass(eq=False, repr=False)
class MIMLkNN(BagClassifier, ScoringClassifier):
    """The labels of the nearest bags, and of the bags that have this one among their nearest.

    The references of a bag are its r nearest training bags; its citers are the training bags to
    which it is among the c nearest. For each label the references and the citers that have it are
    counted, and scores are linear in the counts of all labels, fitted by least squares.

    Parameters
    ----------
    n_neighbors : int, default=10
        References (r).
    n_citers : int, default=20
        How near a bag must be to be cited (c).
    distance : {"average", "max", "min"}, default="average"
        The Hausdorff distance, see :func:`hausdorff_distances`.
    n_jobs : int, default=None
        Threads for the distances. The result does not depend on it.

    Attributes
    ----------
    bags_ : Bags
        The training bags.
    Y_ : csr_array of shape (n, q)
    radius_ : ndarray of shape (n,)
        The distance from each training bag to its c-th nearest.
    coef_ : ndarray of shape (q, q)
        Row j is the weight of the count of label j for each label.

    Notes
    -----
    A bag that is a reference and a citer counts twice, as in the authors' program; counting it
    once, as a union of sets would, is worse on the image bags (average precision .773 instead of
    .779, four random hold-outs of a third). The first of training bags at the same distance is the
    nearer one, and no training bag is its own reference or citer.

    References
    ----------
    M.-L. Zhang. A k-nearest neighbor based multi-instance multi-label learning algorithm.
    ICTAI 2010.

    Examples
    --------
    >>> from plurilabel.bags import Bags
    >>> from plurilabel import MIMLkNN
    >>> bags = Bags([[[0.0], [0.1]], [[0.2]], [[5.0], [0.1]], [[5.1]], [[4.9], [5.2]], [[0.0]]])
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 0]]
    >>> learner = MIMLkNN(n_neighbors=2, n_citers=2).fit(bags, Y)
    >>> learner.predict([[[0.1]], [[5.0], [5.1]]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted: ClassVar[Declared] = {
        "bags_": values("n"), "distance_": parameter(), "Y_": labels("n", "n_labels_"),
        "radius_": numbers("n", finite=False), "n_neighbors_": count(below="n"),
        "coef_": numbers("n_labels_", "n_labels_"), "constant_": numbers("n_labels_"),
    }  # fmt: skip

    n_neighbors: int = 10
    _: KW_ONLY
    n_citers: AtLeastOne = 20
    distance: Literal["max", "average", "min"] = "average"
    n_jobs: int | None = None

    def _fit(self, X: Bags, Y: LabelMatrix) -> None:
        n, r, c = len(X), self.n_neighbors, self.n_citers
        for name, k in (("n_neighbors", r), ("n_citers", c)):
            if k >= n:
                raise ValueError(f"{name} must be smaller than n_samples = {n}, got {k}")
        self.n_neighbors_, self.distance_ = r, self.distance
        self.bags_, self.Y_ = deepcopy(X), sparse.csr_array(Y, dtype=np.float64)
        nearest = np.empty((n, max(r, c)), dtype=np.intp)
        self.radius_ = np.empty(n)
        for rows in row_blocks(n, n, _AT_ONCE):
            asked = X if rows == slice(0, n) else X[rows]
            D = _tidy(hausdorff_distances(asked, X, self.distance, n_jobs=self.n_jobs))
            own = np.arange(rows.start, rows.stop)
            D[own - rows.start, own] = np.inf
            found = _nearest(D, max(r, c))
            nearest[rows] = found
            self.radius_[rows] = D[own - rows.start, found[:, c - 1]]
        references, cited = (_links(nearest[:, :k], n) for k in (r, c))
        delta = dense((references + cited.T) @ self.Y_)  # (n, q)
        self.coef_ = least_squares(delta, as_targets(Y))
        self.constant_ = constants_of(Y)

    def _scores(self, X: Bags) -> NDArray[np.float64]:
        n = len(self.bags_)
        scores = np.empty((len(X), self.n_labels_))
        for rows in row_blocks(len(X), n, _AT_ONCE):
            D = hausdorff_distances(X[rows], self.bags_, self.distance_, n_jobs=self.n_jobs)
            D = _tidy(D)
            references = _links(_nearest(D, self.n_neighbors_), n)
            # a bag that is as far as the c-th nearest comes after it; the last digits do not count
            citers = sparse.csr_array(self.radius_ * (1 - 1e-9) > D, dtype=np.float64)
            scores[rows] = dense((references + citers) @ self.Y_) @ self.coef_
        return with_constants(scores, self.constant_)


def _tidy(D: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances to ten digits: what differs by rounding is equal, and the first comes first."""
    digits, power = np.frexp(D)
    return np.ldexp(np.rint(digits * 2.0**33), power - 33)


def _nearest(D: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The k smallest of each row, equal ones by their number."""
    if k >= D.shape[1]:
        return np.argsort(D, axis=1, kind="stable")[:, :k]
    bound = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    row, column = np.nonzero(bound >= D)  # k, or more where some are equal to the last
    order = np.lexsort((column, D[row, column], row))
    starts = np.searchsorted(row, np.arange(len(D)))
    return column[order][starts[:, None] + np.arange(k)]


def _links(nearest: NDArray[np.intp], n: int) -> sparse.csr_array:
    """1 for each of the nearest, (rows, n)."""
    rows, k = nearest.shape
    return csr_of_rows(np.ones(nearest.size), nearest.ravel(), np.full(rows, k), n)
