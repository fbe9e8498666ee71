"""Compare learners on datasets."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from plurilabel.cli._common import (
    UsageError,
    data_options,
    find,
    is_standard,
    names_in,
    print_json,
    say,
)
from plurilabel.cli._compare_show import Progress, as_dict, show, show_failures
from plurilabel.report import write_report

if TYPE_CHECKING:
    from plurilabel.datasets import Dataset


@click.command()
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@click.option(
    "--learners",
    metavar="LEARNERS",
    help='Learners with commas between them, such as "MLkNN(n_neighbors=7), '
    'StandardScaler | MLkNN, RAkEL(k=3)"; a list of values is searched inside each training '
    'part: "MLkNN(n_neighbors=[5, 10, 20])". name=LEARNER gives a name.  '
    "[default: a handful of different kinds]",
)
@click.option(
    "--cv",
    default="holdout",
    show_default=True,
    metavar="holdout|FOLDS",
    help="The published split (else a stratified one), or a number of stratified folds.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often, with other folds.",
)
@click.option("--measures", metavar="NAMES", help="Measures with commas between them; else all.")
@click.option(
    "--search-measure",
    default="f1",
    show_default=True,
    help="The measure that searches for parameters go by.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"),
    show_default=True, help="Folder for the results; what is finished there is not run again.",
)  # fmt: skip
@click.option(
    "--jobs",
    type=click.IntRange(-1),
    default=1,
    show_default=True,
    help="Processes; -1 for all cores.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="For each learner and split.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of folds and learners."
)
@click.option("--retry", is_flag=True, help="Run again what failed in an earlier run.")
@click.option("--fresh", is_flag=True, help="Run everything again, and replace what is there.")
@click.option("--report/--no-report", default=True, show_default=True, help="Write the report.")
@click.option("--json", "as_json", is_flag=True, help="Print the means as JSON.")
@data_options
@click.pass_context
def compare(
    ctx: click.Context,
    data: tuple[str, ...],
    learners: str | None,
    cv: str,
    repeats: int,
    measures: str | None,
    search_measure: str,
    out: Path,
    jobs: int,
    time_limit: float | None,
    seed: int,
    retry: bool,
    fresh: bool,
    report: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Compare learners on datasets.

    Every learner is trained and tested on every split of every dataset. Each result is written
    at once: the same command goes on where it was stopped. A learner that fails or takes too
    long does not stop the others. The exit status is 1 if any failed.

    \b
    plurilabel compare emotions scene --learners "MLkNN, RAkEL" --cv 10 --jobs 2
    plurilabel compare films.csv --labels tags --out films
    """
    from plurilabel import compare

    tables = [find(one, **({} if _is_named(one, data) else reading)) for one in data]
    chosen = _chosen(learners, search_measure) or default_learners(tables)
    wanted = _measures(measures)
    progress = Progress()
    try:
        with progress:
            results = compare.compare(
                tables,
                chosen,
                cv=_folds(cv),
                repeats=repeats,
                measures=wanted,
                out=out,
                n_jobs=jobs,
                random_state=seed,
                time_limit=time_limit,
                retry=retry,
                fresh=fresh,
                progress=progress,
                command=_command(ctx),
            )
    except KeyboardInterrupt:
        click.echo(f"Stopped. What is finished is in {out}; the same command goes on.", err=True)
        ctx.exit(130)
    if not as_json:
        show(results, wanted)
    show_failures(results)
    files = write_report(results, out) if report else {}
    say(*(f"Wrote {path}" for path in files.values()), as_json=as_json)
    if as_json:
        print_json(as_dict(results, files))
    if results.failures():
        ctx.exit(1)


def _is_named(one: str, all_of_them: tuple[str, ...]) -> bool:
    """Whether this is a standard dataset among files, which alone are in need of options."""
    return is_standard(one) and not all(is_standard(name) for name in all_of_them)


def _folds(cv: str) -> str | int:
    if cv == "holdout":
        return cv
    if not cv.isdecimal() or int(cv) < 2:
        raise UsageError(f"--cv: expected holdout or a number of folds from 2, got {cv!r}")
    return int(cv)


def _measures(text: str | None) -> list[str] | None:
    from plurilabel.compare import check_measures

    names = names_in(text)
    try:
        check_measures(names)
    except ValueError as error:
        raise UsageError(f"--measures: {error}") from None
    return names


def _chosen(text: str | None, measure: str) -> dict[str, Any] | None:
    from plurilabel.compare import make_learners
    from plurilabel.metrics import get_scorer

    try:
        get_scorer(measure)
    except ValueError as error:
        raise UsageError(f"--search-measure: {error}") from None
    try:
        return None if text is None else make_learners(text, measure=measure)
    except ValueError as error:
        raise UsageError(f"--learners: {error}") from None


def default_learners(tables: list[Dataset]) -> dict[str, Any]:
    """A learner of each kind, with what the data need before it."""
    import numpy as np
    from scipy import sparse

    from plurilabel.compare import make_learner

    X = [table.X for table in tables]
    missing = any(
        np.isnan(one.data if sparse.issparse(one) else np.asarray(one)).any() for one in X
    )
    first = "SimpleImputer | " if missing else ""
    scaler = "MaxAbsScaler" if any(sparse.issparse(one) for one in X) else "StandardScaler"
    texts = {
        "MLkNN, scaled": f"{scaler} | MLkNN",
        "IBLRML, scaled": f"{scaler} | IBLRML",
        "BinaryRelevance": "BinaryRelevance",
        "EnsembleOfChains": "EnsembleOfChains",
        "RAkEL": "RAkEL",
        "MLRandomForest": "MLRandomForest",
    }
    return {name: make_learner(first + text) for name, text in texts.items()}


def _command(ctx: click.Context) -> str:
    """The command as one would write it again: what was given, less what changes no result."""
    words = ["plurilabel", "compare", *ctx.params["data"]]
    for option in ctx.command.params:
        name = str(option.name)
        source = ctx.get_parameter_source(name)
        if isinstance(option, click.Option) and source is ParameterSource.COMMANDLINE:
            value = ctx.params[name]
            if name not in ("retry", "fresh", "as_json", "report", "jobs"):
                words += [option.opts[0], str(value)]
    return shlex.join(words)
