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
from plurilabel.cli import _output as ui
from plurilabel.cli._config import as_toml, config_option, options_of
from plurilabel.cli._data import data_options, label_option, names_in, read_learner, reader_options
from plurilabel.cli._progress import Steps

if TYPE_CHECKING:
    from plurilabel.models import Model

# plurilabel.thresholds.strategy_names, without its import, which takes a second
STRATEGIES = (
    "constant", "cardinality", "linear", "scut", "global", "rcut", "pcut", "mcut", "expected_f",
    "metalabeler", "seen_sets",
)  # fmt: skip
SHOWN = (
    "f1", "micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "average_precision",
    "ranking_loss", "one_error",
)  # fmt: skip


def training_command(function: Any) -> Any:
    """Add the options common to ``fit`` and ``tune``, which are passed as a :class:`Run`."""

    @click.pass_context
    def command(ctx: click.Context, **options: Any) -> None:
        own = {name: options.pop(name) for name in list(signature(function).parameters)[1:]}
        run = Run(
            in_blocks=_reads_blocks(options["data"], **own), given=options_of(ctx), **options
        )
        function(run, **own)

    update_wrapper(command, function)
    for option in (
        ui.json_option,
        ui.quiet_option,
        config_option,
        click.option(
            "--track", metavar="EXPERIMENT",
            help="Log options, measures and the model as a run of this MLflow experiment, at "
            "MLFLOW_TRACKING_URI.",
        ),
        ui.file_option(
            "--report", metavar="FILE.html",
            help="Write a page on the held-out rows: measures, labels, curves and worst rows.",
        ),
        click.option(
            "--time-limit", type=ui.POSITIVE, metavar="SECONDS",
            help="Try no further learner or candidate when most of this time is used up, and skip "
            "the final refit if there is no time left for it. Fits are not interrupted.",
        ),
        click.option(
            "--quick", is_flag=True,
            help="Save time: try only nearest neighbors and linear models, compare candidates on "
            "1,000 rows in 3 folds, and tune the threshold in 2 folds.",
        ),
        ui.force_option,
        ui.seed_option,
        click.option("--refit/--no-refit", default=True, help="Refit on all rows in the end."),
        click.option(
            "--holdout", type=click.FloatRange(0, 0.9), metavar="SHARE",
            help="Share of the rows to evaluate the model on; 0 for none. By default the "
            "published test part, or 0.2.",
        ),
        click.option(
            "--threshold", type=click.Choice([*STRATEGIES, "none"]), metavar="STRATEGY",
            help=f"Threshold strategy: {', '.join(STRATEGIES)}, or none for the learner's own "
            "threshold. By default the best one for --measure, and none with --learner.",
        ),
        ui.file_option("-o", "--out", metavar="MODEL.skops", help="File to save the model to."),
    ):  # fmt: skip
        command = option(command)
    data = click.argument("data", metavar="NAME|FILE...", nargs=-1, callback=_data_given)
    return data(data_options(command))


def _reads_blocks(
    data: Any,
    scheduler: str | None = None,
    learner: str | None = None,
    store: Any = None,
    **_: Any,
) -> bool:
    """Whether files are read in blocks, which only some options go with."""
    if scheduler is None or learner is None:
        return scheduler is not None
    read_learner(learner)  # its errors name the option
    from plurilabel.models.shared import training_on_blocks

    return training_on_blocks(learner, data, scheduler, store) is not None


def _data_given(ctx: click.Context, _: click.Parameter, data: tuple[str, ...]) -> tuple[str, ...]:
    # older versions of click ignore the default map for arguments with several values
    return data or tuple((ctx.default_map or {}).get("data", ()))


@click.command()
@click.option(
    "--learner", metavar="SPEC",
    help='A learner such as "MLkNN(n_neighbors=7)" or "StandardScaler | MLkNN". Missing values '
    "are imputed, but features are only scaled if it says so. By default a weighted combination "
    "of several learners, chosen for --measure.",
)  # fmt: skip
@click.option(
    "--measure", default="micro_f1", metavar="NAME",
    help="The measure to optimize, without --learner.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS",
    help="Fit on a Dask cluster, such as tcp://host:8786, or on the threads of this machine "
    "(threads). ML-kNN and the other lazy learners, the default here, read files in blocks: "
    "several .parquet or .csv files, one .txt (extreme classification) or one .zarr. The labels "
    "or members of other learners are spread over the workers, with all rows in memory.",
)  # fmt: skip
@click.option(
    "--store", metavar="FOLDER",
    help="Keep the parts that such a learner has finished, and go on from them if it was stopped.",
)  # fmt: skip
@click.option(
    "--exportable", is_flag=True,
    help="Choose only among features and learners that `plurilabel export` supports.",
)  # fmt: skip
@training_command
def fit(
    run: Run, learner: str | None, measure: str, scheduler: str | None, store: str | None,
    exportable: bool,
) -> None:  # fmt: skip
    """Train a model, evaluate it, and save it.

    FILE is a table with a column of tags or with label columns (.csv, .tsv, .parquet, .json,
    .jsonl, .xlsx), or ends in .arff, .svm or .txt (extreme classification); NAME is a standard
    dataset such as yeast. A table may consist of several files, or of those in a folder. Columns
    of numbers, dates, categories and text are detected. The model is evaluated on held-out rows,
    and then refitted on all rows.

    By default, many learners are tried, fast ones first, and combined for --measure. This takes
    minutes; --quick takes seconds, and --time-limit sets a limit.

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
        read_learner(learner)  # its errors name the option
    about: Any = {"scheduler": scheduler, "store": store, "exportable": exportable}
    model = run.train(learner=learner, measure=measure, **about)
    if "candidates" in model.notes:
        best = _shown(model.notes["best"])
        run.steps.say(f"Best of {len(model.notes['candidates'])} candidates: {best}")
    run.finish(model)


@click.command()
@click.option(
    "--learner", metavar="SPEC", required=True,
    help='A learner with lists of candidates, such as "MLkNN(n_neighbors=[5, 7, 9])".',
)  # fmt: skip
@click.option("--measure", default="f1", metavar="NAME", help="The measure to optimize.")
@click.option("--cv", type=click.IntRange(2), default=5, metavar="FOLDS", help="Stratified folds.")
@click.option("--jobs", type=int, default=1, help="Number of parallel fits; -1 for all cores.")
@training_command
def tune(run: Run, learner: str, measure: str, cv: int, jobs: int) -> None:
    """Search for the best parameters and save the model.

    All combinations of the candidates are compared by cross-validation on the rows that are not
    held out. The best one is evaluated on the held-out rows, refitted on all rows and saved.

    \b
    Examples:
      plurilabel tune films.csv --labels tags --learner "MLkNN(n_neighbors=[5, 9])" -o films.skops
      plurilabel tune yeast --learner "StandardScaler | MLkNN(n_neighbors=[5, 10])" \\
          --measure average_precision -o yeast.skops
    """
    measure = check_measure(measure)
    search = read_learner(learner, measure=measure, cv=cv)
    if not hasattr(search, "param_grid"):
        raise ui.UsageError(
            "--learner needs a list of candidates, such as MLkNN(n_neighbors=[5, 7, 9])"
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
    with ui.heard_or_not():
        columns = ["candidate", measure, "deviation", "fit seconds"]
        ui.print_table(columns, shown, err=run.as_json)
    model.notes.update(measure=measure, cv=cv)
    run.finish(model)


def check_measure(name: str) -> str:
    """Check the name of a measure; errors name the option."""
    try:
        name = names.check_measure(name)
        if name.endswith("@k"):
            raise ValueError(f"name must have a number in place of k, such as {name[:-1]}5")
        return name
    except ValueError as error:
        raise ui.UsageError(str(error).replace("name must", "--measure must", 1)) from None


def _shown(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


class Run:
    """A run of ``fit`` or ``tune``: its options and outputs."""

    def __init__(
        self, *, data: tuple[str, ...], in_blocks: bool, out: Path | None, force: bool,
        quiet: bool, as_json: bool, given: dict[str, Any], report: Path | None = None,
        track: str | None = None, save_config: Path | None = None, **options: Any,
    ) -> None:  # fmt: skip
        if not data or out is None:
            missing = "option '-o'" if data else "argument 'NAME|FILE...'"
            raise ui.UsageError(f"Missing {missing}")
        ui.check_output(out, *data, force=force)
        for path, suffix, option in (
            (report, ".html", "--report"), (save_config, ".toml", "--save-config")
        ):  # fmt: skip
            if path is not None:
                ui.check_output(path, *data, suffixes=(suffix,), option=option, force=force)
        if track is not None and find_spec("mlflow") is None:
            ui.fail("--track needs MLflow: pip install 'plurilabel[mlflow]'")
        self.given, self.report, self.track, self.save_config = given, report, track, save_config
        names = ("threshold", "holdout", "refit", "quick", "time_limit", "random_state")
        self.training = {name: options.pop(name) for name in names}
        self.data: Any = list(data) if in_blocks or len(data) > 1 else data[0]
        if in_blocks:  # which rejects unsupported ones
            lists = ("text", "features", "drop", "stop_words")
            options |= {name: names_in(options[name]) for name in lists}
            options["labels"] = label_option(options["labels"])
            self.reading = {k: v for k, v in options.items() if v not in (None, False)}
        else:
            self.reading = reader_options(*data, **options)
        self.out, self.as_json = out, as_json
        self.steps = Steps(quiet=quiet, as_json=as_json)

    def train(self, **options: Any) -> Model:
        from plurilabel.models import train

        given = {**self.reading, **self.training, **options, "report": self.report}
        model = train(self.data, **given, progress=self.steps)
        model.notes["options"] = self.given  # for --config
        return model

    def finish(self, model: Model) -> None:
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
            ui.print_json({"model": out, **notes})
        if problem is not None:
            ui.fail(f"{self.out} could not be written ({problem}); the model was saved to {out}")

    def _show_quality(self, notes: dict[str, Any]) -> None:
        how, measures = notes["held_out"]["how"], notes["held_out"]["measures"]
        if not measures:
            self.steps.say(f"Quality unknown: {how}.")
            return
        self.steps.say(f"Measured on held-out rows: {how}")
        guesses = notes["guessing"]
        rows = [
            [f"{name} {ui.arrow(name)}", f"{measures[name]:.3f}", f"{guesses[name]:.3f}"]
            for name in SHOWN
            if name in guesses and math.isfinite(measures.get(name, math.nan))
        ]
        with ui.heard_or_not():
            ui.print_table(["", "model", "same answer for all"], rows, err=self.as_json)
        if note := getattr(measures, "note", ""):
            self.steps.say(note)
        rest = f"fitted on the other {notes['train_rows']:,} rows"
        again = "refitted on all rows" if notes["learned_rows"] == "all" else rest
        self.steps.say(f"The saved model was {again}.")

    def _save(self, model: Model) -> tuple[Path, str | None]:
        """Save the model, elsewhere if necessary; return the path and the problem."""
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
        ui.fail(f"{self.out} could not be written ({problem}), nor any other location")
