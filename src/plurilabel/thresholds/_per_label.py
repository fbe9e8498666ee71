"""SCut and PCut: a threshold for each label, by a measure or by its frequency."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.base import LabelMatrix
from plurilabel._core.compat import Interval, StrOptions
from plurilabel._core.fitted import Declared, numbers, parameter
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.metrics import COUNT_MEASURES
from plurilabel.thresholds._constant import cut_for_total
from plurilabel.thresholds._global import GlobalThreshold
from plurilabel.thresholds._strategy import (
    Scores,
    Sets,
    ThresholdStrategy,
    above,
    highest,
    round_half_up,
)
from plurilabel.thresholds._sweep import best_size, by_label, count_measure, cut_keeping


class SCut(ThresholdStrategy):
    """A cut for each label, at which a measure of that label is highest.

    The optimum is exact: every cut that can make a difference is tried. A cut lies halfway between
    two neighbouring distinct scores. The highest of equally good cuts is used. If it is best
    never to predict a label, its cut is the highest score seen; if it is best always to predict
    it, the next number below the lowest. For a label that no instance or every instance has, the
    cut is infinite.

    Optimising each label optimises the macro average: ``measure="f1"`` maximises macro F1.

    Parameters
    ----------
    measure : str or callable, default="f1"
        ``"accuracy"``, ``"balanced_accuracy"``, ``"precision"``, ``"recall"``, ``"f0.5"``,
        ``"f1"``, ``"f2"``, ``"jaccard"`` (see :data:`~plurilabel.metrics.COUNT_MEASURES`), or a
        function of the counts (tp, fp, fn, tn). It gets arrays with one entry for each cut and
        returns such an array; higher is better.
    fbr : float, default=None
        A label whose best value is below this gets its highest score as its cut (SCutFBR.1). This
        guards against accidental optima of rare labels, where a low cut costs many false
        positives.
    shrink : float, default=0.0
        Pulls the cuts of rare labels to one cut that all labels share, the best for the macro
        average: the shared cut has the weight ``shrink / (shrink + positives)``. For a mean of
        eighteen learners, macro F1 on the hold-outs of Emotions, Flags and Genbase is .704, .684
        and .796 with 0, and .703, .696 and .814 with 10.

    Attributes
    ----------
    cuts_ : ndarray of shape (q,)
    values_ : ndarray of shape (q,)
        The measure of each label at its best cut, on the scores given to ``fit``, before any
        shrinking.

    References
    ----------
    Y. Yang. A study of thresholding strategies for text categorization. SIGIR 2001.
    D. Lewis, Y. Yang, T. Rose, F. Li. RCV1: a new benchmark collection for text categorization
    research. JMLR 5, 2004 (SCutFBR).

    Examples
    --------
    >>> from plurilabel import SCut
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> Y = [[1, 1], [0, 1], [1, 0], [0, 0]]
    >>> strategy = SCut("f1").fit(scores, Y)
    >>> strategy.cuts_
    array([0.4 , 0.25])
    >>> strategy.values_
    array([0.8, 1. ])
    """

    _learns_from_known = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [StrOptions(set(COUNT_MEASURES)), callable],
        "fbr": [None, Interval(Real, None, None, closed="neither")],
        "shrink": [Interval(Real, 0, None, closed="left")],
    }
    _fitted: ClassVar[Declared] = {
        "cuts_": numbers("n_labels_", finite=False),
        "values_": numbers("n_labels_", finite=False),
    }

    def __init__(
        self,
        measure: str | Callable[..., Any] = "f1",
        *,
        fbr: float | None = None,
        shrink: float = 0.0,
    ):
        self.measure = measure
        self.fbr = fbr
        self.shrink = shrink

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        q = scores.shape[1]
        self.cuts_, self.values_ = np.empty(q), np.empty(q)
        for j, (ordered, chosen) in enumerate(by_label(scores, Y)):
            k, self.values_[j] = best_size(ordered, chosen, count_measure(self.measure))
            if self.fbr is not None and self.values_[j] < self.fbr:
                k = 0
            constant = len(chosen) in (0, len(ordered))  # no instance or every instance has it
            if constant and k == len(chosen):
                self.cuts_[j] = np.inf if k == 0 else -np.inf
            else:
                self.cuts_[j] = cut_keeping(ordered, k)
        if self.shrink > 0:
            self._shrink_cuts(scores, Y)

    def _shrink_cuts(self, scores: Scores, Y: LabelMatrix) -> None:
        of_all = self.measure if callable(self.measure) else f"macro_{self.measure}"
        shared = GlobalThreshold(of_all)
        shared._fit(scores, Y)
        positives = np.asarray(known_part(Y)[0].sum(axis=0, dtype=np.int64)).ravel()
        weight = self.shrink / (self.shrink + positives)
        finite = np.isfinite(self.cuts_)  # labels that are never or always there stay so
        self.cuts_[finite] += (weight * (shared.cut_ - self.cuts_))[finite]

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cuts_)


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
        some_unknown = isinstance(Y, UnknownLabels)
        self.shares_ = Y.shares() if some_unknown else Y.sum(axis=0, dtype=np.int64) / n
        self.cuts_ = None
        if scores is not None and not self.batch:  # the same share of all instances
            wanted = np.minimum(self.factor * self.shares_, 1.0) * n
            self.cuts_ = np.array([cut_for_total(scores[:, j], wanted[j]) for j in range(q)])

    def _sets(self, scores: Scores) -> Sets:
        if self.cuts_ is not None:
            return above(scores, self.cuts_)
        m = len(scores)
        return highest(scores.T, np.minimum(round_half_up(self.factor_ * self.shares_ * m), m)).T
