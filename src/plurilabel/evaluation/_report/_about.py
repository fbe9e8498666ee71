"""Facts about a comparison, from its plan and cells, for all formats of its report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from plurilabel._core.words import counted, duration, listed, shortened
from plurilabel.evaluation._compare._results import Results

Rows = list[tuple[str, list[str]]]

# statistics of a dataset in a plan, and their titles
FIGURES = {
    "n": "instances", "d": "features", "q": "labels", "cardinality": "cardinality",
    "density": "density", "diversity": "label sets", "mean_ir": "mean imbalance",
    "scumble": "SCUMBLE", "not_known": "unknown labels", "split": "split",
}  # fmt: skip


def about(results: Results, learners: Sequence[str]) -> dict[str, Any]:
    """The variables of the templates about the comparison; learners in the given order."""
    plan, failed = results.plan, results.failures()
    problems = [(c, c["status"], str(c.get("error") or "unknown reason")) for c in failed]
    warnings = [(cell, str(w)) for cell in results.cells for w in cell.get("warnings") or ()]
    command = plan.get("command") or ""
    return {
        "title": f"{_few(results.learners, 'learner')} on {_few(results.datasets, 'dataset')}",
        "facts": _facts(results, len(failed)),
        "names": results.datasets,
        "datasets": _datasets(results),
        "calibration": _calibration(results, learners),
        "failures": _alike(results, problems),
        "warnings": _alike(results, warnings),
        "learners": _learners(results, learners),
        "command": command if isinstance(command, str) else " ".join(map(str, command)),
        "repeat": _repeat(results),
        "version": plan.get("versions", {}).get("plurilabel", ""),
    }


def _few(names: Sequence[str], noun: str) -> str:
    said = listed(names)
    return said if len(names) <= 3 and len(said) <= 60 else counted(len(names), noun)


def _facts(results: Results, failed: int) -> list[tuple[str, str]]:
    """Sizes of the comparison, as (name, value)."""
    parts = ("fit_seconds", "predict_seconds")
    seconds = sum(float(cell.get(part) or 0) for cell in results.cells for part in parts)
    known = {
        "datasets": f"{len(results.datasets):,}",
        "learners": f"{len(results.learners):,}",
        "protocol": _protocol(results),
        "seed": str(results.plan["protocol"].get("random_state", "")),
        "cells": f"{len(results.cells):,}" + (f", {failed} failed" if failed else ""),
        "compute time": duration(seconds),
    }
    return [(name, value) for name, value in known.items() if value]


def _protocol(results: Results) -> str:
    """How the data were split."""
    protocol = results.plan["protocol"]
    cv, repeats = str(protocol.get("cv") or ""), int(protocol.get("repeats") or 1)
    said = f"{cv}-fold cross-validation" if cv.isdecimal() else cv.replace("holdout", "hold-out")
    return f"{said}, {repeats} times" if repeats > 1 else said


def _datasets(results: Results) -> tuple[list[str], Rows]:
    """Titles and rows that describe the datasets, with the statistics of the plan."""
    plan = results.plan["datasets"]
    keys = [key for key in FIGURES if any(key in of_one for of_one in plan.values())]

    def text(value: Any) -> str:
        if isinstance(value, int | float):
            return f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
        return "–" if value is None else str(value)

    rows = [(name, [text(plan[name].get(key)) for key in keys]) for name in results.datasets]
    return [FIGURES[key] for key in keys], rows


def _calibration(results: Results, learners: Sequence[str]) -> Rows:
    """Mean expected calibration error of the learners with probabilities, by dataset."""
    found: dict[tuple[str, str], list[float]] = {}
    for cell in results.cells:
        if (error := cell.get("calibration_error")) is not None:
            found.setdefault((cell["learner"], cell["dataset"]), []).append(float(error))
    rows = []
    for learner in learners:
        errors = [found.get((learner, dataset), []) for dataset in results.datasets]
        if any(errors):
            rows.append((learner, [f"{sum(of) / len(of):.3f}" if of else "–" for of in errors]))
    return rows


def _alike(results: Results, found: Sequence[tuple[Any, ...]]) -> Rows:
    """Learner, dataset, folds and message, one row per message."""
    repeats = len({cell["repeat"] for cell in results.cells}) > 1
    splits = Counter((cell["learner"], cell["dataset"]) for cell in results.cells)
    folds: dict[tuple[str, ...], list[str]] = {}
    for cell, *said in found:
        fold = f"{cell['repeat'] + 1}.{cell['fold'] + 1}" if repeats else f"{cell['fold'] + 1}"
        folds.setdefault((cell["learner"], cell["dataset"], *said), []).append(fold)
    return [
        (who, [where, "all" if len(of) == splits[who, where] else listed(of, 8), *said])
        for (who, where, *said), of in folds.items()
    ]


def _learners(results: Results, learners: Sequence[str]) -> tuple[list[str], Rows]:
    """Titles and rows: each learner as code, and the parameters chosen by searches."""
    rows = []
    for name in learners:
        plan = results.plan["learners"][name]
        kind, given = str(plan.get("class", "")).rpartition(".")[2], plan.get("parameters") or {}
        values = ", ".join(f"{key}={value!r}" for key, value in given.items())
        code = str(plan.get("repr") or f"{kind}({values})")
        rows.append((name, [" ".join(code.split()), _chosen(results, name)]))
    titles = ["definition", "chosen by search"]
    used = 2 if any(chosen for _, (_, chosen) in rows) else 1
    return titles[:used], [(name, row[:used]) for name, row in rows]


def _chosen(results: Results, learner: str) -> str:
    """Parameters chosen by searches, with how often, the most frequent first."""

    def short(value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False, default=str)
        return shortened(value if isinstance(value, str) else text, 80)

    found = Counter(
        ", ".join(f"{key}={short(value)}" for key, value in cell["best_params"].items())
        for cell in results.cells
        if cell["learner"] == learner and cell.get("best_params")
    )
    if len(found) == 1:
        return next(iter(found))
    parts = [f"{text} ({times}×)" for text, times in found.most_common(4)]
    return "; ".join(parts + [counted(n, "other") for n in [len(found) - 4] if n > 0])


def _repeat(results: Results) -> list[tuple[str, str]]:
    """Everything that determines the results, as (name, value)."""
    plan = results.plan
    seed = plan["protocol"].get("random_state")
    known = [
        ("protocol", _protocol(results)),
        ("seed", f"{seed}; the derived seeds are in the cells"),
        ("measures", ", ".join(results.measures)),
    ]
    if results.folder is not None:
        known.append(("cells", f"{results.folder.name}/cells, one file per learner and fold"))
    known += [(str(name), str(version)) for name, version in plan.get("versions", {}).items()]
    digests = {name: str(one.get("digest") or "") for name, one in plan["datasets"].items()}
    said = ", ".join(f"{name} {digest[:12]}" for name, digest in digests.items() if digest)
    peak = max(float(cell.get("peak_mb") or 0) for cell in results.cells)
    known += [("data (digest)", said)] if said else []
    return known + ([("peak memory", f"{peak:,.0f} MB")] if peak else [])
