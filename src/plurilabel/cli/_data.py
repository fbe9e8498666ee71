"""Data and learners from options: files, standard datasets, and how they are read."""

from __future__ import annotations

import csv
import gzip
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plurilabel._core.names import check_learner, check_measure, no_column, separated
from plurilabel._core.words import similar
from plurilabel.cli._output import UsageError, about_option, no_file, together

if TYPE_CHECKING:
    from plurilabel._core.data.dataset import Dataset
    from plurilabel.models import Model, ModelRows

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Names = str | Sequence[str] | None

TABLES = (
    ".csv", ".tsv", ".tab", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm",
)  # fmt: skip
LISTS = ("text", "categorical", "features", "drop", "stop_words")
WORDS = ("ngrams", "stop_words", "min_count", "subwords", "encoder")


def list_option(*names: str, help: str, **kwargs: Any) -> Callable[[Decorated], Decorated]:
    """An option for comma-separated names, which may be repeated."""
    kwargs["callback"] = lambda _ctx, _option, value: list(value) or None
    return click.option(*names, multiple=True, help=f"{help} May be repeated.", **kwargs)


scheduler_option = click.option(
    "--scheduler", metavar="ADDRESS",
    help="Read CSV and Parquet files in blocks on a Dask cluster, such as tcp://host:8786, whose "
    "workers see MODEL and FILE, or on the threads of this machine (threads).",
)  # fmt: skip
empty_labels_option = click.option(
    "--empty-labels", type=click.Choice(["unknown", "absent"]),
    help="Meaning of an empty cell in a label column; unknown by default if there are zeros.",
)  # fmt: skip
soft_option = click.option(
    "--soft", is_flag=True,
    help="Labels may be probabilities: columns of fractions, or tags such as joy:0.7.",
)  # fmt: skip


rows_options = together(
    click.option(
        "--embeddings", metavar="FILE.npy",
        help="Precomputed vectors to use as features: a NumPy array with one row for each row "
        "of the table. Columns of lists need no option.",
    ),
    click.option("--sep", metavar="CHARACTER", help="CSV separator; detected by default."),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel file."),
)  # fmt: skip
"""Options for reading rows for a model, which a command takes as ``**reading``."""


data_options = together(
    list_option(
        "--labels", metavar="COLUMNS",
        help="Label columns of a table, separated by commas, or its column of tags; for an "
        "ARFF file the label XML, names, or their number.",
    ),
    click.option("--tag-sep", metavar="TEXT", help="Separator of the tags in a cell."),
    soft_option,
    empty_labels_option,
    list_option("--text", metavar="COLUMNS", help="Columns to read as text, if not detected."),
    list_option(
        "--categorical", metavar="COLUMNS",
        help="Columns to treat as categories, such as codes written as numbers.",
    ),
    click.option(
        "--group", metavar="COLUMN",
        help="Column with the group of each row, such as a patient; not a feature. Groups "
        "are never split when rows are held out.",
    ),
    click.option(
        "--time", metavar="COLUMN",
        help="Column of dates or numbers to sort the rows by, not a feature. Models are "
        "evaluated on later rows than they are trained on.",
    ),
    list_option("--drop", metavar="COLUMNS", help="Columns to ignore, such as identifiers."),
    list_option(
        "--features", metavar="COLUMNS",
        help="Feature columns of a table, separated by commas; by default all but labels and "
        "identifiers.",
    ),
    click.option(
        "--ngrams", type=click.IntRange(1, 5), metavar="N",
        help="For text: also use sequences of up to N words.",
    ),
    list_option(
        "--stop-words", metavar="WORDS",
        help="For text: words to ignore, or english for a built-in list.",
    ),
    click.option(
        "--min-count", type=click.IntRange(1), metavar="ROWS",
        help="For text: ignore words that occur in fewer rows.",
    ),
    click.option(
        "--subwords", is_flag=True, help="For text: use parts of 3 to 5 letters, too."
    ),
    click.option(
        "--encoder", metavar="NAME",
        help="For text: vectors instead of words: static for bundled word vectors, or the "
        "folder or name of a model of model2vec or sentence-transformers; tfidf+NAME for "
        "words and vectors.",
    ),
    rows_options,
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal mark; detected by default."
    ),
    click.option(
        "--day-first/--month-first", "day_first", default=None,
        help="Whether 03/04/2021 is 3 April or March 4, if that is not clear from the file.",
    ),
)  # fmt: skip
"""Options for reading a file, which a command takes as ``**reading`` for :func:`find`."""


def find(data: str, *, encode: bool = True, **options: Any) -> Dataset:
    """Load a standard dataset, or read a file; without ``encode``, a table stays one."""
    given = reader_options(data, **options)
    from plurilabel import datasets, io
    from plurilabel.io.shared import encoded, is_table

    if is_standard(data):
        loaded = datasets.load(data)
        return encoded(loaded, **given) if encode else loaded
    return io.read(data, **given, **({} if encode or not is_table(data) else {"encode": False}))


def reader_options(data: str, *more: str, labels: Names = None, **options: Any) -> dict[str, Any]:
    """The given values of :func:`data_options`, as :func:`plurilabel.io.read` takes them."""
    given: dict[str, Any] = {
        name: names_in(value) if name in LISTS else value
        for name, value in options.items()
        if value is not None and (value is not False or name == "day_first")
    }
    words = word_features({name: given.pop(name) for name in WORDS if name in given})
    given |= {} if words is None else {"words": words}
    if is_standard(data):
        allowed = {"words"} if standard_names()[data].get("kind") == "texts" else set()
        if labels is not None or given.keys() - allowed:
            raise ValueError(
                f"{data} is a standard dataset and needs no --labels or other options"
            )
        return given
    columns = label_option(labels)
    check_several(more)
    if is_table(data):
        columns = table_labels(data, labels)
        check_header(data, given.get("sep"), {"labels": columns, **given})
    elif only := [name for name in given if name != "drop"]:
        option = "--" + only[0].replace("_", "-")
        raise ValueError(f"{option} is for tables such as CSV and Parquet, but {data} is not one")
    return {"labels": columns, **given}


def check_several(data: Sequence[str]) -> None:
    """Check that each of several files is a table."""
    for one in data:
        if one == "-" or is_standard(one) or not is_table(one):
            raise UsageError(f"several files must be tables, got {one}")


def is_table(data: str) -> bool:
    """Whether a file is a table, by its name; nothing is imported for the usual suffixes."""
    suffixes = [suffix.lower() for suffix in Path(data).suffixes if suffix.lower() != ".gz"]
    if Path(data).is_dir() or (suffixes and suffixes[-1] in TABLES):
        return True
    from plurilabel.io.shared import is_table

    return is_table(data)


def check_header(path: str, sep: str | None, named: dict[str, Any]) -> None:
    """Refuse columns that a CSV file lacks with any separator, before anything is imported."""
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
    """The transformer of texts for the given options among :data:`WORDS`; None without any."""
    if not options:
        return None
    check_encoder(options.get("encoder"))
    from plurilabel import io

    if options.get("stop_words") == ["english"]:
        options["stop_words"] = "english"
    return io.word_features(**options)


def check_encoder(name: str | None) -> None:
    """Refuse a misspelled encoder, which would be taken for the name of a model on a hub."""
    known = ["static", "wordllama", "tfidf+static"]
    if name is None or (name := name.removeprefix("tfidf+")) in known:
        return
    close = None if "/" in name or Path(name).is_dir() else similar(name, known)
    if close is not None:
        raise UsageError(f"--encoder {name} is unknown; did you mean {close!r}?")


def standard_names() -> dict[str, Any]:
    """The catalog of standard datasets, read without importing the package."""
    catalog = Path(__file__).parents[1] / "datasets" / "catalog.toml"
    return {"digits": {}, **tomllib.loads(catalog.read_text("utf-8"))}


def is_standard(data: str) -> bool:
    """Whether this is a standard dataset (True) or a file (False); raise an error if neither."""
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
    """Split comma-separated names, quoted as in CSV; an empty text is the unnamed column."""
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
    """``--labels`` for a table, which must be names."""
    columns = label_option(labels)
    if columns is None or isinstance(columns, int):
        got = "" if columns is None else f"; got the number {columns}"
        raise UsageError(f"--labels must name the label columns of {data} or its tag column{got}")
    return columns


def read_rows(model: Model, *data: str, **options: Any) -> ModelRows:
    """Read rows for a model: files, a standard dataset, or a dash for CSV on standard input."""
    from plurilabel.models.shared import whole

    with row_source(*data) as source:
        return model.read(whole(source), **options)


@contextmanager
def row_source(*data: str) -> Iterator[Any]:
    """What a model reads: files, a standard dataset, or a dash for CSV on standard input."""
    from plurilabel import datasets

    with tempfile.TemporaryDirectory() as folder:
        name, source = data[0], data[0]
        if name == "-":  # the reader looks at a file more than once
            name, source = "standard input", str(Path(folder, "stdin.csv"))
            with open(source, "wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            if len(data) > 1:
                check_several([source, *data[1:]])
                yield [source, *data[1:]]
            else:
                yield datasets.load(source) if is_standard(source) else source
        except ValueError as error:
            text = str(error) if source in str(error) or len(data) > 1 else f"{name}: {error}"
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
    with about_option("--learner"):
        check_learner(text)
        from plurilabel.learners import make_learner

        return make_learner(text, **search)
