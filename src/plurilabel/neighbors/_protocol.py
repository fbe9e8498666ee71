"""What an index must answer, and what can be asked of any index that does."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray


@runtime_checkable
class NeighborsIndex(Protocol):
    """An index: :class:`ExactIndex`, scikit-learn's ``NearestNeighbors``, or one of your own.

    ``kneighbors`` with ``X=None`` is about the training points, each without itself.
    """

    def fit(self, X: Any, y: Any = None) -> Any: ...

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Any: ...


def training_graph(
    index: NeighborsIndex, n_neighbors: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Neighbours of all training points of a fitted index, checked.

    Parameters
    ----------
    index : fitted index
    n_neighbors : int

    Returns
    -------
    distances, indices : ndarrays of shape (n, n_neighbors)

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from plurilabel.neighbors import training_graph
    >>> index = NearestNeighbors().fit([[0.0], [1.0], [3.0]])
    >>> training_graph(index, n_neighbors=1)
    (array([[1.],
           [1.],
           [2.]]), array([[1],
           [0],
           [1]]))
    """
    answer = index.kneighbors(None, n_neighbors=n_neighbors)
    return check_neighbors(answer, n_neighbors, name=type(index).__name__, without_self=True)


def check_index(index: Any) -> None:
    """Raise an error that says what is missing if this cannot serve as an index.

    Examples
    --------
    >>> from plurilabel.neighbors import check_index
    >>> check_index("faiss")
    Traceback (most recent call last):
    ...
    TypeError: index must have fit(X) and kneighbors(X=None, n_neighbors=None), got 'faiss'
    """
    if isinstance(index, type) or not isinstance(index, NeighborsIndex):
        raise TypeError(
            f"index must have fit(X) and kneighbors(X=None, n_neighbors=None), got {index!r}"
        )


def check_neighbors(
    answer: Any, n_neighbors: int, *, name: str = "index", without_self: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Distances and indices as an index returned them, checked for shape, type and self."""
    try:
        distances, indices = (np.asarray(part) for part in answer)
    except (TypeError, ValueError):
        raise TypeError(
            f"kneighbors of {name} must return (distances, indices), got {type(answer).__name__}"
        ) from None
    if indices.ndim != 2 or indices.shape[1] != n_neighbors or distances.shape != indices.shape:
        raise ValueError(
            f"kneighbors of {name} must return two arrays of shape (n, {n_neighbors}), "
            f"got {distances.shape} and {indices.shape}"
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices from {name} must be integers, got {indices.dtype}")
    if indices.size and indices.min() < 0:
        row = int(np.argmax((indices < 0).any(axis=1)))
        raise ValueError(f"{name} found fewer than {n_neighbors} neighbours for row {row}")
    if without_self and (indices == np.arange(len(indices))[:, None]).any():
        raise ValueError(
            f"{name} counts a training point as its own neighbour; kneighbors(X=None) "
            "must leave it out"
        )
    return distances.astype(np.float64, copy=False), indices.astype(np.int64, copy=False)


def recall(
    index: NeighborsIndex,
    exact: NeighborsIndex,
    X: ArrayLike | None = None,
    *,
    n_neighbors: int = 10,
) -> float:
    """Share of the true neighbours that an index finds.

    Parameters
    ----------
    index, exact : indexes fitted on the same points
        The one in question, and one that is right.
    X : array-like or sparse matrix of shape (m, d), optional
        Points to search for; None for the training points, each without itself.
    n_neighbors : int, default=10

    Returns
    -------
    float
        Mean over the points of the share of true neighbours found. A point as near as the last
        true neighbour counts as one, whichever index it has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from plurilabel.neighbors import ExactIndex, recall
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> recall(NearestNeighbors().fit(X), ExactIndex().fit(X), n_neighbors=5)
    1.0
    """
    distances, found = check_neighbors(index.kneighbors(X, n_neighbors=n_neighbors), n_neighbors)
    limits, true = check_neighbors(exact.kneighbors(X, n_neighbors=n_neighbors), n_neighbors)
    # One range of numbers for each row: then all rows are compared in one call.
    shift = np.arange(len(true))[:, None] * (max(found.max(), true.max()) + 1)
    right = np.isin(found + shift, true + shift)
    # Indexes round in their own way: a millionth more is as near.
    last = limits[:, [-1]]
    return float((right | (np.abs(distances - last) <= 1e-6 * last)).mean())
