"""Opening and writing files: gzip is unpacked, writes are atomic, errors name file and line."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from plurilabel._core.records import AnyPath
from plurilabel._core.words import NUMBER

MOST_UNPACKED = "PLURILABEL_MOST_UNPACKED"
"""The environment variable with the bytes that a compressed file may unpack to."""

_LARGEST, _SMALL, _RATIO = 1 << 34, 10**8, 200
_BUFFER = 1 << 17

NUMBER_OR_NAN = re.compile(rf"{NUMBER.pattern}|[+-]?(?:nan|infinity)", re.IGNORECASE)
"""A number in an ARFF, LIBSVM or XMC file."""


class FileFormatError(ValueError):
    """A file that is not what it should be: the message says where, and what was expected.

    Parameters
    ----------
    path : str or path
    line : int or None
        The number of the line, from 1; None if the problem is not on one line.
    problem : str
        What was expected there, and what was found.

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
    """Open a file for reading bytes, unpacked if it is gzipped.

    A gzip file is recognized by its first bytes, whatever its name. Since a small file can unpack
    to any size, more than 16 GiB, or beyond the first 100 MB more than 200 times the size of the
    file, is an error; the environment variable ``PLURILABEL_MOST_UNPACKED`` sets another limit in
    bytes.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileFormatError
        While reading, if a gzip file is cut off or damaged, or unpacks to more than is allowed.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> from plurilabel.io import opened
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.txt")
    ...     _ = path.write_bytes(gzip.compress(b"some text"))
    ...     with opened(path) as stream:
    ...         stream.read()
    b'some text'
    """
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if not packed:
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                limited = _Limited(
                    unpacked, path, most_unpacked(os.fstat(stream.fileno()).st_size)
                )
                yield cast(BinaryIO, io.BufferedReader(limited, _BUFFER))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(path, None, f"the gzip file is broken: {error}") from None


def most_unpacked(packed: int) -> int:
    """How many bytes a file of this size may take in memory."""
    if given := os.environ.get(MOST_UNPACKED):
        return int(given)
    return min(_LARGEST, max(_SMALL, _RATIO * packed))


class _Limited(io.RawIOBase):
    """A stream that unpacks no more than a limit."""

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
            raise FileFormatError(
                self._path,
                None,
                f"it unpacks to more than {self._limit:,} bytes; if it can be trusted, set "
                f"{MOST_UNPACKED} to the bytes that it may take",
            )
        buffer[: len(content)] = content
        return len(content)


def plain_name(path: AnyPath) -> str:
    """Name of a dataset after its file, without ``.gz`` and the suffix before it.

    Examples
    --------
    >>> plain_name("somewhere/films.csv.gz")
    'films'
    """
    file = Path(path)
    return (file.with_suffix("") if file.suffix == ".gz" else file).stem


SUFFIXES = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".txt": "xmc",
    ".xmc": "xmc",
}


def file_format(path: AnyPath) -> str | None:
    """Format of a file by its name; None if the name does not say.

    Returns
    -------
    {"arff", "csv", "tsv", "parquet", "json", "jsonl", "libsvm", "xmc"} or None

    Examples
    --------
    >>> from plurilabel.io import file_format
    >>> file_format("films.csv.gz"), file_format("films.xls")
    ('csv', None)
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return SUFFIXES.get(next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), ""))
