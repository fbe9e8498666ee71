"""INSDIF: each instance becomes the bag of its differences from the labels' prototypes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from plurilabel._core.base import LabelMatrix, ScoringClassifier
from plurilabel._core.blocks import dense, row_blocks, squared_norms
from plurilabel._core.compat import AtLeastOne, Part
from plurilabel._core.explanation.contributions import SCORE, Given, Parts
from plurilabel._core.fitted import Declared, number, numbers, places
from plurilabel._core.least_squares import least_squares
from plurilabel._core.limits import check_size
from plurilabel._core.medoids import k_medoids

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.intp]

CELLS = 1 << 18  # distances computed at a time: small enough for the cache


@dataclass(eq=False, repr=False)
class INSDIF(ScoringClassifier):
    """Instance differentiation: bags of differences from the prototypes of the labels.

    The prototype v_l of a label is the mean of the instances that have it. An instance x becomes
    the bag of differences {x - v_1, ..., x - v_q}. The training bags are clustered by k-medoids
    under the Hausdorff distance, and the distances of a bag to all medoids are the inputs of a
    linear layer, fitted by least squares to targets of 1 and -1.

    Parameters
    ----------
    n_medoids : float or int, default=0.2
        Number of medoids, or their fraction of the training instances (a fifth in the paper).
    max_iter : int, default=100
        Maximum number of rounds of k-medoids; three to ten are usual.
    random_state : int, RandomState instance or None, default=None
        For the first medoids.

    Attributes
    ----------
    prototypes_ : ndarray of shape (p, d)
        Mean of the instances with each label that some instance has.
    medoids_ : ndarray of shape (m,)
        Rows of the training instances whose bags are medoids.
    medoid_instances_ : array or CSR matrix of shape (m, d)
        Their features.
    coef_ : ndarray of shape (q, m)
        The linear layer.
    n_iter_ : int
        Number of rounds of k-medoids.

    Notes
    -----
    Members of two bags differ by (x - z) - (v_l - v_m), so that all q x q distances of the bags
    follow from ||x - z||, the products of x and z with the prototypes, and the distances between
    prototypes. A pair of bags costs q**2 operations for any number of features; no bag is ever
    formed, and X may be sparse.

    Labels that all or no training instances have get the constant score 1 or -1.

    Scaling all features by one number changes nothing; standardise features of different units.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multi-label learning by instance differentiation. AAAI 2007.

    Examples
    --------
    >>> from plurilabel import INSDIF, datasets, metrics, model_selection
    >>> data = datasets.load("digits")
    >>> X_train, X_test, Y_train, Y_test = model_selection.stratified_split(
    ...     data.X, data.Y, sizes=(0.7, 0.3), random_state=0)
    >>> learner = INSDIF(random_state=0).fit(X_train, Y_train)
    >>> round(metrics.f1(Y_test, learner.predict(X_test)), 2)
    0.98
    """

    _fitted: ClassVar[Declared] = {
        "scale_": number(), "center_": numbers("n_features_in_", optional=True),
        "prototypes_": numbers(None, "n_features_in_"), "medoids_": places("m", below=None),
        "medoid_instances_": numbers("m", "n_features_in_"), "coef_": numbers("n_labels_", "m"),
        "constant_": numbers("n_labels_"),
    }  # fmt: skip

    n_medoids: Part | AtLeastOne = 0.2
    _: KW_ONLY
    max_iter: int = 100
    random_state: Any = None

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        n = X.shape[0]
        Y = dense(Y)
        # distances do not depend on origin or unit, but their rounding errors do
        self.scale_, self.center_ = float(abs(X).max()) or 1.0, None
        if not sparse.issparse(X):
            self.center_ = self._framed(X).mean(axis=0)
        given, X = X, self._framed(X)
        origin = 0.0 if self.center_ is None else self.center_
        count = Y.sum(axis=0)
        means = np.zeros((1, X.shape[1]))  # if no instance has a label
        if (seen := count > 0).any():
            means = dense(X.T @ Y[:, seen].astype(np.float64)).T / count[seen, None]
        self.prototypes_ = (means + origin) * self.scale_
        bags = _Bags.of(X, self._framed(self.prototypes_))
        integral = isinstance(self.n_medoids, Integral)
        m = int(self.n_medoids) if integral else max(1, round(self.n_medoids * n))
        sizes = f"{n:,} instances and {m:,} medoids"
        check_size(self, sizes, memory=24.0 * n * m, instead="a smaller n_medoids")
        if m > n:
            raise ValueError(f"n_medoids must be at most n_samples={n}, got {m}")
        first = check_random_state(self.random_state).choice(n, m, replace=False)
        self.medoids_, self.n_iter_ = k_medoids(bags.distances, np.sort(first), n, self.max_iter)
        self.medoid_instances_ = given[self.medoids_]
        Z = bags.distances(np.arange(n), self.medoids_)
        share = Y.mean(axis=0)
        self.constant_ = np.where(share == 1, 1.0, np.where(share == 0, -1.0, 0.0))
        coef = least_squares(Z, 2.0 * Y - 1.0)
        self.coef_ = np.where(self.constant_ == 0, coef, 0.0).T

    def _scores(self, X: Any) -> Floats:
        medoids = _Bags.of(self._framed(self.medoid_instances_), self._framed(self.prototypes_))
        queries = _Bags.of(self._framed(X), medoids.prototypes)
        scores = np.empty((X.shape[0], self.n_labels_))
        for rows in row_blocks(X.shape[0], len(self.medoids_), CELLS):
            scores[rows] = hausdorff(queries.part(rows), medoids) @ self.coef_.T
        return scores + self.constant_

    def _parts(self, x: Any, given: Given) -> Parts:
        del given  # the layer sees distances, not features
        medoids = _Bags.of(self._framed(self.medoid_instances_), self._framed(self.prototypes_))
        distances = hausdorff(_Bags.of(self._framed(x), medoids.prototypes), medoids)[0]
        names = [f"distance to training row {i}" for i in self.medoids_]
        values = distances[:, np.newaxis] * self.coef_.T
        return Parts(names, values, self.constant_.copy(), (SCORE,) * self.n_labels_)

    def _framed(self, X: Any) -> Any:
        """X scaled and, unless the training set was sparse, centred."""
        # one memory layout, so that sums are rounded alike
        X = sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X)
        X = X.astype(np.float64) / self.scale_
        return X if self.center_ is None else dense(X) - self.center_


@dataclass(frozen=True, eq=False)
class _Bags:
    """Bags of differences, represented by what their distances depend on."""

    X: Any
    prototypes: Floats
    products: Floats  # of the instances with the prototypes
    apart: Floats  # squared distances between prototypes, the same for all pairs of bags

    @classmethod
    def of(cls, X: Any, prototypes: Floats) -> _Bags:
        products = np.asarray(X @ prototypes.T, dtype=np.float64)
        return cls(X, prototypes, products, pairwise_distances(prototypes, metric="sqeuclidean"))

    def part(self, rows: Any) -> _Bags:
        """Some of the bags."""
        return replace(self, X=self.X[rows], products=self.products[rows])

    def distances(self, rows: Rows, columns: Rows) -> Floats:
        """Hausdorff distances between bags, by their numbers."""
        others = self.part(columns)
        result = np.empty((len(rows), len(columns)))
        for block in row_blocks(len(rows), len(columns), CELLS):
            result[block] = hausdorff(self.part(rows[block]), others)
        return result


def hausdorff(bags: _Bags, others: _Bags) -> Floats:
    """Maximal Hausdorff distance of each bag to each other bag."""
    # With a_l = <x - z, v_l>, the squared distance of member l of x to member m of z is
    # ||x - z||^2 + ||v_l - v_m||^2 - 2 a_l + 2 a_m.
    apart, q = bags.apart, bags.products.shape[1]
    norms = squared_norms(bags.X)[:, None] + squared_norms(others.X)
    square = norms - 2 * dense(bags.X @ others.X.T)
    a = 2 * (bags.products.T[:, :, None] - others.products.T[:, None, :])  # (q, n, m)
    most = np.full(square.shape, -np.inf)
    for l in range(q):
        there = np.minimum.reduce([apart[l, m] + a[m] for m in range(q)]) - a[l]
        back = np.minimum.reduce([apart[l, m] - a[m] for m in range(q)]) + a[l]
        np.maximum(most, np.maximum(there, back), out=most)
    square += most
    # a square that is only rounding is 0, so that its root is not much larger
    rounding = 1e-14 * (norms + squared_norms(bags.prototypes).max())
    return np.sqrt(np.where(square > rounding, square, 0.0))
