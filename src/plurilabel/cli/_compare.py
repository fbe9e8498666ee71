"""``plurilabel compare``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from plurilabel._core.blocks import has_missing
from plurilabel.cli._compare_show import Progress, as_dict, show, show_failures
from plurilabel.cli._data import data_options, find, is_standard, list_option, names_in, uncentred
from plurilabel.cli._errors import UsageError
from plurilabel.cli._output import echo, print_json, say

if TYPE_CHECKING:
    from plurilabel._core.data.dataset import Dataset

option = partial(click.option, show_default=True)
flag = partial(click.option, is_flag=True)

TO_COMPARE = ("repeats", "out", "n_jobs", "time_limit", "random_state", "retry", "fresh")
"""Options that are passed on as they are."""


@click.command()
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@list_option(
    "--learners",
    metavar="LEARNERS",
    help='Learners with commas between them, such as "MLkNN(n_neighbors=7), '
    'StandardScaler | MLkNN, RAkEL(labelset_size=3)"; a list of values is searched inside each '
    'training part: "MLkNN(n_neighbors=[5, 10, 20])". name=LEARNER gives a name. Missing values '
    "are filled in, but features are scaled only where a learner says so.  "
    "[default: a handful of different kinds]",
)
@option(
    "--cv",
    default="holdout",
    metavar="holdout|FOLDS",
    help="The published split (else a stratified one), or a number of stratified folds.",
)
@option("--repeats", type=click.IntRange(1), default=1, help="How often, with other folds.")
@list_option("--measures", metavar="NAMES", help="Measures with commas between them; else all.")
@option("--search-measure", default="f1", help="The measure that searches for parameters go by.")
@option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("out"),
    help="Folder for the results; what is finished there is not run again.",
)
@option("--jobs", "n_jobs", type=int, default=1, help="Processes; -1 for all cores.")
@option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="For each learner and split.",
)
@option(
    "--seed",
    "random_state",
    type=click.IntRange(0),
    default=0,
    help="Of folds and learners.",
)
@flag("--retry", help="Run again what failed in an earlier run.")
@flag("--fresh", help="Run everything again, and replace what is there.")
@option("--report/--no-report", default=True, help="Write the report.")
@flag("--json", "as_json", help="Print the means as JSON.")
@data_options
@click.pass_context
def compare(
    ctx: click.Context,
    data: tuple[str, ...],
    learners: list[str] | None,
    cv: str,
    measures: list[str] | None,
    search_measure: str,
    report: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare learners on datasets.

    Every learner is trained and tested on every split of every dataset. Each result is written
    at once: the same command continues where it was stopped. A learner that fails or takes too
    long does not stop the others. The exit status is 1 if any failed.

    \b
    plurilabel compare emotions scene --learners "MLkNN, RAkEL" --cv 10 --jobs 2
    plurilabel compare films.csv --labels tags --out films
    """
    from plurilabel import evaluation
    from plurilabel.evaluation import write_report
    from plurilabel.learners import make_learners
    from plurilabel.metrics import get_scorer
    from plurilabel.metrics.shared import check_measures

    passed = {name: options.pop(name) for name in TO_COMPARE}
    # options for reading are for the files only, if there are any
    only_names = all([is_standard(one) for one in data])
    tables = [find(one, **(options if only_names or not is_standard(one) else {})) for one in data]
    with _said_of("--cv"):
        folds = _folds(cv)
    with _said_of("--measures"):
        wanted = names_in(measures)
        check_measures(wanted)
    with _said_of("--search-measure"):
        get_scorer(search_measure)
    with _said_of("--learners"):
        chosen: Any = default_learners(tables)
        if learners is not None:
            chosen = make_learners(", ".join(learners), measure=search_measure)
            chosen = {name: _ready(learner, tables) for name, learner in chosen.items()}
    try:
        with Progress() as progress:
            results = evaluation.compare(
                tables,
                chosen,
                cv=folds,
                measures=wanted,
                progress=progress,
                command=_command(ctx),
                **passed,
            )
    except KeyboardInterrupt:
        out = passed["out"]
        echo(f"Stopped. What is finished is in {out}; the same command continues.", err=True)
        ctx.exit(130)
    if not as_json:
        show(results, wanted)
    show_failures(results)
    files = write_report(results, passed["out"]) if report else {}
    say(*(f"Wrote {path}" for path in files.values()), as_json=as_json)
    if as_json:
        print_json(as_dict(results, files))
    if results.failures():
        ctx.exit(1)


@contextmanager
def _said_of(name: str) -> Iterator[None]:
    """Errors inside are about this option."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _folds(cv: str) -> str | int:
    if cv == "holdout":
        return cv
    if not cv.isdecimal() or int(cv) < 2:
        raise ValueError(f"expected holdout or a number of folds from 2, got {cv!r}")
    return int(cv)


def default_learners(tables: list[Dataset]) -> dict[str, str]:
    """A learner of each kind, with what the data need before it."""
    from scipy import sparse

    X = [table.X for table in tables]
    first = "SimpleImputer | " if any(has_missing(one) for one in X) else ""
    scaler = "MaxAbsScaler" if any(sparse.issparse(one) for one in X) else "StandardScaler"
    scaled = {f"{name}, scaled": f"{first}{scaler} | {name}" for name in ("MLkNN", "IBLRML")}
    plain = ("BinaryRelevance", "EnsembleOfChains", "RAkEL", "MLRandomForest")
    return {**scaled, **{name: first + name for name in plain}}


def _ready(learner: Any, tables: list[Dataset]) -> Any:
    """A learner with what it needs to be fitted at all, as ``fit`` does it."""
    from scipy import sparse
    from sklearn.pipeline import make_pipeline

    from plurilabel.io.shared import imputer
    from plurilabel.learners import learner_text

    if any(sparse.issparse(table.X) for table in tables):
        uncentred(learner)
    missing = any(has_missing(table.X) for table in tables)
    fills = "Imputer" in learner_text(learner)
    return make_pipeline(imputer(), learner) if missing and not fills else learner


def _command(ctx: click.Context) -> str:
    """The command as one would write it again: what was given, less what changes no result."""
    words = ["plurilabel", "compare", *ctx.params["data"]]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        idle = name in ("data", "retry", "fresh", "as_json", "report", "n_jobs")
        if given and not idle:
            value = ctx.params[name]
            if isinstance(value, bool):
                words.append((parameter.opts if value else parameter.secondary_opts)[0])
            else:
                each = value if isinstance(value, list) else [value]
                words += [word for one in each for word in (parameter.opts[0], str(one))]
    return shlex.join(words)
