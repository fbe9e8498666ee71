"""What was compared and how: facts of the plan, for all formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plurilabel.compare import Results
from plurilabel.report._data import Findings
from plurilabel.report._words import counted, listed


def facts(findings: Findings) -> list[tuple[str, str]]:
    """Sizes of the comparison, as (word, value)."""
    results = findings.results
    protocol = results.plan.get("protocol", {})
    failed = len(results.failures())
    seconds = sum(
        float(cell.get(part) or 0)
        for cell in results.cells
        for part in ("fit_seconds", "predict_seconds")
    )
    known = [
        ("datasets", f"{len(results.datasets):,}"),
        ("learners", f"{len(results.learners):,}"),
        ("protocol", protocol_words(results)),
        ("seed", str(protocol.get("random_state", ""))),
        ("cells", f"{len(results.cells):,}" + (f", {failed} failed" if failed else "")),
        ("computing time", duration(seconds)),
    ]
    return [(word, value) for word, value in known if value]


def protocol_words(results: Results) -> str:
    """How the data were split."""
    protocol = results.plan.get("protocol", {})
    cv, repeats = protocol.get("cv"), int(protocol.get("repeats") or 1)
    if cv is None:
        return ""
    if str(cv).isdecimal():
        said = f"{cv}-fold cross-validation"
    else:
        said = "hold-out" if cv == "holdout" else str(cv)
    return said if repeats == 1 else f"{said}, {repeats} times"


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(0.4), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


_FIGURES = (
    ("n", "instances"),
    ("d", "features"),
    ("q", "labels"),
    ("cardinality", "cardinality"),
    ("density", "density"),
    ("diversity", "label sets"),
    ("mean_ir", "mean imbalance"),
    ("scumble", "SCUMBLE"),
    ("split", "split"),
)


def datasets_table(findings: Findings) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Titles and rows that describe the datasets; figures that no plan holds are left out."""
    about = findings.results.plan["datasets"]
    keys = [(key, title) for key, title in _FIGURES if any(key in of for of in about.values())]
    rows = [
        (name, [_figure(about[name].get(key)) for key, _ in keys])
        for name in findings.results.datasets
    ]
    return [title for _, title in keys], rows


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def failure_rows(results: Results) -> list[tuple[str, ...]]:
    """(learner, dataset, folds, status, why), cells that failed alike in one row."""
    found = [
        (cell, (cell["status"], str(cell.get("error") or "no reason is known")))
        for cell in results.failures()
    ]
    return _alike(results, found)


def warning_rows(results: Results) -> list[tuple[str, ...]]:
    """(learner, dataset, folds, warning), the same warnings in one row."""
    found = [(cell, (str(said),)) for cell in results.cells for said in cell.get("warnings") or ()]
    return _alike(results, found)


def _alike(
    results: Results, found: Sequence[tuple[Mapping[str, Any], tuple[str, ...]]]
) -> list[tuple[str, ...]]:
    """Cells of which the same is said in one row, with their folds."""
    repeats = len({cell["repeat"] for cell in results.cells}) > 1
    splits = Counter((cell["learner"], cell["dataset"]) for cell in results.cells)
    folds: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for cell, said in found:
        fold = f"{cell['repeat'] + 1}.{cell['fold'] + 1}" if repeats else f"{cell['fold'] + 1}"
        folds.setdefault((cell["learner"], cell["dataset"], said), []).append(fold)
    return [
        (
            learner,
            dataset,
            "all" if len(where) == splits[learner, dataset] else listed(where, 8),
            *said,
        )
        for (learner, dataset, said), where in folds.items()
    ]


def learner_rows(findings: Findings) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Titles and rows: what each learner is, and what searches chose."""
    results = findings.results
    chosen = {name: _chosen(results, name) for name in findings.learners}
    titles = ["definition", "chosen by search"] if any(chosen.values()) else ["definition"]
    rows = []
    for name in findings.learners:
        about = results.plan["learners"][name]
        row = [definition(about), chosen[name]]
        rows.append((name, row[: len(titles)]))
    return titles, rows


def definition(about: dict[str, Any]) -> str:
    """A learner as code, else its class and parameters."""
    if about.get("repr"):
        return " ".join(str(about["repr"]).split())
    kind = str(about.get("class", "")).rpartition(".")[2]
    given = about.get("parameters") or {}
    return f"{kind}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def _chosen(results: Results, learner: str) -> str:
    """What searches chose, the most frequent first, with how often."""
    found = Counter(
        ", ".join(f"{key}={_short(value)}" for key, value in cell["best_params"].items())
        for cell in results.cells
        if cell["learner"] == learner and cell.get("best_params")
    )
    parts = [
        f"{text} ({times}×)" if len(found) > 1 else text for text, times in found.most_common(4)
    ]
    if len(found) > 4:
        parts.append(f"{counted(len(found) - 4, 'other')}")
    return "; ".join(parts)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"


def repeat_facts(results: Results) -> tuple[str, list[tuple[str, str]]]:
    """The command, and what else has to be the same."""
    plan, protocol = results.plan, results.plan.get("protocol", {})
    command = plan.get("command") or ""
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    known = [
        ("protocol", protocol_words(results)),
        ("seed", f"{protocol.get('random_state')}; the seeds made of it are in the cells"),
        ("measures", ", ".join(results.measures)),
    ]
    if results.folder is not None:
        known.append(("cells", f"{results.folder.name}/cells, one file for each learner and fold"))
    known += [(str(name), str(version)) for name, version in plan.get("versions", {}).items()]
    digests = {n: about["digest"] for n, about in plan["datasets"].items() if about.get("digest")}
    if digests:
        known.append(
            ("data (digest)", ", ".join(f"{n} {str(d)[:12]}" for n, d in digests.items()))
        )
    peak = [float(cell["peak_mb"]) for cell in results.cells if cell.get("peak_mb")]
    if peak:
        known.append(("peak memory", f"{np.max(peak):,.0f} MB"))
    return str(command), known
