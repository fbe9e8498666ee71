"""``plurilabel embed``."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import click

from plurilabel._core.words import counted, file_size
from plurilabel.cli import _output as ui
from plurilabel.cli._data import check_encoder, names_in
from plurilabel.cli._progress import Steps


@click.command()
@click.argument("data", metavar="FILE")
@click.option("--text", "columns", required=True, metavar="COLUMN", help="Column of text.")
@click.option(
    "--encoder", default="static", show_default=True, metavar="NAME",
    help="static for bundled word vectors, or the folder or name of a model of model2vec or "
    "sentence-transformers.",
)  # fmt: skip
@click.option(
    "--cache", metavar="FOLDER",
    help="Cache for the vectors of transformers: no text is encoded twice, and an interrupted "
    "run can be continued.",
)  # fmt: skip
@ui.file_option(
    "-o", "--out", required=True, metavar="FILE.parquet",
    help="Output file: the table with a column of vectors.",
)  # fmt: skip
@click.option("--name", default="vector", show_default=True, help="Name of the new column.")
@ui.quiet_option
@ui.force_option
def embed(
    data: str, columns: str, encoder: str, cache: str | None, out: Path, name: str, quiet: bool,
    force: bool,
) -> None:  # fmt: skip
    """Encode a column of text as vectors.

    The column of text is replaced by a column of lists of numbers, which all commands read as
    features. For vectors from an API, use plurilabel.FunctionEncoder in Python.

    \b
    Examples:
      plurilabel embed mails.csv --text body -o mails.parquet
      plurilabel embed mails.csv --text body --encoder sentence-transformers/all-MiniLM-L6-v2 \\
          --cache vectors -o mails.parquet
      plurilabel fit mails.parquet --labels topics -o mails.skops
    """
    ui.check_output(out, data, suffixes=(".parquet",), option="--out", force=force)
    check_encoder(encoder)
    ui.check_file(data)
    (column,) = names_in(columns) or [""]
    from plurilabel import io
    from plurilabel.text import make_encoder

    steps, started = Steps(quiet=quiet), monotonic()

    def tick(done: int, total: int) -> None:
        if done < total:
            steps.tick(done, total, "texts", monotonic() - started)

    with steps.step(f"Encoding {column!r} of {data}"):
        found = make_encoder(encoder, cache=cache, progress=tick)
        n, d = io.embed_table(data, column, out, encoder=found, name=name)
    size = file_size(out.stat().st_size)
    ui.say(f"Wrote {out} ({counted(n, 'row')}, {counted(d, 'dimension')}, {size})")
