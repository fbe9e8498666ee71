"""Append-only logs in SQLite: of corrections, and of anything else."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

FORMAT = 1
MOST_STORED = 256 << 20
_PER_ENTRY = 500  # bytes of an entry in addition to its text
_FULL = 64 << 10  # a disk with fewer free bytes is full
_ABOUT = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


def now() -> str:
    """The time in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Entry:
    """An entry of the log: a correction of a row, a new row, or the undoing of a correction.

    Ids are consecutive numbers from 1, and also the versions of the model that has learned the
    entry. The time is in UTC. With a key, chosen by the client, a correction can be sent again.
    """

    id: int
    time: str = field(default_factory=now)
    row: int | None = None
    features: Any = None
    labels: tuple[str, ...] | None = None
    undoes: int | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.labels is not None:  # JSON has lists
            object.__setattr__(self, "labels", tuple(self.labels))


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


class Log:
    """An append-only log in an SQLite file or ``":memory:"``.

    Entries are on disk when :meth:`append` returns: the file is in WAL mode and synchronized at
    every commit. Only one process at a time can open it; nothing is appended to a file that was
    removed, replaced or changed meanwhile. ``about`` identifies what the log belongs to; the file
    of something else is rejected. At most ``most`` bytes are written. Subclasses name the columns
    of the table, which are the fields of an ``entry`` and begin with a consecutive number from 1,
    those that are written ``as_json``, and ``what`` the entries are.
    """

    table: str
    entry: type
    columns: ClassVar[Mapping[str, str]]
    as_json: tuple[str, ...]
    what: str
    full: str

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
            with self._in_words(f"cannot be used for {self.what}"):
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
                    f"{path} was {what} while the service was running: no {self.what} are stored "
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
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        self._db.executescript(
            f"{_ABOUT}CREATE TABLE IF NOT EXISTS {self.table} ({columns}) STRICT;"
        )
        self._db.execute("BEGIN IMMEDIATE")
        there = dict(self._db.execute("SELECT name, value FROM about"))
        if not there:
            self._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        self._db.execute("COMMIT")
        for name, value in about.items():
            if there and there.get(name) != value:
                raise StoreError(
                    f"{self.path} holds {self.what} of another {name}: {there.get(name)!r}, "
                    f"not {value!r}; go back to the original, or give a new file"
                )

    def kept(self, name: str, value: str) -> str:
        """What the file says of a name; it takes the value if it says nothing yet."""
        with self._in_words("cannot be written"):
            self._db.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (name, value))
            query = "SELECT value FROM about WHERE name = ?"
            ((found,),) = self._db.execute(query, (name,)).fetchall()
        self._known = self._stats()
        return str(found)

    def entries(self) -> list[Any]:
        """All entries, in order."""
        found = []
        for row in self._read():
            try:
                named = zip(self.columns, row)
                found.append(self.entry(*(self._decoded(name, cell) for name, cell in named)))
            except (ValueError, TypeError, RecursionError) as error:
                problem = f"{self.what[:-1]} {row[0]}: {error}"
                raise StoreError(f"{self.path} is damaged: {problem}") from None
        return found

    def _decoded(self, name: str, cell: Any) -> Any:
        return json.loads(cell) if name in self.as_json and cell is not None else cell

    def _encoded(self, name: str, value: Any) -> Any:
        return json.dumps(value) if name in self.as_json and value is not None else value

    def append(self, entries: Sequence[Any]) -> None:
        """Write entries in one transaction; they are on disk when this returns."""
        names = list(self.columns)
        self._write([tuple(self._encoded(n, getattr(one, n)) for n in names) for one in entries])

    def _read(self) -> list[tuple[Any, ...]]:
        with self._in_words("cannot be read"):
            query = f"SELECT {', '.join(self.columns)} FROM {self.table} ORDER BY id"
            rows = self._db.execute(query).fetchall()
        for place, row in enumerate(rows, 1):
            if row[0] != place:
                problem = f"{self.what[:-1]} {place} is missing"
                raise StoreError(f"{self.path} is damaged: {problem}")
        self.size = sum(map(_size, rows))
        return rows

    def _write(self, rows: Sequence[tuple[Any, ...]]) -> None:
        size = self.size + sum(map(_size, rows))
        if size > self.most:
            problem = f"would hold more than {self.most:,} bytes of {self.what}"
            raise StoreError(f"{self.path} {problem}: {self.full}", status=507)
        self._check_files()
        with self._in_words(f"cannot be written, the {self.what} are not stored"):
            try:
                self._db.execute("BEGIN IMMEDIATE")
                marks = ", ".join("?" * len(self.columns))
                self._db.executemany(f"INSERT INTO {self.table} VALUES ({marks})", rows)
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


class Store(Log):
    """The log of corrections. ``about`` identifies the model, and all entries are in memory."""

    table, what, entry = "entries", "corrections", Entry
    as_json = ("features", "labels")
    columns: ClassVar = {
        "id": "INTEGER PRIMARY KEY",
        "time": "TEXT NOT NULL",
        "row": "INTEGER",
        "features": "TEXT",
        "labels": "TEXT",
        "undoes": "INTEGER REFERENCES entries (id)",
        "key": "TEXT UNIQUE",
    }
    full = "fit a model on the exported rows, and give a new file"


def _size(row: tuple[Any, ...]) -> int:
    """Bytes that a row counts: its texts but the time, and what SQLite and Python add."""
    return _PER_ENTRY + sum(len(cell) for cell in row[2:] if isinstance(cell, str))
