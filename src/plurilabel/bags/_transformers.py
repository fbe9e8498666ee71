"""Transformers of bags to rows, so that every learner works on bags, and of their instances."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from plurilabel._core.base import AllOrNothing, validate_features
from plurilabel._core.blocks import csr_of_rows
from plurilabel._core.compat import (
    AtLeastOne,
    Fraction,
    HasMethods,
    Positive,
    StrOptions,
    check_params,
)
from plurilabel._core.data.bags import Bags
from plurilabel._core.fitted import Declared, count, number, numbers, parameter, values
from plurilabel.bags._bag_classifier import validated_bags
from plurilabel.bags._hausdorff import fit_medoids, hausdorff_distances

ROW_KINDS = ("mean", "extremes", "medoids", "embedding")


@dataclass(eq=False, repr=False)
class BagsToRows(AllOrNothing, TransformerMixin, BaseEstimator):
    """Describe each bag by one row of numbers.

    Parameters
    ----------
    kinds : str or sequence of str, default=("mean", "extremes")
        What the row consists of:

        - "mean": the mean of each feature over the instances;
        - "extremes": the minimum and the maximum of each feature;
        - "medoids": the Hausdorff distances to some of the training bags, as in :class:`MIMLSVM`;
        - "embedding": for each of ``n_centers`` typical instances the similarity
          exp(-gamma d^2) of the instance of the bag that is nearest to it.
    n_medoids : float or int, default=0.2
        Medoids, as a share of the training bags or as a number.
    distance : {"average", "max", "min"}, default="average"
        The Hausdorff distance to the medoids.
    n_centers : int, default=100
        Typical instances: k-means centers of the training instances, at most one for each.
    gamma : {"scale"} or float, default="scale"
        "scale" is 1 / (d var), of the training instances.
    random_state : int, RandomState instance or None, default=None
        For medoids and centers.
    n_jobs : int, default=None
        Threads for distances.

    Attributes
    ----------
    medoids_ : Bags
        If there are any.
    centers_ : ndarray of shape (n_centers, d)
        If there are any.
    n_features_in_ : int

    Notes
    -----
    Rows are CSR if the instances are and ``kinds`` are only "mean" and "extremes", else dense.
    The embedding is that of MILES with typical instead of all training instances. k-means may
    break ties differently for sparse instances.

    References
    ----------
    Y. Chen, J. Bi, J. Z. Wang. MILES: multiple-instance learning via embedded instance selection.
    IEEE TPAMI 28(12), 2006.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from plurilabel import BinaryRelevance
    >>> from plurilabel.bags import Bags
    >>> from plurilabel import BagsToRows
    >>> bags = Bags([[[0.0], [0.2]], [[0.2]], [[5.0], [0.1]], [[5.1]], [[4.9], [5.2]], [[0.0]]])
    >>> BagsToRows("extremes").fit_transform(bags)[:3]
    array([[0. , 0.2],
           [0.2, 0.2],
           [0.1, 5. ]])
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [1, 0]]
    >>> learner = make_pipeline(BagsToRows(), BinaryRelevance(LogisticRegression()))
    >>> learner = learner.fit(bags, Y)
    >>> learner.predict([[[0.1]], [[5.0], [5.1]]])
    array([[1, 0],
           [0, 1]])
    """

    _fitted: ClassVar[Declared] = {
        "n_features_in_": count(), "kinds_": values(None), "distance_": parameter(),
        "medoids_": values(None, optional=True),
        "centers_": numbers(None, "n_features_in_", optional=True), "rate_": number(optional=True),
    }  # fmt: skip

    kinds: Annotated[Any, StrOptions(set(ROW_KINDS)), "array-like"] = ("mean", "extremes")
    _: KW_ONLY
    n_medoids: Fraction | AtLeastOne = 0.2
    distance: Literal["max", "average", "min"] = "average"
    n_centers: AtLeastOne = 100
    gamma: Literal["scale"] | Positive = "scale"
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose medoids and centers of the bags X, if ``kinds`` asks for them; y is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Fit and transform the bags, computing their distances to the medoids once."""
        bags, distances = self._fit(X)
        return self._rows(bags, distances)

    def transform(self, X: Any) -> Any:
        """Describe the bags X by rows, a matrix of shape (n, features)."""
        check_is_fitted(self)
        return self._rows(self._bags(X, reset=False), None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Names of the columns: ``mean_x0``, ``min_x0``, ``max_x0``, ``medoid0``, ``center0``."""
        check_is_fitted(self)
        names = {
            "mean": [f"mean_{feature}" for feature in self._features],
            "extremes": [f"{end}_{x}" for end in ("min", "max") for x in self._features],
            "medoids": [f"medoid{j}" for j in range(len(getattr(self, "medoids_", ())))],
            "embedding": [f"center{j}" for j in range(len(getattr(self, "centers_", ())))],
        }
        return np.asarray([name for kind in self.kinds_ for name in names[kind]], dtype=object)

    def _bags(self, X: Any, *, reset: bool) -> Bags:
        bags = validated_bags(self, X, reset=reset)
        if bags is None:
            bags = Bags.from_rows(validate_features(self, X, reset=reset))
        return bags

    def _fit(self, X: Any) -> tuple[Bags, Any]:
        """The bags, and their distances to the medoids if there are any."""
        check_params(self)
        bags = self._bags(X, reset=True)
        self.kinds_ = (self.kinds,) if isinstance(self.kinds, str) else tuple(self.kinds)
        if strange := [kind for kind in self.kinds_ if kind not in ROW_KINDS]:
            raise ValueError(f"kinds must be among {', '.join(ROW_KINDS)}, got {strange[0]!r}")
        if not self.kinds_:
            raise ValueError(f"kinds must name at least one of {', '.join(ROW_KINDS)}, got none")
        names = getattr(self, "feature_names_in_", bags.feature_names)
        self._features = [f"x{j}" for j in range(bags.shape[1])] if names is None else [*names]
        self.distance_, distances = self.distance, None
        if "medoids" in self.kinds_:
            self.medoids_, distances = fit_medoids(bags, self)
        if "embedding" in self.kinds_:
            points = bags.instances
            k = min(self.n_centers, _n_different(points))
            unit = _unit(points)
            points = points / points.dtype.type(unit)
            # differences from one of the points are the same wherever the origin is
            origin = 0.0 if sparse.issparse(points) else points[0]
            moved = points if sparse.issparse(points) else points - origin
            clusters = KMeans(k, n_init=1, random_state=self.random_state).fit(moved)
            self.centers_ = (clusters.cluster_centers_ + origin) * unit
            self.rate_ = self._rate(points, unit)
        return bags, distances

    def _rate(self, points: Any, unit: float) -> float:
        """The root of gamma, given the points in that unit."""
        if self.gamma != "scale":
            return float(np.sqrt(self.gamma))
        values, size = points.data if sparse.issparse(points) else points, np.prod(points.shape)
        mean = values.sum(dtype=np.float64) / size
        # not as a difference of squares, which loses all digits far from the origin
        squares = ((values - mean) ** 2).sum() + (size - values.size) * mean**2
        variance = float(squares / size)
        return float(1 / np.sqrt(points.shape[1] * variance)) / unit if variance > 0 else 1.0

    def _rows(self, bags: Bags, distances: Any) -> Any:
        parts = []
        for kind in self.kinds_:
            if kind == "mean":
                parts.append(_means(bags))
            elif kind == "extremes":
                parts += [_extremes(bags, np.minimum), _extremes(bags, np.maximum)]
            elif kind == "medoids":
                if distances is None:
                    to = self.medoids_, self.distance_
                    distances = hausdorff_distances(bags, *to, n_jobs=self.n_jobs)
                parts.append(distances)
            else:
                # the nearest instance: the distance to a bag of one instance, "min"
                d = hausdorff_distances(bags, self.centers_, "min", n_jobs=self.n_jobs)
                with np.errstate(over="ignore"):  # so far away that it is not similar at all
                    parts.append(np.exp(-((self.rate_ * d) ** 2)))
        if all(sparse.issparse(part) for part in parts):
            return sparse.csr_array(sparse.hstack(parts, format="csr"))
        return np.hstack([p.toarray() if sparse.issparse(p) else p for p in parts])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _unit(points: Any) -> float:
    """A power of two such that squares of points in that unit neither overflow nor vanish."""
    values = points.data if sparse.issparse(points) else points
    exponent = int(np.frexp(max(np.max(values, initial=0), -np.min(values, initial=0)))[1])
    most = np.finfo(values.dtype).maxexp // 3  # of what may be squared and added as it is
    return 1.0 if abs(exponent) <= most else 2.0 ** min(exponent, 3 * most)


def _n_different(points: Any) -> int:
    """Number of different rows."""
    if not sparse.issparse(points):
        return len(np.unique(points, axis=0))
    clean = points.copy()
    clean.sum_duplicates()
    clean.eliminate_zeros()
    rows = [slice(*ends) for ends in pairwise(clean.indptr)]
    return len({(clean.indices[row].tobytes(), clean.data[row].tobytes()) for row in rows})


def _means(bags: Bags) -> Any:
    if sparse.issparse(bags.instances):
        shares = np.repeat(1 / bags.sizes, bags.sizes)
        rows = csr_of_rows(shares, np.arange(len(shares)), bags.sizes, len(shares))
        return sparse.csr_array(rows @ bags.instances)
    sums = np.add.reduceat(bags.instances, bags.offsets[:-1], axis=0)
    return sums / bags.sizes[:, None].astype(sums.dtype)


def _extremes(bags: Bags, end: Any) -> Any:
    X = bags.instances
    if not sparse.issparse(X):
        return end.reduceat(X, bags.offsets[:-1], axis=0)
    # stored entries by bag and feature; what is not stored is 0, and counts unless all are stored
    owner = np.repeat(bags.owner, np.diff(X.indptr))
    order = np.lexsort((X.indices, owner))
    key = owner[order].astype(np.int64) * X.shape[1] + X.indices[order]
    cell, starts, counts = np.unique(key, return_index=True, return_counts=True)
    if not cell.size:
        return sparse.csr_array(bags.shape, dtype=X.dtype)
    row, column = np.divmod(cell, X.shape[1])
    values = end.reduceat(X.data[order], starts)
    values = np.where(counts < bags.sizes[row], end(values, X.dtype.type(0)), values)
    found = sparse.csr_array((values, (row, column)), shape=bags.shape)
    found.eliminate_zeros()
    return found


@dataclass(eq=False, repr=False)
class OnInstances(AllOrNothing, TransformerMixin, BaseEstimator):
    """A transformer of rows, such as a scaler, applied to the instances of bags.

    Parameters
    ----------
    transformer : transformer
        Fitted on all instances of the training bags.

    Attributes
    ----------
    transformer_ : fitted transformer

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from plurilabel.bags import Bags
    >>> from plurilabel import MIMLkNN, OnInstances
    >>> bags = Bags([[[0.0], [10.0]], [[20.0]]])
    >>> OnInstances(MinMaxScaler()).fit_transform(bags)[0]
    array([[0. ],
           [0.5]])
    >>> learner = make_pipeline(OnInstances(MinMaxScaler()), MIMLkNN())
    """

    transformer: Annotated[Any, HasMethods(["fit", "transform"])]

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the transformer on all instances of the bags X, or on a matrix; y is ignored."""
        check_params(self)
        bags = validated_bags(self, X, reset=True)
        if bags is None:
            self._check(X, reset=True)
        self.transformer_ = clone(self.transformer).fit(X if bags is None else bags.instances)
        return self

    def transform(self, X: Any) -> Any:
        """Transform the instances of the bags X, or the rows of a matrix."""
        check_is_fitted(self)
        bags = validated_bags(self, X, reset=False)
        if bags is None:
            self._check(X, reset=False)
            return self.transformer_.transform(X)
        return bags.with_instances(self.transformer_.transform(bags.instances))

    def _check(self, X: Any, *, reset: bool) -> None:
        """The shape of a matrix; the transformer, which gets it as it is, checks the rest."""
        form = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}
        validate_data(self, X, reset=reset, **form)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
