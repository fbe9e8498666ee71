"""``plurilabel fit`` and ``plurilabel tune``."""

from __future__ import annotations

import math
import secrets
import tempfile
from functools import update_wrapper
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core import names
from plurilabel._core.words import file_size
from plurilabel.cli._config import as_toml, config_option, options_of
from plurilabel.cli._data import (
    data_options,
    label_option,
    names_in,
    read_learner,
    reader_options,
)
from plurilabel.cli._output import (
    UsageError,
    arrow,
    check_output,
    fail,
    force_option,
    heard_or_not,
    print_json,
    print_table,
)
from plurilabel.cli._progress import Steps

if TYPE_CHECKING:
    from plurilabel.models import Model

# plurilabel.thresholds.strategy_names, whose import would take a second
STRATEGIES = (
    "constant", "cardinality", "linear", "scut", "global", "rcut", "pcut", "mcut", "expected_f",
    "metalabeler", "seen_sets",
)  # fmt: skip
SHOWN = (
    "f1", "micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "average_precision",
    "ranking_loss", "one_error",
)  # fmt: skip


def training_command(function: Any) -> Any:
    """Add the options of ``fit`` and ``tune`` alike; the function gets them as a :class:`Run`."""

    @click.pass_context
    def command(ctx: click.Context, **options: Any) -> None:
        own = {name: options.pop(name) for name in list(signature(function).parameters)[1:]}
        run = Run(in_blocks=bool(own.get("scheduler")), given=options_of(ctx), **options)
        function(run, **own)

    update_wrapper(command, function)
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option("--quiet", "-q", is_flag=True, help="Do not report progress."),
        config_option,
        click.option(
            "--track", metavar="EXPERIMENT",
            help="Log options, measures and the model as a run of this experiment in MLflow, "
            "where MLFLOW_TRACKING_URI says.",
        ),
        click.option(
            "--report", type=click.Path(path_type=Path), metavar="FILE.html",
            help="Write a page about the held-out rows: measures, labels, curves, worst rows.",
        ),
        click.option(
            "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help="Try no further learner or candidate when most of this time is used up, and skip "
            "the final fit on all rows if there is no time left for it. A fit that has begun is "
            "finished.",
        ),
        click.option(
            "--quick", is_flag=True,
            help="Save time: try neighbours and logistic regression only, compare candidates on "
            "1,000 rows in 3 folds, and learn the cut in 2 folds.",
        ),
        force_option,
        click.option(
            "--seed", "random_state", type=click.IntRange(0), default=0, show_default=True,
            help="Seed of splits and learners.",
        ),
        click.option(
            "--refit/--no-refit", default=True, show_default=True,
            help="Learn the saved model from all rows, or only from those not held out.",
        ),
        click.option(
            "--holdout", type=click.FloatRange(0, 0.9), metavar="SHARE",
            help="Share of the rows to measure the model on; 0 for none. By default the published "
            "test part, or 0.2.",
        ),
        click.option(
            "--threshold", type=click.Choice([*STRATEGIES, "none"]), metavar="STRATEGY",
            help=f"How scores become label sets: {', '.join(STRATEGIES)}, or none for the "
            "learner's own cut. By default what suits --measure, and none with --learner.",
        ),
        click.option(
            "-o", "--out", type=click.Path(path_type=Path), metavar="MODEL.skops",
            help="File for the model.",
        ),
    ):  # fmt: skip
        command = option(command)
    data = click.argument("data", metavar="NAME|FILE...", nargs=-1, callback=_data_given)
    return data(data_options(command))


def _data_given(ctx: click.Context, _: click.Parameter, data: tuple[str, ...]) -> tuple[str, ...]:
    # for several values, older versions of click do not look into a configuration
    return data or tuple((ctx.default_map or {}).get("data", ()))


@click.command()
@click.option(
    "--learner", metavar="SPEC",
    help='A learner such as "MLkNN(n_neighbors=7)" or "StandardScaler | MLkNN". Missing values '
    "are filled in, but features are scaled only if it says so. By default those that suit the "
    "data, weighted for --measure.",
)  # fmt: skip
@click.option(
    "--measure", default="micro_f1", show_default=True, metavar="NAME",
    help="The measure that matters, without --learner.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS",
    help="Read files in blocks and learn on a Dask cluster, such as tcp://host:8786, or on "
    "the threads of this machine (threads). For ML-kNN and its kin, on columns of numbers; "
    "FILE may be several of .parquet or .csv, one .txt (extreme classification) or one .zarr.",
)  # fmt: skip
@click.option(
    "--exportable", is_flag=True,
    help="Choose only among features and learners that `plurilabel export` can write as ONNX.",
)  # fmt: skip
@training_command
def fit(
    run: Run, learner: str | None, measure: str, scheduler: str | None, exportable: bool
) -> None:
    """Learn a model, report how good it is, and save it.

    FILE is a table with a column of tags or with label columns (.csv, .tsv, .parquet, .json,
    .jsonl, .xlsx), or ends in .arff, .svm or .txt (extreme classification); NAME is a standard
    dataset such as yeast. A table may be in several files or in a folder. Numbers, dates,
    categories and text in a table are detected. The model is measured on rows that are held out,
    and then learned again from all rows.

    By default many learners are tried, cheap ones first, and weighted for --measure; that takes
    minutes. --quick takes seconds, --time-limit sets a limit.

    \b
    Examples:
      plurilabel fit films.csv --labels tags -o films.skops
      plurilabel fit mails.csv --labels topics --text subject --text body \\
          --features from,sent -o mails.skops
      plurilabel fit yeast --learner "StandardScaler | MLkNN(n_neighbors=7)" -o yeast.skops
      plurilabel fit rows/*.parquet --labels tags --scheduler tcp://host:8786 -o rows.skops
    """
    measure = check_measure(measure)
    if learner is not None:
        read_learner(learner)  # an error that names the option
    model = run.train(learner=learner, measure=measure, scheduler=scheduler, exportable=exportable)
    if "candidates" in model.notes:
        best = _shown(model.notes["best"])
        run.steps.say(f"Best of {len(model.notes['candidates'])} candidates: {best}")
    run.finish(model)


@click.command()
@click.option(
    "--learner", metavar="SPEC", required=True,
    help='A learner with lists of candidates, such as "MLkNN(n_neighbors=[5, 7, 9])".',
)  # fmt: skip
@click.option(
    "--measure", default="f1", show_default=True, metavar="NAME", help="The measure to optimize."
)  # fmt: skip
@click.option(
    "--cv", type=click.IntRange(2), default=5, show_default=True, help="Stratified folds."
)  # fmt: skip
@click.option(
    "--jobs", type=int, default=1, show_default=True,
    help="Fits at the same time; -1 for all cores.",
)  # fmt: skip
@training_command
def tune(run: Run, learner: str, measure: str, cv: int, jobs: int) -> None:
    """Search for the best parameters and save the model.

    Every combination of the candidates is measured by cross-validation on the rows that are not
    held out. The best is then measured on the held-out rows, learned again from all and saved.

    \b
    Examples:
      plurilabel tune films.csv --labels tags --learner "MLkNN(n_neighbors=[5, 9])" -o films.skops
      plurilabel tune yeast --learner "StandardScaler | MLkNN(n_neighbors=[5, 10])" \\
          --measure average_precision -o yeast.skops
    """
    measure = check_measure(measure)
    search = read_learner(learner, measure=measure, cv=cv)
    if not hasattr(search, "param_grid"):
        raise UsageError(
            "--learner has no list of candidates; write one, such as "
            "MLkNN(n_neighbors=[5, 7, 9]), or use `plurilabel fit`"
        )
    run.steps.without = ["plan"]
    model = run.train(learner=search.set_params(n_jobs=jobs))
    candidates, seen = model.notes["candidates"], model.notes["search"]
    rows = f"{seen['folds']} folds of {seen['rows']:,} rows"
    run.steps.say(f"Cross-validation, {rows}: {measure} of {len(candidates)} candidates")
    shown = [
        [
            _shown(row["parameters"]),
            f"{row['mean']:.4f}",
            f"±{row['deviation']:.4f}",
            f"{row['fit_seconds']:.2f}",
        ]
        for row in candidates
    ]
    with heard_or_not():
        columns = ["candidate", measure, "deviation", "fit seconds"]
        print_table(columns, shown, err=run.as_json)
    model.notes.update(measure=measure, cv=cv)
    run.finish(model)


def check_measure(name: str) -> str:
    """The name of a measure as it is known here, or an error that names the option."""
    try:
        name = names.check_measure(name)
        if name.endswith("@k"):
            raise ValueError(f"name must have a number in place of k, such as {name[:-1]}5")
        return name
    except ValueError as error:
        raise UsageError(str(error).replace("name must", "--measure must", 1)) from None


def _shown(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


class Run:
    """One run of ``fit`` or ``tune``: its options, and where its result goes."""

    def __init__(
        self,
        *,
        data: tuple[str, ...],
        in_blocks: bool,
        out: Path | None,
        force: bool,
        quiet: bool,
        as_json: bool,
        given: dict[str, Any],
        report: Path | None = None,
        track: str | None = None,
        save_config: Path | None = None,
        **options: Any,
    ) -> None:
        if not data or out is None:
            missing = "option '-o'" if data else "argument 'NAME|FILE...'"
            raise UsageError(f"Missing {missing}")
        check_output(out, *data, force=force)
        for path, suffix, option in (
            (report, ".html", "--report"), (save_config, ".toml", "--save-config")
        ):  # fmt: skip
            if path is not None:
                check_output(path, *data, suffixes=(suffix,), option=option, force=force)
        if track is not None and find_spec("mlflow") is None:
            fail("--track needs MLflow: pip install 'plurilabel[mlflow]'")
        self.given, self.report, self.track, self.save_config = given, report, track, save_config
        names = ("threshold", "holdout", "refit", "quick", "time_limit", "random_state")
        self.training = {name: options.pop(name) for name in names}
        self.data: Any = list(data) if in_blocks or len(data) > 1 else data[0]
        self.reading = _for_blocks(options) if in_blocks else reader_options(*data, **options)
        self.out, self.as_json = out, as_json
        self.steps = Steps(quiet=quiet, as_json=as_json)

    def train(self, **options: Any) -> Model:
        """Train the model."""
        from plurilabel.models import train

        given = {**self.reading, **self.training, **options, "report": self.report}
        model = train(self.data, **given, progress=self.steps)
        model.notes["options"] = self.given  # what --config takes from a model
        return model

    def finish(self, model: Model) -> None:
        """Print how good the model is, and save it."""
        self._show_quality(model.notes)
        out, problem = self._save(model)
        self.steps.say(f"Wrote {out} ({file_size(out.stat().st_size)})")
        if self.report is not None and model.notes["held_out"]["measures"]:
            self.steps.say(f"Wrote {self.report}")
        if self.save_config is not None:
            self.save_config.write_text(as_toml(self.given), "utf-8")
            self.steps.say(f"Wrote {self.save_config}")
        if self.track is not None:
            from plurilabel.models.mlflow import log_run

            self.steps.say(f"Logged run {log_run(model, self.track)} of {self.track} in MLflow")
        if self.as_json:
            notes = {name: note for name, note in model.notes.items() if name != "data"}
            print_json({"model": out, **notes})
        if problem is not None:
            fail(f"{self.out} could not be written ({problem}); the model is in {out} instead")

    def _show_quality(self, notes: dict[str, Any]) -> None:
        how, measures = notes["held_out"]["how"], notes["held_out"]["measures"]
        if not measures:
            self.steps.say(f"Quality unknown: {how}.")
            return
        self.steps.say(f"Measured on held-out rows: {how}")
        guesses = notes["guessing"]
        rows = [
            [f"{name} {arrow(name)}", f"{measures[name]:.3f}", f"{guesses[name]:.3f}"]
            for name in SHOWN
            if name in guesses and math.isfinite(measures.get(name, math.nan))
        ]
        with heard_or_not():
            print_table(["", "model", "same answer for all"], rows, err=self.as_json)
        if note := getattr(measures, "note", ""):
            self.steps.say(note)
        rest = f"learned from the other {notes['train_rows']:,} rows"
        again = "learned again from all rows" if notes["learned_rows"] == "all" else rest
        self.steps.say(f"The saved model is {again}.")

    def _save(self, model: Model) -> tuple[Path, str | None]:
        """Save the model, elsewhere if it must be: returns where, and what was wrong."""
        from plurilabel.models import save_model

        try:
            save_model(model, self.out)
            return self.out, None
        except OSError as error:
            problem = error.strerror or str(error)
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            out = folder / f"{self.out.stem}-{secrets.token_hex(3)}.skops"
            try:
                save_model(model, out)
                return out, problem
            except OSError:
                continue
        fail(f"{self.out} could not be written ({problem}), nor could any other place")


def _for_blocks(options: dict[str, Any]) -> dict[str, Any]:
    """Options for reading blocks; those that do not go with it are refused there."""
    names = ("text", "features", "drop", "stop_words")
    given = {**options, **{name: names_in(options[name]) for name in names}}
    given["labels"] = label_option(options["labels"])
    return {name: value for name, value in given.items() if value not in (None, False)}
