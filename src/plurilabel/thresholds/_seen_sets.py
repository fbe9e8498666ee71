"""Seen sets: predict only label sets that occurred in training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel._core.compat import Finite, NotNegative
from plurilabel._core.fitted import Declared, labels, numbers, parameter
from plurilabel._core.labels import distinct_label_sets
from plurilabel.thresholds._strategy import (
    BLOCK,
    Scores,
    Sets,
    ThresholdStrategy,
    check_probabilities,
    complete_rows,
)

EPSILON = np.finfo(np.float64).eps


@dataclass(eq=False, repr=False)
class SeenSets(ThresholdStrategy):
    """Predict the label set seen in training that fits the scores best (subset correction).

    Parameters
    ----------
    distance : {"log_loss", "hamming"}, default="log_loss"
        ``"log_loss"`` takes the most probable of the seen sets, given independent labels with the
        scores as their probabilities, which are clipped to 2.2e-16 from 0 and 1. ``"hamming"``
        works with any scores: it takes the set that differs in the fewest labels from the scores
        cut at ``cut``. Ties are resolved by the largest sum of scores above the cut.
    cut : float, default=0.5
        Only used with ``"hamming"``.
    lift : float, default=0.0
        Only used with ``"log_loss"``: weight of the logarithm of a set's lift, which is how much
        more often it occurs than it would if its labels were independent. With 1 the labels
        depend on each other as in the training set; with less, only in part, since the scores
        know some of that already. On the hold-outs of Emotions, Medical and Genbase, of a mean of
        several learners, subset accuracy is .322, .719 and .985 with 0, .361, .724 and .985 with
        0.25, and .351, .673 and .910 with 1.

    Attributes
    ----------
    lifts_ : ndarray of shape (m,)
        Logarithms of the lifts of the sets.
    sets_ : csr_array of shape (m, q)
        The distinct label sets, the most frequent first, equally frequent ones in the order of
        their first instances. If several sets fit equally well, the first wins.

    Notes
    -----
    :class:`ThresholdClassifier` with the strategy ``"seen_sets"`` uses the Hamming distance and a
    cut at 0 for classifiers without ``predict_proba``. Every instance is compared with every set,
    in ``n |sets_| cardinality`` steps.

    References
    ----------
    R. Senge, J. del Coz, E. Hüllermeier. Rectifying classifier chains for multi-label
    classification. LWA 2013.

    Examples
    --------
    >>> from plurilabel import SeenSets
    >>> scores, Y = [[0.9, 0.4, 0.1], [0.6, 0.1, 0.7]], [[1, 1, 0], [0, 0, 1]]
    >>> SeenSets().fit(scores, Y).predict([[0.6, 0.4, 0.1], [0.1, 0.3, 0.4]])
    array([[1, 1, 0],
           [0, 0, 1]])
    """

    _learns_from_known = True
    _needs_scores = False
    _fitted: ClassVar[Declared] = {
        "sets_": labels("m", "n_labels_"),
        "lifts_": numbers("m"),
        "distance_": parameter(),
        "cut_": parameter(),
        "lift_": parameter(),
    }

    distance: Literal["log_loss", "hamming"] = "log_loss"
    _: KW_ONLY
    cut: Finite = 0.5
    lift: NotNegative = 0.0

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:
        if self.distance == "log_loss":
            check_probabilities(scores, 'SeenSets(distance="log_loss")')
        complete = complete_rows(None, Y, "SeenSets")[1]
        if complete.dtype.kind == "f":  # the most probable sets of soft labels
            complete = (complete > 0.5).astype(np.int8)
        self.sets_, counts = distinct_label_sets(sparse.csr_array(complete))
        # log P(z) - sum_j log P(z_j), from frequencies; those of labels are never 0 or 1
        n = complete.shape[0]
        p = (np.asarray(complete.sum(axis=0, dtype=np.int64)).ravel() + 0.5) / (n + 1)
        alone = self.sets_.astype(np.float64) @ np.log(p / (1 - p)) + np.log(1 - p).sum()
        self.lifts_ = np.log(counts / n) - alone
        self.distance_, self.cut_, self.lift_ = self.distance, self.cut, self.lift

    def _sets(self, scores: Scores) -> Sets:
        if self.distance_ == "log_loss":
            check_probabilities(scores, 'SeenSets(distance="log_loss")')
        n, q = scores.shape
        Z = self.sets_.astype(np.float64)
        predicted = np.empty((n, q), dtype=bool)
        for rows in row_blocks(n, max(q, Z.shape[0]), BLOCK):
            f = scores[rows].astype(np.float64)
            if self.distance_ == "log_loss":
                # log P(z) = sum_j z_j log(p_j / (1 - p_j)) + a term without z
                p = np.clip(f, EPSILON, 1 - EPSILON)
                suits = Z @ np.log(p / (1 - p)).T  # (sets, n)
                suits += self.lift_ * self.lifts_[:, np.newaxis]
            else:
                margin = f - self.cut_
                b = margin > 0  # (n, q)
                differ = b.sum(axis=1) + Z.sum(axis=1)[:, np.newaxis] - 2 * (Z @ b.T.astype(float))
                suits = np.where(differ == differ.min(axis=0), Z @ margin.T, -np.inf)
            predicted[rows] = self.sets_[suits.argmax(axis=0)].toarray() == 1
        return predicted
