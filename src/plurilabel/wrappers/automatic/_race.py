"""The first folds as a race: which learners go on to the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from plurilabel.metrics import Measure
from plurilabel.wrappers.automatic._ensemble import (
    FORMS,
    Array,
    Cut,
    HeldOut,
    calibrated,
    forms_of,
    in_form,
    signed,
    value_function,
)

ROWS = 50  # at least, that the race is decided by
BLOCKS = 10  # of rows: values of two learners on each are pairs
LEVEL = 0.05  # of the test
SHARE = 0.2  # at most, of a learner that is behind in the mean with the others


def folds_of_race(sizes: Sequence[int]) -> int:
    """The first folds with enough rows to decide; 0 if that would be all of several."""
    enough = int(np.searchsorted(np.cumsum(sizes), ROWS)) + 1
    return enough if enough < len(sizes) or len(sizes) == 1 else 0


def best_form(held: HeldOut, Y: Any, measure: Measure, cut: Cut) -> tuple[float, Array]:
    """The value of a learner by itself in its best form, and its predictions in that form."""
    calibrator = calibrated(held.scores, Y)
    forms = [in_form(held, FORMS[i], calibrator) for i in forms_of(held)]
    value_of = value_function(measure, cut, Y)
    values = [value_of(form) for form in forms]
    best = int(np.argmax(values))
    return values[best], forms[best]


def dropped(
    first: Sequence[HeldOut], families: Sequence[str], Y: Any, measure: Measure, cut: Cut
) -> tuple[list[str], list[float]]:
    """Why each learner does not go on, or "", and its value.

    Of the variants of one learner the best goes on. Of these, one that is behind the best of all,
    by a one-sided paired t-test over blocks of rows, goes on only if the mean of those that are
    not behind is better with it.
    """
    values, forms = zip(*(best_form(held, Y, measure, cut) for held in first))
    leaders: dict[str, int] = {}
    for j, family in enumerate(families):
        if family not in leaders or values[j] > values[leaders[family]]:
            leaders[family] = j
    why = [""] * len(first)
    for j, family in enumerate(families):
        if leaders[family] != j:
            why[j] = "a variant with other parameters scored higher"
    of_blocks = {j: _on_blocks(forms[j], Y, measure, cut) for j in leaders.values()}
    best = max(of_blocks, key=lambda j: values[j])
    behind = [
        j for j, on_blocks in of_blocks.items()
        if ttest_rel(on_blocks, of_blocks[best], alternative="less").pvalue < LEVEL
    ]  # fmt: skip
    level = [j for j in of_blocks if j not in behind]
    value_of = value_function(measure, cut, Y)
    mean: Any = sum(forms[j] for j in level) / len(level)
    before, share = value_of(mean), min(SHARE, 1 / (len(level) + 1))
    for j in behind:
        if not value_of((1 - share) * mean + share * forms[j]) > before:
            why[j] = "worse than the best learner and of no use in the ensemble"
    return why, list(values)


def _on_blocks(scores: Array, Y: Any, measure: Measure, cut: Cut) -> Array:
    """The measure on each block of rows."""
    answer = scores if measure.kind == "scores" else cut.sets_inside(scores, Y)
    blocks = [np.arange(i, len(answer), BLOCKS) for i in range(BLOCKS)]
    found = [signed(measure, measure.function(Y[rows], answer[rows])) for rows in blocks]
    return np.where(np.isfinite(found), found, np.nan)
