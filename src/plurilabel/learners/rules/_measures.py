"""The three measures of the paper: is the first label right, is any, and with what weight?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import check_labels, check_scores
from plurilabel._core.blocks import dense


def top_label(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """The part of the instances whose label of the highest weight is right.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q)
    weights : array-like of shape (n, q)
        Not negative, such as :meth:`MMAC.label_weights` gives. Between equals the first label
        counts; a row without weights is wrong.

    Returns
    -------
    float

    Examples
    --------
    >>> top_label([[1, 0], [0, 1]], [[0.6, 0.4], [0.7, 0.3]])
    0.5
    """
    Y, W = _checked(Y_true, weights)
    first = W.argmax(axis=1)
    row = np.arange(len(Y))
    return float((Y[row, first] & (W[row, first] > 0)).mean())


def any_label(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """The part of the instances for which any label with a weight is right.

    Parameters
    ----------
    Y_true, weights : as in :func:`top_label`

    Returns
    -------
    float

    Examples
    --------
    >>> any_label([[1, 0], [0, 1]], [[0.6, 0.4], [0.7, 0.3]])
    1.0
    """
    Y, W = _checked(Y_true, weights)
    return float((Y & (W > 0)).any(axis=1).mean())


def label_weight(Y_true: ArrayLike, weights: ArrayLike) -> float:
    """The mean part of an instance's weights that is on labels that are right.

    Parameters
    ----------
    Y_true, weights : as in :func:`top_label`
        Rows of weights are scaled to sum to one; a row without weights counts 0.

    Returns
    -------
    float

    Examples
    --------
    >>> label_weight([[1, 0], [0, 1]], [[0.5, 0.5], [0.75, 0.25]])
    0.375
    """
    Y, W = _checked(Y_true, weights)
    most = W.max(axis=1, keepdims=True)
    parts = W / np.where(most > 0, most, 1.0)  # the sum of huge weights would be infinite
    return float(((Y * parts).sum(axis=1) / np.maximum(parts.sum(axis=1), 1.0)).mean())


def _checked(Y_true: Any, weights: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    Y = dense(check_labels(Y_true, name="Y_true")).astype(bool)
    W = dense(check_scores(weights, name="weights"))
    if Y.shape != W.shape:
        raise ValueError(f"weights must have the shape of Y_true, {Y.shape}, got {W.shape}")
    if (W < 0).any():
        raise ValueError(f"weights must not be negative, got {W.min():g}")
    return Y, W
