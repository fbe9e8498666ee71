"""SCut and PCut: a threshold for each label, by a measure or by its frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense
from plurilabel._core.compat import Finite, NotNegative, StrOptions
from plurilabel._core.fitted import Declared, number, numbers, parameter
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.metrics import COUNT_MEASURES
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds import _sweep as sweep
from plurilabel.thresholds._constant import cut_for_total
from plurilabel.thresholds._strategy import (
    Scores,
    Sets,
    ThresholdStrategy,
    above,
    highest,
    round_half_up,
)

SHRINKS = (1.0, 10.0, 100.0, 300.0)  # of which one is chosen
FOLDS = 3
LEEWAY = 0.01  # what the micro average may lose, relative to the best
MOST_ENTRIES = 2**20  # scores that the choice looks at
POINTS = 2**10  # cuts from the scores of positives, and as many from those of all instances
SAMPLE = 2**16  # scores of which the latter are drawn


@dataclass
class Pool:
    """Counts of a mean label with one positive, at ascending cuts."""

    cuts: NDArray[np.float64]
    counts: NDArray[np.float64]  # (4, cuts): tp, fp, fn, tn
    best: float  # the cut that is best for the mean label, halfway to the next score
    at: float  # the same without that half

    @classmethod
    def of(cls, scores: Scores, Y: LabelMatrix, measure: CountMeasure) -> Pool | None:
        """The mean of all labels that some instances have and others do not, if there are any."""
        # Each label weighs as the square root of its positives.
        some = scores.ravel()
        if some.size > SAMPLE:
            some = some[np.random.default_rng(0).integers(some.size, size=SAMPLE)]
        # finite even below the lowest double, because counts are interpolated between cuts
        below = np.nextafter(scores.min(), np.finfo(scores.dtype).min)
        ends = np.array([below, scores.max()], scores.dtype)
        wanted = scores[known_part(Y)[0].nonzero()]
        cuts = np.unique(np.concatenate([ends, _spaced(wanted), _spaced(some)]))
        total, positives = np.zeros((4, len(cuts))), 0.0
        for ordered, chosen in sweep.by_label(scores, Y):
            n, p = len(ordered), chosen.total
            if 0 < p < n:
                predicted = n - np.searchsorted(ordered[::-1], cuts, side="right")
                tp = chosen.above(cuts)
                fp, fn = predicted - tp, p - tp
                # between the weights of micro averages, 1, and of macro averages, 1 / p
                total += np.array([tp, fp, fn, n - predicted - fn]) / np.sqrt(p)
                positives += np.sqrt(p)
        if not positives:
            return None
        total /= positives
        values = sweep.evaluate(measure, *total)
        best = len(cuts) - 1 - int(values[::-1].argmax())  # the highest of equally good cuts
        middle = sweep.cut_between(cuts[best], cuts[min(best + 1, len(cuts) - 1)])
        return cls(cuts.astype(np.float64), total, middle, float(cuts[best]))

    def size_above(self, ordered: Scores) -> int:
        """How many of the scores, in descending order, are above the best cut."""
        return len(ordered) - int(np.searchsorted(ordered[::-1], self.best, side="right"))

    def beside(self, ordered: Scores, size: float) -> Callable[[int, int], list[NDArray[Any]]]:
        """Counts at cuts that predict the k highest scores of a label, k = start..stop - 1."""
        # They are those of a mean label with ``size`` positives.
        lowest = np.append(ordered, -np.inf)  # such cut for each k
        lowest[self.size_above(ordered)] = self.at  # where it is one of them, it stands for all

        def counts(start: int, stop: int) -> list[NDArray[np.float64]]:
            return [size * np.interp(lowest[start:stop], self.cuts, row) for row in self.counts]

        return counts


def _spaced(values: Scores) -> Scores:
    """Values of equally spaced ranks, or all of a few."""
    if len(values) <= POINTS:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, POINTS).astype(np.intp)]


@dataclass(eq=False, repr=False)
class SCut(ThresholdStrategy):
    """A cut for each label, at which a measure of that label is highest.

    The cut of a rare label would be learned from a few positives. If one of them has a low score,
    the best cut would be below those of hundreds of other instances: an F1 of .01 is better than
    0. So each label is counted together with ``shrink`` positives of a mean label, the counts of
    all labels at the same cut; the more positives a label has, the less these matter.

    The optimum is exact: every cut that can make a difference is tried. A cut lies halfway between
    two neighbouring distinct scores, or where the mean label is best, if that is between the two.
    The highest of equally good cuts is used. If it is best never to predict a label, its cut is at
    least the highest score seen; if it is best always to predict it, it is below the lowest. For a
    label that no instance or every instance has, the cut is infinite.

    Optimising each label optimises the macro average: ``SCut("f1", shrink=0)``, the strategy of
    the paper, has the highest macro F1 on the scores given to ``fit``.

    Parameters
    ----------
    measure : str or callable, default="f1"
        ``"accuracy"``, ``"balanced_accuracy"``, ``"precision"``, ``"recall"``, ``"f0.5"``,
        ``"f1"``, ``"f2"``, ``"jaccard"`` (see :data:`~plurilabel.metrics.COUNT_MEASURES`), or a
        function of the counts (tp, fp, fn, tn). It gets arrays with one entry for each cut and
        returns such an array; higher is better.
    fbr : float, default=None
        A label whose value is below this gets its highest score as its cut (SCutFBR.1), so that
        labels that are hardly found are not predicted.
    shrink : float or "auto", default="auto"
        How many positives of a mean label are added to those of each label. In the mean, a label
        weighs as the square root of its positives. With 0 nothing is added, which is safe only if
        every label has hundreds of positives. ``"auto"`` is one of 1, 10, 100 and 300, chosen by
        three folds of the scores: the best for the macro average of the measure, of those whose
        micro average is within one percent of the best.

    Attributes
    ----------
    cuts_ : ndarray of shape (q,)
    values_ : ndarray of shape (q,)
        The measure of each label at its cut, on the scores given to ``fit``, without what
        ``shrink`` adds.
    shrink_ : float

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
    >>> SCut("f1", shrink=0).fit(scores, Y).cuts_
    array([0.4 , 0.25])
    >>> SCut("f1").fit(scores, Y).cuts_  # with so few instances, the same for both labels
    array([0.2, 0.2])
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {
        "shrink_": number(),
        "cuts_": numbers("n_labels_", finite=False),
        "values_": numbers("n_labels_", finite=False),
    }

    measure: Annotated[str | Callable[..., Any], StrOptions(set(COUNT_MEASURES)), callable] = "f1"
    _: KW_ONLY
    fbr: Finite | None = None
    shrink: NotNegative | Literal["auto"] = "auto"

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        measure = sweep.count_measure(self.measure)
        self.shrink_ = self.shrink
        if isinstance(self.shrink_, str):
            self.shrink_ = self._chosen_shrink(scores, Y, measure)
        cuts, values = self._cuts(scores, Y, measure, (float(self.shrink_),))
        self.cuts_, self.values_ = cuts[0], values[0]

    def _chosen_shrink(self, scores: Scores, Y: LabelMatrix, measure: CountMeasure) -> float:
        """The best for the macro average of rows held out, of those good for the micro average."""
        n, q = scores.shape
        if n < 2 * FOLDS:
            return SHRINKS[-1]
        if n * q > MOST_ENTRIES:
            rows = np.linspace(0, n - 1, max(1000, MOST_ENTRIES // q)).astype(np.intp)
            scores, Y, n = scores[rows], Y[rows], len(rows)
        counts = np.zeros((len(SHRINKS), 4, q), np.result_type(known_part(Y)[0].dtype, np.int64))
        for fold in range(FOLDS):
            inside = np.arange(n) % FOLDS == fold
            learned, test = np.flatnonzero(~inside), np.flatnonzero(inside)
            truth, unknown = known_part(Y[test])
            has = dense(truth)  # a share of 1 if labels are soft
            lacks = 1 - has if unknown is None else (1 - has) * ~dense(unknown)
            for i, cuts in enumerate(self._cuts(scores[learned], Y[learned], measure, SHRINKS)[0]):
                sets = above(scores[test], cuts)
                found = (has * sets, lacks * sets, has * ~sets, lacks * ~sets)
                counts[i] += [part.sum(axis=0) for part in found]
        micro = sweep.evaluate(measure, *counts.sum(axis=2).T)
        macro = sweep.evaluate(measure, *counts.transpose(1, 0, 2)).mean(axis=1)
        good = micro >= micro.max() - LEEWAY * abs(micro.max())
        return SHRINKS[int(np.where(good, macro, -np.inf).argmax())]

    def _cuts(
        self, scores: Scores, Y: LabelMatrix, measure: CountMeasure, shrinks: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Cuts and values of all labels for each strength of shrinking."""
        pool = Pool.of(scores, Y, measure) if max(shrinks) > 0 else None
        cuts, values = np.empty((2, len(shrinks), scores.shape[1]))
        for j, (ordered, chosen) in enumerate(sweep.by_label(scores, Y)):
            n, p = len(ordered), chosen.total
            enters = sweep.entry_sizes(ordered, chosen)
            for i, shrink in enumerate(shrinks):
                shared = pool if 0 < p < n and shrink > 0 else None
                more = None if shared is None else shared.beside(ordered, shrink)
                k, _ = sweep.best_size(ordered, chosen, measure, more=more)
                at_k = sweep.counts_by_size(n, enters, k, k + 1)
                values[i, j] = sweep.evaluate(measure, *at_k)[0]
                if self.fbr is not None and values[i, j] < self.fbr:
                    k = 0
                if p in (0, n) and k == p:  # no instance or every instance has it
                    cuts[i, j] = np.inf if k == 0 else -np.inf
                elif shared is not None and k == shared.size_above(ordered):
                    cuts[i, j] = shared.best
                else:
                    cuts[i, j] = sweep.cut_keeping(ordered, k)
        return cuts, values

    def _sets(self, scores: Scores) -> Sets:
        return above(scores, self.cuts_)


@dataclass(eq=False, repr=False)
class PCut(ThresholdStrategy):
    """Predict each label as often as it occurred in training (paper: see :class:`SCut`).

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
    _fitted: ClassVar[Declared] = {
        "factor_": parameter(),
        "shares_": numbers("n_labels_"),
        "cuts_": numbers("n_labels_", finite=False, optional=True),
    }

    _: KW_ONLY
    factor: NotNegative = 1.0
    batch: bool = True

    def learns_from_scores(self) -> bool:
        return not self.batch

    def _fit(self, scores: Scores | None, Y: LabelMatrix) -> None:
        n, q = Y.shape
        self.factor_ = self.factor
        some_unknown = isinstance(Y, UnknownLabels)
        self.shares_ = Y.shares() if some_unknown else Y.sum(axis=0) / n
        self.cuts_ = None
        if scores is not None and not self.batch:  # the same share of all instances
            wanted = np.minimum(self.factor * self.shares_, 1.0) * n
            self.cuts_ = np.array([cut_for_total(scores[:, j], wanted[j]) for j in range(q)])

    def _sets(self, scores: Scores) -> Sets:
        if self.cuts_ is not None:
            return above(scores, self.cuts_)
        m = len(scores)
        return highest(scores.T, np.minimum(round_half_up(self.factor_ * self.shares_ * m), m)).T
