"""MLeNN and MLTL: frequent rows go whose neighbours have other labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.compat import Interval
from plurilabel.datasets import describe
from plurilabel.neighbors import ExactIndex, training_neighbors
from plurilabel.wrappers.resampling._base import RowChooser, rare_labels, with_any


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
    Neighbours are by Euclidean distance, from :class:`~plurilabel.ExactIndex`. Two rows
    without any labels do not differ.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLeNN: a first approach to heuristic
    multilabel undersampling. IDEAL 2014.

    Examples
    --------
    >>> from plurilabel import MLeNN
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

    A row with a frequent label (IRLbl below MeanIR) is removed if its nearest neighbour has
    clearly other labels: of the labels that one of the two has, a larger share than the threshold
    is not in both.

    Parameters
    ----------
    threshold : float, default=None
        None is 0.5, 0.3 or 0.15, the larger the smaller MeanIR is: 0.5 if it is below 4, and 0.15
        if it is 11.1 or more; but 0.5 where SCUMBLE is above 0.3.

    Notes
    -----
    This follows the program of the first author, a class of Mulan. There, the two rows need not be
    each other's nearest, as in Tomek's links, and rows with a rare label besides the frequent one
    may go, too. The package mldr.resampling has the same rule with the distance of
    :class:`MLeNN`.

    References
    ----------
    R. M. Pereira, Y. M. G. Costa, C. N. Silla Jr. MLTL: a multi-label approach for the Tomek Link
    undersampling algorithm. Neurocomputing 383, 2020.

    Examples
    --------
    >>> from plurilabel import MLTL
    >>> X, Y = [[0.0], [1.0], [5.0], [5.1]], [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> MLTL().fit_resample(X, Y)[0].ravel()
    array([0. , 1. , 5.1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(self, threshold: float | None = None):
        self.threshold = threshold

    def _rows(self, X: Any, Y: Any) -> NDArray[np.intp]:
        n = Y.shape[0]
        if n == 1:
            return np.arange(1)
        found = describe(Y)
        threshold = self.threshold
        if threshold is None:
            even = 1 / np.sqrt(found.mean_ir)
            threshold = 0.5 if even > 0.5 or found.scumble > 0.3 else 0.3 if even > 0.3 else 0.15
        near = training_neighbors(ExactIndex().fit(X), X, 1)[1].ravel()
        linked = label_distances(Y, np.arange(n), near, among="either") > threshold
        frequent = (found.counts > 0) & (found.irlbl < found.mean_ir)
        return np.flatnonzero(~(linked & with_any(Y, frequent)))


def label_distances(
    Y: Any, a: NDArray[np.intp], b: NDArray[np.intp], *, among: str = "sum"
) -> NDArray[np.float64]:
    """Adjusted Hamming distance of rows a and b of Y: their different labels by all of them.

    These are counted twice where both have them ("sum"), or once ("either").
    """
    Y = sparse.csr_array(Y, dtype=np.int64)
    size = np.diff(Y.indptr)
    both = np.asarray(Y[a].multiply(Y[b]).sum(axis=1)).ravel()
    total = size[a] + size[b]
    all_ = total if among == "sum" else total - both
    return (total - 2 * both) / np.maximum(all_, 1)
