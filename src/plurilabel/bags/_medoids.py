"""k-medoids of bags, and distances to them as features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from plurilabel._core.blocks import refuse_masked
from plurilabel._core.compat import Interval, StrOptions
from plurilabel._core.data.bags import Bags
from plurilabel._core.medoids import k_medoids as _k_medoids
from plurilabel.bags._hausdorff import KINDS, hausdorff_distances

ALL_PAIRS = 5000
"""Up to so many bags all distances are kept, 200 megabytes; beyond, they are asked for again."""

MOST_ROUNDS = 1000

MEDOID_CONSTRAINTS: dict[str, list[Any]] = {
    "n_medoids": [
        Interval(Real, 0, 1, closed="neither"),
        Interval(Integral, 1, None, closed="left"),
    ],
    "distance": [StrOptions(set(KINDS))],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
}


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
    first = _drawn(n, int(k), random_state)
    return np.sort(_k_medoids(lambda i, j: checked[np.ix_(i, j)], first, n, MOST_ROUNDS)[0])


def _drawn(n: int, k: int, random_state: Any) -> NDArray[np.intp]:
    return np.sort(check_random_state(random_state).permutation(n)[:k])


def fit_medoids(
    bags: Bags, n_medoids: float, kind: str, random_state: Any, n_jobs: int | None
) -> tuple[Bags, NDArray[np.float64]]:
    """The medoids of the bags, and the distances of all bags to them (n, k)."""
    n = len(bags)
    k = n_medoids if isinstance(n_medoids, Integral) else max(1, int(n_medoids * n))
    if k > n:
        raise ValueError(f"n_medoids must be at most the {n} training bags, got n_medoids={k}")
    if n <= ALL_PAIRS:
        D = hausdorff_distances(bags, kind=kind, n_jobs=n_jobs)
        medoids = k_medoids(D, int(k), random_state)
        return bags[medoids], D[:, medoids]

    def distances(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
        return hausdorff_distances(bags[rows], bags[columns], kind, n_jobs=n_jobs)

    medoids = np.sort(_k_medoids(distances, _drawn(n, int(k), random_state), n, MOST_ROUNDS)[0])
    return bags[medoids], distances(np.arange(n), medoids)
