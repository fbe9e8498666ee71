"""How commands end that cannot go on: one sentence, in the words of the command line."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import NoReturn

import click

from plurilabel._core.words import printable, similar


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


def in_words(error: Exception) -> str:
    """What an error says, in one line."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        return no_file(Path(error.filename))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return _in_options(" ".join(str(error).split()) or type(error).__name__)


def no_file(path: Path) -> str:
    """What to say of a file that is not there."""
    there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    close = similar(path.name, sorted(there))
    hint = "" if close is None else f"; did you mean {path.with_name(close)}?"
    return f"there is no file {path}{hint}"


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
