"""An append-only log of corrections in SQLite."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FORMAT = 1
MOST_STORED = 256 << 20
_PER_ENTRY = 500  # bytes of an entry in addition to its text
_FULL = 64 << 10  # a disk with fewer free bytes is full
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    row INTEGER,
    features TEXT,
    labels TEXT,
    undoes INTEGER REFERENCES entries (id),
    key TEXT UNIQUE
) STRICT;
"""
_SELECT = "SELECT id, time, row, features, labels, undoes, key FROM entries ORDER BY id"


@dataclass(frozen=True)
class Entry:
    """An entry of the log: a correction of a row, a new row, or the undoing of a correction.

    Ids are consecutive numbers from 1, and also the versions of the model that has learned the
    entry. The time is in UTC. With a key, chosen by the client, a correction can be sent again.
    """

    id: int
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    row: int | None = None
    features: Any = None
    labels: tuple[str, ...] | None = None
    undoes: int | None = None
    key: str | None = None


class StoreError(ValueError):
    """The file of corrections cannot be used.

    Attributes
    ----------
    status : int
        HTTP status code: 507 if there is no space left, otherwise 503.
    """

    def __init__(self, problem: str, *, status: int = 503) -> None:
        self.status = status
        super().__init__(problem)


class Store:
    """The log of corrections, in an SQLite file or ``":memory:"``.

    Entries are on disk when :meth:`append` returns: the file is in WAL mode and synchronized at
    every commit. Only one process at a time can open it; nothing is appended to a file that was
    removed, replaced or changed meanwhile. ``about`` identifies the model; a
    file of another model is rejected. All entries are kept in memory, with at most ``most`` bytes.
    """

    def __init__(
        self, path: str | os.PathLike[str], about: Mapping[str, str], *, most: int = MOST_STORED
    ) -> None:
        self.path, self.most, self.size = os.fspath(path), most, 0
        full = os.path.abspath(self.path)
        self._paths = [] if self.path == ":memory:" else [full, f"{full}-wal"]
        try:
            # one thread appends, another may close
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            folder = os.path.dirname(full)
            closed = not os.access(folder, os.W_OK)
            why = f"the folder {folder} is missing or not writable" if closed else error
            raise StoreError(f"{self.path} cannot be opened: {why}") from None
        try:
            with self._in_words("cannot be used for corrections"):
                self._open({"format": str(FORMAT), **about})
        except StoreError:
            self._db.close()
            raise
        self._known = self._stats()

    @contextmanager
    def _in_words(self, problem: str) -> Iterator[None]:
        """Name the file and the problem in errors of SQLite."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # some have words of the file in them
            if "locked" in str(error):
                raise StoreError(f"{self.path} is in use by another process") from None
            code = getattr(error, "sqlite_errorcode", None)
            full = code == sqlite3.SQLITE_FULL
            if code is not None and code & 0xFF == sqlite3.SQLITE_IOERR:  # also if a quota is full
                with suppress(OSError):
                    full = shutil.disk_usage(os.path.dirname(self._paths[0])).free < _FULL
            why, status = ("the disk is full", 507) if full else (error, 503)
            raise StoreError(f"{self.path} {problem}: {why}", status=status) from None

    def _stats(self) -> dict[str, os.stat_result]:
        """What identifies the files and their content, by path."""
        found = {}
        for path in self._paths:
            with suppress(FileNotFoundError):
                found[path] = os.stat(path)
        return found

    def _check_files(self, *, written: bool = False) -> None:
        """Raise an error if the files were removed or replaced.

        SQLite goes on writing to a removed file, so it must not have changed since the last write.
        """
        now = self._stats()
        for path, before in self._known.items():
            after = now.get(path)
            same = after is not None and os.path.samestat(before, after)
            if after is not None and same:
                same = after.st_size >= before.st_size
                if not written and os.name == "posix":  # elsewhere times may lag behind
                    same = same and after.st_mtime_ns == before.st_mtime_ns
            if not same:
                what = "removed" if after is None else "changed by another program"
                raise StoreError(
                    f"{path} was {what} while the service was running: no corrections are stored "
                    "until it is restarted; export the existing ones first"
                )

    def _open(self, about: Mapping[str, str]) -> None:
        self._db.execute("PRAGMA busy_timeout = 500")
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        ((found,),) = self._db.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise StoreError(f"{self.path} is damaged: {' '.join(found.split())[:200]}")
        self._db.executescript(_TABLES)
        self._db.execute("BEGIN IMMEDIATE")
        there = dict(self._db.execute("SELECT name, value FROM about"))
        if not there:
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        self._db.execute("COMMIT")
        for name, value in about.items():
            if there and there.get(name) != value:
                raise StoreError(
                    f"{self.path} holds corrections of another {name}: {there.get(name)!r}, "
                    f"not {value!r}; give a new file"
                )

    def entries(self) -> list[Entry]:
        found, size = list[Entry](), 0
        with self._in_words("cannot be read"):
            rows = self._db.execute(_SELECT).fetchall()
        for id, time, row, features, labels, undoes, key in rows:
            if id != len(found) + 1:
                raise StoreError(f"{self.path} is damaged: correction {len(found) + 1} is missing")
            try:
                record = None if features is None else json.loads(features)
                names = None if labels is None else tuple(json.loads(labels))
            except (ValueError, TypeError, RecursionError) as error:
                raise StoreError(f"{self.path} is damaged: correction {id}: {error}") from None
            found.append(Entry(id, time, row, record, names, undoes, key))
            size += _size(features, labels, key)
        self.size = size
        return found

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries in one transaction; they are on disk when this returns."""
        rows, size = [], self.size
        for e in entries:
            features = None if e.features is None else json.dumps(e.features)
            labels = None if e.labels is None else json.dumps(e.labels)
            rows.append((e.id, e.time, e.row, features, labels, e.undoes, e.key))
            size += _size(features, labels, e.key)
        if size > self.most:
            raise StoreError(
                f"{self.path} would hold more than {self.most:,} bytes of corrections: fit a "
                "model on the exported rows, and give a new file",
                status=507,
            )
        self._check_files()
        with self._in_words("cannot be written, the corrections are not stored"):
            try:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back already
                    self._db.execute("ROLLBACK")
                with suppress(StoreError):
                    self._note_write()  # of a part
                raise
        self._note_write()
        self.size = size

    def _note_write(self) -> None:
        self._check_files(written=True)
        self._known = self._stats()

    def close(self) -> None:
        self._db.close()


def _size(*texts: str | None) -> int:
    """Bytes that an entry counts."""
    return _PER_ENTRY + sum(len(text) for text in texts if text is not None)
