"""Hausdorff distances between bags, in blocks, and medoids by these."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_random_state

from plurilabel._core.blocks import ranges, refuse_masked, row_blocks, squared_norms
from plurilabel._core.data.bags import Bags, as_bags
from plurilabel._core.medoids import k_medoids as _k_medoids
from plurilabel.neighbors import Formula

KINDS: dict[str, tuple[float, np.ufunc]] = {  # where to start, and how to combine
    "max": (0.0, np.maximum),
    "average": (0.0, np.add),
    "min": (np.inf, np.minimum),
}
EUCLIDEAN = Formula()
ACCURACY = 1e-11  # of squared distances
UNIT = 2.0**-53  # largest relative rounding error of one float64 operation
_AT_ONCE = 2**17  # distances held at a time: they stay in the cache of one core
MOST = 1e300  # the largest entry of instances
ALL_PAIRS = 5000  # bags up to which all distances are kept, 200 MB; beyond, they are recomputed
MOST_ROUNDS = 1000


def hausdorff_distances(
    A: Any, B: Any = None, kind: str = "max", *, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Hausdorff distances between bags, from the Euclidean distances d of their instances.

    Parameters
    ----------
    A : Bags, or what :class:`Bags` takes, or a matrix whose rows are bags of one instance
    B : the same, optional
        By default the bags of A.
    kind : {"max", "average", "min"}, default="max"
        With h(a, B) the distance from an instance to the nearest instance of a bag:

        - "max": the largest of all h(a, B) and h(b, A);
        - "average": their mean, over the instances of both bags;
        - "min": the smallest, which is the distance of the nearest two instances.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    ndarray of shape (len(A), len(B))

    Notes
    -----
    Distances of instances are accurate to eleven digits, for dense and sparse bags and any
    origin: squares come from matrix products if these are certainly accurate enough, and from
    differences otherwise, as in :class:`~plurilabel.ExactIndex`.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multi-instance clustering with applications to multi-instance
    prediction. Applied Intelligence 31(1), 2009 ("average").

    Examples
    --------
    >>> from plurilabel.bags import Bags, hausdorff_distances
    >>> bags = Bags([[[0.0], [1.0]], [[4.0]]])
    >>> for kind in ("max", "average", "min"):
    ...     print(kind, hausdorff_distances(bags, kind=kind)[0, 1].round(3))
    max 4.0
    average 3.333
    min 3.0
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    itself = B is None or B is A
    A = as_bags(A)
    B = A if itself else as_bags(B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"A has {A.shape[1]} features, but B has {B.shape[1]}")
    a, b, unit = _points(A, B)
    if unit > MOST:
        raise ValueError(f"instances must be at most {MOST:g} in size: scale the features first")
    there = unit * _directed(A, a, B, b, kind, n_jobs)  # (n, m)
    if kind == "min":
        return there
    back = there.T if itself else unit * _directed(B, b, A, a, kind, n_jobs).T
    if kind == "max":
        return np.maximum(there, back)
    return (there + back) / (A.sizes[:, None] + B.sizes)


def _points(A: Bags, B: Bags) -> tuple[Any, Any, float]:
    """Instances of both, in a unit in which squares neither overflow nor vanish."""
    thin = sparse.issparse(A.instances) or sparse.issparse(B.instances)
    matrix: Any = sparse.csr_array if thin else np.asarray
    points = [matrix(bags.instances, dtype=np.float64) for bags in (A, B)]
    largest = max(float(abs(one).max()) for one in points)
    unit = 1.0
    if largest > 0 and not 1e-100 < largest < 1e100:
        unit = 2.0 ** np.floor(np.log2(largest))  # a power of two, which does not round
        points = [one / unit for one in points]
    return points[0], points[1], unit


def _directed(A: Bags, a: Any, B: Bags, b: Any, kind: str, n_jobs: Any) -> NDArray[np.float64]:
    """The largest, the sum or the smallest of d(a, B) over the instances a of each bag of A."""
    # Sort the bags of B by size, largest first: the bags with a j-th instance come first, so that
    # comparing whole matrices finds the nearest instance.
    order = np.argsort(-B.sizes, kind="stable")
    sizes = B.sizes[order]
    width = [int(np.count_nonzero(sizes > j)) for j in range(sizes[0])]
    layers = [B.offsets[order[:w]] + j for j, w in enumerate(width)]
    rough = _Rough(a, b, layers)
    owner, n, m = A.owner, len(A), len(B)
    start, combine = KINDS[kind]
    # in blocks of whole bags, as far as they fit: threads never write to the same row
    bags_at_once = max(1, int(_AT_ONCE / m / A.sizes.mean()))
    found = np.full((n, m), start)

    def fill(bags: slice) -> None:
        first, last = A.offsets[bags.start], A.offsets[bags.stop]
        for rows in row_blocks(last - first, m, max(_AT_ONCE, m)):
            at = slice(first + rows.start, first + rows.stop)
            squares, lost = rough.nearest(at)
            nearest = np.sqrt(np.maximum(squares, 0.0))
            i, bag = np.nonzero(lost)
            nearest[i, bag] = _exact(a, first + rows.start + i, b, B, order[bag])
            inside, starts = np.unique(owner[at], return_index=True)
            found[inside] = combine(found[inside], combine.reduceat(nearest, starts, axis=0))

    Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(fill)(bags) for bags in row_blocks(n, 1, bags_at_once)
    )
    result = np.empty_like(found)
    result[:, order] = found
    return result


def _exact(a: Any, rows: NDArray[Any], b: Any, B: Bags, bags: NDArray[Any]) -> NDArray[np.float64]:
    """Distance from instances to the nearest one of a bag each, by differences."""
    if not len(rows):
        return np.zeros(0)
    sizes = B.sizes[bags]
    pairs = EUCLIDEAN.pairs(a, np.repeat(rows, sizes), b, ranges(B.offsets[bags], sizes))
    return np.minimum.reduceat(pairs, np.cumsum(sizes) - sizes)


class _Rough:
    """Squared distances of instances by products, and where these lack digits."""

    def __init__(self, a: Any, b: Any, layers: list[NDArray[np.intp]]):
        self.thin = sparse.issparse(b)
        if self.thin:
            terms = max(int(np.diff(one.indptr).max()) for one in (a, b))
        else:  # less is lost when norms cancel
            terms, center = a.shape[1], b.mean(axis=0)
            a, b = a - center, b - center
        self.own, norms = squared_norms(a), squared_norms(b)
        # products and sums of so many terms; twice that to be safe, and what underflows
        share = (8 * terms + 64) * UNIT
        self.least = share / ACCURACY * (self.own + norms.max()) + 1e-280
        if self.thin:
            self.a, self.layers = a, [(b[at].T, norms[at]) for at in layers]
        else:  # -2ab + |a|^2 + |b|^2 as one product
            self.a = np.column_stack([a, self.own, np.ones(len(a))])
            b = np.column_stack([-2 * b, np.ones(len(b)), norms])
            self.layers = [(b[at].T, norms[at]) for at in layers]

    def nearest(self, at: slice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Squares (r, m) from instances to the nearest one of each bag; which lack digits."""
        a, own = self.a[at], self.own[at, None]
        if self.thin:
            products = (own - 2 * (a @ b).toarray() + norms for b, norms in self.layers)
        else:
            products = (a @ b for b, _ in self.layers)
        nearest = next(products)
        for further in products:
            head = nearest[:, : further.shape[1]]
            np.minimum(head, further, out=head)
        return nearest, nearest < self.least[at, None]


def k_medoids(D: ArrayLike, k: int, random_state: Any = None) -> NDArray[np.intp]:
    """Medoids of k clusters: each goes to its nearest medoid, the most central one becomes medoid.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances; NaN is refused.
    k : int
        Clusters, at most n.
    random_state : int, RandomState instance or None
        The first medoids are drawn at random. Then both steps alternate until nothing changes;
        neither raises the sum of the distances to the nearest medoid.

    Returns
    -------
    ndarray of shape (k,)
        The medoids, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.bags import k_medoids
    >>> x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    >>> k_medoids(np.abs(x - x[:, None]), 2, random_state=0)
    array([1, 4])
    """
    refuse_masked(D, "D")
    checked = check_array(D, dtype=np.float64, ensure_all_finite=False, input_name="D")
    n = len(checked)
    if checked.shape != (n, n):
        raise ValueError(f"D must have as many columns as rows, got the shape {checked.shape}")
    if not isinstance(k, Integral) or not 1 <= k <= n:
        raise ValueError(f"k must be between 1 and the {n} items, got {k!r}")
    return _found_medoids(lambda i, j: checked[np.ix_(i, j)], n, int(k), random_state)


def _found_medoids(distances: Any, n: int, k: int, random_state: Any) -> NDArray[np.intp]:
    first = np.sort(check_random_state(random_state).permutation(n)[:k])
    return np.sort(_k_medoids(distances, first, n, MOST_ROUNDS)[0])


def fit_medoids(bags: Bags, learner: Any) -> tuple[Bags, NDArray[np.float64]]:
    """Medoids by the parameters of a learner, and the distances of all bags to them (n, k)."""
    n, k = len(bags), learner.n_medoids
    kind, random_state, n_jobs = learner.distance, learner.random_state, learner.n_jobs
    k = int(k) if isinstance(k, Integral) else max(1, int(k * n))
    if k > n:
        raise ValueError(f"n_medoids must be at most the {n} training bags, got n_medoids={k}")
    if n <= ALL_PAIRS:
        D = hausdorff_distances(bags, kind=kind, n_jobs=n_jobs)
        medoids = k_medoids(D, int(k), random_state)
        return bags[medoids], D[:, medoids]

    def distances(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
        return hausdorff_distances(bags[rows], bags[columns], kind, n_jobs=n_jobs)

    medoids = _found_medoids(distances, n, int(k), random_state)
    return bags[medoids], distances(np.arange(n), medoids)
