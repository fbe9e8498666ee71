"""Open files, unpacking gzip; errors with file and line; formats by suffix."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from glob import glob
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, BinaryIO, NamedTuple, cast

from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import AnyPath
from plurilabel._core.words import NUMBER

MOST_UNPACKED = "PLURILABEL_MOST_UNPACKED"
"""The environment variable that limits how many bytes a compressed file may unpack to."""

_LARGEST, _SMALL, _RATIO = 1 << 34, 10**8, 200
_BUFFER = 1 << 17

NUMBER_OR_NAN = re.compile(rf"{NUMBER.pattern}|[+-]?nan", NUMBER.flags)
"""A number in an ARFF, LIBSVM or XMC file."""


class FileFormatError(ValueError):
    """Raised if a file is not in the expected format; the message names file and line.

    Parameters
    ----------
    path : str or path
    line : int or None
        Line number, from 1; None if the problem is not on one line.
    problem : str
        What was expected, and what was found.

    Examples
    --------
    >>> raise FileFormatError("films.csv", 3, "expected 4 values, got 3")
    Traceback (most recent call last):
    ...
    plurilabel.io.FileFormatError: films.csv, line 3: expected 4 values, got 3
    """

    def __init__(self, path: AnyPath, line: int | None, problem: str):
        self.path, self.line, self.problem = os.fspath(path), line, problem
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str]]:
        return type(self), (self.path, self.line, self.problem)


@contextmanager
def opened(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; gzipped content is unpacked.

    A file may unpack to 200 times its size, at least 100 MB and at most 16 GiB, unless the
    environment variable ``PLURILABEL_MOST_UNPACKED`` sets another limit in bytes.
    """
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if not packed:
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                limit = most_unpacked(os.fstat(stream.fileno()).st_size)
                limited = _Limited(unpacked, path, limit)
                yield cast(BinaryIO, io.BufferedReader(limited, _BUFFER))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(path, None, f"the gzip file is broken: {error}") from None


def most_unpacked(packed: int) -> int:
    """Number of bytes that a file of ``packed`` bytes may take in memory."""
    if given := os.environ.get(MOST_UNPACKED):
        return int(given)
    return min(_LARGEST, max(_SMALL, _RATIO * packed))


def check_room(path: AnyPath, size: float, what: str, line: int | None = None) -> None:
    """Refuse to take more memory for a file than its size warrants."""
    if size > (limit := most_unpacked(os.path.getsize(path))):
        problem = f"{what}, beyond {limit:,} bytes; {MOST_UNPACKED} may set another limit"
        raise FileFormatError(path, line, problem)


class _Limited(io.RawIOBase):
    """A gzip stream that unpacks a limited number of bytes."""

    def __init__(self, stream: gzip.GzipFile, path: AnyPath, limit: int) -> None:
        self._stream, self._path, self._limit = stream, path, limit

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        if self._stream.tell() > self._limit:
            problem = f"it unpacks to more than {self._limit:,} bytes; if you trust it, set "
            problem += f"{MOST_UNPACKED} to a higher limit"
            raise FileFormatError(self._path, None, problem)
        buffer[: len(content)] = content
        return len(content)


_CSV = ("csv", " (in Excel: CSV UTF-8)")


def not_utf8(path: AnyPath) -> FileFormatError:
    """The error for the first line that is not UTF-8."""
    with opened(path) as stream:
        for line, content in enumerate(stream, 1):
            try:
                content.decode()
            except UnicodeDecodeError as error:
                byte = content[error.start]
                kind, excel = ("json", "") if ".json" in Path(path).name.lower() else _CSV
                problem = f"expected text in UTF-8, got the byte 0x{byte:02x}; save it as UTF-8"
                problem += f"{excel}, convert it with iconv -f cp1252 -t utf-8, or read it with "
                problem += f"pandas.read_{kind}(encoding=...) and pass the frame"
                return FileFormatError(path, line, problem)
    return FileFormatError(path, None, "expected text in UTF-8")


def plain_name(path: AnyPath) -> str:
    """File name without suffixes, with bytes that are not UTF-8 escaped, to name a dataset."""
    file = Path(path)
    name = (file.with_suffix("") if file.suffix == ".gz" else file).stem
    return name.encode(errors="backslashreplace").decode()


def part_files(path: AnyPath | Sequence[AnyPath]) -> list[str]:
    """The files of a table: one path or several, a folder, or a pattern such as ``*.csv``."""
    if isinstance(path, list | tuple):
        return [file for one in path for file in part_files(one)]
    name = os.fspath(path)  # type: ignore[arg-type]
    if os.path.isdir(name):
        inside = (os.path.join(name, file) for file in sorted(os.listdir(name)))
        hidden = (".", "_")  # such as Spark's _SUCCESS
        found = [file for file in inside if not os.path.basename(file).startswith(hidden)]
        if not (found := [file for file in found if is_table(file)]):
            raise FileFormatError(name, None, "expected tables in the folder, got none")
        return found
    is_pattern = any(letter in name for letter in "*?[") and not os.path.exists(name)
    if is_pattern and not (found := sorted(glob(name))):
        raise FileNotFoundError(f"no file is named like {name}")
    return found if is_pattern else [name]


class Format(NamedTuple):
    """A file format. A module of this package lists its formats in ``FORMATS``.

    ``read(path, **options)`` returns a :class:`Dataset`. A table has ``frame(path, separator,
    decimal mark, columns to leave as text)`` instead, which returns a
    :class:`~plurilabel.io._table._frame.Frame`.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Dataset] | None = None
    has_labels: bool = False  # whether the format defines which columns are labels
    # rows for a model, from a path, its number of features and its label names
    further: Callable[[AnyPath, int, list[str]], Dataset] | None = None
    has_names: bool = True  # whether features and labels have names, or only an order
    frame: Callable[..., Any] | None = None
    writer: Callable[..., AbstractContextManager[Callable[[Any], object]]] | None = None


@cache
def formats() -> dict[str, Format]:
    """All formats of the modules of this package, by name."""
    package = import_module(__name__.rpartition(".")[0])
    modules = walk_packages(package.__path__, f"{package.__name__}.")
    found = (getattr(import_module(module.name), "FORMATS", ()) for module in modules)
    return {format.name: format for some in found for format in some}


def is_table(path: AnyPath) -> bool:
    if os.path.isdir(path):
        return True  # a folder of tables; anything else fails when it is read
    found = file_format(path)
    return found is not None and formats()[found].frame is not None


def file_format(path: AnyPath) -> str | None:
    """Return the format of a file name, such as "arff"; None if the suffix is unknown.

    Examples
    --------
    >>> from plurilabel.io import file_format
    >>> file_format("films.csv.gz"), file_format("films.docx")
    ('csv', None)
    """
    suffixes = (suffix.lower() for suffix in reversed(Path(path).suffixes))
    last = next((suffix for suffix in suffixes if suffix != ".gz"), "")
    return next((name for name, form in formats().items() if last in form.suffixes), None)
