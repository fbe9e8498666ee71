"""``plurilabel describe``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel.cli import _output as ui
from plurilabel.cli._data import data_options, find


@click.command()
@click.argument("data", metavar="NAME|FILE")
@data_options
@click.option("--top", type=click.IntRange(0), default=10, help="Labels and label sets to show.")
@click.option("--plot", type=click.Path(path_type=Path), help="File for a plot of the labels.")
@ui.force_option
@ui.json_option
def describe(
    data: str, top: int, plot: Path | None, force: bool, as_json: bool, **reading: Any
) -> None:
    """Describe a dataset.

    NAME is a standard dataset such as digits or yeast; FILE ends in .arff, .csv, .tsv, .parquet,
    .json, .jsonl, .svm or .txt (extreme classification), with or without .gz.

    \b
    Examples:
      plurilabel describe digits
      plurilabel describe films.csv --labels tags --plot films.png
    """
    if plot:
        ui.check_output(
            plot, data, suffixes=(".png", ".svg", ".pdf"), option="--plot", force=force
        )
    loaded = find(data, **reading)
    from plurilabel import datasets

    description = datasets.describe(loaded)
    if as_json:
        ui.print_json(description.to_dict(top))
    else:
        ui.echo(description.summary(top))
    if plot:
        datasets.plot_description(description, plot)
        ui.echo(f"Wrote {plot}", err=True)
