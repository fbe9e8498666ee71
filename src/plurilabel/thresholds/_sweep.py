"""The exact optimum over all cuts of one column of scores, by one sort.

With n scores there are n + 1 different predictions "the k highest", k = 0..n, less those that
would part equal scores. A cut lies halfway between two neighbouring distinct scores. The ends are
finite: the highest score (nothing above it), and the next number below the lowest score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plurilabel.metrics import CountMeasure


def cut_between(low: float, high: float) -> float:
    """A cut that high is above and low is not: the midpoint, if rounding leaves one."""
    low, high = float(low), float(high)
    middle = low / 2 + high / 2  # low + high may overflow
    return middle if low <= middle < high else low


def cut_keeping(ordered: NDArray[np.floating], k: int) -> float:
    """The cut above which are the first k of scores sorted in descending order."""
    if k == 0:
        return float(ordered[0])
    if k == len(ordered):
        return float(np.nextafter(np.float64(ordered[-1]), -np.inf))
    return cut_between(ordered[k], ordered[k - 1])


def entry_sizes(
    ordered: NDArray[np.floating], chosen: NDArray[np.floating]
) -> NDArray[np.integer]:
    """For each chosen score the smallest k at which it is among the k highest, ascending.

    ``ordered`` is descending. Equal scores enter together, so this is the number of scores that
    are at least as high.
    """
    lower = np.searchsorted(ordered[::-1], np.sort(chosen), side="left")
    return (len(ordered) - lower)[::-1]


def counts_by_size(
    n: int, enters: NDArray[np.integer], start: int, stop: int
) -> tuple[NDArray[np.integer], ...]:
    """``tp, fp, fn, tn`` when the k highest are predicted, for k = start..stop - 1."""
    a, b = np.searchsorted(enters, (start, stop))
    tp = a + np.cumsum(np.bincount(enters[a:b] - start, minlength=stop - start))
    k = np.arange(start, stop)
    fn = len(enters) - tp
    return tp, k - tp, fn, n - k - fn


def cuttable(ordered: NDArray[np.floating], start: int, stop: int) -> NDArray[np.bool_]:
    """Whether the k highest can be parted from the rest, for k = start..stop - 1."""
    n = len(ordered)
    possible = np.ones(stop - start, dtype=bool)
    a, b = max(start, 1), min(stop, n)  # the ends, k = 0 and k = n, can always be cut
    possible[a - start : b - start] = ordered[a - 1 : b - 1] > ordered[a:b]
    return possible


def best_size(
    ordered: NDArray[np.floating],
    chosen: NDArray[np.floating],
    measure: CountMeasure,
    *,
    block: int = 2**20,
) -> tuple[int, float]:
    """The k for which predicting the k highest scores is best, and the value it reaches.

    ``ordered`` are all scores, descending; ``chosen`` those that should be predicted. Of equally
    good ones the smallest k, the highest cut. Candidates are tried in blocks, so that memory
    stays near that of the scores.
    """
    n = len(ordered)
    enters = entry_sizes(ordered, chosen)
    best, best_value = 0, -np.inf
    for start in range(0, n + 1, block):
        stop = min(start + block, n + 1)
        values = evaluate(measure, *counts_by_size(n, enters, start, stop))
        values = np.where(cuttable(ordered, start, stop), values, -np.inf)
        k = int(values.argmax())
        if values[k] > best_value:
            best, best_value = start + k, float(values[k])
    return best, best_value


def evaluate(measure: CountMeasure, *counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """The measure at each candidate, checked: a user may have written it."""
    values = np.asarray(measure(*counts), dtype=np.float64)
    if values.shape != counts[0].shape:
        raise ValueError(
            f"measure must return one value for each entry of tp, expected the shape "
            f"{counts[0].shape}, got {values.shape}"
        )
    if np.isnan(values).any():
        raise ValueError("measure must return numbers, got NaN; let 0/0 be 0, say")
    return values
