"""``plurilabel fit`` and ``plurilabel tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from plurilabel import metrics
from plurilabel._text import file_size
from plurilabel.cli._common import (
    UsageError,
    check_output,
    data_options,
    print_json,
    print_table,
    read_learner,
    say,
)
from plurilabel.cli._training import (
    MOST_SCORES,
    Plan,
    Trained,
    Training,
    print_quality,
    read_training,
)
from plurilabel.compare import imputer, learner_text, set_seeds, suggest_learner
from plurilabel.persistence import save_model
from plurilabel.thresholds import strategy_names

FEWEST_FOR_CUT = 20  # rows to learn a cut from


def training_options(command: Any) -> Any:
    """Options of ``fit`` and ``tune`` alike."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True,
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
            "--threshold", type=click.Choice([*strategy_names(), "none"]), metavar="STRATEGY",
            help=f"How scores become label sets: {', '.join(strategy_names())}, or none for the "
            "learner's own cut. By default global with the default learner, else none.",
        ),
        click.option(
            "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="MODEL.skops",
            help="File for the model.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("data", metavar="NAME|FILE")
@data_options
@click.option(
    "--learner",
    metavar="SPEC",
    help='A learner such as "MLkNN(n_neighbors=7)" or "StandardScaler | MLkNN". By default the '
    "best of those that suit the data.",
)
@training_options
def fit(
    data: str,
    learner: str | None,
    out: Path,
    threshold: str | None,
    holdout: float | None,
    refit: bool,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Learn a model from a dataset, say how good it is, save it.

    FILE is a table with a column of tags or with label columns (.csv, .tsv, .parquet, .jsonl), or
    ends in .arff, .svm or .txt (extreme classification); NAME is a standard dataset such as yeast.
    The model is measured on rows that are held out, and then learned again from all rows.

    \b
    Examples:
      plurilabel fit films.csv --labels tags -o films.skops
      plurilabel fit mails.csv --labels topics --text body -o mails.skops
      plurilabel fit yeast --learner "StandardScaler | MLkNN(n_neighbors=7)" -o yeast.skops
    """
    check_output(out, data)
    given = None if learner is None else read_learner(learner)
    source = read_training(data, **reading)
    say(source.summary(), as_json=as_json)
    training = Training(source, holdout, seed)
    notes: dict[str, Any] = {}
    if given is None:
        plan, words, notes = _suggested(training)
    else:
        set_seeds(given, seed)
        plan, words = Plan(given, source.before(given)), [f"Learner: {learner}, as asked"]
    cut = _set_cut(plan, training, threshold, by_default=given is None)
    say(*words, f"Cut of scores into label sets: {cut}", as_json=as_json)
    if source.has_missing():
        say("Missing values: filled with the median of their column", as_json=as_json)
    done = training.run(plan, refit=refit)
    if done.search is not None:
        best = plan.plain_names(done.search.best_params_)
        shown = ", ".join(f"{name}={value!r}" for name, value in best.items())
        count = len(done.search.cv_results_["params"])
        say(f"Best of {count} candidates: {shown}", as_json=as_json)
    notes["learner"] = learner_text(plan.learner)
    _finish(out, training, plan, done, notes, refit=refit, as_json=as_json)


def _suggested(training: Training) -> tuple[Plan, list[str], dict[str, Any]]:
    """The learner that suits the data, words about it, and what is kept with the model."""
    encoder = None
    if training.source.is_table:
        # numbers beside words are brought to their size
        scaled = make_pipeline(imputer(), MaxAbsScaler())
        encoder = training.source.encoder(scaled if training.source.text else imputer())
    found = suggest_learner(training.X, training.Y, encoder=encoder, random_state=training.seed)
    words = [f"Learner: {found.name}, {found.reason}"]
    if found.compared:
        pairs = ", ".join(f"{name} {value:.3f}" for name, value in found.compared.items())
        words.append(f"  ({pairs})")
    return Plan(found.estimator), words, {"compared": found.compared, "reason": found.reason}


def _set_cut(plan: Plan, training: Training, threshold: str | None, *, by_default: bool) -> str:
    """Choose how scores become label sets; returns it in words."""
    rows, labels = training.Y.shape
    plan.strategy, words = (None if threshold == "none" else threshold), ""
    if threshold is None and by_default:
        if rows < FEWEST_FOR_CUT:
            words = f"the learner's own cut, since fewer than {FEWEST_FOR_CUT} rows teach none"
        elif rows * labels > MOST_SCORES:
            words = "the learner's own cut, since a learned one would take too much memory"
        else:
            plan.strategy = "global"
            words = "one cut for all labels, the best for micro-F1 on out-of-fold scores"
    words = words or plan.strategy or "the learner's own cut"
    # where every row has a label, so should predictions
    plan.nonempty = plan.strategy is not None and bool((training.Y.sum(axis=1) > 0).all())
    return f"{words}; at least one label for each row, as in the data" if plan.nonempty else words


def _finish(
    out: Path,
    training: Training,
    plan: Plan,
    done: Trained,
    notes: dict[str, Any],
    *,
    refit: bool,
    as_json: bool,
) -> None:
    """Say how good the model is, and save it."""
    if done.measures:
        say(f"Measured on held-out rows: {training.how}", as_json=as_json)
        print_quality(done, err=as_json)
        rest = f"from the other {training.Y.shape[0]:,}"
        say(
            f"The saved model is {'learned again from all rows' if refit else rest}.",
            as_json=as_json,
        )
    else:
        say(f"Quality unknown: {training.how}.", as_json=as_json)
    tested = 0 if training.test is None else len(training.test)
    notes |= {
        "threshold": plan.strategy,
        "nonempty": plan.nonempty,
        "seed": training.seed,
        "held_out": {"how": training.how, "rows": tested, "measures": done.measures},
        "learned_rows": "all" if refit or not done.measures else "train",
    }
    save_model(out, training.source.model(done.estimator, notes))
    say(f"Wrote {out} ({file_size(out.stat().st_size)})", as_json=as_json)
    if as_json:
        print_json({"model": out, **notes, "guessing": done.guessed})


# tune -----------------------------------------------------------------------------------------


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
    say(source.summary(), as_json=as_json)
    training = Training(source, holdout, seed)
    set_seeds(search, seed)
    search.n_jobs = jobs
    plan = Plan(search, source.before(search))
    _set_cut(plan, training, threshold, by_default=False)
    done = training.run(plan, refit=refit)
    candidates = _candidates(plan, done.search, measure)
    rows = f"{cv} folds of {training.Y.shape[0]:,} rows"
    say(f"Cross-validation, {rows}: {measure} of {len(candidates)} candidates", as_json=as_json)
    shown = [
        [
            ", ".join(f"{name}={value!r}" for name, value in row["parameters"].items()),
            f"{row['mean']:.4f}",
            f"±{row['deviation']:.4f}",
            f"{row['fit_seconds']:.2f}",
        ]
        for row in candidates
    ]
    print_table(["candidate", measure, "deviation", "fit seconds"], shown, err=as_json)
    notes = {
        "learner": learner_text(done.search.best_estimator_),
        "best": candidates[0]["parameters"],
        "measure": measure,
        "cv": cv,
        "candidates": candidates,
    }
    _finish(out, training, plan, done, notes, refit=refit, as_json=as_json)


def _candidates(plan: Plan, search: Any, measure: str) -> list[dict[str, Any]]:
    """The candidates, best first; of equal ones the first."""
    results = search.cv_results_
    sign = 1 if metrics.get_measure(measure).greater_is_better else -1
    rows = [
        {
            "parameters": {
                name: value if isinstance(value, str | int | float | None) else learner_text(value)
                for name, value in plan.plain_names(parameters).items()
            },
            "mean": sign * float(results["mean_test_score"][i]),
            "deviation": float(results["std_test_score"][i]),
            "fit_seconds": float(results["mean_fit_time"][i]),
        }
        for i, parameters in enumerate(results["params"])
    ]
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: results["rank_test_score"][i])]
