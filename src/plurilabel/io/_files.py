"""Opening and writing files: gzip is unpacked, writes are atomic, errors name file and line."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from plurilabel._text import NUMBER

AnyPath: TypeAlias = str | os.PathLike[str]

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

    A gzip file is recognized by its first bytes, whatever its name.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileFormatError
        While reading, if a gzip file is cut off or damaged.

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
                yield cast(BinaryIO, unpacked)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileFormatError(path, None, f"the gzip file is broken: {error}") from None


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
    {"arff", "csv", "tsv", "parquet", "jsonl", "libsvm", "xmc"} or None

    Examples
    --------
    >>> from plurilabel.io import file_format
    >>> file_format("films.csv.gz"), file_format("films.xls")
    ('csv', None)
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return SUFFIXES.get(next((suffix for suffix in reversed(suffixes) if suffix != ".gz"), ""))


@contextmanager
def write_atomic(path: AnyPath) -> Iterator[BinaryIO]:
    """Write a file so that it appears whole or not at all.

    The bytes go to a temporary file in the same folder, which takes the place of ``path`` when
    the block ends. If the block raises, an older file stays as it was.

    Parameters
    ----------
    path : str or path
        The file is gzipped if its name ends in ``.gz``; the same data give the same bytes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.io import write_atomic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.txt")
    ...     with write_atomic(path) as stream:
    ...         _ = stream.write(b"some text")
    ...     path.read_text()
    'some text'
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                # no file name and no time in the header: the same data give the same bytes
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        # mkstemp makes files for the owner only; this gives the usual permissions
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
