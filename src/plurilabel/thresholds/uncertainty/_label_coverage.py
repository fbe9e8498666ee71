"""LabelCoverage: a cut for each label, above which most of its instances are."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Interval
from plurilabel._core.fitted import Declared, numbers
from plurilabel._core.unknown import known_part
from plurilabel.thresholds._base import Scores, Sets, ThresholdStrategy, above
from plurilabel.thresholds.uncertainty._risk_control import highest_cut


class LabelCoverage(ThresholdStrategy):
    """Find each label with a probability of at least 1 - alpha, where it is present.

    The cut of a label is the highest at which at most alpha (n + 1) - 1 of the n instances with
    the label are missed: conformal prediction, separately for each label (Vovk). The guarantee is
    that of :class:`RiskControl`, for the instances with the label. Labels that are not known are
    left out; then whether a label is known must not depend on its score.

    Parameters
    ----------
    alpha : float or array-like of shape (q,), default=0.1
        The highest probability of a miss, the same for all labels or one for each.

    Attributes
    ----------
    cuts_ : ndarray of shape (q,)
        A label is predicted where its score is above its cut. Minus infinity, for always, where
        too few instances have the label: fewer than 1 / alpha - 1.

    References
    ----------
    V. Vovk. Conditional validity of inductive conformal predictors. ACML 2012.

    Examples
    --------
    >>> from plurilabel import LabelCoverage
    >>> scores = [[0.9, 0.6], [0.7, 0.4], [0.5, 0.2], [0.3, 0.1]]
    >>> Y = [[1, 1], [1, 0], [0, 1], [1, 0]]
    >>> LabelCoverage(0.5).fit(scores, Y).predict(scores)   # one of three may be missed
    array([[1, 1],
           [1, 1],
           [0, 1],
           [0, 0]])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither"), "array-like"],
    }
    _fitted: ClassVar[Declared] = {"cuts_": numbers("n_labels_", finite=False)}

    def __init__(self, alpha: ArrayLike = 0.1):
        self.alpha = alpha

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        q = scores.shape[1]
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.shape not in ((), (q,)) or not ((alpha > 0) & (alpha < 1)).all():
            raise ValueError(
                f"alpha must be between 0 and 1, one number or one for each of the {q} labels, "
                f"got {self.alpha!r}"
            )
        Y, _ = known_part(Y)  # instances that are known to have the label
        by_label = Y.tocsc() if hasattr(Y, "tocsc") else Y
        self.cuts_ = np.empty(q)
        for j, level in enumerate(np.broadcast_to(alpha, q)):
            at = np.sort(scores[dense(by_label[:, [j]])[:, 0] == 1, j]).astype(np.float64)
            budget = level * (len(at) + 1) - 1
            self.cuts_[j] = highest_cut(at, np.arange(1.0, len(at) + 1), budget)

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cuts_)
