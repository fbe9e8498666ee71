"""Opening and writing files: gzip seen through, writes atomic, errors with file and line."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast


class FileFormatError(ValueError):
    """A file that is not what it should be: says where, and what was expected."""

    def __init__(self, path: str | os.PathLike[str], line: int | None, problem: str):
        self.path, self.line, self.problem = os.fspath(path), line, problem
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str]]:
        return type(self), (self.path, self.line, self.problem)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open for reading; a gzip file is recognised by its first bytes, whatever its name."""
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


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Content of a file, unpacked if it is gzipped."""
    with opened(path) as stream:
        return stream.read()


def plain_name(path: str | os.PathLike[str]) -> str:
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


def file_format(path: str | os.PathLike[str]) -> str | None:
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
def write_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that is there whole or not at all; gzipped if its name ends in ``.gz``."""
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
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
