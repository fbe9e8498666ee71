"""A comparison on the screen: how far it is, and what it found."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from plurilabel.cli._common import console, print_table, say

if TYPE_CHECKING:
    from plurilabel.compare import Results
    from plurilabel.report import MeasureTable

# what is shown where nothing else is asked for, with titles that fit 80 columns
SHOWN = {
    "hamming_loss": "Hamming",
    "subset_accuracy": "subset",
    "f1": "F1",
    "one_error": "1-error",
    "coverage": "cover",
    "ranking_loss": "ranking",
    "average_precision": "avg.pr",
}


class Progress:
    """How far it is, on stderr: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self.console = console(err=True)
        self.bar: Any = None
        self.said = monotonic()

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            from rich import progress

            self.bar = progress.Progress(
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.description}"),
                console=self.console,
                transient=True,
            )
            self.task = self.bar.add_task("starting", total=None)
            self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, total: int, cell: dict[str, Any], left: float | None) -> None:
        words = f"{cell['dataset']}, {cell['learner']}"
        if cell["status"] != "ok" and self.bar is None:
            words += f" failed: {cell['error']}"
        if left is not None and done < total:
            words += f"; about {duration(left)} left"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total, description=words)
            return
        if cell["status"] == "ok" and done < total and monotonic() - self.said < 5:
            return
        self.said = monotonic()
        click.echo(f"{done} of {total}: {words}", err=True)


def duration(seconds: float) -> str:
    """A time as one says it.

    Examples
    --------
    >>> [duration(s) for s in (3.2, 100, 4000, 90000)]
    ['4 s', '2 min', '1 h 7 min', '25 h']
    """
    if seconds < 60:
        return f"{max(1, -int(-seconds // 1))} s"
    minutes = -int(-seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 10 and minutes else f"{hours} h"


def show(results: Results, measures: list[str] | None = None, *, room: int | None = None) -> None:
    """A table for each dataset: means and deviations, the best in bold and with a star.

    Where the room (by default the terminal's) is too small, the deviations are left out, and
    then the last measures.
    """
    from plurilabel.report import measure_tables

    room = console().width if room is None else room
    names = measures or [name for name in SHOWN if name in results.measures]
    tables = list(measure_tables(results, names).values())
    spread = _has_spread(results) and all(
        _width(*_cells(results, i, tables, True)) <= room for i in range(len(results.datasets))
    )
    for i, dataset in enumerate(results.datasets):
        shown = list(tables)
        while _width(*_cells(results, i, shown, spread)) > room and len(shown) > 1:
            shown.pop()
        columns, rows = _cells(results, i, shown, spread)
        print_table(
            columns,
            [[_styled(cell) for cell in row] for row in rows],
            title=f"{dataset}: {_split_words(results, dataset)}",
        )
        click.echo()
    say("* best in its column" + (", ± standard deviation over the splits" if spread else ""))


def _cells(
    results: Results, i: int, tables: list[MeasureTable], spread: bool
) -> tuple[list[str], list[list[str]]]:
    import numpy as np

    columns, rows = ["learner"], [[name] for name in results.learners]
    for table in tables:
        columns.append(f"{SHOWN.get(table.measure, table.measure)}{table.arrow}")
        for j, row in enumerate(rows):
            mean, deviation = table.means[i, j], table.deviations[i, j]
            text = table.absent[i, j] if np.isnan(mean) else f"{mean:.3f}"
            text += f"±{deviation:.3f}" if spread and not np.isnan(deviation) else ""
            row.append(text + ("*" if table.best[i, j] else " "))
    columns.append("sec")
    for row, cost in zip(rows, results.seconds()[i]):
        row.append("-" if np.isnan(cost) else f"{cost:.1f}")
    return columns, rows


def _width(columns: list[str], rows: list[list[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in zip(columns, *rows)) - 2


def _styled(cell: str) -> Any:
    from rich.text import Text

    return Text(cell, style="bold" if cell.endswith("*") else "")


def _split_words(results: Results, dataset: str) -> str:
    split = results.plan["datasets"][dataset]["split"]
    repeats = results.plan["protocol"]["repeats"]
    return split if repeats == 1 else f"{split}, {repeats} times"


def _has_spread(results: Results) -> bool:
    return any(cell["repeat"] or cell["fold"] for cell in results.cells)


def show_failures(results: Results) -> None:
    """What went wrong, a sentence for each learner, dataset and reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for cell in results.failures():
        what = (cell["learner"], cell["dataset"], cell["error"])
        counts[what] = counts.get(what, 0) + 1
    for (learner, dataset, error), count in counts.items():
        times = f" in {count} splits" if count > 1 else ""
        click.echo(f"{learner} failed on {dataset}{times}: {error}", err=True)
    if counts:
        click.echo("--retry runs them again.", err=True)


def as_dict(results: Results, files: dict[str, Path]) -> dict[str, Any]:
    """The figures for a script."""

    def table(values: Any) -> dict[str, dict[str, float]]:
        return {
            dataset: dict(zip(results.learners, row.tolist()))
            for dataset, row in zip(results.datasets, values)
        }

    measures = [*results.measures, "fit_seconds", "predict_seconds"]
    return {
        "folder": results.folder,
        "cells": len(results.cells),
        "means": {name: table(results.means(name)) for name in measures},
        "deviations": {name: table(results.deviations(name)) for name in measures},
        "failures": [
            {key: cell[key] for key in ("dataset", "learner", "repeat", "fold", "status", "error")}
            for cell in results.failures()
        ],
        "report": {kind: str(path) for kind, path in files.items()},
    }
