"""A reproduction as a page of the documentation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from plurilabel._compat import versions
from plurilabel.io import write_atomic
from plurilabel.papers._figures import plot_curves
from plurilabel.papers._paper import Figure, Paper, Row, Table
from plurilabel.papers._reproduction import Cell, Reproduction
from plurilabel.papers._text import fields, grid, is_grid, measure_title, number
from plurilabel.papers._verdict import Word

PICTURES = "_static/reproduction"

INTRODUCTION = """\
# Published results, run again

Every table and figure of the papers that this library implements, computed again from the
original data by `plurilabel reproduce`. Published values, tolerances and what is known of the
protocols are data in `plurilabel/papers/data`; nothing on this page is typed by hand.

Verdicts: **holds**: within the tolerance, which is argued for under each table. **better**:
outside it, on the good side, where no more than "no worse" is claimed. **differs**: outside it;
the reason follows the table. **as recorded**: nothing is published, and the value is the one that
this library gave when the table was written. Measures are defined as in `plurilabel.metrics`:
coverage counts from 0, and ties count against the learner.
"""


def write_page(reproduction: Reproduction, folder: str | Path) -> Path:
    """Write ``reproduction.md`` and its figures into a folder; return the page's path."""
    folder = Path(folder)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for (paper, name), curves in reproduction.curves.items():
        plot_curves(curves, folder / picture(paper, name))
    path = folder / "reproduction.md"
    with write_atomic(path) as stream:
        stream.write(page(reproduction).encode())
    return path


def picture(paper: str, figure: str) -> str:
    """Where a figure is, from the page."""
    return f"{PICTURES}/{paper}-{figure.replace(' ', '-')}.svg"


def page(reproduction: Reproduction) -> str:
    """The page as Markdown; the same results give the same text."""
    blocks = [INTRODUCTION, _overview(reproduction)]
    for paper in reproduction.papers:
        parts = {name: cells for key, name, cells in reproduction.parts() if key == paper.key}
        blocks += [
            f"(reproduction-{paper.key})=\n## {escape(paper.name)}",
            escape(paper.citation),
            escape(paper.about),
        ]
        for table in paper.tables:
            if table.name in parts:
                blocks += _table(table, parts[table.name])
        for figure in paper.figures:
            if (paper.key, figure.name) in reproduction.curves:
                blocks += _figure(paper, figure, parts.get(figure.name, []))
    return "\n\n".join(block.strip() for block in [*blocks, _versions()]) + "\n"


def escape(text: str) -> str:
    """Text as Markdown shows it: no character of it is taken for markup.

    Examples
    --------
    >>> escape("w * (1 - w) | c_1 <b>")
    'w \\\\* (1 - w) \\\\| c\\\\_1 \\\\<b>'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<|$#" else c for c in text)


def _overview(reproduction: Reproduction) -> str:
    """How many cells of each verdict, for each table."""
    words = [w for w in WORDS if w in {cell.verdict.word for cell in reproduction.cells}]
    rows = []
    for paper in reproduction.papers:
        for key, name, cells in reproduction.parts():
            if key == paper.key:
                count = Counter(cell.verdict.word for cell in cells)
                link = f"[{escape(paper.name)}](#reproduction-{key})"
                rows.append([Marked(link), name, *(str(count[w] or "") for w in words)])
    return markdown_table(["paper", "part", *words], rows, left=(0, 1))


WORDS: tuple[Word, ...] = (
    "holds", "better", "differs", "as recorded", "changed", "ours only", "skipped", "failed"
)  # fmt: skip


def _table(table: Table, cells: Sequence[Cell]) -> Iterator[str]:
    name = table.name if table.name.startswith("table") else f"{table.name}: {table.title}"
    yield f"### {name[0].upper()}{name[1:]}"
    if table.name.startswith("table"):
        yield f"{escape(table.title)}."
    for protocol in dict.fromkeys(row.protocol for row in table.rows if row.learner):
        yield escape(protocol.text)
    if is_grid(cells):
        columns, lines = grid(cells, mark="**")
        yield markdown_table(columns, [[line[0], *map(Marked, line[1:])] for line in lines])
    else:
        yield markdown_table(HEADER, list(_lines(cells)), left=(0, 1, 6))
    yield from _reasons(cells)
    yield from (f"- {escape(note)}" for note in table.notes)
    for reason in dict.fromkeys(row.tolerance.reason for row in table.rows):
        yield f"Tolerance: {escape(reason)}"
    lines = [[row.name, _learner(row)] for row in table.rows if row.learner]
    if lines:
        yield "Learners, as `plurilabel compare` takes them:"
        yield markdown_table(["", "learner"], lines, left=(0, 1))


def _learner(row: Row) -> Marked:
    text = f"`{row.learner}`"
    if row.over:
        text += f", the {row.combine} over k = {row.over[0]} to {row.over[-1]}"
    return Marked(text)


HEADER = ["", "measure", "published", "ours", "difference", "tolerance", "verdict"]


def _lines(cells: Sequence[Cell]) -> Iterator[list[str]]:
    last = ""
    for cell in cells:
        row = "" if cell.row == last else cell.row
        published, ours, difference, verdict = fields(cell)
        tolerance = "" if cell.tolerance is None else f"{cell.tolerance:.4g}"
        if cell.verdict.word in ("differs", "changed", "failed"):
            verdict = Marked(f"**{verdict}**")
        yield [row, measure_title(cell.measure), published, ours, difference, tolerance, verdict]
        last = cell.row


def _reasons(cells: Sequence[Cell]) -> Iterator[str]:
    reasons = [
        f"- {escape(cell.row)}, {measure_title(cell.measure)}: {escape(cell.verdict.reason)}"
        for cell in cells
        if cell.verdict.reason and cell.verdict.word != "skipped"
    ]
    skipped = dict.fromkeys(
        f"- {escape(cell.row)}: {escape(cell.verdict.reason)}"
        for cell in cells
        if cell.verdict.word == "skipped"
    )
    if reasons or skipped:
        yield "\n".join([*reasons, *skipped])


def _figure(paper: Paper, figure: Figure, cells: Sequence[Cell]) -> Iterator[str]:
    yield f"### {figure.name.capitalize()}"
    yield f"{escape(figure.title)}. {escape(figure.protocol.text)}"
    yield f"![{figure.title}]({picture(paper.key, figure.name)})"
    if cells:
        yield "The printed curves have no numbers. What the text says of them:"
        yield markdown_table(
            ["statement", "verdict", "ours"],
            [[c.row, c.verdict.word, number(c.ours, 4, sign=True)] for c in cells],
            left=(0, 1),
        )
        yield from _reasons(cells)
        yield (
            "Ours is the mean over K of the first named less that of the other or, where K is "
            "said to matter, the rank correlation with K."
        )


def markdown_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> str:
    """A table; the columns in ``left`` are words, the others numbers.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["x|y", "1"]]))
    | a | b |
    | --- | ---: |
    | x\\|y | 1 |
    """
    rule = ["---" if j in left else "---:" for j in range(len(columns))]
    lines = [[_cell(c) for c in columns], rule, *([_cell(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Marked(str):
    """Text that is Markdown already; only the character that ends a cell is still escaped."""


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text) if isinstance(text, Marked) else escape(text)


def _versions() -> str:
    made_with = (f"{name} {number}" for name, number in versions("torch").items())
    return f"Made with {', '.join(made_with)}."
