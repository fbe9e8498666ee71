"""What the commands share: how data are named, how errors end, where output goes."""

from __future__ import annotations

import ast
import csv
import errno
import json
import math
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from plurilabel._text import CONTROLS, printable, similar

if TYPE_CHECKING:
    from rich.console import Console

    from plurilabel.datasets import Dataset
    from plurilabel.persistence import Model, ModelRows

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
MOST_SUBWORDS = 100_000  # in a column: the most frequent


class Friendly(click.Group):
    """A group whose errors are one sentence, and whose commands are imported when they run.

    ``lazy`` has an entry for each command: the place of it, ``"package.module:command"``, and
    the line about it in the list of commands. So ``--help`` needs no import of the library.
    """

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]] | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order in which one needs them."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.lazy[cmd_name][0].partition(":")
        return cast(click.Command, getattr(import_module(module), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        rows = {name: words for name, (_, words) in self.lazy.items()}
        rows |= {name: command.get_short_help_str() for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(list(rows.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest one if there is none of this name."""
        names = self.list_commands(ctx)
        if not args[0].startswith("-") and args[0] not in names:
            close = similar(args[0], names)
            hint = f"did you mean {close!r}?" if close else f"there are {', '.join(names)}"
            raise UsageError(f"No such command {args[0]!r}; {hint}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(command, ctx, rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _plain_warnings():
                return super().invoke(ctx)
        except MemoryError as error:
            what = f" ({error})" if str(error) else ""
            fail(f"not enough memory{what}; try fewer rows or labels")
        except RecursionError:
            fail("the input is nested too deeply")
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(130)  # as shells say it for SIGINT
        except (ImportError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # whoever read our output has seen enough; click ends quietly
            fail(_one_line(error))


def _refuse_repeated(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """An error for an option with one value that is given twice: click would take the last."""
    own = click.Context(command, parent=ctx, resilient_parsing=True)
    try:
        _, _, order = command.make_parser(own).parse_args(list(args))
    except click.ClickException:
        return  # what is wrong there is said when the command is run
    for parameter in order:
        single = isinstance(parameter, click.Option) and not (
            parameter.multiple or parameter.is_flag or parameter.count
        )
        if single and order.count(parameter) > 1:
            raise UsageError(f"{parameter.opts[-1]} takes one value, but is given twice")


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings as one line on stderr, each of them once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            echo(f"Warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


class UsageError(click.ClickException):
    """An option that cannot be meant like that: one sentence, exit status 2."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(_in_options(message)))


def fail(message: str) -> NoReturn:
    """End with one sentence on stderr and exit status 1."""
    raise click.ClickException(printable(message)) from None


# what the library calls its parameters, and how they are written here
_OPTIONS = {
    r"\bday_first=True or day_first=False": "--day-first or --month-first",
    r"\bembeddings=": "--embeddings",
    r"\bfresh=True": "--fresh",
    r"^max_df corresponds to < documents than min_df$": "no word occurs in --min-count rows",
    r"^After pruning, no terms remain\..*": "no word occurs in --min-count rows; try fewer",
    r"\bfeatures=\[\.\.\.\]": "--features",
    r"\btext='([^']*)'": r"--text '\1'",
    r"\blabels=\['([^']*)'\]": r"--labels '\1,'",
    r"\bdecimal='": "--decimal '",
    r"\btag_sep=": "--tag-sep",
    r"\bempty_labels=\"(absent|unknown)\"": r"--empty-labels \1",
    r"\bsep=": "--sep",
    r"^(labels|features|text|drop)(?= names? | must name )": r"--\1",
}
_COLUMNS = re.compile(r"\b(drop|text)=(\[[^]]+\])")


def _one_line(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        return _no_file(Path(error.filename))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return _in_options(" ".join(str(error).split()) or type(error).__name__)


def _in_options(text: str) -> str:
    """A message of the library in the words of the command line."""
    text = _COLUMNS.sub(_columns_as_option, text)
    for parameter, option in _OPTIONS.items():
        text = re.sub(parameter, option, text)
    return text


def _columns_as_option(found: re.Match[str]) -> str:
    """A list of columns as the value of an option, to be copied into a shell."""
    try:
        names = ast.literal_eval(found[2])
    except (ValueError, SyntaxError):  # cut off at a bracket in a name
        return found[0]
    value = ",".join(f'"{name}"' if "," in name else name for name in names)
    return f"--{found[1]} " + (shlex.quote(value) if "'" in value else f"'{value}'")


# data --------------------------------------------------------------------------------------


def list_option(*names: str, help: str, **kwargs: Any) -> Callable[[Decorated], Decorated]:
    """An option that may be given again and again, and takes names with commas between them."""

    def given(_ctx: click.Context, _option: click.Parameter, value: Any) -> list[str] | None:
        return list(value) or None

    return click.option(
        *names, multiple=True, callback=given, help=f"{help} May be repeated.", **kwargs
    )


empty_labels_option = click.option(
    "--empty-labels",
    type=click.Choice(["unknown", "absent"]),
    help="What an empty cell of a label column means; unknown by default if there are zeros.",
)


def data_options(command: Decorated) -> Decorated:
    """Options that say how a file is read, for :func:`find`.

    A command takes them as ``**reading`` and passes them on: ``find(data, **reading)``.
    """
    for option in (
        click.option(
            "--day-first/--month-first",
            "day_first",
            default=None,
            help="Whether 03/04/2021 is 3 April or March 4, if no date in the file shows it.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="The decimal mark of numbers; detected by default.",
        ),
        click.option(
            "--sep",
            metavar="CHARACTER",
            help="What separates the columns of a CSV file; detected by default.",
        ),
        click.option(
            "--embeddings",
            metavar="FILE.npy",
            help="Ready-made vectors to use as features: a NumPy array with one row for each row "
            "of the table. Columns of lists need no option.",
        ),
        click.option(
            "--subwords",
            is_flag=True,
            help="For text: also use parts of words, of 3 to 5 letters.",
        ),
        click.option(
            "--min-count",
            type=click.IntRange(1),
            metavar="ROWS",
            help="For text: ignore words that occur in fewer rows.",
        ),
        list_option(
            "--stop-words",
            metavar="WORDS",
            help="For text: words to ignore; english stands for a built-in list.",
        ),
        click.option(
            "--ngrams",
            type=click.IntRange(1, 5),
            metavar="N",
            help="For text: also use sequences of up to N words.",
        ),
        list_option(
            "--features",
            metavar="COLUMNS",
            help="Columns of a table to learn from, with commas between them; by default all "
            "others, or with --text none.",
        ),
        list_option(
            "--drop", metavar="COLUMNS", help="Columns to leave out, such as identifiers."
        ),
        list_option("--text", metavar="COLUMNS", help="Columns of text to turn into words."),
        empty_labels_option,
        click.option("--tag-sep", metavar="TEXT", help="What separates the tags in one cell."),
        list_option(
            "--labels",
            metavar="COLUMNS",
            help="Label columns of a table, with commas between them, or its one column of tags; "
            "for an ARFF file the label XML, names, or their number.",
        ),
    ):
        command = option(command)
    return command


Names = str | Sequence[str] | None


def find(
    data: str,
    *,
    labels: Names = None,
    tag_sep: str | None = None,
    empty_labels: str | None = None,
    text: Names = None,
    features: Names = None,
    drop: Names = None,
    sep: str | None = None,
    ngrams: int | None = None,
    stop_words: Names = None,
    min_count: int | None = None,
    subwords: bool = False,
    embeddings: str | None = None,
    decimal: str | None = None,
    day_first: bool | None = None,
    encode: bool = True,
) -> Dataset:
    """A standard dataset by its name, or a file by its path; tables may be left typed columns."""
    from plurilabel import datasets, io

    options = {
        "tag_sep": tag_sep,
        "empty_labels": empty_labels,
        "text": names_in(text),
        "features": names_in(features),
        "sep": sep,
        "embeddings": embeddings,
        "decimal": decimal,
        "day_first": day_first,
        "words": word_features(ngrams, stop_words, min_count, subwords, text=text),
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if is_standard(data):
        if labels is not None or drop is not None or given:
            raise ValueError(
                f"{data} is a standard dataset and needs no --labels or other options"
            )
        return datasets.load(data)
    columns = label_option(labels)
    if io.file_format(data) in ("csv", "tsv", "parquet", "jsonl", "json"):
        given["encode"] = encode
        columns = table_labels(data, labels)
    elif given:
        option = "--" + next(iter(given)).replace("_", "-")
        raise ValueError(f"{option} is for tables such as CSV and Parquet, but {data} is not one")
    if drop is not None:
        given["drop"] = names_in(drop)
    return io.read(data, labels=columns, **given)


def word_features(
    ngrams: int | None,
    stop_words: Names,
    min_count: int | None,
    subwords: bool,
    *,
    text: Names,
) -> Any:
    """What turns text into features, as the options say; None if they say nothing."""
    options = {"ngrams": ngrams, "stop-words": stop_words, "min-count": min_count}
    given = [name for name, value in options.items() if value is not None]
    given += ["subwords"] if subwords else []
    if not given:
        return None
    if text is None:
        raise UsageError(f"--{given[0]} is for columns of text: name them with --text")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    stop: Any = names_in(stop_words)
    stop = "english" if stop == ["english"] else stop and [word.lower() for word in stop]
    words = TfidfVectorizer(ngram_range=(1, ngrams or 1), stop_words=stop, min_df=min_count or 1)
    if not subwords:
        return words
    parts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), min_df=min_count or 1, max_features=MOST_SUBWORDS
    )
    return make_union(words, parts)


def is_standard(data: str) -> bool:
    """Whether this names a standard dataset; False if it is a file, an error if neither."""
    from plurilabel import datasets

    path = Path(data)
    if path.is_file():
        return False
    if data in datasets.dataset_names():
        return True
    if path.is_dir():
        raise ValueError(f"{data} is a folder; expected a file or the name of a standard dataset")
    if path.suffix or len(path.parts) > 1:
        raise FileNotFoundError(_no_file(path))
    close = similar(data, datasets.dataset_names())
    hint = (
        f"did you mean {close}?" if close else f"there are {', '.join(datasets.dataset_names())}"
    )
    raise FileNotFoundError(f"{data!r} is neither a file nor a standard dataset; {hint}")


def _no_file(path: Path) -> str:
    """What to say of a file that is not there."""
    there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    close = similar(path.name, sorted(there))
    hint = "" if close is None else f"; did you mean {path.with_name(close)}?"
    return f"there is no file {path}{hint}"


def names_in(given: Names) -> list[str] | None:
    """Names with commas between them; nothing at all is the column without a name.

    A name with a comma in it stands in double quotes, as in CSV.
    """
    if given is None:
        return None
    texts = [given] if isinstance(given, str) else given
    cells = (cell for row in csv.reader(texts, skipinitialspace=True) for cell in row)
    return [name.strip() for name in cells if name.strip()] or [""]


def label_option(labels: Names) -> str | int | list[str] | None:
    """``--labels`` as the readers take it: a name, a list of names, or a number."""
    if labels is None:
        return None
    texts = [labels] if isinstance(labels, str) else list(labels)
    if len(texts) > 1:
        return names_in(texts)
    (text,) = texts
    if text.lstrip("-").isdecimal():
        return int(text)
    names = names_in(text) or [""]
    return names if len(names) > 1 or text.rstrip().endswith(",") else names[0]


def table_labels(data: str, labels: Names) -> str | list[str]:
    """``--labels`` of a table, which must be names."""
    columns = label_option(labels)
    if columns is None or isinstance(columns, int):
        got = "" if columns is None else f"; got the number {columns}"
        raise UsageError(
            f"--labels must name the label columns of {data}, or its one column of tags{got}"
        )
    return columns


def read_rows(
    model: Model,
    data: str,
    *,
    with_labels: bool = False,
    sep: str | None = None,
    embeddings: str | None = None,
    empty_labels: Any = None,
) -> ModelRows:
    """Read rows for a model: a file, a standard dataset, or a dash for CSV on standard input."""
    from plurilabel import datasets

    with tempfile.TemporaryDirectory() as folder:
        name, source = data, data
        if data == "-":  # the reader looks at a file more than once
            name, source = "standard input", str(Path(folder, "stdin.csv"))
            Path(source).write_bytes(sys.stdin.buffer.read())
        try:
            rows = datasets.load(source) if is_standard(source) else source
            return model.read(
                rows,
                with_labels=with_labels,
                sep=sep,
                embeddings=embeddings,
                empty_labels=empty_labels,
            )
        except ValueError as error:
            text = str(error) if source in str(error) else f"{name}: {error}"
            raise ValueError(text.replace(source, name)) from None


# output ------------------------------------------------------------------------------------


def read_learner(text: str, **search: Any) -> Any:
    """A learner from ``--learner``."""
    from plurilabel.compare import make_learner

    try:
        return make_learner(text, **search)
    except ValueError as error:
        raise UsageError(f"--learner: {error}") from None


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


def uncentred(learner: Any) -> bool:
    """Make scalers leave the mean where it is, since sparse features have zeros; whether any did.

    Examples
    --------
    >>> from plurilabel.compare import make_learner
    >>> learner = make_learner("StandardScaler | MLkNN")
    >>> uncentred(learner), learner[0]
    (True, StandardScaler(with_mean=False))
    """
    from sklearn.preprocessing import StandardScaler

    scalers = [part for part in learner.get_params().values() if isinstance(part, StandardScaler)]
    centred = [scaler for scaler in scalers if scaler.with_mean]
    for scaler in centred:
        scaler.with_mean = False
    return bool(centred)


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
