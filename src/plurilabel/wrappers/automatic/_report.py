"""What was tried and chosen, as data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plurilabel._core.words import aligned, counted, duration
from plurilabel.io.shared import kinds_text
from plurilabel.metrics import get_measure
from plurilabel.wrappers.automatic._ensemble import Choice
from plurilabel.wrappers.automatic._trials import NO_TIME, Tried


def report(
    tried: Sequence[Tried],
    chosen: Choice,
    measure: Any,
    *,
    rows: int,
    folds: int,
    value: float,
) -> dict[str, Any]:
    """What was tried and chosen, as JSON can hold it."""
    return {
        "measure": measure.name,
        "rows": rows,
        "folds": folds,
        "estimate": _finite(value),
        "cut": chosen.cut.words,
        "tried": [
            {"name": one.candidate.name, "value": _finite(one.value), "weight": one.weight}
            for one in tried
            if not one.why_not
        ],
        "dropped": {one.candidate.name: one.dropped for one in tried if one.dropped},
        "left_out": {
            one.candidate.name: one.why_not for one in tried if one.why_not and not one.dropped
        },
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def told(report: dict[str, Any], seconds: float) -> str:
    """A report as text; the comparison took so many seconds."""
    measure = get_measure(report["measure"])
    if not report["folds"]:
        (only,) = report["tried"]
        left_out = [f"Left out: {name}, {why}" for name, why in report["left_out"].items()]
        return "\n".join([f"Learner: {only['name']}, since {report['why']}.", *left_out])
    tried = counted(len(report["tried"]) + len(report["dropped"]), "learner")
    where = f"in {report['folds']} folds" if report["folds"] > 1 else "on one split"
    if sample := report.get("sample"):
        where += f" (trained on {sample[0]:,}, tested on {sample[1]:,})"
    lines = [
        f"Tried {tried} {where} of {counted(report['rows'], 'row')}, "
        f"{duration(max(1, round(seconds)))}:",
        *_told_learners(report, measure),
    ]
    for why in dict.fromkeys(report["dropped"].values()):
        names = [name for name, its in report["dropped"].items() if its == why]
        lines.append(f"Dropped after the first fold ({why}): {'; '.join(names)}")
    left_out = report["left_out"].items()
    if late := [name for name, why in left_out if why == NO_TIME]:
        lines.append(f"No time left for: {'; '.join(late)}")
    lines += [f"Left out: {name}, {why}" for name, why in left_out if why != NO_TIME]
    chosen = sum(one["weight"] > 0 for one in report["tried"])
    if report["estimate"] is not None:
        what = "Best learner" if chosen == 1 else f"Weighted mean of {chosen} learners"
        lines.append(
            f"{what}: {measure.title} {report['estimate']:.3f} expected on new rows "
            f"({_how_estimated(report)})."
        )
    if size := report.get("size"):
        lines.append(f"Size and speed: {size}.")
    lines.append(f"Label sets: {report['cut']}.")
    if kinds := report.get("columns"):
        lines.append(f"{counted(len(kinds), 'column')}: {kinds_text(kinds)}.")
        if words := report.get("words"):
            lines.append(f"Features of text: {words}.")
        left_out = report["columns_left_out"].items()
        lines += [f"Column {name!r} left out as an identifier: {why}." for name, why in left_out]
    if unknown := report.get("unknown"):
        lines.append(f"Ignored {counted(unknown, 'unknown label')}.")
    return "\n".join(lines)


def _how_estimated(report: dict[str, Any]) -> str:
    """Which rows the estimate is measured on."""
    some, folds = report.get("estimate_folds", report["folds"]), report["folds"]
    if folds == 1:
        return "selected on one half of the test rows, measured on the other"
    which = "each fold" if some == folds else f"{some} of the {folds} folds"
    return f"measured on {which}, selected on the others"


def _told_learners(report: dict[str, Any], measure: Any) -> list[str]:
    """A table of the learners, the largest weights first."""
    sign = -1 if measure.greater_is_better else 1

    def rank(one: dict[str, Any]) -> tuple[float, float]:
        return -one["weight"], np.inf if one["value"] is None else sign * one["value"]

    table = [["learner", measure.title, "weight"]]
    for one in sorted(report["tried"], key=rank):
        value = "" if one["value"] is None else f"{one['value']:.3f}"
        table.append([one["name"], value, f"{one['weight']:.2f}" if one["weight"] else "-"])
    return [f"  {line}".rstrip() for line in aligned(table)]
