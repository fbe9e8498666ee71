"""MLeNN and MLTL: frequent rows go whose neighbours have other labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._compat import Interval
from plurilabel.neighbors import ExactIndex, training_neighbors
from plurilabel.resampling._base import RowChooser, rare_labels, with_any


class MLeNN(RowChooser):
    """MLeNN: the edited nearest neighbour rule for label sets.

    A row without rare labels (IRLbl above MeanIR) is removed if at least half of its nearest
    neighbours have clearly other labels: the adjusted Hamming distance, the number of labels that
    only one of two rows has by the number that they have in sum, is above the threshold.

    Parameters
    ----------
    n_neighbors : int, default=3
        All other rows are asked if there are fewer.
    threshold : float, default=0.75

    Notes
    -----
    Neighbours are by Euclidean distance, from :class:`~plurilabel.neighbors.ExactIndex`. Two rows
    without any labels do not differ.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLeNN: a first approach to heuristic
    multilabel undersampling. IDEAL 2014.

    Examples
    --------
    >>> from plurilabel.resampling import MLeNN
    >>> X = [[0.0], [0.1], [0.2], [0.3], [0.4], [9.0]]
    >>> Y = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 1]]
    >>> MLeNN().fit_resample(X, Y)[0].ravel()
    array([0. , 0.1, 0.3, 0.4, 9. ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, n_neighbors: int = 3, *, threshold: float = 0.75):
        self.n_neighbors = n_neighbors
        self.threshold = threshold

    def _rows(self, X: Any, Y: Any) -> NDArray[np.intp]:
        n, k = Y.shape[0], min(self.n_neighbors, Y.shape[0] - 1)
        if not k:
            return np.arange(n)
        _, near = training_neighbors(ExactIndex().fit(X), X, k)  # (n, k)
        other = np.column_stack([
            label_distances(Y, np.arange(n), column) > self.threshold for column in near.T
        ])  # fmt: skip
        gone = (2 * other.sum(axis=1) >= k) & ~with_any(Y, rare_labels(Y))
        return np.flatnonzero(~gone)


class MLTL(RowChooser):
    """MLTL: Tomek links for label sets.

    Two rows are linked if each is the nearest neighbour of the other, and their adjusted Hamming
    distance, as in :class:`MLeNN`, is above the threshold. Linked rows are removed unless they
    have a rare label (IRLbl above MeanIR).

    Parameters
    ----------
    threshold : float, default=0.5

    References
    ----------
    R. M. Pereira, Y. M. G. Costa, C. N. Silla Jr. MLTL: a multi-label approach for the Tomek Link
    undersampling algorithm. Neurocomputing 383, 2020.

    Examples
    --------
    >>> from plurilabel.resampling import MLTL
    >>> X, Y = [[0.0], [1.0], [5.0], [5.1]], [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> MLTL().fit_resample(X, Y)[0].ravel()
    array([0. , 1. , 5.1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, threshold: float = 0.5):
        self.threshold = threshold

    def _rows(self, X: Any, Y: Any) -> NDArray[np.intp]:
        n = Y.shape[0]
        if n == 1:
            return np.arange(1)
        near = training_neighbors(ExactIndex().fit(X), X, 1)[1].ravel()
        mutual = near[near] == np.arange(n)
        linked = mutual & (label_distances(Y, np.arange(n), near) > self.threshold)
        return np.flatnonzero(~(linked & ~with_any(Y, rare_labels(Y))))


def label_distances(Y: Any, a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
    """Adjusted Hamming distance of rows a and b of Y: different labels by the sum of sizes."""
    Y = sparse.csr_array(Y, dtype=np.int64)
    size = np.diff(Y.indptr)
    both = np.asarray(Y[a].multiply(Y[b]).sum(axis=1)).ravel()
    total = size[a] + size[b]
    return (total - 2 * both) / np.maximum(total, 1)
