"""``plurilabel demo``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    help="Folder for the results.",
)  # fmt: skip
def demo(out: Path) -> None:
    """Compare the learners on the embedded data.

    This is what `make run` does: a table, and files in a folder.
    """
    from plurilabel.cli._demo import run

    run(out)
