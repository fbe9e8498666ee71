"""Output files, tables, JSON and text, and one-sentence errors."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from plurilabel._core.words import CONTROLS, printable, similar
from plurilabel._core.writable import not_writable

if TYPE_CHECKING:
    from rich.console import Console

# errors ---------------------------------------------------------------------------------------


class UsageError(click.ClickException):
    """An invalid option: one sentence, exit status 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(in_options(message)))


@contextmanager
def about_option(name: str) -> Iterator[None]:
    """Convert a ValueError to an error about this option."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def fail(message: str) -> NoReturn:
    """Exit with a message on stderr and status 1."""
    raise click.ClickException(printable(message)) from None


# parameters in messages of the library, and the corresponding options
_OPTIONS = {
    r"\bday_first=True or day_first=False": "--day-first or --month-first",
    r"\bfresh=True": "--fresh",
    r"\bas groups=": "with --group COLUMN",
    r"^max_df corresponds to < documents than min_df$": "no word occurs in --min-count rows",
    r"^After pruning, no terms remain\..*": "no word occurs in --min-count rows; try fewer",
    r"\b(features|text|categorical)=\[\.\.\.\]": r"--\1",
    r"\btext='([^']*)'": r"--text '\1'",
    r"\blabels=\['([^']*)'\]": r"--labels '\1,'",
    r"\bdecimal='": "--decimal '",
    r"\bempty_labels=\"(absent|unknown)\"": r"--empty-labels \1",
    r"\bsoft=True": "--soft",
    r"\bscheduler='([^']*)'": r"--scheduler \1",
    r"^(labels|features|text|categorical|drop|group|time)(?= names? | must name )": r"--\1",
    r"\bkeep(?= names a column | needs a table)": "--id",
    r"^words needs columns": "options for words need columns",
    r"^learner(?=:| must )": "--learner",
}
_COLUMNS = re.compile(r"\b(drop|text|categorical)=(\[['\"][^]]+\])")
_ALONE = re.compile(r"(?<!\()\b([a-z]+(?:_[a-z]+)*)=(?=[\s;,.?]|$)")  # without a value


def in_words(error: Exception) -> str:
    """The message of an error, on one line."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        return no_file(Path(error.filename))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return in_options(" ".join(str(error).split()) or type(error).__name__)


def check_file(path: str) -> None:
    """Fail before any import if a file does not exist."""
    if not Path(path).exists():
        fail(no_file(Path(path)))


def no_file(path: Path) -> str:
    there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    close = similar(path.name, sorted(there))
    hint = "" if close is None else f"; did you mean {path.with_name(close)}?"
    return f"there is no file {path}{hint}"


def in_options(text: str) -> str:
    """Replace parameters in a message of the library by options."""
    text = _COLUMNS.sub(_columns_as_option, text)
    for parameter, option in _OPTIONS.items():
        text = re.sub(parameter, option, text)
    return _ALONE.sub(lambda found: "--" + found[1].replace("_", "-"), text)


def _columns_as_option(found: re.Match[str]) -> str:
    """Format a list of columns as an option for a shell."""
    try:
        names = ast.literal_eval(found[2])
    except (ValueError, SyntaxError):  # a bracket in a name
        return found[0]
    value = ",".join(f'"{name}"' if "," in name else name for name in names)
    return f"--{found[1]} " + (shlex.quote(value) if "'" in value else f"'{value}'")


def check_output(
    out: Path, *inputs: str, suffixes: tuple[str, ...] = (".skops",), option: str = "-o",
    force: bool = False,
) -> None:  # fmt: skip
    """Reject an output file that exists or cannot be written, before any work is done."""
    if not out.name.lower().endswith(suffixes):
        plain = [suffix for suffix in suffixes if not suffix.endswith(".gz")]
        either = " or ".join(filter(None, (", ".join(plain[:-1]), plain[-1])))
        raise UsageError(f"{option} must name a file that ends in {either}, got {out}")
    if out.is_dir() or not out.parent.is_dir():
        what = " is a folder" if out.is_dir() else f": the folder {out.parent} does not exist"
        raise UsageError(f"{option} {out}{what}")
    for path in inputs:
        if Path(path).exists() and out.exists() and out.samefile(path):
            raise UsageError(f"{option} {out} would overwrite the input; choose another name")
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; use --force to overwrite it")
    if why := not_writable(out.parent):
        raise UsageError(f"{option} {out} cannot be written: {why}")


force_option = click.option("--force", is_flag=True, help="Overwrite an existing output file.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Do not report progress.")


def file_option(*names: str, help: str, **options: Any) -> Any:
    return click.option(*names, type=click.Path(path_type=Path), help=help, **options)


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that adds several options to a command, in this order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


POSITIVE = click.FloatRange(0, min_open=True)
FRACTION = click.FloatRange(0, 1, min_open=True, max_open=True)

seed_option = click.option(
    "--seed", "random_state", type=click.IntRange(0), default=0, help="Seed for random numbers."
)


def say(*lines: str, as_json: bool = False) -> None:
    """Print lines on stdout, or on stderr if stdout is for JSON or a table."""
    for line in lines:
        echo(line, err=as_json)


@contextmanager
def heard_or_not() -> Iterator[None]:
    """Continue if the output is closed, as by ``| head``, since there is work to do."""
    try:
        yield
    except (BrokenPipeError, SystemExit):  # rich exits the program
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text, with control characters escaped."""
    click.echo(printable(text), err=err, nl=nl)


def print_json(value: Any) -> None:
    """Print JSON; NaN becomes null."""
    from plurilabel._core.records import plain

    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    # escape control characters, which terminals would interpret
    click.echo(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def arrow(measure: str) -> str:
    """An arrow in the direction of better values, or + and - if stdout cannot encode it."""
    from plurilabel.metrics import get_measure

    up, down = "↑", "↓"
    try:
        (up + down).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        up, down = "+", "-"
    return up if get_measure(measure).greater_is_better else down


def console(*, err: bool = False) -> Console:
    """A rich console: colored on a terminal, plain and of unlimited width in a pipe."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        return Console(stderr=err, highlight=False)
    return Console(stderr=err, highlight=False, width=10_000, no_color=True, soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "", err: bool = False,
    texts: Sequence[str] = (),
) -> None:  # fmt: skip
    """Print a table; the first column and ``texts`` are left-aligned, others right-aligned."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=printable(title) or None, title_justify="left", title_style="bold")
    table.box, table.padding, table.pad_edge = None, (0, 2, 0, 0), False
    for j, column in enumerate(columns):
        left = j == 0 or column in texts
        table.add_column(
            Text(printable(column)), justify="left" if left else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    console(err=err).print(table)


def command_line(ctx: click.Context, data: Sequence[str], idle: Sequence[str]) -> str:
    """The command line, without the options in ``idle``, which do not affect results."""
    words = ["plurilabel", str(ctx.info_name), *data]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or name in ("data", *idle):
            continue
        value = ctx.params[name]
        if isinstance(value, bool):  # a pair of flags
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [parameter.opts[0], str(one)]
    return shlex.join(words)
