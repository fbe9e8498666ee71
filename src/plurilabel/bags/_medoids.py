"""k-medoids of bags, and distances to them as features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from plurilabel._bags import Bags
from plurilabel._compat import Interval, StrOptions
from plurilabel.bags._hausdorff import KINDS, hausdorff_distances

MEDOID_CONSTRAINTS: dict[str, list[Any]] = {
    "n_medoids": [
        Interval(Real, 0, 1, closed="neither"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "distance": [StrOptions(set(KINDS))],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
}


def k_medoids(D: NDArray[np.float64], k: int, random_state: Any = None) -> NDArray[np.intp]:
    """Medoids of k clusters: each goes to its nearest medoid, the most central one becomes medoid.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances.
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
    n = len(D)
    if not 1 <= k <= n:
        raise ValueError(f"k must be between 1 and the {n} items, got {k}")
    medoids = np.sort(check_random_state(random_state).permutation(n)[:k])
    while True:
        nearest = D[:, medoids].argmin(axis=1)
        nearest[medoids] = np.arange(k)  # also where two medoids are equal
        members = np.split(
            np.argsort(nearest, kind="stable"), np.cumsum(np.bincount(nearest))[:-1]
        )
        central = np.array(
            [_most_central(D, inside, medoid) for inside, medoid in zip(members, medoids)]
        )
        if (central == medoids).all():
            return np.sort(medoids)
        medoids = central


def _most_central(D: NDArray[np.float64], inside: NDArray[np.intp], medoid: int) -> int:
    """The member with the smallest sum of distances; the present medoid if none is better."""
    sums = D[np.ix_(inside, inside)].sum(axis=0)
    best = sums.argmin()
    return int(inside[best]) if sums[best] < sums[inside == medoid][0] else int(medoid)


def fit_medoids(
    bags: Bags, n_medoids: float, kind: str, random_state: Any, n_jobs: int | None
) -> tuple[Bags, NDArray[np.float64]]:
    """The medoids of the bags, and the distances of all bags to them (n, k)."""
    n = len(bags)
    k = n_medoids if isinstance(n_medoids, Integral) else max(1, int(n_medoids * n))
    if k > n:
        raise ValueError(f"n_medoids must be at most the {n} training bags, got n_medoids={k}")
    D = hausdorff_distances(bags, kind=kind, n_jobs=n_jobs)
    medoids = k_medoids(D, int(k), random_state)
    return bags[medoids], D[:, medoids]
