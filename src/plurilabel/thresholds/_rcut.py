"""RCut: the r highest-scored labels of every instance."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._compat import Interval
from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    blocks,
    check_dense_scores,
    round_half_up,
)


class RCut(ThresholdStrategy):
    """Predict the r labels with the highest scores, for every instance.

    Equal scores go to the label that comes first.

    Parameters
    ----------
    r : int, default=None
        Number of labels; None takes the training cardinality, rounded to the nearest integer
        (halves up) and at least 1.

    Attributes
    ----------
    r_ : int

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from plurilabel.thresholds import RCut
    >>> scores, Y = [[0.3, 0.2, 0.1], [0.7, 0.8, 0.9]], [[1, 1, 0], [0, 0, 1]]
    >>> RCut().fit(scores, Y).predict(scores)
    array([[1, 1, 0],
           [0, 1, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "r": [None, Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, r: int | None = None):
        self.r = r

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return False

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:  # noqa: ARG002
        n, q = Y.shape
        if self.r is not None and self.r > q:
            raise ValueError(f"r must be at most {q}, the number of labels, got {self.r}")
        mean = int(round_half_up(Y.sum(dtype=np.int64) / n))
        self.r_ = max(1, mean) if self.r is None else int(self.r)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return highest(scores, np.full(len(scores), self.r_))


def top_labels(scores: ArrayLike, r: ArrayLike) -> NDArray[np.int64]:
    """Label sets: the r highest-scored labels of each instance.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    r : int, or array-like of int of shape (n,)
        Size of every set, or of each.

    Returns
    -------
    0/1 ndarray of shape (n, q)
        Equal scores go to the label that comes first.

    Examples
    --------
    >>> from plurilabel.thresholds import top_labels
    >>> top_labels([[0.1, 0.5, 0.5], [0.3, 0.2, 0.1]], [1, 2])
    array([[0, 1, 0],
           [1, 1, 0]])
    """
    checked = check_dense_scores(scores)
    n, q = checked.shape
    sizes = np.asarray(r)
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), (n,)):
        raise ValueError(
            f"r must be an integer, or {n} of them, one per instance, "
            f"got {sizes.dtype} of shape {sizes.shape}"
        )
    if sizes.min() < 0 or sizes.max() > q:
        raise ValueError(
            f"r must be between 0 and {q}, the number of labels, "
            f"got {sizes.min() if sizes.min() < 0 else sizes.max()}"
        )
    return highest(checked, np.broadcast_to(sizes, n)).astype(np.int64)


def highest(scores: NDArray[np.floating], sizes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """In row i the ``sizes[i]`` highest entries; equal ones from the left."""
    n, q = scores.shape
    sets = np.empty((n, q), dtype=bool)
    for rows in blocks(n, q):
        f, size = scores[rows], sizes[rows, np.newaxis]
        ordered = np.sort(f, axis=1)  # ascending
        smallest = np.take_along_axis(ordered, q - np.maximum(size, 1), axis=1)
        over, equal = f > smallest, f == smallest
        spare = size - over.sum(axis=1, keepdims=True)
        sets[rows] = over | (equal & (equal.cumsum(axis=1) <= spare))
    return sets
