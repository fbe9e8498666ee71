"""One cut for all labels, the best for a measure of the label matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel._core.compat import StrOptions
from plurilabel._core.fitted import Declared, number
from plurilabel._core.names import ALIASES
from plurilabel._core.soft import possible_sets
from plurilabel._core.unknown import known_part
from plurilabel.metrics import COUNT_MEASURES
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds._strategy import BLOCK, Scores, ThresholdStrategy, just_below
from plurilabel.thresholds._sweep import Chosen, best_size, cut_between, cut_keeping, evaluate


class _MeanMeasure(NamedTuple):
    """A mean over groups of decisions: all of them as one, the labels, or the instances."""

    over: str  # "all", "labels" or "instances"
    of_counts: CountMeasure
    # Whether only groups with true labels count in the mean: the rule of plurilabel.metrics.
    labelled: bool = False


MEASURES: dict[str, _MeanMeasure] = {
    **{f"micro_{name}": _MeanMeasure("all", m) for name, m in COUNT_MEASURES.items()},
    **{f"macro_{name}": _MeanMeasure("labels", m) for name, m in COUNT_MEASURES.items()},
    **{
        name: _MeanMeasure("instances", COUNT_MEASURES[name], True)
        for name in ("precision", "recall", "f0.5", "f1", "f2")
    },
    "accuracy": _MeanMeasure("instances", COUNT_MEASURES["jaccard"], True),
    "subset_accuracy": _MeanMeasure("instances", lambda _tp, fp, fn, _tn: (fp == 0) & (fn == 0)),
}
"""Measures of a label matrix, named as in plurilabel.metrics; higher is better for all of them."""

_BY_NAME = MEASURES | {name: MEASURES[ours] for name, ours in ALIASES.items() if ours in MEASURES}


@dataclass(eq=False, repr=False)
class GlobalThreshold(ThresholdStrategy):
    """One cut for all labels, at which a measure of the predictions is highest.

    All n q + 1 cuts that can make a difference are tried, by one sweep over the sorted scores.
    Counts are exact, and so are micro measures; a mean over instances or labels is updated along
    the sweep in float64, so that cuts whose means differ by less than about 1e-12 count as equal.
    A cut lies halfway between two neighbouring distinct scores; the highest of equally good cuts
    is used. If it is best to predict nothing, the cut is the highest score seen; if it is best to
    predict everything, the next number below the lowest.

    Parameters
    ----------
    measure : str or callable, default="micro_f1"
        The names are those of :mod:`plurilabel.metrics`: ``"micro_..."``, ``"macro_..."``, and
        without a prefix the mean over instances. ``"micro_accuracy"`` minimises Hamming loss,
        ``"accuracy"`` is the mean Jaccard similarity of the instances. A function of the counts
        (tp, fp, fn, tn) is used as a micro measure.

    Attributes
    ----------
    cut_ : float
    value_ : float
        The measure at that cut, on the scores given to ``fit``; NaN if it is undefined there.

    Examples
    --------
    >>> from plurilabel import GlobalThreshold
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> Y = [[1, 1], [0, 1], [1, 0], [0, 0]]
    >>> strategy = GlobalThreshold("micro_f1").fit(scores, Y)
    >>> round(strategy.cut_, 3), round(strategy.value_, 3)
    (0.25, 0.889)
    """

    _learns_from_known = True
    _fitted: ClassVar[Declared] = {"cut_": number(finite=False)}

    measure: Annotated[str | Callable[..., Any], StrOptions(set(_BY_NAME)), callable] = "micro_f1"

    def _fit(self, scores: Scores, Y: LabelMatrix) -> None:
        over, of_counts, labelled = (
            _MeanMeasure("all", self.measure) if callable(self.measure) else _BY_NAME[self.measure]
        )
        Y, unknown = known_part(Y)
        if unknown is not None and dense(unknown).all():
            raise ValueError("Y must have some labels that are known, got none")
        if over == "all":
            known = scores if unknown is None else scores[~dense(unknown)]
            ordered = np.sort(known, axis=None)[::-1]
            chosen = Chosen.of(scores[at := Y.nonzero()], np.asarray(Y[at]).ravel())
            k, self.value_ = best_size(ordered, chosen, of_counts)
            self.cut_ = cut_keeping(ordered, k)
            return
        if over == "labels":
            scores, Y = scores.T, Y.T.tocsr() if sparse.issparse(Y) else Y.T
            unknown = None if unknown is None else dense(unknown).T
        if unknown is not None:  # rows that know nothing do not count
            unknown = dense(unknown)
            some = np.flatnonzero(~unknown.all(axis=1))
            scores, Y, unknown = scores[some], Y[some], unknown[some]
        weights = np.ones(len(scores))
        if over == "instances" and Y.dtype.kind == "f":
            rows, Y, weights = possible_sets(Y)
            scores, unknown = scores[rows], None if unknown is None else unknown[rows]
        gains, start = _gains(scores, Y, of_counts, unknown, weights)
        counted = Y.sum(axis=1) > 0  # the gains of others are 0 if they do not count
        weight = float(weights[counted].sum() if labelled else weights.sum())
        self.cut_, self.value_ = _best_prefix(scores, gains, start, weight)


def _gains(
    scores: Scores, Y: LabelMatrix, of_counts: CountMeasure, unknown: Any, weights: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """What each entry adds to its row's value when the cut falls below it; value of no entries."""
    # Entries of a row enter from the highest score down. Where scores are equal only the sum of
    # their gains is meaningful, and only that is used.
    n, q = scores.shape
    gains, start = np.empty((n, q)), 0.0
    for rows in row_blocks(n, q, BLOCK):
        order = scores[rows].argsort(axis=1)[:, ::-1]
        y = np.take_along_axis(dense(Y[rows]), order, axis=1)
        tp = np.zeros((len(y), q + 1), np.result_type(y, np.int64))  # of the k highest, k = 0..q
        np.cumsum(y, axis=1, out=tp[:, 1:])
        k = np.broadcast_to(np.arange(q + 1), tp.shape)  # known labels that are predicted
        if unknown is not None:
            hidden = np.take_along_axis(unknown[rows], order, axis=1)
            k = np.zeros(tp.shape, dtype=np.int64)
            np.cumsum(~hidden, axis=1, out=k[:, 1:])
        fp, fn = k - tp, tp[:, -1:] - tp
        value = evaluate(of_counts, tp, fp, fn, k[:, -1:] - tp - fp - fn)
        value *= weights[rows, None]
        start += value[:, 0].sum()
        np.put_along_axis(gains[rows], order, np.diff(value, axis=1), axis=1)
    return gains, start


def _best_prefix(
    scores: Scores, gains: NDArray[np.float64], start: float, weight: float, *, bins: int = 2**16
) -> tuple[float, float]:
    """The cut above which ``(start + sum of gains) / weight`` is highest, and that mean."""
    # Branch and bound instead of one sort of everything: inside a bin of scores the mean cannot
    # rise above that of the sum at the bin's top plus the positive gains inside. Bins where even
    # that is below the best mean at the top of any bin are skipped; the scores in the others are
    # sorted.
    slack = 1e-12  # means this close are equal: rounding must not choose
    low, high = np.float64(scores.min()), np.float64(scores.max())
    number = _bin_numbers(scores, low, high, bins)
    inside, rise = np.zeros(bins), np.zeros(bins)
    n, q = scores.shape
    for rows in row_blocks(n, q, BLOCK):
        b, g = number[rows].ravel(), gains[rows].ravel()
        inside += np.bincount(b, weights=g, minlength=bins)
        rise += np.bincount(b, weights=np.maximum(g, 0), minlength=bins)
    at_top = start + inside[::-1].cumsum()[::-1] - inside  # with the gains of higher bins
    groups = weight or 1.0
    promising = (at_top + rise) / groups >= at_top.max() / groups - 2 * slack

    chosen = promising[number]
    f, g, b = scores[chosen], gains[chosen], number[chosen]
    order = f.argsort()[::-1]
    f, g, b = f[order], g[order], b[order]
    sums = g.cumsum()
    first = np.flatnonzero(np.append(True, b[1:] != b[:-1]))  # of each bin
    before = np.repeat(sums[first] - g[first], np.diff(np.append(first, len(b))))
    means = (sums - before + at_top[b]) / groups
    means[:-1][f[:-1] == f[1:]] = -np.inf  # no cut between equal scores
    if means.max() <= start / groups + slack:
        return float(high), start / weight if weight else np.nan
    k = int((means >= means.max() - slack).argmax())
    next_lower = scores.max(where=scores < f[k], initial=-np.inf)
    if next_lower == -np.inf:
        return float(just_below(f[k])), float(means[k])
    return cut_between(next_lower, f[k]), float(means[k])


def _bin_numbers(scores: Scores, low: Any, high: Any, bins: int) -> NDArray[np.int32]:
    """Bins of equal width from low to high; equal scores share one."""
    number = np.empty(scores.shape, dtype=np.int32)
    # halved, so that the range of huge scores does not overflow; of tiny ones it may be 0
    width = (high / 2 - low / 2) or np.float64(1.0)
    for rows in row_blocks(len(scores), scores.size // max(1, len(scores)), BLOCK):
        place = (scores[rows] / 2 - low / 2) / width  # 0 to 1
        np.minimum((place * bins).astype(np.int32), bins - 1, out=number[rows])
    return number
