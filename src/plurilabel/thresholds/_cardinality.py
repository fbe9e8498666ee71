"""The constant cut that predicts as many labels as there were in training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel.base import LabelMatrix
from plurilabel.thresholds._base import ThresholdStrategy, above, check_dense_scores
from plurilabel.thresholds._sweep import cut_between


class CardinalityCut(ThresholdStrategy):
    """One cut for all labels, such that the mean set size is that of the training labels.

    The cut is the one whose predictions on the scores given to ``fit`` have the label
    cardinality closest to that of Y: exactly that cardinality unless equal scores forbid it.
    It lies halfway between the two scores that it parts. If two cuts are equally close, the
    higher one is taken, which predicts fewer labels.

    Attributes
    ----------
    cut_ : float
    cardinality_ : float
        Mean number of labels in Y.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label
    classification. Machine Learning 85, 2011. There the cut is chosen on the scores of the test
    set; for that, use :func:`cardinality_cut` on them.

    Examples
    --------
    >>> from plurilabel.thresholds import CardinalityCut
    >>> scores, Y = [[0.3, 0.2], [0.1, 0.02]], [[1, 1], [0, 1]]
    >>> strategy = CardinalityCut().fit(scores, Y)
    >>> round(strategy.cut_, 3), strategy.cardinality_
    (0.06, 1.5)
    """

    def _fit(self, scores: NDArray[np.floating], Y: LabelMatrix) -> None:
        total = int(Y.sum(dtype=np.int64))
        self.cardinality_ = total / Y.shape[0]
        self.cut_ = cut_for_total(scores, total)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        return above(scores, self.cut_)


def cardinality_cut(scores: ArrayLike, cardinality: float) -> float:
    """The cut at which the mean number of predicted labels is closest to a given one.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    cardinality : float
        Mean number of labels per instance that is wanted, from 0 to q.

    Returns
    -------
    float
        To be used strictly: ``scores > cut``. See :class:`CardinalityCut` for ties.

    Examples
    --------
    >>> from plurilabel.thresholds import cardinality_cut
    >>> cardinality_cut([[0.75, 0.5, 0.25], [0.5, 0.125, 0.0]], 1.5)
    0.375
    """
    checked = check_dense_scores(scores)
    q = checked.shape[1]
    if not 0 <= cardinality <= q:
        raise ValueError(
            f"cardinality must be between 0 and {q}, the number of labels, got {cardinality}"
        )
    return cut_for_total(checked, cardinality * checked.shape[0])


def cut_for_total(scores: NDArray[np.floating], total: float) -> float:
    """The cut with a number of scores above it that is closest to ``total``."""
    # np.partition, not a full sort: linear in the number of scores.
    flat = scores.ravel()
    size = flat.size
    k = min(max(int(np.floor(total)), 0), size - 1)
    value = np.partition(flat, size - 1 - k)[size - 1 - k]  # k scores are in front of this one
    over, at_least = np.count_nonzero(flat > value), np.count_nonzero(flat >= value)
    if total - over <= at_least - total:
        if over == 0:
            return float(value)
        return cut_between(value, flat.min(where=flat > value, initial=np.inf))
    if at_least == size:
        return float(np.nextafter(np.float64(value), -np.inf))
    return cut_between(flat.max(where=flat < value, initial=-np.inf), value)
