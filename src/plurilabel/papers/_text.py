"""A reproduction as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from plurilabel.metrics import get_measure
from plurilabel.papers._reproduction import Cell, Reproduction

HEADER = ("", "measure", "published", "ours", "difference", "verdict")


def measure_title(measure: str) -> str:
    """A measure's name for a reader.

    Examples
    --------
    >>> measure_title("macro_auc"), measure_title("one_error")
    ('macro AUC', 'one-error')
    """
    if measure == "one_error":
        return "one-error"
    words = {"auc": "AUC", "hamming": "Hamming", "f1": "F1"}
    return " ".join(words.get(word, word) for word in measure.split("_"))


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """A value with so many decimals, nothing for None or NaN."""
    if value is None or value != value:
        return ""
    value = round(value, decimals) + 0.0  # no minus before a zero
    return f"{value:+.{decimals}f}" if sign and value else f"{value:.{decimals}f}"


def ours(cell: Cell) -> str:
    """Our value, with one more digit than is printed in three-digit tables; with its deviation."""
    decimals = shown_decimals(cell)
    spread = number(cell.deviation, decimals)
    return number(cell.ours, decimals) + (f" ± {spread}" if spread else "")


def shown_decimals(cell: Cell) -> int:
    """Digits of ours: four, or fewer for counts."""
    whole = cell.published is not None and cell.published == int(cell.published)
    return 0 if whole and cell.ours == cell.ours == int(cell.ours) else max(cell.decimals, 4)


def printed(cell: Cell) -> str:
    """The published value as the paper prints it."""
    return number(cell.published, 0 if shown_decimals(cell) == 0 else cell.decimals)


def fields(cell: Cell) -> tuple[str, ...]:
    """Published, ours, difference, verdict."""
    difference = number(cell.difference, shown_decimals(cell), sign=True)
    verdict = cell.verdict.word if cell.verdict.passed else f"{cell.verdict.word} !"
    return printed(cell), ours(cell), difference, verdict


def is_grid(cells: Sequence[Cell]) -> bool:
    """Whether a table holds nothing published: then ours fit into a grid."""
    return all(cell.published is None and cell.learner for cell in cells)


def grid(cells: Sequence[Cell], mark: str = "") -> tuple[list[str], list[list[str]]]:
    """Columns and lines of a table of our own values: a line for each measure, the best marked."""
    rows = list(dict.fromkeys(cell.row for cell in cells))
    found = {(cell.row, cell.measure): cell for cell in cells}
    lines = []
    for measure in dict.fromkeys(cell.measure for cell in cells):
        values = [number(found[row, measure].ours, 4) for row in rows]
        best = max if get_measure(measure).greater_is_better else min
        top = best((value for value in values if value), key=float, default=None)
        line = [f"{mark}{value}{mark}" if value == top else value for value in values]
        fine = [found[row, measure].verdict.passed for row in rows]
        line = [value if ok else f"{value} !" for value, ok in zip(line, fine)]
        lines.append([measure_title(measure), *line])
    return ["measure", *rows], lines


def text(reproduction: Reproduction) -> str:
    """All tables, one after the other, and the sum of the verdicts."""
    blocks = []
    for paper in reproduction.papers:
        titles = {part.name: part.title for part in paper.parts}
        for key, name, cells in reproduction.parts():
            if key == paper.key:
                title = f"{paper.name}, {name}: {titles[name]}"
                blocks.append(f"{title}\n{'-' * len(title)}\n{_block(cells)}")
    return "\n\n".join([*blocks, f"In all: {reproduction.summary()}."])


def _block(cells: Sequence[Cell]) -> str:
    if cells[0].part.startswith("figure"):
        lines = [f"{c.verdict.word:8}  {c.row} ({number(c.ours, 4, sign=True)})" for c in cells]
    elif is_grid(cells):
        columns, rows = grid(cells)
        lines = _aligned([columns, *rows], left=[0])
    else:
        rows, last = [list(HEADER)], ""
        for cell in cells:
            shown = "" if cell.row == last else cell.row
            rows.append([shown, measure_title(cell.measure), *fields(cell)])
            last = cell.row
        lines = _aligned(rows, left=[0, 1, len(HEADER) - 1])
    reasons = dict.fromkeys(_reason(cell) for cell in cells if cell.verdict.reason)
    return "\n".join([*lines, *reasons])


def _reason(cell: Cell) -> str:
    return f"  {cell.row}, {measure_title(cell.measure)}: {cell.verdict.reason}"


def _aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Lines with even columns; those in ``left`` are words, the others numbers."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
