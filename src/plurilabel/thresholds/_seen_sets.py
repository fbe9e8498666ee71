"""Seen sets: answer only with label sets that occurred in training."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._compat import Interval, StrOptions
from plurilabel.base import LabelMatrix, check_labels
from plurilabel.thresholds._base import (
    ThresholdStrategy,
    blocks,
    check_dense_scores,
    check_probabilities,
)

EPSILON = np.finfo(np.float64).eps


class SeenSets(ThresholdStrategy):
    """Predict the label set seen in training that suits the scores best (subset correction).

    Parameters
    ----------
    distance : {"log_loss", "hamming"}, default="log_loss"
        ``"log_loss"`` takes the most probable of the seen sets, given independent labels with
        the scores as their probabilities (0 and 1 count as 2.2e-16 less certain).
        ``"hamming"`` takes the set that differs in the fewest labels from the scores cut at
        ``cut``, whatever the scores are; of equally near ones the one whose scores lie highest
        above the cut in sum.
    cut : float, default=0.5
        Only used with ``"hamming"``.

    Attributes
    ----------
    sets_ : csr_array of shape (m, q)
        The different label sets, the most frequent first, equally frequent ones in the order of
        their first instances. The earlier set wins where sets suit equally well.

    Notes
    -----
    By its name, ``"seen_sets"``, inside :class:`ThresholdClassifier` the distance is Hamming, with
    the cut at 0, for classifiers without ``predict_proba``. Every instance is compared with every
    set: ``n |sets_| cardinality`` steps.

    References
    ----------
    R. Senge, J. del Coz, E. Hüllermeier. Rectifying classifier chains for multi-label
    classification. LWA 2013.

    Examples
    --------
    >>> from plurilabel.thresholds import SeenSets
    >>> scores, Y = [[0.9, 0.4, 0.1], [0.6, 0.1, 0.7]], [[1, 1, 0], [0, 0, 1]]
    >>> SeenSets().fit(scores, Y).predict([[0.6, 0.4, 0.1], [0.1, 0.3, 0.4]])
    array([[1, 1, 0],
           [0, 0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "distance": [StrOptions({"log_loss", "hamming"})],
        "cut": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, distance: str = "log_loss", *, cut: float = 0.5):
        self.distance = distance
        self.cut = cut

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores, or labels alone will do."""
        return False

    def _fit(self, scores: NDArray[np.floating] | None, Y: LabelMatrix) -> None:
        if scores is not None and self.distance == "log_loss":
            check_probabilities(scores, 'SeenSets(distance="log_loss")')
        self.sets_ = _distinct_sets(Y)

    def _sets(self, scores: NDArray[np.floating]) -> NDArray[np.bool_]:
        if self.distance == "log_loss":
            check_probabilities(scores, 'SeenSets(distance="log_loss")')
        return _nearest(scores, self.sets_, self.distance, self.cut)


def nearest_seen_sets(
    scores: ArrayLike, Y_train: ArrayLike, *, distance: str = "log_loss", cut: float = 0.5
) -> NDArray[np.int64]:
    """For each instance the row of ``Y_train`` that suits its scores best; see :class:`SeenSets`.

    Parameters
    ----------
    scores : array-like of shape (n, q)
    Y_train : 0/1 matrix of shape (m, q), dense, sparse or a data frame
    distance : {"log_loss", "hamming"}, default="log_loss"
    cut : float, default=0.5

    Returns
    -------
    0/1 ndarray of shape (n, q)

    Examples
    --------
    >>> from plurilabel.thresholds import nearest_seen_sets
    >>> nearest_seen_sets([[0.6, 0.4, 0.1]], [[1, 1, 0], [0, 0, 1]])
    array([[1, 1, 0]])
    """
    checked, seen = check_dense_scores(scores), check_labels(Y_train, name="Y_train")
    if seen.shape[1] != checked.shape[1] or seen.shape[0] == 0:
        raise ValueError(
            f"Y_train must have rows, and {checked.shape[1]} columns as scores has, "
            f"got the shape {seen.shape}"
        )
    if distance not in ("log_loss", "hamming"):
        raise ValueError(f"distance must be 'log_loss' or 'hamming', got {distance!r}")
    if distance == "log_loss":
        check_probabilities(checked, 'distance="log_loss"')
    return _nearest(checked, _distinct_sets(seen), distance, cut).astype(np.int64)


def _distinct_sets(Y: LabelMatrix) -> sparse.csr_array:
    """The different rows of Y, the most frequent first."""
    rows = sparse.csr_array(Y)
    counts: dict[bytes, list[int]] = {}  # label set -> [first row, how often]
    ends = rows.indptr.tolist()
    for i in range(rows.shape[0]):
        labels = rows.indices[ends[i] : ends[i + 1]].tobytes()
        counts.setdefault(labels, [i, 0])[1] += 1
    order = sorted(counts.values(), key=lambda first_and_count: -first_and_count[1])
    return rows[[first for first, _ in order]]


def _nearest(
    scores: NDArray[np.floating], sets: sparse.csr_array, distance: str, cut: float
) -> NDArray[np.bool_]:
    n, q = scores.shape
    Z = sets.astype(np.float64)
    predicted = np.empty((n, q), dtype=bool)
    for rows in blocks(n, max(q, Z.shape[0])):
        f = scores[rows].astype(np.float64)
        if distance == "log_loss":
            # log P(z) = sum_j z_j log(p_j / (1 - p_j)) + a term without z
            p = np.clip(f, EPSILON, 1 - EPSILON)
            suits = Z @ np.log(p / (1 - p)).T  # (sets, n)
        else:
            margin = f - cut
            b = margin > 0  # (n, q)
            differ = b.sum(axis=1) + Z.sum(axis=1)[:, np.newaxis] - 2 * (Z @ b.T.astype(float))
            suits = np.where(differ == differ.min(axis=0), Z @ margin.T, -np.inf)
        predicted[rows] = sets[suits.argmax(axis=0)].toarray() == 1
    return predicted
