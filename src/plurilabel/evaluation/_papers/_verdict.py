"""Verdicts on our values beside the printed ones, and the facts about data that papers state."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from plurilabel._core.blocks import dense
from plurilabel._core.data.dataset import Dataset
from plurilabel.evaluation._papers._paper import Known

Word = Literal[
    "holds", "better", "differs", "as recorded", "changed", "ours only", "skipped", "failed"
]


class Verdict(NamedTuple):
    """A word, whether it counts as reproduced, and the reason if it is not obvious."""

    verdict: Word
    passed: bool
    reason: str = ""


ROUNDING = 1e-9
"""So that a difference of exactly the tolerance, as printed, is within it."""


def judge(
    ours: float,
    published: float,
    tolerance: float,
    *,
    claim: str,
    greater_is_better: bool,
    known: Known | None = None,
) -> Verdict:
    """Compare with a printed value.

    A cell outside the tolerance passes if it is better and only that was claimed, or if the
    difference is known: then ours must still be the value that the evidence is about.

    Examples
    --------
    >>> judge(0.1968, 0.197, 0.003, claim="same", greater_is_better=False).verdict
    'holds'
    >>> judge(0.159, 0.179, 0.01, claim="no worse", greater_is_better=False).verdict
    'better'
    >>> judge(0.159, 0.179, 0.01, claim="same", greater_is_better=False)
    Verdict(verdict='differs', passed=False, reason='')
    """
    if abs(ours - published) <= tolerance + ROUNDING:
        return Verdict("holds", True)
    if claim == "no worse" and (ours > published) == greater_is_better:
        return Verdict("better", True)
    if known is None:
        return Verdict("differs", False)
    if abs(ours - known.ours) <= tolerance + ROUNDING:
        return Verdict("differs", True, known.why)
    return Verdict("differs", False, f"{known.ours:g} was expected: {known.why}")


def judge_recorded(ours: float, recorded: float, tolerance: float) -> Verdict:
    """Compare with what this library gave before, where nothing is printed."""
    if abs(ours - recorded) <= tolerance + ROUNDING:
        return Verdict("as recorded", True)
    return Verdict("changed", False, f"{recorded:g} was recorded")


def facts(data: Dataset, label_set: tuple[str, ...] | None = None) -> dict[str, float]:
    """What papers say about their data, counted again.

    With a label set: how many instances have exactly these labels.
    """
    if label_set is not None:
        wanted = np.isin(data.label_names, label_set)
        if wanted.sum() != len(label_set):
            raise ValueError(f"{data.name} has the labels {data.label_names}, got {label_set}")
        return {"instances": float((dense(data.Y) == wanted).all(axis=1).sum())}
    n, q = data.Y.shape
    sizes = np.asarray(data.Y.sum(axis=1)).ravel()
    found = {"instances": n, "features": data.X.shape[-1], "labels": q}
    found |= {"cardinality": float(sizes.mean()), "density": float(sizes.mean()) / q}
    if data.train is not None and data.test is not None:
        train = sizes[data.train]
        found |= {"training_instances": len(train), "test_instances": len(data.test)}
        found["training_cardinality"] = float(train.mean())
        found["training_deviation"] = float(train.std(ddof=1))
    return found
