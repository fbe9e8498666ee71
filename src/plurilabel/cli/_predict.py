"""``plurilabel predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core.words import counted
from plurilabel.cli import _output as ui
from plurilabel.cli._data import (
    list_option,
    names_in,
    read_rows,
    row_source,
    rows_options,
    scheduler_option,
)

if TYPE_CHECKING:
    from plurilabel.models import Model, ModelRows

OUTPUTS = (".csv", ".tsv", ".parquet", ".jsonl")
PACKED = (".csv.gz", ".tsv.gz", ".jsonl.gz")


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@ui.file_option(
    "-o", "--out", metavar="FILE",
    help=f"Output file: {', '.join(OUTPUTS)}, also with .gz. By default CSV on standard output.",
)  # fmt: skip
@click.option("--scores", is_flag=True, help="Add a column with the score of each label.")
@click.option(
    "--top", type=click.IntRange(1), metavar="K",
    help="Return the K labels with the highest scores, best first, instead of the predicted "
    "ones; with --scores, a further column has their scores.",
)  # fmt: skip
@list_option("--id", "keep", metavar="COLUMNS", help="Columns of the table to include.")
@click.option(
    "--digits", type=click.IntRange(1, 17), metavar="N",
    help="Significant digits of scores; by default 6 in CSV, else all.",
)  # fmt: skip
@scheduler_option
@ui.force_option
@rows_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of CSV.")
@click.option(
    "--formulas", is_flag=True,
    help="Do not escape text such as =A1 in CSV, which spreadsheets would run, with a '.",
)  # fmt: skip
def predict(
    model: str, data: tuple[str, ...], out: Path | None, scores: bool, top: int | None,
    keep: list[str] | None, digits: int | None, scheduler: str | None, force: bool, as_json: bool,
    formulas: bool, **reading: Any,
) -> None:  # fmt: skip
    """Predict the labels of new rows with a model.

    FILE has the columns that the model was trained on, in any order; other columns are ignored. A
    dash reads CSV from standard input. The order of the rows is kept. If a model has only columns
    of text, rows without a known word get no labels.

    CSV and Parquet files may be larger than memory, and a table may consist of several files.

    \b
    Examples:
      plurilabel predict films.skops new.csv
      plurilabel predict films.skops new.csv --id title --scores -o predicted.parquet
      cat new.csv | plurilabel predict films.skops - --top 3
      plurilabel predict films.skops rows/*.parquet --scheduler tcp://host:8786 -o out.parquet
    """
    if out is not None:
        if as_json:
            raise ui.UsageError("--json is for standard output; for a file use -o NAME.jsonl")
        ui.check_output(out, model, *data, suffixes=OUTPUTS + PACKED, force=force)
    ui.check_file(model)
    from plurilabel.models import write_predictions

    screen: Any = _Screen() if sys.stdout.isatty() else sys.stdout.buffer
    about: Any = {"scores": scores, "top": top, "keep": names_in(keep) or [], "digits": digits}
    if out is None:
        about["format"] = "jsonl" if as_json else "csv"
    with row_source(*data) as source:
        done = write_predictions(
            model, source, screen if out is None else out, escape_formulas=not formulas,
            scheduler=scheduler, **about, **reading,
        )  # fmt: skip
    ui.say(*(f"Note: {remark}" for remark in done.remarks), as_json=True)
    if out is not None:
        ui.say(f"Wrote {out} ({counted(done.rows, 'row')})", as_json=True)


def load_rows(model: str, data: str, **reading: Any) -> tuple[Model, ModelRows]:
    """Load a model and read rows for it; remarks are printed on stderr."""
    ui.check_file(model)
    from plurilabel.models import load_model

    loaded = load_model(model)
    return loaded, noted_rows(loaded, data, **reading)


def noted_rows(model: Model, *data: str, **reading: Any) -> ModelRows:
    """Read rows for a model; remarks are printed on stderr."""
    rows = read_rows(model, *data, **reading)
    ui.say(*(f"Note: {remark}" for remark in rows.remarks), as_json=True)
    return rows


class _Screen:
    """A terminal, which gets no control characters."""

    def write(self, content: bytes) -> None:
        ui.echo(content.decode(), nl=False)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        sys.stdout.flush()
