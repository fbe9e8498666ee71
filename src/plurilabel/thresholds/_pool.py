"""What the labels have in common: their mean counts at each cut, for labels that are rare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.base import LabelMatrix
from plurilabel._core.unknown import known_part
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds._strategy import Scores
from plurilabel.thresholds._sweep import by_label, cut_between, evaluate

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
        for ordered, chosen in by_label(scores, Y):
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
        values = evaluate(measure, *total)
        best = len(cuts) - 1 - int(values[::-1].argmax())  # the highest of equally good cuts
        middle = cut_between(cuts[best], cuts[min(best + 1, len(cuts) - 1)])
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
