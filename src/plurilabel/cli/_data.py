"""Data and learners from options: files, standard datasets, and how they are read."""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plurilabel._core.names import check_learner, check_measure, no_column, separated
from plurilabel._core.words import similar
from plurilabel.cli._output import UsageError, about_option, no_file

if TYPE_CHECKING:
    from plurilabel._core.data.dataset import Dataset
    from plurilabel.models import Model, ModelRows

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Names = str | Sequence[str] | None

TABLES = (
    ".csv", ".tsv", ".tab", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm",
)  # fmt: skip


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


soft_option = click.option(
    "--soft", is_flag=True,
    help="Labels may be probabilities: columns of fractions, or tags such as joy:0.7.",
)  # fmt: skip


sheet_option = click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.")


def rows_options(command: Decorated) -> Decorated:
    """Options for reading rows for a model, which a command takes as ``**reading``."""
    for option in (
        click.option(
            "--sep", metavar="CHARACTER", help="What separates the columns of a CSV file."
        ),
        sheet_option,
        click.option(
            "--embeddings", metavar="FILE.npy",
            help="The vectors of these rows, for a model of vectors.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def data_options(command: Decorated) -> Decorated:
    """Options for reading a file, which a command takes as ``**reading`` for :func:`find`."""
    for option in (
        click.option(
            "--day-first/--month-first", "day_first", default=None,
            help="Whether 03/04/2021 is 3 April or March 4, if no date in the file shows it.",
        ),
        click.option(
            "--decimal", type=click.Choice([".", ","]),
            help="The decimal mark of numbers; detected by default.",
        ),
        sheet_option,
        click.option(
            "--sep", metavar="CHARACTER",
            help="What separates the columns of a CSV file; detected by default.",
        ),
        click.option(
            "--embeddings", metavar="FILE.npy",
            help="Ready-made vectors to use as features: a NumPy array with one row for each row "
            "of the table. Columns of lists need no option.",
        ),
        click.option(
            "--encoder", metavar="NAME",
            help="For text: vectors in place of words. static for word vectors that work offline, "
            "a folder or name of a model of model2vec or sentence-transformers; tfidf+NAME for "
            "both beside each other.",
        ),
        click.option(
            "--subwords", is_flag=True,
            help="For text: also use parts of words, of 3 to 5 letters.",
        ),
        click.option(
            "--min-count", type=click.IntRange(1), metavar="ROWS",
            help="For text: ignore words that occur in fewer rows.",
        ),
        list_option(
            "--stop-words", metavar="WORDS",
            help="For text: words to ignore; english stands for a built-in list.",
        ),
        click.option(
            "--ngrams", type=click.IntRange(1, 5), metavar="N",
            help="For text: also use sequences of up to N words.",
        ),
        list_option(
            "--features", metavar="COLUMNS",
            help="Columns of a table to learn from, with commas between them; by default all "
            "other columns except identifiers.",
        ),
        list_option(
            "--drop", metavar="COLUMNS", help="Columns to leave out, such as identifiers."
        ),
        click.option(
            "--time", metavar="COLUMN",
            help="Column of dates or numbers, not a feature: rows are sorted by it, and models "
            "measured on later rows than they learn from.",
        ),
        click.option(
            "--group", metavar="COLUMN",
            help="Column with the group of each row, such as a patient; not a feature. Rows of "
            "one group stay together wherever rows are held out.",
        ),
        list_option(
            "--categorical", metavar="COLUMNS",
            help="Columns that are categories, such as codes written as numbers.",
        ),
        list_option(
            "--text", metavar="COLUMNS", help="Columns that are text, where that is not detected."
        ),
        empty_labels_option,
        soft_option,
        click.option("--tag-sep", metavar="TEXT", help="What separates the tags in one cell."),
        list_option(
            "--labels", metavar="COLUMNS",
            help="Label columns of a table, with commas between them, or its one column of tags; "
            "for an ARFF file the label XML, names, or their number.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def find(data: str, *, encode: bool = True, **options: Any) -> Dataset:
    """A standard dataset by its name, or a file by its path, with :func:`reader_options`.

    Without ``encode``, a table stays one.
    """
    given = reader_options(data, **options)
    from plurilabel import datasets, io
    from plurilabel.io.shared import encoded, is_table

    if is_standard(data):
        loaded = datasets.load(data)
        return encoded(loaded, **given) if encode else loaded
    return io.read(data, **given, **({} if encode or not is_table(data) else {"encode": False}))


def reader_options(
    data: str,
    *others: str,
    labels: Names = None,
    tag_sep: str | None = None,
    empty_labels: str | None = None,
    soft: bool = False,
    text: Names = None,
    categorical: Names = None,
    features: Names = None,
    drop: Names = None,
    sep: str | None = None,
    ngrams: int | None = None,
    stop_words: Names = None,
    min_count: int | None = None,
    subwords: bool = False,
    encoder: str | None = None,
    embeddings: str | None = None,
    decimal: str | None = None,
    day_first: bool | None = None,
    group: str | None = None,
    time: str | None = None,
    sheet: str | None = None,
) -> dict[str, Any]:
    """The options that were given, as :func:`plurilabel.io.read` takes them."""
    words = {"ngrams": ngrams, "stop_words": names_in(stop_words), "min_count": min_count}
    options = {
        "tag_sep": tag_sep,
        "empty_labels": empty_labels,
        "soft": soft or None,
        "text": names_in(text),
        "categorical": names_in(categorical),
        "features": names_in(features),
        "sep": sep,
        "embeddings": embeddings,
        "decimal": decimal,
        "day_first": day_first,
        "group": group,
        "time": time,
        "sheet": sheet,
        "words": word_features({**words, "subwords": subwords or None, "encoder": encoder}),
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if is_standard(data):
        allowed = {"words"} if standard_names()[data].get("kind") == "texts" else set()
        if labels is not None or drop is not None or given.keys() - allowed:
            raise ValueError(
                f"{data} is a standard dataset and needs no --labels or other options"
            )
        return given
    columns = label_option(labels)
    for other in others:
        if is_standard(other) or not is_table(other):
            raise UsageError(f"several files must be tables, got {other}")
    if is_table(data):
        columns = table_labels(data, labels)
        named = {"labels": columns, "drop": names_in(drop), **options, "tag_sep": None}
        check_header(data, sep, named)
    elif given:
        option = "--" + next(iter(given)).replace("_", "-")
        raise ValueError(f"{option} is for tables such as CSV and Parquet, but {data} is not one")
    return {"labels": columns, **given} | ({"drop": names_in(drop)} if drop is not None else {})


def is_table(data: str) -> bool:
    """Whether a file is a table, by its name; nothing is imported for the usual suffixes."""
    suffixes = [suffix.lower() for suffix in Path(data).suffixes if suffix.lower() != ".gz"]
    if Path(data).is_dir() or (suffixes and suffixes[-1] in TABLES):
        return True
    from plurilabel.io.shared import is_table

    return is_table(data)


def check_header(path: str, sep: str | None, named: dict[str, Any]) -> None:
    """Refuse columns that a CSV file does not have, before anything is imported.

    What is refused is missing with every separator; all else is left to the reader.
    """
    if not path.lower().removesuffix(".gz").endswith((".csv", ".tsv")) or not Path(path).is_file():
        return
    with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as stream:
        head = stream.read(1 << 16)
    try:
        lines = head.decode("utf-8-sig", "ignore").lstrip().splitlines(keepends=True)
        lines = lines[1:] if lines and lines[0].startswith("sep=") else lines
        seps = [sep] if sep else [",", ";", "\t", "|"]
        found = [next(csv.reader(lines, delimiter=one, skipinitialspace=True)) for one in seps]
    except (csv.Error, StopIteration, TypeError):
        return
    if b"\0" in head:  # UTF-16
        return
    columns = [name.strip() for name in max(found, key=len)]
    there = {name.strip() for names in found for name in names}
    for option in ("labels", "features", "text", "categorical", "drop", "group", "time"):
        names = named.get(option) or []
        for name in [names] if isinstance(names, str) else names:
            if name not in there:
                raise ValueError(no_column(option, name, columns))


def word_features(options: dict[str, Any]) -> Any:
    """The transformer of texts for these options; None if none is given."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return None
    check_encoder(given.get("encoder"))
    from plurilabel import io

    if given.get("stop_words") == ["english"]:
        given["stop_words"] = "english"
    return io.word_features(**given)


def check_encoder(name: str | None) -> None:
    """Refuse a misspelt encoder, which would be looked for among the models of a hub."""
    known = ["static", "wordllama", "tfidf+static"]
    if name is None or (name := name.removeprefix("tfidf+")) in known:
        return
    close = None if "/" in name or Path(name).is_dir() else similar(name, known)
    if close is not None:
        raise UsageError(f"--encoder {name} is unknown; did you mean {close!r}?")


def standard_names() -> dict[str, Any]:
    """What the catalogue says of each standard dataset, without importing that package."""
    catalog = Path(__file__).parents[1] / "datasets" / "catalog.toml"
    return {"digits": {}, **tomllib.loads(catalog.read_text("utf-8"))}


def is_standard(data: str) -> bool:
    """Whether this names a standard dataset; False if it is a file, an error if neither."""
    path = Path(data)
    if path.is_file():
        return False
    # names have neither suffix nor folder: nothing has to be imported for this error
    several = path.is_dir() or bool(glob(data))
    if not several and (path.suffix or len(path.parts) > 1):
        raise FileNotFoundError(no_file(path))
    names = list(standard_names())
    if data in names:
        return True
    if several:
        return False
    close = similar(data, names)
    hint = f"did you mean {close}?" if close else f"there are {', '.join(names)}"
    raise FileNotFoundError(f"{data!r} is neither a file nor a standard dataset; {hint}")


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
    **options: Any,
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
            return model.read(rows, with_labels=with_labels, **options)
        except ValueError as error:
            text = str(error) if source in str(error) else f"{name}: {error}"
            raise ValueError(text.replace(source, name)) from None


def check_names(measures: Names, learners: Sequence[str] | None = None) -> None:
    """Refuse unknown measures and learners, before anything is imported."""
    with about_option("--measures"):
        for name in names_in(measures) or ():
            check_measure(name)
    with about_option("--learners"):
        for _, text in separated(", ".join(learners or ())):
            check_learner(text)


def read_learner(text: str, **search: Any) -> Any:
    """A learner from ``--learner``."""
    with about_option("--learner"):
        check_learner(text)
        from plurilabel.learners import make_learner

        return make_learner(text, **search)
