"""Where output goes: files that can be written, tables, JSON, words on a terminal."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plurilabel._core.words import CONTROLS, printable
from plurilabel.cli._errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console


def check_output(
    out: Path,
    *inputs: str,
    suffixes: tuple[str, ...] = (".skops",),
    option: str = "-o",
    force: bool = False,
) -> None:
    """Refuse an output that cannot be written or is there already, before any work is done."""
    if not out.name.lower().endswith(suffixes):
        plain = [suffix for suffix in suffixes if not suffix.endswith(".gz")]
        either = " or ".join(filter(None, (", ".join(plain[:-1]), plain[-1])))
        raise UsageError(f"{option} must name a file that ends in {either}, got {out}")
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else f"has no folder {out.parent} to be in"
        raise UsageError(f"{option} {out} {what}")
    for path in inputs:
        if Path(path).exists() and out.exists() and out.samefile(path):
            raise UsageError(f"{option} {out} would overwrite the input; choose another name")
    if out.exists() and not force:
        raise UsageError(f"{option} {out} is there already; --force overwrites it")
    check_folder(out.parent, f"{option} {out}")


def check_folder(folder: Path, what: str) -> None:
    """Refuse a folder that cannot be written; of one that is to be made, its parent counts."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    try:
        # a trial: permissions do not tell of full disks and file systems that are read-only
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"trial")
    except OSError as error:
        raise UsageError(f"{what} cannot be written: {error.strerror}") from None


force_option = click.option(
    "--force", is_flag=True, help="Overwrite the output if it is there already."
)


def say(*lines: str, as_json: bool = False) -> None:
    """Words for a reader: on stdout, or on stderr where stdout belongs to JSON or a table."""
    for line in lines:
        echo(line, err=as_json)


@contextmanager
def heard_or_not() -> Iterator[None]:
    """Goes on where nobody reads the output any more, as with ``| head``: work is to be done."""
    try:
        yield
    except (BrokenPipeError, SystemExit):  # rich has ended the program by then, in its own way
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text in which names from files cannot steer the terminal."""
    click.echo(printable(text), err=err, nl=nl)


def print_json(value: Any) -> None:
    """The one thing on stdout of a command with ``--json``; NaN becomes null."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    # JSON's own way to write what a terminal would follow: it reads the same
    click.echo(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(cell) for key, cell in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def can_write(text: str) -> bool:
    """Whether stdout has these letters; a pipe on Windows may not."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def console(*, err: bool = False) -> Console:
    """A rich console: colours on a terminal; in a pipe plain and never cut at 80 columns."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        return Console(stderr=err, highlight=False)
    return Console(stderr=err, highlight=False, width=10_000, no_color=True, soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", err: bool = False
) -> None:
    """A table without box: the first column to the left, the others to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=printable(title) or None, title_justify="left", title_style="bold")
    table.box, table.padding, table.pad_edge = None, (0, 2, 0, 0), False
    for j, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="right" if j else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    console(err=err).print(table)
