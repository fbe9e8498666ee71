"""The result of a reproduction: verdicts, and tables as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.paper import Known, Paper, PublishedFigure
from plurilabel._core.blocks import dense
from plurilabel._core.data.dataset import Dataset
from plurilabel.metrics import MEASURES, get_measure

Word = Literal[
    "holds", "better", "differs", "as recorded", "changed", "ours only", "skipped", "failed"
]


class Verdict(NamedTuple):
    """A word, whether the value counts as reproduced, and the reason where one is needed."""

    verdict: Word
    passed: bool
    reason: str = ""


ROUNDING = 1e-9  # a difference of exactly the tolerance passes


def judge(
    ours: float,
    published: float,
    tolerance: float,
    *,
    claim: str,
    greater_is_better: bool,
    known: Known | None = None,
) -> Verdict:
    """Compare our value with a printed one."""
    # Outside the tolerance, a cell passes if it is better and the claim is "no worse", or if the
    # difference is known: then our value must still be the one that the evidence explains.
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
    """Compare our value with an earlier one, where nothing is printed."""
    if abs(ours - recorded) <= tolerance + ROUNDING:
        return Verdict("as recorded", True)
    return Verdict("changed", False, f"{recorded:g} was recorded")


def facts(data: Dataset, label_set: tuple[str, ...] | None = None) -> dict[str, float]:
    """Dataset statistics that papers report; or the number of instances with a label set."""
    if label_set is not None:
        wanted = np.isin(data.label_names, label_set)
        if wanted.sum() != len(label_set):
            raise ValueError(f"{data.name} has the labels {data.label_names}, got {label_set}")
        return {"instances": float((dense(data.Y) == wanted).all(axis=1).sum())}
    (n, q), sizes = data.Y.shape, np.asarray(data.Y.sum(axis=1)).ravel()
    found = {"instances": n, "features": data.X.shape[-1], "labels": q}
    found |= {"cardinality": float(sizes.mean()), "density": float(sizes.mean()) / q}
    if data.train is not None and data.test is not None:
        train = sizes[data.train]
        found |= {"training_instances": len(train), "test_instances": len(data.test)}
        found["training_cardinality"] = float(train.mean())
        found["training_deviation"] = float(train.std(ddof=1))
    return found


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A printed value (or a claim about a figure), our value, and the verdict."""

    paper: str
    table: str
    row: str
    measure: str
    published: float | None = None
    recorded: float | None = None
    ours: float
    deviation: float = np.nan
    tolerance: float | None = None
    verdict: Word
    passed: bool
    reason: str
    dataset: str
    split: Literal["holdout"] | int
    learner: str | None = None
    decimals: int = 4

    @property
    def difference(self) -> float | None:
        """Our value minus the published one or, if there is none, the recorded one."""
        base = self.recorded if self.published is None else self.published
        return None if base is None else self.ours - base

    @property
    def title(self) -> str:
        """The measure or dataset statistic in prose."""
        known = self.measure in MEASURES
        return get_measure(self.measure).title if known else self.measure.replace("_", " ")


@dataclass(frozen=True)
class Curves:
    """Our version of a figure; ``values`` has the shape (curves, measures, k)."""

    figure: PublishedFigure
    values: NDArray[np.float64]

    def of(self, curve: str, measure: str) -> NDArray[np.float64]:
        """One curve, (k,)."""
        c, m = list(self.figure.curves).index(curve), self.figure.measures.index(measure)
        return self.values[c, m]


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Published values next to ours, with a verdict for each."""

    papers: tuple[Paper, ...]
    cells: tuple[Cell, ...]
    curves: Mapping[tuple[str, str], Curves]  # by paper and figure

    @property
    def holds(self) -> bool:
        """Whether all cells passed."""
        return not self.failures

    @property
    def failures(self) -> list[Cell]:
        """The cells that did not pass."""
        return [cell for cell in self.cells if not cell.passed]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per cell."""
        return [{**vars(cell), "difference": cell.difference} for cell in self.cells]

    def parts(self, paper: Paper) -> Iterator[tuple[Any, list[Cell]]]:
        """The tables and figures of a paper that were run, each with its cells."""
        own = [cell for cell in self.cells if cell.paper == paper.key]
        for name, cells in groupby(own, key=lambda cell: cell.table):
            yield paper.parts[name], list(cells)

    def summary(self) -> str:
        """Number of cells by verdict."""
        count = Counter(cell.verdict for cell in self.cells)
        return ", ".join(f"{n} {word}" for word, n in count.items()) or "nothing was run"

    def __repr__(self) -> str:
        return f"<Reproduction: {self.summary()}>"

    def __str__(self) -> str:
        blocks = []
        for paper in self.papers:
            for part, cells in self.parts(paper):
                title = f"{paper.name}, {part.name}: {part.title}"
                columns, rows = lines_of(cells)
                lines = [title, "-" * len(title), *_aligned([columns, *rows])]
                blocks.append("\n".join(lines + [f"  {why}" for why in reasons_of(cells)]))
        return "\n\n".join([*blocks, f"In all: {self.summary()}."])


# lines of tables -------------------------------------------------------------------------------

Lines = tuple[list[str], list[list[str]]]  # columns and rows


def lines_of(cells: Sequence[Cell], best: str = "") -> Lines:
    """Columns and rows of a table or figure as text."""
    # A figure has a row per statement. A table without published values has a row per measure and
    # a column per learner, with the best marked; other tables have a row per cell.
    if all(cell.learner and cell.published is None for cell in cells):
        return _grid(cells, best)
    if cells[0].table.startswith("figure"):
        rows = [[cell.row, cell.verdict, number(cell.ours, 4, sign=True)] for cell in cells]
        return ["statement", "verdict", "ours"], rows
    names = ["", *(cell.row for cell in cells)]
    shown = ["" if name == before else name for before, name in pairwise(names)]
    rows = [[name, *_values_of(cell)] for name, cell in zip(shown, cells)]
    return ["", "measure", "published", "ours", "difference", "tolerance", "verdict"], rows


def _values_of(cell: Cell) -> list[str]:
    """A cell as text, from its measure to its verdict."""
    count = cell.published is not None and cell.published == int(cell.published)
    decimals = 0 if count and cell.ours == np.rint(cell.ours) else max(cell.decimals, 4)
    spread = number(cell.deviation, decimals)
    return [
        cell.title,
        number(cell.published, min(decimals, cell.decimals)),
        number(cell.ours, decimals) + (f" ± {spread}" if spread else ""),
        number(cell.difference, decimals, sign=True),
        "" if cell.tolerance is None else f"{cell.tolerance:.4g}",
        cell.verdict if cell.passed else f"{cell.verdict} !",
    ]


def _grid(cells: Sequence[Cell], best: str) -> Lines:
    rows = []
    for measure in dict.fromkeys(cell.measure for cell in cells):
        own = [cell for cell in cells if cell.measure == measure]
        values = [number(cell.ours, 4) for cell in own]
        pick = max if get_measure(measure).greater_is_better else min
        top = pick(filter(None, values), key=float, default=None)
        marked = [f"{best}{value}{best}" if value == top else value for value in values]
        shown = [value if cell.passed else f"{value} !" for value, cell in zip(marked, own)]
        rows.append([own[0].title, *shown])
    return ["measure", *dict.fromkeys(cell.row for cell in cells)], rows


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """Format a value; empty for None and NaN."""
    if value is None or value != value:
        return ""
    value = round(value, decimals) + 0.0  # no negative zero
    return f"{value:+.{decimals}f}" if sign and value else f"{value:.{decimals}f}"


def reasons_of(cells: Sequence[Cell]) -> list[str]:
    """Why cells differ or were skipped, once per skipped row."""
    reasons = [
        (cell.row if cell.verdict == "skipped" else f"{cell.row}, {cell.title}", cell.reason)
        for cell in cells
    ]
    return list(dict.fromkeys(f"{what}: {why}" for what, why in reasons if why))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with aligned columns: words to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    numbers = [all(not c or c[0] in "+-.0123456789" for c in column[1:]) for column in zip(*rows)]
    numbers[0] = False
    forms = [f"{{:{'>' if right else '<'}{width}}}" for right, width in zip(numbers, widths)]
    return ["  ".join(forms).format(*row).rstrip() for row in rows]
