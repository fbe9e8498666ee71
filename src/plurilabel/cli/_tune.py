"""``plurilabel tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sklearn.model_selection import GridSearchCV

from plurilabel import metrics
from plurilabel.cli._common import UsageError, data_options, print_table, read_learner, say
from plurilabel.cli._fit import finish, training_options
from plurilabel.cli._output import check_output
from plurilabel.cli._training import (
    Plan,
    Training,
    always_labelled,
    needs_filling,
    read_training,
    say_data,
)
from plurilabel.compare import learner_text, set_seeds


@click.command()
@click.argument("data", metavar="NAME|FILE")
@data_options
@click.option(
    "--learner",
    metavar="SPEC",
    required=True,
    help='A learner with lists of candidates, such as "MLkNN(n_neighbors=[5, 7, 9])".',
)
@click.option(
    "--measure", default="f1", show_default=True, metavar="NAME", help="What is to be best."
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
@training_options
def tune(
    data: str,
    learner: str,
    measure: str,
    cv: int,
    jobs: int,
    out: Path,
    threshold: str | None,
    holdout: float | None,
    refit: bool,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Search the best parameters of a learner, save the model.

    Every combination of the candidates is measured by cross-validation on the rows that are not
    held out. The best is then measured on the held-out rows, learned again from all and saved.

    \b
    Examples:
      plurilabel tune films.csv --labels tags --learner "MLkNN(n_neighbors=[5, 9])" -o films.skops
      plurilabel tune yeast --learner "StandardScaler | MLkNN(n_neighbors=[5, 10])" \\
          --measure average_precision -o yeast.skops
    """
    check_output(out, data)
    try:
        metrics.get_scorer(measure)
    except ValueError as error:
        raise UsageError(str(error).replace("name must", "--measure must", 1)) from None
    search = read_learner(learner, measure=measure, cv=cv)
    if not isinstance(search, GridSearchCV):
        raise UsageError(
            "--learner has no list of candidates; write one, such as "
            "MLkNN(n_neighbors=[5, 7, 9]), or use `plurilabel fit`"
        )
    source = read_training(data, **reading)
    say_data(source, as_json=as_json)
    training = Training(source, holdout, seed)
    set_seeds(search, seed)
    search.n_jobs = jobs
    plan = Plan(search, fill=needs_filling(source, search))
    plan.strategy = None if threshold in (None, "none") else threshold
    plan.nonempty = plan.strategy is not None and always_labelled(training.Y)
    done = training.run(plan, refit=refit)
    candidates = _candidates(plan, done.search, metrics.get_measure(measure).greater_is_better)
    say(
        f"Cross-validation, {cv} folds of {done.train_rows:,} rows: {measure} of "
        f"{len(candidates)} candidates",
        as_json=as_json,
    )
    _show(candidates, measure, as_json=as_json)
    notes = {
        "learner": learner_text(done.search.best_estimator_),
        "threshold": plan.strategy,
        "nonempty": plan.nonempty,
        "best": candidates[0]["parameters"],
        "measure": measure,
        "cv": cv,
        "candidates": candidates,
    }
    finish(out, source, done, notes, seed=seed, refit=refit, as_json=as_json)


def _candidates(plan: Plan, search: Any, greater_is_better: bool) -> list[dict[str, Any]]:
    """The candidates, best first; of equal ones the first."""
    results = search.cv_results_
    sign = 1 if greater_is_better else -1
    rows = [
        {
            "parameters": {plan.plain_name(name): _plain(value) for name, value in params.items()},
            "mean": sign * float(mean),
            "deviation": float(deviation),
            "fit_seconds": float(seconds),
        }
        for params, mean, deviation, seconds in zip(
            results["params"],
            results["mean_test_score"],
            results["std_test_score"],
            results["mean_fit_time"],
        )
    ]
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: results["rank_test_score"][i])]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else learner_text(value)


def _show(candidates: list[dict[str, Any]], measure: str, *, as_json: bool) -> None:
    rows = [
        [
            ", ".join(f"{name}={value!r}" for name, value in row["parameters"].items()),
            f"{row['mean']:.4f}",
            f"±{row['deviation']:.4f}",
            f"{row['fit_seconds']:.2f}",
        ]
        for row in candidates
    ]
    print_table(["candidate", measure, "deviation", "fit seconds"], rows, err=as_json)
