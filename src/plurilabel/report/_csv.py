"""The report as CSV: one line for each dataset, learner and measure."""

from __future__ import annotations

import csv
import io

import numpy as np

from plurilabel.report._data import Findings

COLUMNS = (
    "dataset", "learner", "measure", "mean", "deviation", "splits", "rank", "best", "not_worse",
)  # fmt: skip


def csv_report(findings: Findings, title: str) -> str:  # noqa: ARG001 - a table has no title
    """The tables, all digits; empty where there is no value."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    results = findings.results
    for i, dataset in enumerate(results.datasets):
        for j, learner in enumerate(results.learners):
            for measure, table in findings.tables.items():
                values = (table.means[i, j], table.deviations[i, j])
                writer.writerow(
                    [
                        dataset,
                        learner,
                        measure,
                        *(_plain(value) for value in values),
                        int(table.counts[i, j]),
                        _plain(table.ranks[i, j]),
                        int(table.best[i, j]),
                        int(table.close[i, j]),
                    ]
                )
    return text.getvalue()


def _plain(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))
