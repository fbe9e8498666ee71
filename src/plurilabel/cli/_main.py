"""The commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import plurilabel as package
from plurilabel import datasets
from plurilabel.datasets import Dataset


class Friendly(click.Group):
    """Errors of the library are one sentence, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (ImportError, OSError, ValueError) as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=Friendly, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package.__version__, prog_name="plurilabel")
def plurilabel() -> None:
    """Multi-label learning, true to the papers and native to scikit-learn."""


@plurilabel.command()
@click.argument("data", metavar="NAME|FILE")
@click.option(
    "--labels",
    metavar="COLUMNS",
    help="Label columns of a table, with commas between them, or its one column of tags; for an "
    "ARFF file the label XML, names, or their number.",
)
@click.option("--tag-sep", metavar="TEXT", help="What separates the tags in one cell.")
@click.option("--text", metavar="COLUMN", help="A column of text to turn into word features.")
@click.option("--top", default=10, show_default=True, help="Labels and label sets to show.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw frequencies and pairs here.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def describe(
    data: str,
    labels: str | None,
    tag_sep: str | None,
    text: str | None,
    top: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show what is in a dataset.

    NAME is a standard dataset such as digits or yeast; FILE ends in .arff, .csv, .tsv, .parquet,
    .jsonl, .svm or .txt (extreme classification), with or without .gz.

    \b
    plurilabel describe digits
    plurilabel describe films.csv --labels tags --plot films.png
    """
    loaded = find(data, labels=labels, tag_sep=tag_sep, text=text)
    description = datasets.describe(loaded)
    if as_json:
        click.echo(json.dumps(description.to_dict(top), indent=2, ensure_ascii=False))
    else:
        click.echo(description.summary(top))
    if plot:
        datasets.plot_description(description, plot)
        click.echo(f"Wrote {plot}", err=True)


def find(data: str, *, labels: str | None, tag_sep: str | None, text: str | None) -> Dataset:
    """A standard dataset by its name, or a file by its path."""
    options = {"tag_sep": tag_sep, "text": text}
    given = {name: value for name, value in options.items() if value is not None}
    if data in datasets.names() and not Path(data).is_file():
        if labels is not None or given:
            raise ValueError(
                f"{data} is a standard dataset and needs no --labels or other options"
            )
        return datasets.load(data)
    if not Path(data).is_file():
        raise FileNotFoundError(
            f"{data!r} is neither a file nor a standard dataset; "
            f"there are {', '.join(datasets.names())}"
        )
    return datasets.read(data, labels=_columns(labels), **given)


def _columns(labels: str | None) -> str | int | list[str] | None:
    if labels is None:
        return None
    if labels.lstrip("-").isdecimal():
        return int(labels)
    return labels.split(",") if "," in labels else labels


@plurilabel.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    help="Folder for the results.",
)  # fmt: skip
def demo(out: Path) -> None:
    """Compare the learners on the embedded data; this is what `make run` does."""
    from plurilabel.cli._demo import run

    run(out)
