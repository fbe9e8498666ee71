"""``plurilabel fuse``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.words import counted
from plurilabel.cli import _output as ui
from plurilabel.cli._data import list_option, names_in

_METHODS = ["joint", "dawid-skene", "weighted", "majority"]


@click.command()
@click.argument("data", metavar="FILE")
@click.option("--row", metavar="COLUMN", help="Column that identifies a row: an id, or the text.")
@click.option("--source", metavar="COLUMN", help="Column with the source of a vote or answer.")
@click.option(
    "--answer", metavar="COLUMN",
    help="Column of answers in JSON: a list of labels, or an object of probabilities.",
)  # fmt: skip
@click.option("--label", metavar="COLUMN", help="Column with the label that is voted on.")
@click.option("--value", metavar="COLUMN", help="Column of votes, from 0 to 1.")
@list_option(
    "--sources", metavar="COLUMNS",
    help="Columns of votes, one per source; or a pattern of their names such as 'annotator_*'.",
)  # fmt: skip
@click.option("--cut", type=float, help="For grades: higher values are a yes.")
@list_option("--label-names", metavar="NAMES", help="All labels, if not all are in the answers.")
@click.option(
    "--method", type=click.Choice(_METHODS), default="joint", help="How to combine votes."
)
@ui.file_option(
    "-o", "--out", required=True, metavar="FILE.csv", help="Output: the rows and probabilities."
)
@ui.force_option
def fuse(data: str, method: str, out: Path, force: bool, **columns: Any) -> None:
    """Combine votes of several sources into probabilities.

    Sources are annotators, rules or models. FILE is a table or a Label Studio export, in one of
    the forms of plurilabel.votes.read_votes.

    \b
    Examples:
      plurilabel fuse answers.csv --row text --source model --answer answer -o fused.csv
      plurilabel fuse wide.csv --row id --label emotion --sources 'annotator_*' -o fused.csv
      plurilabel fuse export.json -o fused.csv
      plurilabel fit fused.csv --labels joy,fear --soft --text text -o model.skops
    """
    ui.check_output(out, data, suffixes=(".csv",), force=force)
    ui.check_file(data)
    from plurilabel import votes
    from plurilabel._core.records import write_atomic

    for name in ("sources", "label_names"):
        columns[name] = names_in(columns[name])
    if columns["sources"] and len(columns["sources"]) == 1:
        (columns["sources"],) = columns["sources"]  # may be a pattern
    fused = votes.fuse(votes.read_votes(data, **columns), method)
    frame = fused.to_frame().round(4).rename_axis(columns["row"] or "id")
    with write_atomic(out) as stream:
        stream.write(frame.to_csv().encode())
    ui.echo(repr(fused))
    ui.say(f"Wrote {out} ({counted(len(frame), 'row')}, {counted(frame.shape[1], 'label')})")
