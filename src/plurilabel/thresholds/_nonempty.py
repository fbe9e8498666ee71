"""The T-criterion: never an empty prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel.base import check_labels
from plurilabel.thresholds._base import check_dense_scores


def never_empty(labels: ArrayLike, scores: ArrayLike) -> NDArray[Any] | sparse.csr_array:
    """Give each instance without a predicted label the one with its highest score.

    This is the T-criterion of Boutell et al. Equal scores go to the label that comes first.

    Parameters
    ----------
    labels : 0/1 matrix of shape (n, q), dense or sparse
        Predicted label sets.
    scores : array-like of shape (n, q)

    Returns
    -------
    0/1 matrix of shape (n, q)
        A new one, int64; CSR if ``labels`` was sparse.

    References
    ----------
    M. Boutell, J. Luo, X. Shen, C. Brown. Learning multi-label scene classification.
    Pattern Recognition 37, 2004.

    Examples
    --------
    >>> from plurilabel.thresholds import never_empty
    >>> never_empty([[0, 0, 0], [1, 1, 0]], [[0.1, 0.3, 0.2], [0.9, 0.8, 0.7]])
    array([[0, 1, 0],
           [1, 1, 0]])
    """
    Y, f = check_labels(labels, name="labels"), check_dense_scores(scores)
    if Y.shape != f.shape:
        raise ValueError(f"scores must have the shape of labels, {Y.shape}, got {f.shape}")
    empty = np.flatnonzero(np.asarray(Y.sum(axis=1, dtype=np.int64)).ravel() == 0)
    top = f[empty].argmax(axis=1)
    if sparse.issparse(Y):
        added = sparse.csr_array(
            (np.ones(len(empty), dtype=np.int64), (empty, top)), shape=Y.shape
        )
        return sparse.csr_array(Y.astype(np.int64) + added)
    filled = Y.astype(np.int64)
    filled[empty, top] = 1
    return filled
