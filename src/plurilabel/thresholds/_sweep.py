"""The exact optimum over all cuts of one column of scores, by one sort.

With n scores there are n + 1 different predictions "the k highest", k = 0..n, except those that
would separate equal scores. A cut lies halfway between two neighbouring distinct scores. The ends
are finite: the highest score (nothing above it), and the next number below the lowest score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks
from plurilabel._core.unknown import UnknownLabels, known_part
from plurilabel.metrics import COUNT_MEASURES
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds._strategy import BLOCK, Scores, just_below


def count_measure(measure: str | Callable[..., Any]) -> CountMeasure:
    """The measure of the counts that a name or a callable stands for."""
    if callable(measure):
        return measure
    if measure not in COUNT_MEASURES:
        raise ValueError(
            f"measure must be a callable of (tp, fp, fn, tn) or one of "
            f"{sorted(COUNT_MEASURES)}, got {measure!r}"
        )
    return COUNT_MEASURES[measure]


class Chosen(NamedTuple):
    """Scores that should be predicted, each with a probability if labels are soft."""

    scores: NDArray[Any]
    weights: Any = None  # if there are any, both are in descending order of the scores

    @classmethod
    def of(cls, scores: Scores, present: NDArray[Any]) -> Chosen:
        """The scores of labels that are present for certain, or with a probability."""
        if present.dtype.kind != "f":
            return cls(scores)
        order = np.argsort(-scores, kind="stable")
        return cls(scores[order], present[order])

    def first(self, k: Any) -> Any:
        """How many labels the k highest scores have, or their expected number."""
        return k if self.weights is None else np.append(0.0, self.weights.cumsum())[k]

    @property
    def total(self) -> Any:
        """Number of labels of all scores, or its expectation."""
        return self.first(len(self.scores))

    def above(self, cuts: Scores) -> NDArray[Any]:
        """The same for scores above each cut."""
        return self.first(len(self.scores) - np.sort(self.scores).searchsorted(cuts, "right"))


def by_label(scores: Scores, Y: LabelMatrix) -> Iterator[tuple[Scores, Chosen]]:
    """For each label all scores in descending order, and those of the instances that have it."""
    # Instances whose label is unknown are ignored.
    n, q = scores.shape
    known = Y.known_rows if isinstance(Y, UnknownLabels) else None
    Y = known_part(Y)[0]
    Y = Y.tocsc() if sparse.issparse(Y) else Y
    for labels in row_blocks(q, n, BLOCK):
        columns = np.ascontiguousarray(scores[:, labels].T)
        for j, column in enumerate(columns, labels.start):
            if sparse.issparse(Y):
                inside = slice(Y.indptr[j], Y.indptr[j + 1])
                rows, present = Y.indices[inside], Y.data[inside]
            else:
                rows = np.flatnonzero(Y[:, j])
                present = Y[rows, j]
            every = column if known is None else column[known(j)]
            yield np.sort(every)[::-1], Chosen.of(column[rows], present)


def cut_between(low: float, high: float) -> float:
    """A cut below high but not below low: the midpoint, if rounding leaves one."""
    low, high = float(low), float(high)
    middle = low / 2 + high / 2  # low + high may overflow
    return middle if low <= middle < high else low


def cut_keeping(ordered: Scores, k: int) -> float:
    """The cut with the first k of the scores, sorted in descending order, above it."""
    if k == 0:
        return float(ordered[0])
    if k == len(ordered):
        return float(just_below(ordered[-1]))
    return cut_between(ordered[k], ordered[k - 1])


def entry_sizes(ordered: Scores, chosen: Chosen) -> Chosen:
    """For each chosen score the smallest k at which it is among the k highest, ascending."""
    # ``ordered`` is descending. Equal scores enter together, so this is the number of scores that
    # are at least as high.
    lower = np.searchsorted(ordered[::-1], np.sort(chosen.scores), side="left")
    return Chosen((len(ordered) - lower)[::-1], chosen.weights)


def counts_by_size(n: int, enters: Chosen, start: int, stop: int) -> tuple[NDArray[Any], ...]:
    """``tp, fp, fn, tn`` when the k highest are predicted, for k = start..stop - 1."""
    a, b = np.searchsorted(enters.scores, (start, stop))
    entered = np.cumsum(np.bincount(enters.scores[a:b] - start, minlength=stop - start))
    tp, k = enters.first(a + entered), np.arange(start, stop)
    fn = enters.total - tp
    return tp, k - tp, fn, n - k - fn


def cuttable(ordered: Scores, start: int, stop: int) -> NDArray[np.bool_]:
    """Whether a cut can separate the k highest from the rest, for k = start..stop - 1."""
    n = len(ordered)
    possible = np.ones(stop - start, dtype=bool)
    a, b = max(start, 1), min(stop, n)  # the ends, k = 0 and k = n, can always be cut
    possible[a - start : b - start] = ordered[a - 1 : b - 1] > ordered[a:b]
    return possible


def best_size(
    ordered: Scores,
    chosen: Chosen,
    measure: CountMeasure,
    *,
    more: Callable[[int, int], Sequence[NDArray[Any]]] | None = None,
    block: int = BLOCK,
) -> tuple[int, float]:
    """The k for which predicting the k highest scores is best, and the value it reaches."""
    # ``ordered`` are all scores, descending; ``chosen`` those that should be predicted. ``more``
    # returns counts that are added to those of k = start..stop - 1. Of equally good values the
    # smallest k is taken, the highest cut. Candidates are tried in blocks, so that memory use
    # stays close to that of the scores.
    n = len(ordered)
    enters = entry_sizes(ordered, chosen)
    best, best_value = 0, -np.inf
    for start in range(0, n + 1, block):
        stop = min(start + block, n + 1)
        counts: Sequence[NDArray[Any]] = counts_by_size(n, enters, start, stop)
        if more is not None:
            counts = [own + added for own, added in zip(counts, more(start, stop))]
        values = evaluate(measure, *counts)
        values = np.where(cuttable(ordered, start, stop), values, -np.inf)
        k = int(values.argmax())
        if values[k] > best_value:
            best, best_value = start + k, float(values[k])
    return best, best_value


def evaluate(measure: CountMeasure, *counts: NDArray[Any]) -> NDArray[np.float64]:
    """The measure at each candidate, checked because a user may have written it."""
    values = np.asarray(measure(*counts), dtype=np.float64)
    if values.shape != counts[0].shape:
        raise ValueError(
            f"measure must return one value for each entry of tp, expected the shape "
            f"{counts[0].shape}, got {values.shape}"
        )
    if np.isnan(values).any():
        raise ValueError("measure must return numbers, got NaN; define 0/0 as 0, for example")
    return values
