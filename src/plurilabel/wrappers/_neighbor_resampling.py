"""Resampling by neighbours: MLeNN and MLTL remove rows, MLSMOTE adds some."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from plurilabel._core.blocks import csr_of_rows, stack_rows
from plurilabel._core.compat import Share
from plurilabel.datasets import describe
from plurilabel.neighbors import ExactIndex, training_neighbors
from plurilabel.wrappers._resampling import Resampler, RowChooser, rare_labels, with_any


@dataclass(eq=False, repr=False)
class MLeNN(RowChooser):
    """MLeNN: the edited nearest neighbour rule for label sets.

    A row without rare labels (IRLbl above MeanIR) is removed if the labels of at least half of
    its nearest neighbours differ from its own: the adjusted Hamming distance, the number of labels
    that only one of two rows has divided by the sum of their labels, is above the threshold.

    Parameters
    ----------
    n_neighbors : int, default=3
        All other rows are used if there are fewer.
    threshold : float, default=0.75

    Notes
    -----
    Neighbours are those of :class:`~plurilabel.ExactIndex`. Rows without labels are alike.

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

    n_neighbors: int = 3
    _: KW_ONLY
    threshold: Share = 0.75

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


@dataclass(eq=False, repr=False)
class MLTL(RowChooser):
    """MLTL: Tomek links for label sets.

    A row with a frequent label (IRLbl below MeanIR) is removed if the share of the labels of it
    and its nearest neighbour that only one of the two has is above the threshold.

    Parameters
    ----------
    threshold : float, default=None
        None is 0.5 if MeanIR is below 4 or SCUMBLE above 0.3, 0.15 if MeanIR is 11.1 or more, and
        0.3 otherwise.

    Notes
    -----
    This follows the first author's implementation in Mulan. Unlike in Tomek's links, the two rows
    need not be each other's nearest, and rows that also have a rare label may be removed. The
    package mldr.resampling has the same rule with the distance of :class:`MLeNN`.

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

    threshold: Share | None = None

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
    """Adjusted Hamming distance of rows a and b of Y: the share of their labels that differ."""
    # Labels of both rows are counted twice ("sum") or once ("either").
    Y = sparse.csr_array(Y, dtype=np.int64)
    size = np.diff(Y.indptr)
    both = np.asarray(Y[a].multiply(Y[b]).sum(axis=1)).ravel()
    total = size[a] + size[b]
    all_ = total if among == "sum" else total - both
    return (total - 2 * both) / np.maximum(all_, 1)


@dataclass(eq=False, repr=False)
class MLSMOTE(Resampler):
    """MLSMOTE: a new row for each row with a rare label, between it and a neighbour.

    For each label with IRLbl above MeanIR, and each row that has it: the neighbours are its
    nearest rows among those that have the label. Each feature of the new row is at a random place
    between the row and one random neighbour; its labels are those that more than half of the row
    and its neighbours have.

    Parameters
    ----------
    n_neighbors : int, default=5
        All rows with the label are neighbours if there are fewer; labels of one row are kept.
    random_state : int, RandomState instance or None, default=None

    Notes
    -----
    Features are numbers, and neighbours by Euclidean distance, from
    :class:`~plurilabel.ExactIndex`; the paper's treatment of nominal features is left
    out. Which labels are rare, and which rows have them, is decided by the original rows.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLSMOTE: approaching imbalanced
    multilabel learning through synthetic instance generation. Knowledge-Based Systems 89, 2015.

    Examples
    --------
    >>> from plurilabel import MLSMOTE
    >>> X, Y = [[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0]] * 3 + [[1, 1]] * 2
    >>> X, Y = MLSMOTE(random_state=0).fit_resample(X, Y)
    >>> X[5:].round(1).ravel(), Y[5:].tolist()
    (array([8.5, 8.3]), [[1, 1], [1, 1]])
    """

    n_neighbors: int = 5
    _: KW_ONLY
    random_state: Any = None

    def _resample(self, X: Any, Y: Any) -> tuple[Any, Any]:
        rng, columns = check_random_state(self.random_state), sparse.csc_array(Y)
        new_X, new_Y = [X], [Y]
        for l in np.flatnonzero(rare_labels(Y)).tolist():
            bag = np.sort(columns.indices[columns.indptr[l] : columns.indptr[l + 1]])
            m, k = len(bag), min(self.n_neighbors, len(bag) - 1)
            if not k:
                continue
            inside = X[bag]
            _, near = training_neighbors(ExactIndex().fit(inside), inside, k)  # (m, k)
            chosen = near[np.arange(m), rng.randint(k, size=m)]
            new_X.append(_between(inside, inside[chosen], rng))
            graph = csr_of_rows(np.ones(m * k, np.int64), near.ravel(), np.full(m, k), m)
            votes = Y[bag].astype(np.int64) + graph @ Y[bag].astype(np.int64)
            new_Y.append((2 * votes > k + 1).astype(np.int8))
        if len(new_X) == 1:
            return X.copy(), Y.copy()
        return stack_rows(new_X), stack_rows(new_Y)


def _between(a: Any, b: Any, rng: np.random.RandomState) -> Any:
    """Rows whose features each lie at a random place between those of a and b."""
    # one draw for each difference, row by row, so that sparse and dense rows get the same
    if not sparse.issparse(a):
        step = b - a
        some = step != 0
        step[some] *= rng.uniform(size=np.count_nonzero(some)).astype(step.dtype)
        return a + step
    step = sparse.csr_array(b - a)
    step.eliminate_zeros()
    step.sort_indices()
    step.data *= rng.uniform(size=len(step.data)).astype(step.dtype)
    return sparse.csr_array(a + step).astype(a.dtype)
