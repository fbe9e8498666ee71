"""``plurilabel demo``: a first look."""

from __future__ import annotations

from pathlib import Path

import click

# a choice of each kind, by the name shown
LEARNERS = {
    "BRkNN": "BRkNN(7)",
    "ML-kNN": "MLkNN(7)",
    "ML-kNN (CV)": "MLkNNCV(range(1, 16))",
    "DW-ML-kNN": "DWMLkNN(7)",
    "ML-WkNN": "MLWkNN(7)",
    "DML-kNN": "DMLkNN(7)",
    "IBLR-ML": "IBLRML(7)",
    "relevance": "BinaryRelevance",
    "chains": "EnsembleOfChains",
    "RAkEL": "RAkEL",
    "CML": "MaxAbsScaler | CML",
    "forest": "MLRandomForest",
    "AdaBoost.MH": "AdaBoostMH",
}


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    help="Folder for the results.",
)  # fmt: skip
def demo(out: Path) -> None:
    """Compare the learners on the embedded data.

    This is what `make run` does: a table, and files in a folder.
    """
    from plurilabel import compare, datasets
    from plurilabel.cli._common import echo
    from plurilabel.cli._compare_show import Progress, show, show_failures
    from plurilabel.report import write_report

    data = datasets.load("digits")
    description = datasets.describe(data)
    echo(description.summary(5))
    echo()
    with Progress() as progress:
        results = compare.compare(
            data,
            LEARNERS,
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
        echo(f"Wrote {path}")
