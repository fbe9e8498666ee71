"""``plurilabel fit`` and ``plurilabel tune``."""

from __future__ import annotations

from typing import Any

import click
from sklearn.model_selection import GridSearchCV

from plurilabel import metrics
from plurilabel.cli._blocks import BlockTraining, connected
from plurilabel.cli._data import read_learner
from plurilabel.cli._errors import UsageError
from plurilabel.cli._output import heard_or_not, print_table
from plurilabel.cli._training import Training, training_command
from plurilabel.learners import learner_text, set_seeds


@click.command()
@click.option(
    "--learner",
    metavar="SPEC",
    help='A learner such as "MLkNN(n_neighbors=7)" or "StandardScaler | MLkNN". Missing values '
    "are filled in, but features are scaled only if it says so. By default those that suit the "
    "data, weighted for --measure.",
)
@click.option(
    "--measure",
    default="micro_f1",
    show_default=True,
    metavar="NAME",
    help="The measure that matters, without --learner.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Read files in blocks and learn on a Dask cluster, such as tcp://host:8786, or on "
    "the threads of this machine (threads). For ML-kNN and its kin, on columns of numbers; "
    "FILE may be several of .parquet or .csv, one .txt (extreme classification) or one .zarr.",
)
@training_command
def fit(training: Training, learner: str | None, measure: str, scheduler: str | None) -> None:
    """Learn a model, report how good it is, and save it.

    FILE is a table with a column of tags or with label columns (.csv, .tsv, .parquet, .json,
    .jsonl), or ends in .arff, .svm or .txt (extreme classification); NAME is a standard dataset
    such as yeast. Numbers, dates and categories in a table are detected; columns of text are named
    with --text. The model is measured on rows that are held out, and then learned again from all
    rows.

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
    check_measure(measure)
    estimator = None if learner is None else read_learner(learner)
    if scheduler is not None:
        blocks = BlockTraining(training)
        with connected(scheduler):
            blocks.run(estimator, learner)
        text = learner_text(training.estimator)
        training.finish({"learner": text}, digest=blocks.digest())
        return
    training.read()
    notes: dict[str, Any] = {}
    if estimator is None:
        cut = training.prepare_automatic(measure)
    else:
        set_seeds(estimator, training.seed)
        training.say(f"Learner: {learner}, as asked")
        cut = training.prepare(estimator)
    if cut:
        training.say(f"Cut of scores into label sets: {cut}")
    if training.has_missing():
        training.say("Missing values: filled with the median of their column")
    search = training.fit()
    if search is not None:
        best = training.plain_names(search.best_params_)
        shown = ", ".join(f"{name}={value!r}" for name, value in best.items())
        training.say(f"Best of {len(search.cv_results_['params'])} candidates: {shown}")
    if training.automatic is not None:
        notes["report"] = training.automatic.report_
    if estimator is None:
        estimator = training.automatic or training.estimator
    training.finish({**notes, "learner": learner_text(estimator)})


@click.command()
@click.option(
    "--learner",
    metavar="SPEC",
    required=True,
    help='A learner with lists of candidates, such as "MLkNN(n_neighbors=[5, 7, 9])".',
)
@click.option(
    "--measure", default="f1", show_default=True, metavar="NAME", help="The measure to optimize."
)
@click.option(
    "--cv", type=click.IntRange(2), default=5, show_default=True, help="Stratified folds."
)
@click.option(
    "--jobs",
    type=int,
    default=1,
    show_default=True,
    help="Fits at the same time; -1 for all cores.",
)
@training_command
def tune(training: Training, learner: str, measure: str, cv: int, jobs: int) -> None:
    """Search for the best parameters and save the model.

    Every combination of the candidates is measured by cross-validation on the rows that are not
    held out. The best is then measured on the held-out rows, learned again from all and saved.

    \b
    Examples:
      plurilabel tune films.csv --labels tags --learner "MLkNN(n_neighbors=[5, 9])" -o films.skops
      plurilabel tune yeast --learner "StandardScaler | MLkNN(n_neighbors=[5, 10])" \\
          --measure average_precision -o yeast.skops
    """
    check_measure(measure)
    search = read_learner(learner, measure=measure, cv=cv)
    if not isinstance(search, GridSearchCV):
        raise UsageError(
            "--learner has no list of candidates; write one, such as "
            "MLkNN(n_neighbors=[5, 7, 9]), or use `plurilabel fit`"
        )
    training.read()
    set_seeds(search, training.seed)
    search.n_jobs = jobs
    training.prepare(search)
    search = training.fit()
    candidates = _candidates(training, search.cv_results_, measure)
    rows = f"{training.folds} folds of {training.searched_rows:,} rows"
    training.say(f"Cross-validation, {rows}: {measure} of {len(candidates)} candidates")
    shown = [
        [
            ", ".join(f"{name}={value!r}" for name, value in row["parameters"].items()),
            f"{row['mean']:.4f}",
            f"±{row['deviation']:.4f}",
            f"{row['fit_seconds']:.2f}",
        ]
        for row in candidates
    ]
    columns = ["candidate", measure, "deviation", "fit seconds"]
    with heard_or_not():
        print_table(columns, shown, err=training.as_json)
    notes = {
        "learner": learner_text(search.best_estimator_),
        "best": candidates[0]["parameters"],
        "measure": measure,
        "cv": cv,
        "candidates": candidates,
    }
    training.finish(notes)


def check_measure(name: str) -> None:
    """Raise an error that names the option if there is no such measure."""
    try:
        metrics.get_scorer(name)
    except ValueError as error:
        raise UsageError(str(error).replace("name must", "--measure must", 1)) from None


def _candidates(training: Training, results: Any, measure: str) -> list[dict[str, Any]]:
    """The candidates, best first; of equal ones the first."""
    sign = 1 if metrics.get_measure(measure).greater_is_better else -1
    rows = [
        {
            "parameters": {
                name: value if isinstance(value, str | int | float | None) else learner_text(value)
                for name, value in training.plain_names(parameters).items()
            },
            "mean": sign * float(results["mean_test_score"][i]),
            "deviation": float(results["std_test_score"][i]),
            "fit_seconds": float(results["mean_fit_time"][i]),
        }
        for i, parameters in enumerate(results["params"])
    ]
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: results["rank_test_score"][i])]
