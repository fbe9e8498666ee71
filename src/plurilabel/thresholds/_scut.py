"""SCut: a cut for each label, the best for a measure of that label."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    above,
    blocks,
    check_scores_and_labels,
)
from plurilabel.thresholds._measures import COUNT_MEASURES, count_measure
from plurilabel.thresholds._sweep import best_size, cut_keeping


class SCut(ThresholdStrategy):
    """A cut for each label, at which a measure of that label is highest.

    Exact: every cut that can make a difference is tried. A cut lies halfway between two
    neighbouring distinct scores. Of equally good cuts the highest is taken. If it is best to
    predict a label nowhere, its cut is the highest score seen, and if everywhere, the next number
    below the lowest; for a label without or with nothing but positives these are infinite.

    Macro-averaged measures are optimised by optimising each label: ``measure="f1"`` maximises
    macro F1.

    Parameters
    ----------
    measure : str or callable, default="f1"
        ``"accuracy"``, ``"balanced_accuracy"``, ``"precision"``, ``"recall"``, ``"f0.5"``,
        ``"f1"``, ``"f2"``, ``"jaccard"``, or a function of the counts (tp, fp, fn, tn). It gets
        arrays with one entry for each cut and returns such an array; higher is better.
    fbr : float, default=None
        A label whose best value is below this gets its highest score as its cut (SCutFBR.1):
        against chance optima of rare labels, where a low cut costs many false positives.

    Attributes
    ----------
    cuts_ : ndarray of shape (q,)
    values_ : ndarray of shape (q,)
        The measure of each label at its best cut, on the scores given to ``fit``.

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.
    D. Lewis, Y. Yang, T. Rose, F. Li. RCV1: a new benchmark collection for text categorization
    research. JMLR 5, 2004 (SCutFBR).

    Examples
    --------
    >>> from plurilabel.thresholds import SCut
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> Y = [[1, 1], [0, 1], [1, 0], [0, 0]]
    >>> strategy = SCut("f1").fit(scores, Y)
    >>> strategy.cuts_
    array([0.4 , 0.25])
    >>> strategy.values_
    array([0.8, 1. ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [StrOptions(set(COUNT_MEASURES)), callable],
        "fbr": [None, Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, measure: str | Callable[..., Any] = "f1", *, fbr: float | None = None):
        self.measure = measure
        self.fbr = fbr

    def _fit(self, scores: NDArray[np.floating], Y: LabelMatrix) -> None:
        self.cuts_, self.values_ = _best_cuts(scores, Y, self.measure, self.fbr)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return above(scores, self.cuts_)


def label_cuts(
    scores: ArrayLike,
    Y: ArrayLike,
    measure: str | Callable[..., Any] = "f1",
    *,
    fbr: float | None = None,
) -> NDArray[np.float64]:
    """The best cut of each label for a measure of that label; see :class:`SCut`.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    measure : str or callable, default="f1"
    fbr : float, default=None

    Returns
    -------
    ndarray of shape (q,)
        To be used strictly: ``scores > cuts``.

    Examples
    --------
    >>> from plurilabel.thresholds import label_cuts
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> label_cuts(scores, [[1, 1], [0, 1], [1, 0], [0, 0]], "precision")
    array([0.85, 0.35])
    """
    checked, labels = check_scores_and_labels(scores, Y)
    return _best_cuts(checked, labels, measure, fbr)[0]


def _best_cuts(
    scores: NDArray[np.floating],
    Y: LabelMatrix,
    measure: str | Callable[..., Any],
    fbr: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    of_counts = count_measure(measure)
    n, q = scores.shape
    by_label = Y if isinstance(Y, np.ndarray) else Y.tocsc()
    cuts, values = np.empty(q), np.empty(q)
    for labels in blocks(q, n):
        columns = np.ascontiguousarray(scores[:, labels].T)
        for j, column in zip(range(labels.start, labels.stop), columns):
            chosen = column[positives(by_label, j)]
            ordered = np.sort(column)[::-1]
            k, values[j] = best_size(ordered, chosen, of_counts)
            if fbr is not None and values[j] < fbr:
                k = 0
            if k == len(chosen) and k in (0, n):
                cuts[j] = np.inf if k == 0 else -np.inf
            else:
                cuts[j] = cut_keeping(ordered, k)
    return cuts, values


def positives(by_label: NDArray[np.int8] | sparse.csc_array, j: int) -> NDArray[np.integer]:
    """Rows that have label j."""
    if isinstance(by_label, np.ndarray):
        return np.flatnonzero(by_label[:, j])
    return by_label.indices[by_label.indptr[j] : by_label.indptr[j + 1]]
