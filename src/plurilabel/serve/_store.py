"""Corrections on disk: a log that only grows, in SQLite."""

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
    """One line of the log: a correction, or the undoing of one.

    Attributes
    ----------
    id : int
        From 1, without gaps. It is also the version of the model that has learned it.
    time : str
        In UTC.
    row : int or None
        The row whose labels are corrected; None for a new row.
    features : row of JSON, or None
        What a new row is.
    labels : tuple of str or None
        The right labels; None where a correction is undone.
    undoes : int or None
        The correction that is undone.
    key : str or None
        What a client calls this correction, so that it can be sent again without harm.
    """

    id: int
    time: str
    row: int | None
    features: Any
    labels: tuple[str, ...] | None
    undoes: int | None = None
    key: str | None = None


class StoreError(ValueError):
    """A file of corrections that cannot be used."""


class Store:
    """The log of corrections, in a file of SQLite.

    What :meth:`append` has returned from is on disk: the file is in WAL mode and synchronised at
    every commit. One process at a time may have it open.

    Parameters
    ----------
    path : str or path
        ``":memory:"`` keeps the log in memory.
    about : mapping of str to str
        What the log belongs to, such as a digest of the model. A file that says otherwise is
        refused.

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
            # the learning thread writes, another one may close
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            folder = os.path.dirname(os.path.abspath(self.path))
            closed = not os.access(folder, os.W_OK)
            why = f"the folder {folder} is missing or not writable" if closed else error
            raise StoreError(f"{self.path} cannot be opened: {why}") from None
        try:
            self._open({"format": str(FORMAT), **about})
        except sqlite3.DatabaseError as error:
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
        """The whole log."""
        rows = self._db.execute(
            "SELECT id, time, row, features, labels, undoes, key FROM entries ORDER BY id"
        )
        return [
            Entry(
                id=id,
                time=time,
                row=row,
                features=None if features is None else json.loads(features),
                labels=None if labels is None else tuple(json.loads(labels)),
                undoes=undoes,
                key=key,
            )
            for id, time, row, features, labels, undoes, key in rows
        ]

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
        """An entry of now."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        return Entry(
            id, time, row, features, None if labels is None else tuple(labels), undoes, key
        )

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries; they are on disk, all of them, when this returns."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        e.id,
                        e.time,
                        e.row,
                        None if e.features is None else json.dumps(e.features),
                        None if e.labels is None else json.dumps(e.labels),
                        e.undoes,
                        e.key,
                    )
                    for e in entries
                ],
            )
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()
