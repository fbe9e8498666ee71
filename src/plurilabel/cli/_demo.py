"""A first look: the learners on the embedded digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
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
    compare,
    datasets,
)
from plurilabel.cli._compare_show import Progress, show, show_failures
from plurilabel.report import write_report


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
        "chains": EnsembleOfChains(logistic),
        "RAkEL": RAkEL(logistic),
        "CML": make_pipeline(MaxAbsScaler(), CML()),
        "forest": MLRandomForest(),
        "AdaBoost.MH": AdaBoostMH(),
    }


def run(out: Path) -> None:
    """Describe the digits, compare the learners on them, leave a report in a folder."""
    data = datasets.load("digits")
    description = datasets.describe(data)
    click.echo(description.summary(5))
    click.echo()
    with Progress() as progress:
        results = compare.compare(
            data,
            learners(),
            cv=3,
            out=out,
            n_jobs=2,
            fresh=True,
            progress=progress,
            command=f"plurilabel demo --out {out}",
        )
    show(results, room=80)
    show_failures(results)
    datasets.plot_description(description, out / "digits.png")
    for path in (*write_report(results, out).values(), out / "digits.png"):
        click.echo(f"Wrote {path}")
