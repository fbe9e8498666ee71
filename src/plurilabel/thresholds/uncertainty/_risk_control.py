"""RiskControl: one cut that keeps the expected loss of the label sets below a level."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Interval, StrOptions
from plurilabel._core.fitted import Declared, number
from plurilabel.thresholds._base import Scores, Sets, ThresholdStrategy, above, complete_rows

RISKS = ("recall", "subset", "misses")
_ROUNDING = 1e-9  # alpha (n + 1) need not be a whole number in binary


class RiskControl(ThresholdStrategy):
    """Label sets whose expected loss is at most ``alpha``: conformal risk control.

    The cut is the highest at which the mean loss of the n instances given to ``fit``, with one
    more instance of the worst loss, is at most ``alpha`` (equation 4 of the paper). It is exact:
    all cuts are considered, not those of a grid. The guarantee: if the instances given to ``fit``
    and a new one are exchangeable, the expected loss of the new one's set is at most ``alpha``,
    whatever the classifier, the distribution and the number of instances.

    The scores have to come from a classifier that was not trained on these instances:
    ``ThresholdClassifier(fitted, RiskControl(0.1), cv="prefit")``. With out-of-fold scores
    (another ``cv``) all data serve both purposes, and the guarantee becomes an approximation.
    Instances with labels that are not known are left out: then the others have to be
    exchangeable with a new one.

    Parameters
    ----------
    alpha : float, default=0.1
        The highest expected loss, between 0 and 1.
    risk : {"recall", "subset", "misses"} or callable, default="recall"
        The loss of a label set:

        ``"recall"``
            the share of the instance's labels that are missed, 1 - recall. Instances without
            labels are left out, as in :func:`plurilabel.metrics.recall`: the guarantee is for
            instances with labels.
        ``"subset"``
            1 if any label is missed: the set contains all true labels with a probability of at
            least 1 - alpha.
        ``"misses"``
            the number of labels that are missed, divided by the number of all labels.
        callable
            ``loss(Y_true, sets)`` gets two boolean arrays of shape (n, q) and returns n losses
            between 0 and 1. The loss of an instance must not grow with its set, and must be at
            most ``alpha`` for the set of all labels.

    Attributes
    ----------
    cut_ : float
        Labels with scores above it are predicted. Minus infinity, for all labels, where there
        are too few instances: fewer than 1 / alpha - 1.
    risk_ : float
        Mean loss at this cut of the instances given to ``fit``.

    See Also
    --------
    LabelCoverage : The same for each label.
    FalseDiscoveryControl : For the share of wrong labels among those predicted.

    References
    ----------
    A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal risk control. ICLR 2024
    (arXiv 2208.02814, 2022).

    Examples
    --------
    Of the labels of an instance, miss at most 30% on average. Here one miss is allowed:

    >>> from plurilabel import RiskControl
    >>> scores = [[0.9, 0.8], [0.7, 0.1], [0.2, 0.6], [0.5, 0.4]]
    >>> Y = [[1, 1], [1, 0], [0, 1], [1, 1]]
    >>> control = RiskControl(0.3).fit(scores, Y)
    >>> control.predict(scores)
    array([[1, 1],
           [1, 0],
           [0, 1],
           [1, 0]])
    >>> control.risk_
    0.125
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "risk": [StrOptions(set(RISKS)), callable],
    }
    _fitted: ClassVar[Declared] = {"cut_": number(finite=False), "risk_": number()}

    def __init__(self, alpha: float = 0.1, *, risk: str | Callable[..., Any] = "recall"):
        self.alpha = alpha
        self.risk = risk

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        scores, Y = complete_rows(scores, Y, "RiskControl")
        if callable(self.risk):
            self.cut_, self.risk_ = _search(self.risk, scores, dense(Y) == 1, float(self.alpha))
            return
        at, loss, n = self._steps(scores, Y)
        order = np.argsort(at, kind="stable")
        at, total = at[order], np.cumsum(loss[order])
        # all that a cut may miss; with one more instance of loss 1, (total + 1) / (n + 1) = alpha
        self.cut_ = highest_cut(at, total, self.alpha * (n + 1) - 1)
        missed = int(np.searchsorted(at, self.cut_, side="right"))
        self.risk_ = float(total[missed - 1] / n) if missed else 0.0

    def _steps(
        self, scores: Scores, Y: LabelMatrix
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Scores where the summed loss grows as the cut reaches them, by how much, and n."""
        n, q = scores.shape
        rows, labels = Y.nonzero()  # row by row
        s, sizes = scores[rows, labels].astype(np.float64), np.bincount(rows, minlength=n)
        if self.risk == "misses":
            return s, np.full(len(s), 1 / q), n
        if self.risk == "recall":
            return s, 1 / sizes[rows], int(np.count_nonzero(sizes))
        lowest = np.full(n, np.inf)
        np.minimum.at(lowest, rows, s)
        lowest = lowest[sizes > 0]
        return lowest, np.ones(len(lowest)), n

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cut_)


def highest_cut(at: NDArray[np.float64], total: NDArray[np.float64], budget: float) -> float:
    """The highest cut at which no more than ``budget`` is lost.

    ``total[k]`` is lost if the first k + 1 of the ascending scores ``at`` are not above the cut.
    """
    if budget < -_ROUNDING:
        return -np.inf
    k = int(np.searchsorted(total, budget + _ROUNDING, side="right"))  # the first too many
    # the largest number below the score that must stay; of equal ones, all stay
    return float(np.nextafter(at[k], -np.inf)) if k < len(at) else np.inf


def _search(
    loss: Callable[..., Any], scores: Scores, Y: NDArray[np.bool_], alpha: float
) -> tuple[float, float]:
    """Cut and mean loss, by bisection: any monotone loss, about log2(n q) times."""
    n = len(Y)

    def mean_loss(cut: float) -> float:
        losses = np.asarray(loss(Y, above(scores, cut)), dtype=np.float64)
        if losses.shape != (n,) or not ((losses >= 0) & (losses <= 1)).all():
            raise ValueError(
                f"risk must return {n} losses between 0 and 1, one per instance, got "
                f"shape {losses.shape}"
                + (f", {losses.min():g} to {losses.max():g}" if losses.size else "")
            )
        return float(losses.mean())

    lowest = mean_loss(-np.inf)
    if lowest > alpha:
        raise ValueError(
            f"risk must be at most alpha={alpha:g} for sets of all labels, got {lowest:g}"
        )
    at = np.unique(scores).astype(np.float64)
    cuts = np.concatenate([[-np.inf], np.nextafter(at, -np.inf)[1:], [np.inf]])
    low, high = 0, len(cuts)  # the cut at low is allowed, that at high is not
    while high - low > 1:
        middle = (low + high) // 2
        allowed = n * mean_loss(cuts[middle]) + 1 <= alpha * (n + 1) + _ROUNDING
        low, high = (middle, high) if allowed else (low, middle)
    return float(cuts[low]), mean_loss(cuts[low])
