"""What is said of a cell: our value beside the printed one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from plurilabel.papers._paper import Known

Word = Literal[
    "holds", "better", "differs", "as recorded", "changed", "ours only", "skipped", "failed"
]


@dataclass(frozen=True)
class Verdict:
    """A word, whether it counts as reproduced, and why where that is not plain."""

    word: Word
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
    difference is known: then ours must still be the value that the evidence speaks of.

    Examples
    --------
    >>> judge(0.1968, 0.197, 0.003, claim="same", greater_is_better=False).word
    'holds'
    >>> judge(0.159, 0.179, 0.01, claim="no worse", greater_is_better=False).word
    'better'
    >>> judge(0.159, 0.179, 0.01, claim="same", greater_is_better=False)
    Verdict(word='differs', passed=False, reason='')
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
