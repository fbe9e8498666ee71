"""``plurilabel fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._blocks import has_missing
from plurilabel.cli._common import data_options, print_json, read_learner, say
from plurilabel.cli._output import check_output, size_of
from plurilabel.cli._training import (
    Plan,
    Trained,
    Training,
    always_labelled,
    cut_for,
    needs_filling,
    read_training,
    say_data,
    say_quality,
)
from plurilabel.compare import learner_text, set_seeds, suggest_learner
from plurilabel.persistence import save_model
from plurilabel.persistence._training_data import TrainingData
from plurilabel.thresholds import strategy_names


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
    say_data(source, as_json=as_json)
    training = Training(source, holdout, seed)
    plan, notes = _plan(training, given, learner, threshold)
    say(*plan.words, as_json=as_json)
    done = training.run(plan, refit=refit)
    if done.search is not None:
        best = {plan.plain_name(name): value for name, value in done.search.best_params_.items()}
        shown = ", ".join(f"{name}={value!r}" for name, value in best.items())
        say(
            f"Best of {len(done.search.cv_results_['params'])} candidates: {shown}",
            as_json=as_json,
        )
    finish(out, source, done, notes, seed=seed, refit=refit, as_json=as_json)


def finish(
    out: Path,
    source: TrainingData,
    done: Trained,
    notes: dict[str, Any],
    *,
    seed: int,
    refit: bool,
    as_json: bool,
) -> None:
    """Say how good the model is, and save it."""
    if done.measures:
        say(f"Measured on held-out rows: {done.how}", as_json=as_json)
        say_quality(done, as_json=as_json)
        again = "learned again from all rows" if refit else f"from the other {done.train_rows:,}"
        say(f"The saved model is {again}.", as_json=as_json)
    else:
        say(f"Quality unknown: {done.how}.", as_json=as_json)
    notes |= {
        "seed": seed,
        "held_out": {"how": done.how, "rows": done.test_rows, "measures": done.measures},
        "learned_rows": "all" if refit or not done.measures else "train",
    }
    save_model(out, source.model(done.estimator, notes))
    say(f"Wrote {out} ({size_of(out)})", as_json=as_json)
    if as_json:
        print_json({"model": out, **notes, "guessing": done.guessed})


def _plan(
    training: Training, given: Any, spec: str | None, threshold: str | None
) -> tuple[Plan, dict[str, Any]]:
    """The learner, its cut, and words about both."""
    source, rows = training.source, training.Y.shape[0]
    notes: dict[str, Any] = {}
    why = ""
    if given is None:
        found = suggest_learner(
            training.X,
            training.Y,
            n_numbers=source.n_numbers if source.encoder else 0,
            impute=source.encoder is not None,
            random_state=training.seed,
        )
        words = [f"Learner: {found.name}, {found.reason}"]
        if found.compared:
            pairs = ", ".join(f"{name} {value:.3f}" for name, value in found.compared.items())
            words.append(f"  ({pairs})")
        notes |= {"compared": found.compared, "reason": found.reason}
        plan = Plan(found.estimator, words=words)
        if threshold is None:
            plan.strategy, why = cut_for(source, rows)
    else:
        set_seeds(given, training.seed)
        plan = Plan(given, words=[f"Learner: {spec}, as asked"])
        plan.fill = needs_filling(source, given)
    if threshold is not None:
        plan.strategy, why = (None if threshold == "none" else threshold), "as asked"
    plan.nonempty = plan.strategy is not None and always_labelled(training.Y)
    cut = plan.strategy or "the learner's own cut"
    plan.words.append(f"Cut of scores into label sets: {_cut_words(plan, cut, why)}")
    if has_missing(source.data.X):
        plan.words.append("Missing values: filled with the median of their column")
    notes |= {"learner": learner_text(plan.learner), "threshold": plan.strategy}
    notes["nonempty"] = plan.nonempty
    return plan, notes


def _cut_words(plan: Plan, cut: str, why: str) -> str:
    words = why if why and why != "as asked" else cut
    if plan.nonempty:
        words += "; at least one label for each row, as in the data"
    return words
