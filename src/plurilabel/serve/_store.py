"""An append-only log of corrections in SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

FORMAT = 1
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


@dataclass(frozen=True)
class Entry:
    """An entry of the log: a correction, or the undoing of one.

    Attributes
    ----------
    id : int
        Consecutive number from 1. It is also the version of the model that has learned it.
    time : str
        Time in UTC.
    row : int or None
        The row whose labels are corrected; None for a new row.
    features : JSON row or None
        Features of a new row.
    labels : tuple of str or None
        The correct labels; None if the entry undoes a correction.
    undoes : int or None
        The correction that is undone.
    key : str or None
        A name chosen by the client, so that the correction can safely be sent again.
    """

    id: int
    time: str
    row: int | None
    features: Any
    labels: tuple[str, ...] | None
    undoes: int | None = None
    key: str | None = None


class StoreError(ValueError):
    """The file of corrections cannot be used."""


class Store:
    """The log of corrections, in an SQLite file.

    Entries are on disk when :meth:`append` returns: the file is in WAL mode and synchronised at
    every commit. Only one process at a time can open it.

    Parameters
    ----------
    path : str or path
        ``":memory:"`` keeps the log in memory.
    about : mapping of str to str
        Identifies the model that the log belongs to, such as by a digest. A file of another model
        is rejected.

    Examples
    --------
    >>> from plurilabel.serve import Store
    >>> store = Store(":memory:", {"model": "abc"})
    >>> entry = store.new(1, row=7, labels=["sea", "sun"])
    >>> store.append([entry])
    >>> [(e.id, e.row, e.labels) for e in store.entries()]
    [(1, 7, ('sea', 'sun'))]
    >>> store.close()
    """

    def __init__(self, path: str | os.PathLike[str], about: Mapping[str, str]) -> None:
        self.path = os.fspath(path)
        try:
            # one thread appends, another may close
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            folder = os.path.dirname(os.path.abspath(self.path))
            closed = not os.access(folder, os.W_OK)
            why = f"the folder {folder} is missing or not writable" if closed else error
            raise StoreError(f"{self.path} cannot be opened: {why}") from None
        try:
            self._open({"format": str(FORMAT), **about})
        except (
            sqlite3.DatabaseError,
            UnicodeError,
        ) as error:  # whose words may be those of the file
            self._db.close()
            if "locked" in str(error):
                raise StoreError(f"{self.path} is in use by another process") from None
            raise StoreError(f"{self.path} cannot be used for corrections: {error}") from None
        except StoreError:
            self._db.close()
            raise

    def _open(self, about: Mapping[str, str]) -> None:
        self._db.execute("PRAGMA busy_timeout = 500")
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
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
        """Return all entries of the log."""
        found = []
        try:
            for id, time, row, features, labels, *rest in self._db.execute(
                "SELECT id, time, row, features, labels, undoes, key FROM entries ORDER BY id"
            ):
                features = None if features is None else json.loads(features)
                labels = None if labels is None else tuple(json.loads(labels))
                found.append(Entry(id, time, row, features, labels, *rest))
        except (sqlite3.DatabaseError, TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.path} is damaged: {error}") from None
        return found

    @staticmethod
    def new(
        id: int,
        *,
        row: int | None = None,
        features: Any = None,
        labels: Sequence[str] | None = None,
        undoes: int | None = None,
        key: str | None = None,
    ) -> Entry:
        """Create an entry with the current time."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        names = None if labels is None else tuple(labels)
        return Entry(id, time, row, features, names, undoes, key)

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries in one transaction; they are on disk when this returns."""
        rows = []
        for e in entries:
            features = None if e.features is None else json.dumps(e.features)
            labels = None if e.labels is None else json.dumps(e.labels)
            rows.append((e.id, e.time, e.row, features, labels, e.undoes, e.key))
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()
