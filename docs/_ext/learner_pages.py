"""The frame of the learners' pages: facts, measured figures, reference.

A page ``learners/<class>.md`` is its text, with the facts at its head as front matter: ``use``,
``fit``, ``predict``, ``scores`` and ``paper`` and, if its published results are run again,
``published`` and ``reproduction``. What is the same for all is added when the page is read, with
the figures of ``benchmarks/results/learners.csv``. ``learners/index.md`` gets the overview in
place of its marker. Which learners there are, and to which family each belongs, says the roster.
"""

from __future__ import annotations

import csv
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

from plurilabel._core.roster import FAMILIES, learners
from plurilabel.metrics import get_measure

FACTS = {
    "use": "use it for",
    "scores": "scores",
    "fit": "cost of `fit`",
    "predict": "cost of `predict`",
    "paper": "paper",
}
SECONDS = {"fit_seconds": "`fit`, s", "predict_seconds": "`predict`, s"}
PROTOCOL = (
    "Published hold-outs, the learner's defaults, {base}dense features standardised on the "
    "training part, sparse ones as they are. In brackets the place among the {count} learners. "
    "Seconds are those of one thread."
)

FIGURES = Path(__file__).parents[2] / "benchmarks" / "results" / "learners.csv"

Figures = dict[str, dict[str, dict[str, float]]]
"""By learner, dataset and measure."""


def parsed(text: str) -> tuple[dict[str, str], str, str]:
    """Facts, title and body of a page."""
    _, head, body = text.split("---\n", 2)
    title, _, rest = body.strip().partition("\n")
    return yaml.safe_load(head), title.removeprefix("# "), rest.strip()


def read_figures(path: Path) -> Figures:
    """What was measured."""
    found: Figures = {}
    with open(path, newline="") as stream:
        for row in csv.DictReader(stream):
            learner, dataset = row.pop("learner"), row.pop("dataset")
            figures = {name: float(value) for name, value in row.items()}
            found.setdefault(learner, {})[dataset] = figures
    return found


def place(name: str, data: str, measure: str, measured: Figures) -> int:
    """Which place a learner has by a measure: 1 + the number of better ones."""
    sign = -1 if get_measure(measure).greater_is_better else 1
    own = sign * measured[name][data][measure]
    return 1 + sum(sign * other[data][measure] < own for other in measured.values())


def head(name: str, facts: dict[str, str]) -> str:
    """Facts at a glance."""
    rows = {"class": f"{{py:class}}`plurilabel.{name}`"}
    rows |= {title: facts[key] for key, title in FACTS.items()}
    lines = [f"| {key} | {value} |" for key, value in rows.items()]
    return "\n".join(
        [":::{table}", ":class: facts", ":align: left", "", "| | |", "| --- | --- |"]
        + [*lines, ":::"]
    )


def results(name: str, measured: Figures) -> str:
    """The learner's figures, with its place among all."""
    data = measured[name]
    lines = ["| | " + " | ".join(data) + " |", "| --- |" + " ---: |" * len(data)]
    for m in [m for m in next(iter(data.values())) if m not in SECONDS]:
        cells = [f"{data[d][m]:.3f} ({place(name, d, m, measured)})" for d in data]
        arrow = "↑" if get_measure(m).greater_is_better else "↓"
        lines.append(f"| {get_measure(m).title} {arrow} | " + " | ".join(cells) + " |")
    for key, title in SECONDS.items():
        lines.append(f"| {title} | " + " | ".join(f"{data[d][key]:.1f}" for d in data) + " |")
    around = learners()[name].family == "transformation"
    base = "around logistic regression, " if around else ""
    return PROTOCOL.format(base=base, count=len(measured)) + "\n\n" + "\n".join(lines)


def reference(name: str) -> str:
    """The class with its own methods, not those of scikit-learn's base classes."""
    methods = [
        key
        for key, value in inspect.getmembers(learners()[name].find())
        if not key.startswith("_")
        and callable(value)
        and getattr(inspect.unwrap(value), "__module__", "").startswith("plurilabel")
    ]
    members = f"   :members: {', '.join(methods)}"
    return "\n".join(["```{eval-rst}", f".. autoclass:: plurilabel.{name}", members, "```"])


def overview(folder: Path, measured: Figures) -> str:
    """All learners, family by family."""
    parts = []
    for family in FAMILIES:
        names = [name for name, learner in learners().items() if learner.package == family]
        title = import_module(f"plurilabel.{family}").__doc__.partition(":")[0]
        parts += [f"## {title}", ""]
        parts += ["```{toctree}", ":hidden:", *names, "```", ""]
        parts += ["| learner | use it for | average precision | subset accuracy |"]
        parts += ["| --- | --- | ---: | ---: |"]
        for name in names:
            facts, title, _ = parsed((folder / f"{name}.md").read_text("utf-8"))
            means = [
                f"{mean_place(measured, name, measure):.1f}" if name in measured else ""
                for measure in ("average_precision", "subset_accuracy")
            ]
            parts += [f"| [{title}]({name}.md) | {facts['use']} | {' | '.join(means)} |"]
        parts += [""]
    return "\n".join(parts)


def mean_place(measured: Figures, name: str, measure: str) -> float:
    """Mean place of a learner over the datasets."""
    places = [place(name, data, measure, measured) for data in measured[name]]
    return sum(places) / len(places)


def frame(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page of text into its frame."""
    folder = Path(app.srcdir, "learners")
    name = docname.removeprefix("learners/")
    if name == docname:
        return
    measured = read_figures(FIGURES)
    app.env.note_dependency(FIGURES, docname=docname)
    if name == "index":
        for learner in learners():
            app.env.note_dependency(folder / f"{learner}.md", docname=docname)
        source[0] = source[0].replace("<!-- overview -->", overview(folder, measured))
        return
    facts, title, text = parsed(source[0])
    parts = [f"# {title}", head(name, facts), text]
    if name in measured:
        parts += ["## Measured", results(name, measured)]
    if "reproduction" in facts and Path(app.srcdir, "reproduction.md").exists():
        link = f"{{ref}}`reproduction <reproduction-{facts['reproduction']}>`"
        parts += [f"By the papers' protocols, see {link}: {facts['published']}."]
    source[0] = "\n\n".join([*parts, "## Reference", reference(name), ""])


def setup(app: Sphinx) -> dict[str, Any]:
    """Frame pages as they are read."""
    app.connect("source-read", frame)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
