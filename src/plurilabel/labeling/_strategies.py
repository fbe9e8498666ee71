"""Which rows to label next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from plurilabel._core.blocks import dense
from plurilabel._core.scores import check_count
from plurilabel.neighbors import ExactIndex

STRATEGIES = ("mix", "uncertainty", "density", "budget", "diverse", "spread", "random")
"""Names that :func:`query` takes."""
APART = 0.5  # distance of rows of length 1 from which on they are no near-copies

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]


def uncertainty(probabilities: ArrayLike) -> Floats:
    """Closeness of the probabilities (n, q) to one half, averaged over the labels: in [0, 1].

    Examples
    --------
    >>> from plurilabel.labeling import uncertainty
    >>> uncertainty([[0.5, 0.5], [0.9, 0.5], [1.0, 0.0]]).round(2)
    array([1. , 0.6, 0. ])
    """
    return (1 - np.abs(2 * _probabilities(probabilities) - 1)).mean(axis=1)


def density(X: Any, *, n_neighbors: int = 10) -> Floats:
    """Closeness of each encoded row (dense or CSR) to its nearest neighbors: in (0, 1].

    It is 1 / (1 + d / m), where d is the mean distance of a row from its neighbors and m the
    median of d over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.labeling import density
    >>> density(np.array([[0.0], [0.1], [0.2], [9.0]]), n_neighbors=2).round(2)
    array([0.5 , 0.6 , 0.5 , 0.02])
    """
    n = X.shape[0]
    check_count(n_neighbors, "n_neighbors")
    if n < 3:
        return np.ones(n)
    near, _ = ExactIndex().fit(X).kneighbors(None, n_neighbors=min(n_neighbors, n - 1))
    distance = near.mean(axis=1)
    return 1 / (1 + distance / (float(np.median(distance)) or 1.0))


def label_need(probabilities: ArrayLike, n_positive: ArrayLike, *, target: int = 20) -> Floats:
    """Expected worth of each row for the labels with few positive rows so far.

    Parameters
    ----------
    probabilities : array-like of shape (n, q)
    n_positive : array-like of shape (q,)
        Number of labeled rows that have each label.
    target : int, default=20
        Number of positive rows from which on a label needs no more.

    Returns
    -------
    ndarray of shape (n,)
        One minus the product of 1 - p_l max(0, 1 - n_l / target) over the labels.

    Examples
    --------
    >>> from plurilabel.labeling import label_need
    >>> label_need([[0.9, 0.1], [0.1, 0.9]], [40, 0]).round(2)
    array([0.1, 0.9])
    """
    check_count(target, "target")
    p = _probabilities(probabilities)
    counts = np.asarray(n_positive, dtype=np.float64)
    if counts.shape != (p.shape[1],):
        raise ValueError(f"n_positive must have shape ({p.shape[1]},), got {counts.shape}")
    need = np.clip(1 - counts / target, 0, 1)
    return 1 - np.prod(1 - p * need, axis=1)


def spread(X: Any, n: int, *, random_state: int | np.random.RandomState | None = None) -> Indices:
    """Rows spread over the data, to begin labeling with: the seeds of k-means++.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, d)
        The encoded rows; scaled to length 1 here.
    n : int
        Number of rows; all rows if there are fewer.
    random_state : int, RandomState or None, default=None

    References
    ----------
    D. Arthur, S. Vassilvitskii. k-means++: the advantages of careful seeding. SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.labeling import spread
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [50, 3, 2], axis=0)
    >>> sorted(X[spread(X, 3, random_state=0)].tolist())
    [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    rows, rng = _unit_rows(X), check_random_state(random_state)
    n = min(check_count(n, "n"), rows.shape[0])
    _, seeds = kmeans_plusplus(rows, n, random_state=rng)
    _, first = np.unique(seeds, return_index=True)
    chosen = seeds[np.sort(first)]
    # fewer distinct rows than asked for: any others
    others = rng.permutation(np.setdiff1d(np.arange(rows.shape[0]), chosen))
    return np.concatenate([chosen, others])[:n].astype(np.intp)


def diverse(X: Any, worth: ArrayLike, n: int) -> Indices:
    """The n best rows by ``worth`` (0 or more), best first, without near-copies.

    Rows (dense or CSR) are scaled to length 1. If a row is closer than 0.5 to one that was chosen
    before (a cosine above 0.875), its worth falls in proportion to the distance.

    Examples
    --------
    >>> from plurilabel.labeling import diverse
    >>> diverse([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]], [0.9, 0.8, 0.3], 2)
    array([0, 2])
    """
    rows = _unit_rows(X)
    value = np.array(worth, dtype=np.float64)
    if value.shape != (rows.shape[0],) or not (value >= 0).all():
        raise ValueError(f"worth must be {rows.shape[0]} numbers of at least 0, got {value!r}")
    n = min(check_count(n, "n"), rows.shape[0])
    # row_norms is 0 for rows of zeros, else 1
    length, new = row_norms(rows, squared=True), np.ones(len(value))
    chosen = np.empty(n, dtype=np.intp)
    for at in range(n):
        best = chosen[at] = int((value * new).argmax())
        distance = length + length[best] - 2 * dense(safe_sparse_dot(rows, rows[[best]].T)).ravel()
        # copies of chosen rows come after all others, the best of them first
        np.minimum(new, np.sqrt(np.clip(distance, 1e-18, None)) / APART, out=new)
        value[best] = -1.0
    return chosen


def query(
    strategy: str,
    X: Any,
    probabilities: ArrayLike | None = None,
    *,
    n_positive: ArrayLike | None = None,
    densities: ArrayLike | None = None,
    n: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Indices:
    """Rows to label next, best first, by the name of a strategy.

    Parameters
    ----------
    strategy : {"mix", "uncertainty", "density", "budget", "diverse", "spread", "random"}
        "uncertainty", "density" (uncertainty times density) and "budget" (:func:`label_need`)
        sort by the worth of single rows; "diverse" and "mix" make batches without near-copies
        (:func:`diverse`) by uncertainty, and by uncertainty times density; "spread"
        (:func:`spread`) and "random" need no model. "mix" is what the labeling page uses.
    X : array or CSR matrix of shape (n_rows, d)
        Encoded rows without labels.
    probabilities : array-like of shape (n_rows, q), default=None
        Those of the current model. Without them, all strategies but "random" are "spread".
    n_positive : array-like of shape (q,), default=None
        Number of labeled rows that have each label; for "budget".
    densities : array-like of shape (n_rows,), default=None
        :func:`density` of each row among all rows, which needs to be computed only once; by
        default that among these rows.
    n : int, default=None
        Number of rows; all by default.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    ndarray of shape (min(n, n_rows),)
        Indices of the rows.

    References
    ----------
    B. Settles, M. Craven. An analysis of active learning strategies for sequence labeling tasks.
    EMNLP 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.labeling import query
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> P = np.array([[0.5, 0.1], [0.45, 0.1], [0.1, 0.35], [0.0, 0.1]])
    >>> query("uncertainty", X, P, n=2), query("diverse", X, P, n=2)
    (array([0, 1]), array([0, 2]))
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    n_rows = X.shape[0]
    n = n_rows if n is None else min(check_count(n, "n"), n_rows)
    rng = check_random_state(random_state)
    if n_rows == 0:
        return np.empty(0, dtype=np.intp)
    if strategy == "random":
        return rng.permutation(n_rows)[:n]
    if strategy == "spread" or probabilities is None:
        return spread(X, n, random_state=rng)
    p = _probabilities(probabilities)
    if len(p) != n_rows:
        raise ValueError(f"probabilities must have {n_rows} rows, as X has, got {len(p)}")
    if strategy == "budget":
        worth = label_need(p, np.zeros(p.shape[1]) if n_positive is None else n_positive)
    else:
        worth = uncertainty(p)
    if strategy in ("density", "mix"):
        worth = worth * (density(X) if densities is None else np.asarray(densities))
    if strategy in ("diverse", "mix"):
        return diverse(X, worth, n)
    return np.argsort(-worth, kind="stable")[:n]


def _probabilities(probabilities: ArrayLike) -> Floats:
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or not p.shape[1] or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            "probabilities must be a matrix (n, q >= 1) of numbers from 0 to 1, got shape "
            f"{p.shape} and values from {p.min(initial=1)} to {p.max(initial=0)}"
        )
    return p


def _unit_rows(X: Any) -> Any:
    """Rows of Euclidean length 1 (rows of zeros stay), in float64, dense or CSR."""
    return normalize(check_array(X, accept_sparse="csr", dtype=np.float64))
