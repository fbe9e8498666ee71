"""What a report says, before it is put into any format."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.compare import Results
from plurilabel.report._table import (
    Table,
    absent_words,
    datasets_to_test,
    make_table,
)
from plurilabel.report._tests import OverDatasets, compare_over_datasets
from plurilabel.report._words import FAMILIES, HEADLINES, RANKINGS

Array = NDArray[np.float64]


class Findings:
    """Everything a report needs, computed once.

    Attributes
    ----------
    results : Results
    tables : dict of str to Table
        By measure, those without any value left out.
    headlines : list of str
        The measures that plots and the overview show.
    families : dict of str to list of str
        Measures by what they look at.
    order : ndarray of int
        Learners, the best first: by their mean rank over the headline measures and datasets,
        where a missing result takes the last rank.
    overall : ndarray of float
        That mean rank.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        self.tested = datasets_to_test(results)
        absent = absent_words(results)
        tables = {m: make_table(results, m, self.tested, absent) for m in results.measures}
        self.tables = {k: t for k, t in tables.items() if np.isfinite(t.means).any()}
        self.families = families(list(self.tables))
        self.headlines = [m for m in HEADLINES if m in self.tables] or list(self.tables)[:6]
        last = len(results.learners)
        ranks = [np.where(np.isnan(t.ranks), last, t.ranks) for t in self._headline_tables()]
        self.overall = np.mean(np.concatenate(ranks), axis=0) if ranks else np.ones(last)
        self.order = np.argsort(self.overall, kind="stable")

    def _headline_tables(self) -> list[Table]:
        return [self.tables[name] for name in self.headlines]

    @property
    def learners(self) -> list[str]:
        """Names, the best first."""
        return [self.results.learners[j] for j in self.order]

    @cached_property
    def tests(self) -> dict[str, OverDatasets]:
        """Tests over the datasets, of the headline measures that allow them."""
        found = {
            name: compare_over_datasets(self.tables[name], self.results.learners)
            for name in self.headlines
        }
        return {name: tests for name, tests in found.items() if tests is not None}

    @cached_property
    def seconds(self) -> Array:
        """Training, prediction and shared searches, mean over splits, (datasets, learners)."""
        return self.results.seconds()

    @cached_property
    def pooled(self) -> dict[tuple[str, str], dict[str, Array]]:
        """Counts per label, summed over splits, by dataset and learner."""
        total: dict[tuple[str, str], dict[str, Array]] = {}
        for cell in self.results.cells:
            counts = cell.get("per_label") if cell["status"] == "ok" else None
            if not counts:
                continue
            key = (cell["dataset"], cell["learner"])
            own = {c: np.asarray(counts[c], dtype=np.float64) for c in ("tp", "fp", "fn")}
            so_far = total.get(key)
            total[key] = own if so_far is None else {c: so_far[c] + own[c] for c in own}
        return total

    def cells_of(self, dataset: str, learner: str) -> list[dict[str, Any]]:
        """The cells of one learner on one dataset."""
        return [
            cell
            for cell in self.results.cells
            if cell["dataset"] == dataset and cell["learner"] == learner
        ]


def families(measures: list[str]) -> dict[str, list[str]]:
    """Measures by family, in the order of the families; unknown ones last."""
    grouped: dict[str, list[str]] = {
        family: [m for m in measures if m in members or ("@" in m and family == RANKINGS)]
        for family, members in FAMILIES.items()
    }
    seen = {m for members in grouped.values() for m in members}
    grouped["Other measures"] = [m for m in measures if m not in seen]
    return {family: members for family, members in grouped.items() if members}
