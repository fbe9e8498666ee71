"""What came of running published tables again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.papers._paper import Figure, Paper, Split
from plurilabel.papers._verdict import Verdict


@dataclass(frozen=True)
class Cell:
    """A printed value, ours, and the verdict; of a figure, a sentence about it."""

    paper: str
    part: str
    row: str
    measure: str
    published: float | None
    recorded: float | None
    ours: float
    deviation: float
    tolerance: float | None
    verdict: Verdict
    dataset: str
    split: Split
    learner: str | None
    decimals: int

    @property
    def difference(self) -> float | None:
        """Ours less the published value or, where there is none, the recorded one."""
        base = self.recorded if self.published is None else self.published
        return None if base is None else self.ours - base

    def to_dict(self) -> dict[str, Any]:
        """All of it, flat, as a row of the data frame."""
        return {
            "paper": self.paper,
            "table": self.part,
            "row": self.row,
            "measure": self.measure,
            "published": self.published,
            "recorded": self.recorded,
            "ours": self.ours,
            "deviation": self.deviation,
            "difference": self.difference,
            "tolerance": self.tolerance,
            "verdict": self.verdict.word,
            "passed": self.verdict.passed,
            "reason": self.verdict.reason,
            "dataset": self.dataset,
            "split": self.split,
            "learner": self.learner,
        }


@dataclass(frozen=True)
class Curves:
    """Our version of a figure: values of shape (curves, measures, k)."""

    figure: Figure
    values: NDArray[np.float64]

    def of(self, curve: str, measure: str) -> NDArray[np.float64]:
        """One curve, (k,)."""
        c, m = list(self.figure.curves).index(curve), self.figure.measures.index(measure)
        return self.values[c, m]


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Published values beside ours, with a verdict for each.

    Attributes
    ----------
    papers : tuple of Paper
    cells : tuple of Cell
    curves : dict of (paper, figure) to Curves
    """

    papers: tuple[Paper, ...]
    cells: tuple[Cell, ...]
    curves: Mapping[tuple[str, str], Curves]

    @property
    def holds(self) -> bool:
        """Whether every cell that is claimed to hold does, and nothing failed."""
        return all(cell.verdict.passed for cell in self.cells)

    @property
    def failures(self) -> list[Cell]:
        """Cells that should hold and do not."""
        return [cell for cell in self.cells if not cell.verdict.passed]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each cell."""
        return [cell.to_dict() for cell in self.cells]

    def frame(self) -> Any:
        """A pandas data frame with a row for each cell."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "data frames need pandas; try: pip install 'plurilabel[table]'"
            ) from None
        return pd.DataFrame(self.rows)

    def parts(self) -> Iterator[tuple[str, str, list[Cell]]]:
        """Paper, table or figure, and its cells, in the order of the papers."""
        for paper in self.papers:
            own = [cell for cell in self.cells if cell.paper == paper.key]
            for name, cells in groupby(own, key=lambda cell: cell.part):
                yield paper.key, name, list(cells)

    def summary(self) -> str:
        """One sentence: how many cells there are of each verdict.

        Examples
        --------
        >>> Reproduction((), (), {}).summary()
        'nothing was run'
        """
        count = Counter(cell.verdict.word for cell in self.cells)
        return ", ".join(f"{n} {word}" for word, n in count.items()) or "nothing was run"

    def markdown(self) -> str:
        """The page of the documentation, without its figures."""
        from plurilabel.papers._page import page

        return page(self)

    def __repr__(self) -> str:
        return f"<Reproduction: {self.summary()}>"

    def __str__(self) -> str:
        from plurilabel.papers._text import text

        return text(self)
