"""One process at a time in a folder."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; an error if another process holds it.

    The operating system holds the lock for the process, and so lets go of it however the
    process ends. The file stays: it says who was last, and means nothing by itself.
    """
    path = folder / ".lock"
    with open(path, "a+", encoding="ascii") as stream:
        try:
            _take(stream)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise OSError(
                    f"{folder} cannot be locked ({error}); choose another folder"
                ) from None
            stream.seek(0)
            owner = stream.read().strip() or "unknown"
            raise BlockingIOError(
                f"{folder} is in use by another comparison (process {owner}); wait for it, stop "
                "it, or choose another folder"
            ) from None
        stream.seek(0)
        stream.truncate()
        stream.write(str(os.getpid()))
        stream.flush()
        yield


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
