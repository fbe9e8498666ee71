"""The documentation page of a reproduction, with our version of the published figures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

import jinja2
import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.papers.reproduction import Cell, Reproduction, Word, lines_of, reasons_of
from plurilabel._core.compat import versions
from plurilabel._core.records import write_atomic
from plurilabel._core.words import capital
from plurilabel.metrics import get_measure

PICTURES = "_static/reproduction"
WORDS = ("", "measure", "statement", "verdict")  # left-aligned columns

MARKS = ("o", "s", "^", "D")


def write_page(reproduction: Reproduction, folder: str | Path) -> Path:
    """Write ``reproduction.md``, its figures and their values to a folder; return the page."""
    path = Path(folder) / "reproduction.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    panels = [
        {
            "picture": picture(paper, name),
            "measure": measure,
            "over": curves.figure.over,
            "curves": {c: curves.of(c, measure).round(4).tolist() for c in curves.figure.curves},
        }
        for (paper, name), curves in reproduction.curves.items()
        for measure in curves.figure.measures
    ]
    values = "".join(json.dumps(panel) + "\n" for panel in panels)
    for file, text in ((path, page(reproduction)), (path.with_suffix(".jsonl"), values)):
        with write_atomic(file) as stream:
            stream.write(text.encode())
    draw_figures(folder)
    return path


def draw_figures(folder: str | Path) -> None:
    """Draw the figures of a page as SVG from ``reproduction.jsonl``, one panel per measure."""
    lines = (Path(folder) / "reproduction.jsonl").read_text("utf-8").splitlines()
    for name, group in groupby(map(json.loads, lines), key=lambda panel: panel["picture"]):
        panels = list(group)
        n_rows = -(-len(panels) // 3)
        figure = Figure(figsize=(9, 2.7 * n_rows), layout="constrained")
        axes = figure.subplots(n_rows, 3, squeeze=False).ravel()
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        for panel, ax in zip(panels, axes):
            for (label, values), mark in zip(panel["curves"].items(), MARKS):
                ax.plot(panel["over"], values, marker=mark, ms=4, lw=1.3, label=label)
            measure = get_measure(panel["measure"])
            arrow = "higher" if measure.greater_is_better else "lower"
            ax.set_title(f"{measure.title} ({arrow} is better)", fontsize=10)
            ax.set_xticks(panel["over"][::2])
            ax.grid(alpha=0.3)
        for ax in axes[max(0, len(panels) - 3) : len(panels)]:
            ax.set_xlabel("K")
        shown = axes[0].get_legend_handles_labels()
        n_curves = len(panels[0]["curves"])
        figure.legend(*shown, loc="outside upper center", ncols=n_curves, frameon=False)
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # without a date and with fixed identifiers, the same values give the same file
        with mpl.rc_context({"svg.hashsalt": name}), write_atomic(path) as stream:
            figure.savefig(stream, format="svg", metadata={"Date": None})


def picture(paper: str, figure: str) -> str:
    """Path of a figure, relative to the page."""
    return f"{PICTURES}/{paper}-{figure.replace(' ', '-')}.svg"


def page(reproduction: Reproduction) -> str:
    """The page as Markdown."""
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"text": escape, "capital": capital}
    template = environment.from_string(
        Path(__file__).with_name("page.md.jinja").read_text(encoding="utf-8")
    )
    written = template.render(
        reproduction=reproduction,
        words=[w for w in get_args(Word) if w in {cell.verdict for cell in reproduction.cells}],
        made_with=", ".join(f"{name} {number}" for name, number in versions("torch").items()),
        reasons_of=reasons_of,
        picture=picture,
        table=markdown_table,
    )
    # empty parts leave blank lines
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def escape(text: str) -> str:
    """Escape the characters that Markdown would interpret."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<|$#" else c for c in text)


def markdown_table(cells: Sequence[Cell]) -> str:
    """A table or figure as a Markdown table, differences in bold."""
    columns, rows = lines_of(cells, best="**")
    columns, *shown = ([escape(row[0]), *row[1:]] for row in (columns, *rows))
    for row in shown:
        if row[-1].startswith(("differs", "changed", "failed")):
            row[-1] = f"**{row[-1]}**"
    rule = ["---" if column in WORDS else "---:" for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *shown))
