"""A reproduction as a page of the documentation, with our version of the published figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from plurilabel._compat import versions
from plurilabel._text import capital
from plurilabel.io import write_atomic
from plurilabel.metrics import get_measure
from plurilabel.papers._reproduction import Cell, Curves, Reproduction, lines_of, reasons_of
from plurilabel.papers._verdict import Word

PICTURES = "_static/reproduction"
WORDS = ("", "measure", "statement", "verdict")
"""Columns that hold words; the others hold numbers."""

MARKS = ("o", "s", "^", "D")


def write_page(reproduction: Reproduction, folder: str | Path) -> Path:
    """Write ``reproduction.md`` and its figures into a folder; return the page's path.

    Needs jinja2 and matplotlib: ``pip install 'plurilabel[cli]'``.
    """
    path = Path(folder) / "reproduction.md"
    (path.parent / PICTURES).mkdir(parents=True, exist_ok=True)
    for (paper, name), curves in reproduction.curves.items():
        plot_curves(curves, path.parent / picture(paper, name))
    with write_atomic(path) as stream:
        stream.write(page(reproduction).encode())
    return path


def picture(paper: str, figure: str) -> str:
    """Where a figure is, from the page."""
    return f"{PICTURES}/{paper}-{figure.replace(' ', '-')}.svg"


def page(reproduction: Reproduction) -> str:
    """The page as Markdown; the same results give the same text."""
    try:
        import jinja2
    except ImportError:
        raise ImportError("pages need jinja2; try: pip install 'plurilabel[cli]'") from None
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"text": escape, "capital": capital}
    template = environment.from_string(
        (files("plurilabel.papers") / "page.md.jinja").read_text(encoding="utf-8")
    )
    written = template.render(
        reproduction=reproduction,
        words=[w for w in get_args(Word) if w in {cell.verdict for cell in reproduction.cells}],
        made_with=", ".join(f"{name} {number}" for name, number in versions("torch").items()),
        reasons_of=reasons_of,
        picture=picture,
        table=markdown_table,
    )
    # parts that have nothing to say leave lines of nothing
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def escape(text: str) -> str:
    """Text as Markdown shows it: no character of it is taken for markup.

    Examples
    --------
    >>> escape("w * (1 - w) | c_1 <b>")
    'w \\\\* (1 - w) \\\\| c\\\\_1 \\\\<b>'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<|$#" else c for c in text)


def markdown_table(cells: Sequence[Cell]) -> str:
    """The lines of a table or figure in Markdown, with what differs in bold."""
    columns, rows = lines_of(cells, best="**")
    columns, *shown = ([escape(row[0]), *row[1:]] for row in (columns, *rows))
    for row in shown:
        if row[-1].startswith(("differs", "changed", "failed")):
            row[-1] = f"**{row[-1]}**"
    rule = ["---" if column in WORDS else "---:" for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *shown))


def plot_curves(curves: Curves, path: str | Path | None = None) -> Any:
    """Draw measures against k, a panel for each; write the figure as SVG if a path is given.

    The same values give the same file.

    Returns
    -------
    matplotlib Figure
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib; try: pip install 'plurilabel[cli]'") from None
    shown = curves.figure
    n_rows = -(-len(shown.measures) // 3)
    figure = Figure(figsize=(9, 2.7 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, 3, squeeze=False).ravel()
    for panel in panels[len(shown.measures) :]:
        panel.set_visible(False)
    for panel, measure in zip(panels, shown.measures):
        for name, mark in zip(shown.curves, MARKS):
            panel.plot(shown.over, curves.of(name, measure), marker=mark, ms=4, lw=1.3, label=name)
        arrow = "higher" if get_measure(measure).greater_is_better else "lower"
        panel.set_title(f"{get_measure(measure).title} ({arrow} is better)", fontsize=10)
        panel.set_xticks(shown.over[::2])
        panel.grid(alpha=0.3)
    for panel in panels[max(0, len(shown.measures) - 3) : len(shown.measures)]:
        panel.set_xlabel("K")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(shown.curves),
        frameon=False,
    )
    if path is not None:
        # no date, and names inside the file that do not change from run to run
        with matplotlib.rc_context({"svg.hashsalt": shown.name}), write_atomic(path) as stream:
            figure.savefig(stream, format="svg", metadata={"Date": None})
    return figure
