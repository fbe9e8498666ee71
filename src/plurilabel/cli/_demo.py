"""A first look: the learners on the embedded digits."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from plurilabel import (
    CML,
    IBLRML,
    AdaBoostMH,
    BinaryRelevance,
    BRkNN,
    DMLkNN,
    DWMLkNN,
    EnsembleOfChains,
    MLkNN,
    MLkNNCV,
    MLRandomForest,
    MLWkNN,
    RAkEL,
    datasets,
    metrics,
)
from plurilabel.datasets import write_atomic

# short titles: the table fits a terminal of 80 columns
SHOWN = {
    "hamming_loss": "Hamming",
    "subset_accuracy": "subset",
    "f1": "F1",
    "one_error": "1-error",
    "coverage": "cover",
    "ranking_loss": "ranking",
    "average_precision": "avg.pr",
}


def learners() -> dict[str, Any]:
    """What is compared, by the name shown."""
    logistic = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    return {
        "BRkNN": BRkNN(7),
        "ML-kNN": MLkNN(7),
        "ML-kNN (CV)": MLkNNCV(range(1, 16)),
        "DW-ML-kNN": DWMLkNN(7),
        "ML-WkNN": MLWkNN(7),
        "DML-kNN": DMLkNN(7),
        "IBLR-ML": IBLRML(7),
        "relevance": BinaryRelevance(logistic),
        "chains": EnsembleOfChains(logistic, random_state=0),
        "RAkEL": RAkEL(logistic, random_state=0),
        "CML": make_pipeline(MaxAbsScaler(), CML()),
        "forest": MLRandomForest(random_state=0),
        "AdaBoost.MH": AdaBoostMH(),
    }


def run(out: Path) -> None:
    """Describe the digits, compare the learners on a split of them, leave both in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    data = datasets.load("digits")
    description = datasets.describe(data)
    click.echo(description.summary(5))
    datasets.plot_description(description, out / "digits.png")
    X_train, X_test, Y_train, Y_test = datasets.stratified_split(
        data.X, data.Y, sizes=(0.7, 0.3), random_state=0
    )
    rows = []
    for name, learner in learners().items():
        start = perf_counter()
        learner.fit(X_train, Y_train)
        scores, labels = metrics.label_scores(learner, X_test), learner.predict(X_test)
        seconds = perf_counter() - start
        rows.append((name, metrics.evaluate(Y_test, scores, labels), seconds))
    _show(rows, f"{len(X_train)} images to learn from, {len(X_test)} to test")
    everything = list(rows[0][1])
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["learner", *everything, "seconds"])
    table.writerows([name, *(m[key] for key in everything), s] for name, m, s in rows)
    with write_atomic(out / "digits.csv") as stream:
        stream.write(text.getvalue().encode())
    click.echo(f"Wrote {out / 'digits.csv'} (all measures) and {out / 'digits.png'}")


def _show(rows: list[tuple[str, metrics.Evaluation, float]], title: str) -> None:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.box, table.padding, table.pad_edge = None, (0, 1), False
    table.add_column("learner", no_wrap=True)
    for name, short in SHOWN.items():
        better = metrics.get_measure(name).greater_is_better
        table.add_column(f"{short}{'↑' if better else '↓'}", justify="right", no_wrap=True)
    table.add_column("sec", justify="right", no_wrap=True)
    best = {
        name: (max if metrics.get_measure(name).greater_is_better else min)(
            measures[name] for _, measures, _ in rows
        )
        for name in SHOWN
    }
    for learner, measures, seconds in rows:
        cells = [
            f"[bold]{measures[name]:.3f}[/bold]"
            if measures[name] == best[name]
            else f"{measures[name]:.3f}"
            for name in SHOWN
        ]
        table.add_row(learner, *cells, f"{seconds:.1f}")
    Console().print(table)
