"""``plurilabel compare``."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel.cli import _data
from plurilabel.cli import _output as ui
from plurilabel.cli._progress import ComparisonProgress

if TYPE_CHECKING:
    from plurilabel._core.data.dataset import Dataset
    from plurilabel.evaluation import Results

IDLE = ("retry", "fresh", "as_json", "report", "n_jobs", "scheduler")
"""Options that change no result."""
# measures shown by default, with titles that fit 80 columns
SHOWN = {
    "hamming_loss": "Hamming", "subset_accuracy": "subset", "f1": "F1", "one_error": "1-error",
    "coverage": "cover", "ranking_loss": "ranking", "average_precision": "avg.pr",
}  # fmt: skip
TO_COMPARE = ("repeats", "out", "n_jobs", "time_limit", "random_state", "retry", "fresh")
"""Options that are passed on unchanged."""


@click.command()
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@_data.list_option(
    "--learners", metavar="LEARNERS",
    help='Learners separated by commas, such as "MLkNN(n_neighbors=7), '
    'StandardScaler | MLkNN, RAkEL(labelset_size=3)". A list of values is searched inside each '
    'training part: "MLkNN(n_neighbors=[5, 10, 20])". name=LEARNER gives a name. Missing values '
    "are imputed, but features are only scaled if a learner says so.  "
    "[default: one of each kind]",
)  # fmt: skip
@click.option(
    "--cv", default="holdout", metavar="holdout|FOLDS",
    help="The published split (or a stratified one), or a number of stratified folds.",
)  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=1, help="Repetitions with other folds.")
@_data.list_option(
    "--measures", metavar="NAMES", help="Measures separated by commas; by default all."
)
@click.option("--search-measure", default="f1", help="The measure of parameter searches.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"),
    help="Folder for the results; finished ones are not run again.",
)  # fmt: skip
@click.option("--jobs", "n_jobs", type=int, default=1, help="Number of processes; -1: all cores.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786.")
@click.option(
    "--time-limit", type=ui.POSITIVE, metavar="SECONDS", help="Limit per learner and split."
)
@ui.seed_option
@click.option("--retry", is_flag=True, help="Repeat runs that failed.")
@click.option("--fresh", is_flag=True, help="Repeat all runs and replace the results.")
@click.option("--report/--no-report", default=True, help="Write the report.")
@ui.json_option
@_data.data_options
@click.pass_context
def compare(
    ctx: click.Context, data: tuple[str, ...], learners: list[str] | None, cv: str,
    measures: list[str] | None, search_measure: str, scheduler: str | None, report: bool,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Compare learners on datasets.

    Every learner is fitted and tested on every split of every dataset. Results are written
    immediately, so that the same command continues an interrupted comparison. A learner that fails
    or exceeds the time limit does not stop the others; the exit status is then 1.

    \b
    plurilabel compare emotions scene --learners "MLkNN, RAkEL" --cv 10 --jobs 2
    plurilabel compare films.csv --labels tags --out films
    """
    passed = {name: options.pop(name) for name in TO_COMPARE}
    _data.check_names(measures, learners)
    own = [one for one in data if not _data.is_standard(one)]
    # options for reading apply only to files, if there are any
    reading = {one: options if one in (own or data) else {} for one in data}
    tables = [_data.find(one, encode=False, **reading[one]) for one in data]
    words = _data.reader_options(own[0], **options).get("words") if own else None
    plan = _plan(tables, learners, cv, measures, search_measure)
    plan |= {"words": words, "command": ui.command_line(ctx, data, IDLE)}
    from plurilabel import evaluation
    from plurilabel.distributed.shared import connected

    try:
        with (
            ComparisonProgress() as progress,
            connected(scheduler) if scheduler else nullcontext() as passed["scheduler"],
        ):
            results = evaluation.compare(tables, progress=progress, **plan, **passed)
    except KeyboardInterrupt:
        out = passed["out"]
        ui.echo(f"Stopped. Finished results are in {out}; the same command continues.", err=True)
        ctx.exit(130)
    if not as_json:
        show(results, plan["measures"])
    show_failures(results)
    files = evaluation.write_report(results, passed["out"]) if report else {}
    ui.say(*(f"Wrote {path}" for path in files.values()), as_json=as_json)
    if as_json:
        ui.print_json(as_dict(results, files))
    if results.failures():
        ctx.exit(1)


def _plan(
    tables: list[Dataset], learners: list[str] | None, cv: str, measures: list[str] | None,
    search_measure: str,
) -> dict[str, Any]:  # fmt: skip
    """Learners, folds and measures; errors name the option."""
    from plurilabel.learners import make_learners
    from plurilabel.metrics import get_scorer
    from plurilabel.metrics.shared import check_measures

    if cv != "holdout" and not (cv.isdecimal() and int(cv) >= 2):
        raise ui.UsageError(f"--cv: expected holdout or a number of folds from 2, got {cv!r}")
    folds: str | int = cv if cv == "holdout" else int(cv)
    with ui.about_option("--measures"):
        wanted = None if measures is None else check_measures(_data.names_in(measures))
    with ui.about_option("--search-measure"):
        get_scorer(search_measure)
    with ui.about_option("--learners"):
        chosen: Any = default_learners(tables)
        if learners is not None:
            chosen = make_learners(", ".join(learners), measure=search_measure)
            chosen = {name: _ready(learner, tables) for name, learner in chosen.items()}
    return {"learners": chosen, "cv": folds, "measures": wanted}


def default_learners(tables: list[Dataset]) -> dict[str, str]:
    """A learner of each kind, with the preprocessing that the data need."""
    first = "SimpleImputer | " if any(map(_has_gaps, tables)) else ""
    scaler = "MaxAbsScaler" if any(map(_is_sparse, tables)) else "StandardScaler"
    scaled = {f"{name}, scaled": f"{first}{scaler} | {name}" for name in ("MLkNN", "IBLRML")}
    plain = ("BinaryRelevance", "EnsembleOfChains", "RAkEL", "MLRandomForest")
    return {**scaled, **{name: first + name for name in plain}}


def _ready(learner: Any, tables: list[Dataset]) -> Any:
    """Add the preprocessing that a learner needs, as ``fit`` does."""
    from sklearn.pipeline import make_pipeline

    from plurilabel.io.shared import imputer, uncentred
    from plurilabel.learners import learner_text

    if any(map(_is_sparse, tables)):
        uncentred(learner)
    missing = any(map(_has_gaps, tables))
    fills = "Imputer" in learner_text(learner)
    return make_pipeline(imputer(), learner) if missing and not fills else learner


def _has_gaps(data: Dataset) -> bool:
    """Whether values are missing that no table encoder imputes."""
    from plurilabel._core.blocks import has_missing

    return not data.kinds and bool(has_missing(data.X))


def _is_sparse(data: Dataset) -> bool:
    """Whether learners get sparse features."""
    from scipy import sparse

    return sparse.issparse(data.X) or "text" in data.kinds.values()


def show(results: Results, measures: list[str] | None = None, *, room: int | None = None) -> None:
    """Print a table for each dataset: means and deviations, the best in bold and with a star.

    Deviations, then the last measures are left out if there is no ``room`` (default: terminal).
    """
    from rich.text import Text

    room = ui.console().width if room is None else room
    names = measures or [name for name in SHOWN if name in results.measures]
    several = any(cell["repeat"] or cell["fold"] for cell in results.cells)
    for spread in (several, False):
        tables = [_columns(results, i, names, spread) for i in range(len(results.datasets))]
        if max(map(_width, tables), default=0) <= room:
            break
    repeats = results.plan["protocol"]["repeats"]
    times = "" if repeats == 1 else f", {repeats} times"
    for dataset, columns in zip(results.datasets, tables):
        while _width(columns) > room and len(columns) > 3:
            del columns[-2]  # the last measure; times come after it
        head, *rows = zip(*columns)
        styled = [[Text(cell, "bold" * cell.endswith("*")) for cell in row] for row in rows]
        split = results.plan["datasets"][dataset]["split"]
        ui.print_table(head, styled, title=f"{dataset}: {split}{times}")
        ui.echo()
    ui.say("* best in its column" + (", ± standard deviation over the splits" if spread else ""))


def _columns(results: Results, i: int, measures: list[str], spread: bool) -> list[list[str]]:
    """Columns of learners, measures and seconds for a dataset, each with its title first."""
    shown = [_measure_column(results, i, measure, spread) for measure in measures]
    seconds = ["-" if cost != cost else f"{cost:.1f}" for cost in results.seconds()[i]]
    return [["learner", *results.learners], *shown, ["sec", *seconds]]


def _measure_column(results: Results, i: int, measure: str, spread: bool) -> list[str]:
    from plurilabel.metrics import get_measure

    column = [SHOWN.get(measure, measure) + "↓↑"[get_measure(measure).greater_is_better]]
    figures = (table(measure)[i] for table in (results.means, results.deviations, results.best))
    for absent, mean, deviation, is_best in zip(results.absent()[i], *figures):
        text = str(absent) if mean != mean else f"{mean:.3f}"
        text += f"±{deviation:.3f}" if spread and deviation == deviation else ""
        column.append(text + ("*" if is_best else " "))
    return column


def _width(columns: list[list[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in columns) - 2


def show_failures(results: Results) -> None:
    """Print a line for each learner, dataset and error."""
    cells = results.failures()
    counts = Counter((cell["learner"], cell["dataset"], cell["error"]) for cell in cells)
    for (learner, dataset, error), count in counts.items():
        times = f" in {count} splits" if count > 1 else ""
        ui.echo(f"{learner} failed on {dataset}{times}: {error}", err=True)
    if counts:
        ui.echo("Use --retry to repeat them.", err=True)


def as_dict(results: Results, files: dict[str, Path]) -> dict[str, Any]:
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
