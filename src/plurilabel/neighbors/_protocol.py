"""The protocol of an index, and the validation of its results."""

from __future__ import annotations

from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from plurilabel.neighbors._distance import Neighbors
from plurilabel.neighbors._engines import without_self
from plurilabel.neighbors._exact_index import ExactIndex


@runtime_checkable
class NeighborsIndex(Protocol):
    """An index: :class:`ExactIndex`, scikit-learn's ``NearestNeighbors``, or your own.

    ``kneighbors`` returns distances, ascending, and indices of training points, both of shape
    (m, n_neighbors). With ``X=None`` it searches for the training points, each without itself.
    :func:`query_neighbors` and :func:`training_neighbors` validate every result.

    A custom index derives from :class:`sklearn.base.BaseEstimator`, so that learners can clone it.
    Its ``partial_fit(X)`` and ``remove(indices)``, if it has them as :class:`ExactIndex` does, are
    called on a ``copy.copy`` when learners grow and forget, so that the old index is intact if a
    later step fails; otherwise a new index is fitted.
    """

    def fit(self, X: Any, y: Any = None) -> Any: ...

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Any: ...


def query_neighbors(index: NeighborsIndex, X: Any, n_neighbors: int, n_points: int) -> Neighbors:
    """Nearest training points of queries: validated distances and indices (m, n_neighbors).

    Parameters
    ----------
    index : fitted index
    X : array or CSR matrix of shape (m, d)
    n_neighbors : int
    n_points : int
        Number of training points of the index.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from plurilabel.neighbors import query_neighbors
    >>> index = NearestNeighbors().fit([[0.0], [1.0], [3.0]])
    >>> query_neighbors(index, np.array([[2.5]]), n_neighbors=2, n_points=3)
    (array([[0.5, 1.5]]), array([[2, 1]]))
    """
    answer = index.kneighbors(X, n_neighbors=n_neighbors)
    return _checked(index, answer, (X.shape[0], n_neighbors), n_points)


def training_neighbors(
    index: NeighborsIndex, X: Any, n_neighbors: int, rows: NDArray[np.intp] | None = None
) -> Neighbors:
    """Neighbours of training points, each without itself: validated distances and indices.

    Parameters
    ----------
    index : fitted index
    X : array or CSR matrix of shape (n, d)
        The training points of the index.
    n_neighbors : int
    rows : array of int, optional
        Training points to search for; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel import ExactIndex
    >>> from plurilabel.neighbors import training_neighbors
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> training_neighbors(ExactIndex().fit(X), X, n_neighbors=1)
    (array([[1.],
           [1.],
           [2.]]), array([[1],
           [0],
           [1]]))
    """
    n = X.shape[0]
    if rows is not None:
        found = query_neighbors(index, X[rows], n_neighbors + 1, n)
        return without_self(*found, rows)
    answer = index.kneighbors(None, n_neighbors=n_neighbors)
    return _checked(index, answer, (n, n_neighbors), n, own=np.arange(n))


def _checked(
    index: Any, answer: Any, shape: tuple[int, int], n_points: float, own: Any = None
) -> Neighbors:
    """Validate the result of an index; none of the points ``own`` may be its own neighbour."""
    if type(index) is ExactIndex:  # certified; validating ten million neighbours takes a second
        return cast(Neighbors, answer)
    who = f"kneighbors of {type(index).__name__}"
    try:
        distances, indices = (np.asarray(part) for part in answer)
    except (TypeError, ValueError):
        what = type(answer).__name__
        raise TypeError(f"{who} must return (distances, indices), got {what}") from None
    if distances.shape != shape or indices.shape != shape:
        got = f"{distances.shape} and {indices.shape}"
        raise ValueError(f"{who} must return two arrays of shape {shape}, got {got}")
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{who} must return integers as indices, got {indices.dtype}")
    distances = distances.astype(np.float64, copy=False)
    indices = indices.astype(np.int64, copy=False)
    ordered = np.sort(indices, axis=1)
    mistakes = {
        f"found fewer than {shape[1]} neighbours (index -1)": indices == -1,
        f"returned an index that is not below {n_points}": indices >= n_points,
        "returned a negative index": indices < 0,
        "returned a training point twice": ordered[:, 1:] == ordered[:, :-1],
        "returned NaN as a distance": np.isnan(distances),
        "returned distances that do not ascend": distances[:, 1:] < distances[:, :-1],
    }
    if own is not None:
        mistakes["returned a training point as its own neighbour"] = indices == own[:, None]
    for mistake, places in mistakes.items():
        if places.any():
            row = int(np.argmax(places.any(axis=1)))
            raise ValueError(f"{who} {mistake}, first in row {row}")
    return distances, indices


def recall(
    index: NeighborsIndex, exact: NeighborsIndex, X: Any = None, *, n_neighbors: int = 10
) -> float:
    """Share of the true neighbours that an index finds.

    Parameters
    ----------
    index, exact : indexes fitted on the same points
        The index to evaluate, and an exact one.
    X : array-like or sparse matrix of shape (m, d), optional
        Points to search for; None for the training points, each without itself.
    n_neighbors : int, default=10

    Returns
    -------
    float
        Mean over the points of the share of true neighbours found. A point as near as the last
        true neighbour counts as one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from plurilabel import ExactIndex
    >>> from plurilabel.neighbors import recall
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> recall(NearestNeighbors().fit(X), ExactIndex().fit(X), n_neighbors=5)
    1.0
    """
    limits, true = exact.kneighbors(X, n_neighbors=n_neighbors)
    answer = index.kneighbors(X, n_neighbors=n_neighbors)
    own = np.arange(len(true)) if X is None else None
    distances, found = _checked(index, answer, true.shape, np.inf, own)
    # a separate range of numbers for each row, so that one call compares all rows
    shift = np.arange(len(true))[:, None] * (max(found.max(), true.max()) + 1)
    right = np.isin(found + shift, true + shift)
    # indexes round in their own way: a millionth more is as near
    last = limits[:, [-1]]
    return float((right | (np.abs(distances - last) <= 1e-6 * last)).mean())
