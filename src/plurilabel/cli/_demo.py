"""``plurilabel demo``: a first look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import click

from plurilabel.cli._compare import show, show_failures
from plurilabel.cli._output import echo
from plurilabel.cli._progress import ComparisonProgress
from plurilabel.cli._serve import serve

NAME = "plurilabel"

# by the name to show
LEARNERS = {
    "BRkNN": "BRkNN(7)", "ML-kNN": "MLkNN(7)", "ML-kNN (CV)": "MLkNNCV(range(1, 16))",
    "DW-ML-kNN": "DWMLkNN(7)", "ML-WkNN": "MLWkNN(7)", "DML-kNN": "DMLkNN(7)",
    "IBLR-ML": "IBLRML(7)", "relevance": "BinaryRelevance", "chains": "EnsembleOfChains",
    "RAkEL": "RAkEL", "CML": "MaxAbsScaler | CML", "forest": "MLRandomForest",
    "AdaBoost.MH": "AdaBoostMH",
}  # fmt: skip


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default="out", help="Folder for results.")
@click.option(
    "--serve", "serves", is_flag=True,
    help="Instead, open the page of a model, to view, explain and correct its predictions.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000,
    help="Port to listen on with --serve; 0 for any free port.",
)  # fmt: skip
@click.pass_context
def demo(ctx: click.Context, out: Path, serves: bool, port: int) -> None:
    """Compare learners on the bundled data.

    Prints a table and writes a report, as `make run` does, along with a model of two thirds of the
    data, and a table of the other rows. With --serve, that model is served, and the page opens in
    a browser.
    """
    from plurilabel import datasets, evaluation

    if serves:
        model, _ = _saved(out)
        ctx.invoke(serve, model=str(model), port=port, opens=True)
        return
    data = datasets.load("digits")
    description = datasets.describe(data)
    echo(description.summary(5))
    echo()
    text = f"plurilabel demo --out {out}"
    with ComparisonProgress() as progress:
        results = evaluation.compare(
            data, LEARNERS, cv=3, out=out, n_jobs=2, fresh=True, progress=progress, command=text
        )
    show(results, room=80)
    show_failures(results)
    datasets.plot_description(description, out / "digits.png")
    model, pool = _saved(out)
    for path in (*evaluation.write_report(results, out).values(), out / "digits.png", model, pool):
        echo(f"Wrote {path}")
    command = Path(sys.argv[0])
    program = str(command) if command.name == "plurilabel" and ".venv" in str(command) else NAME
    echo(f"View, explain and correct the model in a browser: {program} demo --serve --out {out}")


def _saved(out: Path) -> tuple[Path, Path]:
    """A model of two thirds of the digits and a table of the others, created if necessary."""
    from plurilabel import MLkNN, datasets
    from plurilabel.model_selection import stratified_split
    from plurilabel.models import save_model

    model, pool = out / "digits.skops", out / "digits-new.csv"
    if not (model.exists() and pool.exists()):
        data = datasets.load("digits", as_frame=True)
        X, Y = cast(Any, data.X), cast(Any, data.Y)
        train, new = stratified_split(
            range(len(X)), Y.to_numpy(), sizes=(2 / 3, 1 / 3), random_state=0
        )[:2]
        out.mkdir(parents=True, exist_ok=True)
        X.iloc[new].to_csv(pool, index=False)
        save_model(MLkNN(7).fit(X.iloc[train], Y.iloc[train]), model)
    return model, pool
