"""The frame of the learners' pages: facts, measured figures, reference.

A page ``learners/<class>.md`` is its text only. What is the same for all comes from here: a head
and a tail, made from ``learners/learners.toml`` and ``learners/measured.json`` when the page is
read. ``learners/index.md`` gets the overview in place of its marker.
"""

from __future__ import annotations

import importlib
import inspect
import json
import tomllib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FAMILIES = {
    "lazy": "Lazy learners",
    "transformation": "Problem transformations",
    "adaptation": "Adapted learners",
    "boosting": "Boosting",
    "neural": "Neural networks",
}
SHOWN = {
    "hamming_loss": ("Hamming loss", min),
    "subset_accuracy": ("subset accuracy", max),
    "f1": ("F1", max),
    "macro_f1": ("macro F1", max),
    "one_error": ("one-error", min),
    "coverage": ("coverage", min),
    "ranking_loss": ("ranking loss", min),
    "average_precision": ("average precision", max),
}
PROTOCOL = (
    "Published hold-outs, the learner's defaults, {base}dense features standardised on the "
    "training part, sparse ones as they are. In brackets the place among the {count} learners. "
    "Seconds are CPU time of one thread."
)


def table(folder: Path) -> dict[str, dict[str, str]]:
    """The learners that have a page, in the order of the table."""
    entries = tomllib.loads((folder / "learners.toml").read_text(encoding="utf-8"))
    return {name: entry for name, entry in entries.items() if (folder / f"{name}.md").exists()}


def find(name: str, family: str) -> tuple[str, Any]:
    """Where a learner is imported from, and its class."""
    for module in ("plurilabel", f"plurilabel.{family}"):
        found = getattr(importlib.import_module(module), name, None)
        if found is not None:
            return f"{module}.{name}", found
    raise ImportError(f"there is no learner {name} in plurilabel.{family}")


def place(name: str, data: str, measure: str, measured: dict[str, Any]) -> int:
    """Which place a learner has by a measure: 1 + the number of better ones."""
    sign = -1 if SHOWN[measure][1] is max else 1
    own = sign * measured[name][data][measure]
    return 1 + sum(sign * other[data][measure] < own for other in measured.values())


def head(name: str, entry: dict[str, str]) -> str:
    """Facts at a glance."""
    rows = {
        "class": f"{{py:class}}`{find(name, entry['family'])[0]}`",
        "use it for": entry["use"],
        "scores": entry["scores"],
        "cost of `fit`": entry["fit"],
        "cost of `predict`": entry["predict"],
        "paper": entry["paper"],
    }
    lines = [f"| {key} | {value} |" for key, value in rows.items()]
    return "\n".join(
        [
            ":::{table}",
            ":class: facts",
            ":align: left",
            "",
            "| | |",
            "| --- | --- |",
            *lines,
            ":::",
        ]
    )


def results(name: str, measured: dict[str, Any], family: str) -> str:
    """The learner's figures, with its place among all."""
    data = measured[name]
    lines = ["| | " + " | ".join(data) + " |", "| --- |" + " ---: |" * len(data)]
    for m, (title, best) in SHOWN.items():
        cells = [f"{data[d][m]:.3f} ({place(name, d, m, measured)})" for d in data]
        lines.append(f"| {title} {'↑' if best is max else '↓'} | " + " | ".join(cells) + " |")
    for key, title in {"fit_seconds": "`fit`, s", "predict_seconds": "`predict`, s"}.items():
        cells = [f"{data[d][key]:.1f}" for d in data]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    base = "around logistic regression, " if family == "transformation" else ""
    return PROTOCOL.format(base=base, count=len(measured)) + "\n\n" + "\n".join(lines)


def reference(name: str, family: str) -> str:
    """The class with its own methods, not those of scikit-learn's base classes."""
    path, learner = find(name, family)
    methods = [
        key
        for key, value in inspect.getmembers(learner)
        if not key.startswith("_")
        and callable(value)
        and getattr(inspect.unwrap(value), "__module__", "").startswith("plurilabel")
    ]
    return "\n".join(
        ["```{eval-rst}", f".. autoclass:: {path}"] + [f"   :members: {', '.join(methods)}", "```"]
    )


def overview(entries: dict[str, dict[str, str]], measured: dict[str, Any]) -> str:
    """All learners, family by family."""
    parts = []
    for family, title in FAMILIES.items():
        names = [name for name, entry in entries.items() if entry["family"] == family]
        if not names:
            continue
        parts += [f"## {title}", "", "```{toctree}", ":hidden:", *names, "```", ""]
        parts += ["| learner | use it for | average precision | subset accuracy |"]
        parts += ["| --- | --- | ---: | ---: |"]
        for name in names:
            figures = ["", ""]
            if name in measured:
                figures = [
                    f"{mean(measured, name, measure):.1f}"
                    for measure in ("average_precision", "subset_accuracy")
                ]
            link = f"[{entries[name]['title']}]({name}.md)"
            parts += [f"| {link} | {entries[name]['use']} | " + " | ".join(figures) + " |"]
        parts += [""]
    return "\n".join(parts)


def mean(measured: dict[str, Any], name: str, measure: str) -> float:
    """Mean place of a learner over the datasets."""
    places = [place(name, data, measure, measured) for data in measured[name]]
    return sum(places) / len(places)


def frame(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page of text into its frame."""
    folder = Path(app.srcdir, "learners")
    stem = docname.removeprefix("learners/")
    if stem == docname:
        return
    entries = table(folder)
    path = folder / "measured.json"
    for source_file in (folder / "learners.toml", path):
        app.env.note_dependency(source_file, docname=docname)
    measured = json.loads(path.read_text()) if path.exists() else {}
    if stem == "index":
        source[0] = source[0].replace("<!-- overview -->", overview(entries, measured))
    elif stem in entries:
        entry = entries[stem]
        title, _, text = source[0].lstrip().partition("\n")
        tail = ["## Reference", "", reference(stem, entry["family"])]
        if stem in measured:
            tail = ["## Measured", "", results(stem, measured, entry["family"]), "", *tail]
            if "reproduction" in entry and Path(app.srcdir, "reproduction.md").exists():
                link = f"{{ref}}`reproduction <reproduction-{entry['reproduction']}>`"
                note = f"By the papers' protocols, see {link}: {entry['published']}."
                tail = [*tail[:3], "", note, *tail[3:]]
        source[0] = "\n".join([title, "", head(stem, entry), "", text.strip(), "", *tail, ""])


def setup(app: Sphinx) -> dict[str, Any]:
    """Frame pages as they are read."""
    app.connect("source-read", frame)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
