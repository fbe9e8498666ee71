"""Distances and similarities of label distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import rel_entr
from sklearn.utils import check_array

TOLERANCE = 1e-3
"""How far a row may be from summing to one: published degrees are rounded."""


def check_distributions(D: Any, *, name: str = "D") -> NDArray[np.float64]:
    """Degrees (n, q), checked: not negative, and summing to one in each row."""
    if sparse.issparse(D):
        raise ValueError(f"{name} must be dense: the degrees of all labels are compared")
    degrees = check_array(D, dtype=np.float64, input_name=name, ensure_min_samples=1)
    if (degrees < 0).any():
        i, j = np.argwhere(degrees < 0)[0]
        raise ValueError(
            f"{name} must hold degrees that are not negative, got {degrees[i, j]:g} in row {i}, "
            f"column {j}"
        )
    sums = degrees.sum(axis=1)
    if (wrong := np.abs(sums - 1) > TOLERANCE).any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name} must have rows that sum to one, got {sums[i]:g} in row {i}")
    return degrees


def chebyshev_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Largest difference of a degree, as a mean over instances. Lower is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n, q)
        Degrees that sum to one in each row.

    Returns
    -------
    float

    References
    ----------
    X. Geng. Label distribution learning. IEEE TKDE 28(7), 2016; the six measures are in its
    table 1.

    Examples
    --------
    >>> from plurilabel.graded import chebyshev_distance
    >>> round(chebyshev_distance([[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]), 2)
    0.2
    """
    d, p = _both(D_true, D_pred)
    return float(np.abs(d - p).max(axis=1).mean())


def clark_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Root of the sum of squared relative differences (d - p) / (d + p). Lower is better.

    A label with degree 0 in both adds nothing. Mean over instances.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.graded import clark_distance
    >>> round(clark_distance([[0.5, 0.5, 0.0]], [[0.3, 0.7, 0.0]]), 3)
    0.3
    """
    d, p = _both(D_true, D_pred)
    return float(np.sqrt((_relative(d, p) ** 2).sum(axis=1)).mean())


def canberra_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of the absolute relative differences (d - p) / (d + p). Lower is better.

    A label with degree 0 in both adds nothing. Mean over instances.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.graded import canberra_distance
    >>> round(canberra_distance([[0.5, 0.5, 0.0]], [[0.3, 0.7, 0.0]]), 3)
    0.417
    """
    d, p = _both(D_true, D_pred)
    return float(np.abs(_relative(d, p)).sum(axis=1).mean())


def kullback_leibler_divergence(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of d log(d / p), in nats. Lower is better.

    Infinite if a label with a positive degree is predicted with degree 0. Mean over instances.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.graded import kullback_leibler_divergence
    >>> round(kullback_leibler_divergence([[0.5, 0.5, 0.0]], [[0.25, 0.5, 0.25]]), 3)
    0.347
    """
    d, p = _both(D_true, D_pred)
    return float(rel_entr(d, p).sum(axis=1).mean())


def cosine_similarity(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Cosine of the angle between two distributions, as a mean over instances. Higher is better.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.graded import cosine_similarity
    >>> round(cosine_similarity([[0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0]]), 3)
    0.707
    """
    d, p = _both(D_true, D_pred)
    lengths = np.linalg.norm(d, axis=1) * np.linalg.norm(p, axis=1)
    return float(((d * p).sum(axis=1) / lengths).mean())


def intersection_similarity(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of the smaller of both degrees, as a mean over instances. Higher is better.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.graded import intersection_similarity
    >>> round(intersection_similarity([[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]), 2)
    0.8
    """
    d, p = _both(D_true, D_pred)
    return float(np.minimum(d, p).sum(axis=1).mean())


def evaluate_distributions(D_true: ArrayLike, D_pred: ArrayLike) -> dict[str, float]:
    """The six usual measures of predicted label distributions, by name.

    Parameters
    ----------
    D_true, D_pred : as for :func:`chebyshev_distance`

    Returns
    -------
    dict of str to float
        Four distances and two similarities.

    Examples
    --------
    >>> from plurilabel.graded import evaluate_distributions
    >>> evaluate_distributions([[0.5, 0.5]], [[0.5, 0.5]])["canberra_distance"]
    0.0
    """
    d, p = _both(D_true, D_pred)
    measures = (
        chebyshev_distance,
        clark_distance,
        canberra_distance,
        kullback_leibler_divergence,
        cosine_similarity,
        intersection_similarity,
    )
    return {measure.__name__: measure(d, p) for measure in measures}


def _both(D_true: Any, D_pred: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    d, p = check_distributions(D_true, name="D_true"), check_distributions(D_pred, name="D_pred")
    if d.shape != p.shape:
        raise ValueError(f"D_pred must have the shape of D_true, {d.shape}, got {p.shape}")
    return d, p


def _relative(d: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(d - p) / (d + p), 0 where both are 0."""
    total = d + p
    return np.divide(d - p, total, out=np.zeros_like(d), where=total > 0)
