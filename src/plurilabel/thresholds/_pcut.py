"""PCut: each label for the share of instances that had it in training."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, numbers, parameter
from plurilabel._core.unknown import PartialLabels
from plurilabel.thresholds._base import (
    Scores,
    Sets,
    ThresholdStrategy,
    above,
    highest,
    round_half_up,
)
from plurilabel.thresholds._cardinality import cut_for_total


class PCut(ThresholdStrategy):
    """Predict each label as often as it occurred in training.

    **It decides on whole batches**: of the m instances given to ``predict``, the ``factor *
    share_l * m`` (rounded, halves up) with the highest scores of label l get that label; of equal
    scores, the earlier instance wins. So the prediction for an instance depends on the others in
    its batch, and an instance predicted alone gets only labels with a share of at least one half.
    With ``batch=False`` the shares are turned into cuts by ``fit``, and the prediction for an
    instance does not depend on the others.

    Parameters
    ----------
    factor : float, default=1.0
        Above 1 more instances get each label, below 1 fewer.
    batch : bool, default=True
        Whether ``predict`` meets the shares in each batch it is given, as PCut is defined, or
        uses the cuts that meet them on the scores given to ``fit``.

    Attributes
    ----------
    shares_ : ndarray of shape (q,)
        Share of the training instances that have each label.
    cuts_ : ndarray of shape (q,)
        None with ``batch=True``.

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from plurilabel import PCut
    >>> scores, Y = [[0.3, 0.2], [0.2, 0.3], [0.1, 0.1], [0, 0]], [[1, 1], [0, 1], [0, 0], [0, 0]]
    >>> strategy = PCut().fit(scores, Y)
    >>> strategy.shares_
    array([0.25, 0.5 ])
    >>> strategy.predict(scores)
    array([[1, 1],
           [0, 1],
           [0, 0],
           [0, 0]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "factor": [Interval(Real, 0, None, closed="left")],
        "batch": ["boolean"],
    }
    _fitted: ClassVar[Declared] = {
        "factor_": parameter(),
        "shares_": numbers("n_labels_"),
        "cuts_": numbers("n_labels_", finite=False, optional=True),
    }

    def __init__(self, *, factor: float = 1.0, batch: bool = True):
        self.factor = factor
        self.batch = batch

    def learns_from_scores(self) -> bool:
        """Whether ``fit`` needs scores; if not, labels are enough."""
        return not self.batch

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:
        n, q = Y.shape
        self.factor_ = self.factor
        partial = isinstance(Y, PartialLabels)
        self.shares_ = Y.shares() if partial else Y.sum(axis=0, dtype=np.int64) / n
        self.cuts_ = None
        if scores is not None and not self.batch:  # the same share of all instances
            wanted = np.minimum(self.factor * self.shares_, 1.0) * n
            self.cuts_ = np.array([cut_for_total(scores[:, j], wanted[j]) for j in range(q)])

    def _sets(self, scores: Scores) -> Sets:
        if self.cuts_ is not None:
            return above(scores, self.cuts_)
        m = len(scores)
        return highest(scores.T, np.minimum(round_half_up(self.factor_ * self.shares_ * m), m)).T
