"""``plurilabel predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel.cli._common import UsageError, counted, names_in, say
from plurilabel.cli._output import check_output
from plurilabel.cli._predictions import Predictor, prediction_writer
from plurilabel.cli._rows import read_rows
from plurilabel.io._table._files import table_format, table_module
from plurilabel.persistence import load_model

MOST_COLUMNS = 10_000
OUTPUTS = (".csv", ".tsv", ".parquet", ".jsonl")
PACKED = (".csv.gz", ".tsv.gz", ".jsonl.gz")


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="NAME|FILE")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE",
    help=f"Where to write: {', '.join(OUTPUTS)}, also with .gz. By default CSV to the screen.",
)  # fmt: skip
@click.option("--scores", is_flag=True, help="Add the score of each label, as columns.")
@click.option(
    "--top", type=click.IntRange(1), metavar="K",
    help="The K labels with the highest scores, best first, instead of those above the cut; "
    "with --scores one more column has their scores.",
)  # fmt: skip
@click.option("--id", "keep", metavar="COLUMNS", help="Columns of the table to keep.")
@click.option("--sep", metavar="CHARACTER", help="What separates the columns of a CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of CSV.")
def predict(
    model: str,
    data: str,
    out: Path | None,
    scores: bool,
    top: int | None,
    keep: str | None,
    sep: str | None,
    as_json: bool,
) -> None:
    """Predict the labels of new rows with a model.

    FILE has the feature columns that the model was learned from, found by their names; labels and
    other columns may be there or not. A dash reads CSV from standard input. Rows come out in the
    order in which they went in.

    \b
    Examples:
      plurilabel predict films.skops new.csv
      plurilabel predict films.skops new.csv --id title --scores -o predicted.parquet
      cat new.csv | plurilabel predict films.skops - --top 3
    """
    kind = "jsonl" if as_json else "csv"
    if out is not None:
        if as_json:
            raise UsageError("--json is for the screen; for a file write -o NAME.jsonl")
        check_output(out, model, data, suffixes=OUTPUTS + PACKED)
        kind = table_format(out)
    loaded = load_model(model)
    rows = read_rows(loaded, data, sep=sep)
    for remark in rows.remarks:
        say(f"Note: {remark}", as_json=True)
    if scores and top is None and len(loaded.label_names) > MOST_COLUMNS:
        raise UsageError(f"--scores would add {len(loaded.label_names):,} columns; add --top K")
    predictor = Predictor(loaded, scores=scores, top=top, lists=kind in ("parquet", "jsonl"))
    kept = _kept(rows.frame, rows.X.shape[0], names_in(keep) or [], data)
    pandas = table_module("pandas")
    clash = sorted(set(kept.columns) & set(predictor.schema()))
    if clash:
        kept = kept.rename(columns={name: f"{name}_given" for name in clash})
    with prediction_writer(out, kind, kept, predictor.schema()) as write:
        for block, columns in predictor.blocks(rows.X):
            answers = pandas.DataFrame(columns, index=kept.index[block])
            write(pandas.concat([kept.iloc[block], answers], axis=1))
    if out is not None:
        say(f"Wrote {out} ({counted(rows.X.shape[0], 'row')})", as_json=True)


def _kept(frame: Any, n: int, names: list[str], data: str) -> Any:
    """The columns to keep, as a frame with n rows."""
    pandas = table_module("pandas")
    if not names:
        return pandas.DataFrame(index=range(n))
    if frame is None:
        raise UsageError(f"--id is for tables, and {data} is none")
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise UsageError(f"--id names a column {missing[0]!r}, which {data} does not have")
    return frame[names].reset_index(drop=True)
