"""A comparison on the screen: how far it is, and what it found."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from plurilabel._core.words import duration
from plurilabel.cli._output import console, echo, print_table, say

if TYPE_CHECKING:
    from plurilabel.evaluation import Results

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
        echo(f"{done} of {total}: {words}", err=True)


def show(results: Results, measures: list[str] | None = None, *, room: int | None = None) -> None:
    """A table for each dataset: means and deviations, the best in bold and with a star.

    If the room (by default the terminal's) is too small, the deviations are left out, and then
    the last measures.
    """
    room = console().width if room is None else room
    names = measures or [name for name in SHOWN if name in results.measures]
    whole = [_columns(results, i, names, True) for i in range(len(results.datasets))]
    spread = any(cell["repeat"] or cell["fold"] for cell in results.cells)
    spread = spread and all(_width(columns) <= room for columns in whole)
    for i, dataset in enumerate(results.datasets):
        columns = whole[i] if spread else _columns(results, i, names, False)
        while _width(columns) > room and len(columns) > 3:
            del columns[-2]  # the last measure; times come after it
        head, *rows = zip(*columns)
        split = results.plan["datasets"][dataset]["split"]
        repeats = results.plan["protocol"]["repeats"]
        times = "" if repeats == 1 else f", {repeats} times"
        print_table(
            head,
            [[_styled(cell) for cell in row] for row in rows],
            title=f"{dataset}: {split}{times}",
        )
        echo()
    say("* best in its column" + (", ± standard deviation over the splits" if spread else ""))


def _columns(results: Results, i: int, measures: list[str], spread: bool) -> list[list[str]]:
    """Learners, measures and seconds on a dataset, each with its title first."""
    from plurilabel.metrics import get_measure

    absent = dict.fromkeys(results.learners, "not run")
    for cell in results.cells:
        if cell["dataset"] == results.datasets[i] and absent[cell["learner"]] != "failed":
            absent[cell["learner"]] = "–" if cell["status"] == "ok" else "failed"
    columns = [["learner", *results.learners]]
    for measure in measures:
        arrow = "↑" if get_measure(measure).greater_is_better else "↓"
        columns.append([SHOWN.get(measure, measure) + arrow])
        means, deviations = results.means(measure)[i], results.deviations(measure)[i]
        best = results.best(measure)[i]
        for j, name in enumerate(results.learners):
            text = absent[name] if means[j] != means[j] else f"{means[j]:.3f}"
            if spread and deviations[j] == deviations[j]:
                text += f"±{deviations[j]:.3f}"
            columns[-1].append(text + ("*" if best[j] else " "))
    seconds = ["-" if cost != cost else f"{cost:.1f}" for cost in results.seconds()[i]]
    return [*columns, ["sec", *seconds]]


def _width(columns: list[list[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in columns) - 2


def _styled(cell: str) -> Any:
    from rich.text import Text

    return Text(cell, style="bold" if cell.endswith("*") else "")


def show_failures(results: Results) -> None:
    """What went wrong, a sentence for each learner, dataset and reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for cell in results.failures():
        what = (cell["learner"], cell["dataset"], cell["error"])
        counts[what] = counts.get(what, 0) + 1
    for (learner, dataset, error), count in counts.items():
        times = f" in {count} splits" if count > 1 else ""
        echo(f"{learner} failed on {dataset}{times}: {error}", err=True)
    if counts:
        echo("--retry runs them again.", err=True)


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
