"""One process at a time in a folder."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; an error if another process holds it.

    The operating system holds the lock for the process, and so lets go of it however the
    process ends. A file that a killed process left behind means nothing by itself.
    """
    path = folder / ".lock"
    with _taken(path) as stream:
        stream.seek(0)
        stream.truncate()
        stream.write(str(os.getpid()))
        stream.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()


def _taken(path: Path) -> IO[str]:
    """The file, locked and still in its place: whoever held it before may have removed it."""
    while True:
        stream = open(path, "a+", encoding="ascii")  # noqa: SIM115 - the caller closes it
        try:
            _take(stream)
            if os.path.samestat(os.fstat(stream.fileno()), os.stat(path)):
                return stream
        except FileNotFoundError:
            pass
        except OSError as error:
            with stream:
                raise _refusal(path, stream, error) from None
        stream.close()


def _refusal(path: Path, stream: IO[str], error: OSError) -> OSError:
    if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
        return OSError(f"{path.parent} cannot be locked ({error}); choose another folder")
    stream.seek(0)
    owner = stream.read().strip() or "unknown"
    return BlockingIOError(
        f"{path.parent} is in use by another comparison (process {owner}); wait for it, stop it, "
        "or choose another folder"
    )


if sys.platform == "win32":
    import msvcrt

    def _take(stream: Any) -> None:
        # a byte far behind the text, which others may then still read
        stream.seek(2**20)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(stream: Any) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
