"""Rows of a table, and what people have said about them."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from plurilabel import io
from plurilabel._core.blocks import dense
from plurilabel._core.data.dataset import Dataset
from plurilabel._core.records import digest_of
from plurilabel.io.shared import as_table, is_texts, open_frame, table_module
from plurilabel.serve._row_reader import BadInput, check_text, json_value
from plurilabel.serve._store import StoreError, now
from plurilabel.serve.labeling import _exchange as exchange
from plurilabel.serve.labeling._state import LONGEST, Event, Events, State

IMAGES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp",
}  # fmt: skip


class AnnotatedRows:
    """Rows, and all that people have said about them, in a log on disk.

    Subclasses learn what is said in ``_learn``, and fill ``_leases`` with the rows that people
    are looking at.
    """

    def __init__(
        self, data: Any, *, store: str | os.PathLike[str], name: str | None, text: Any,
        categorical: Any, drop: Any, random_state: int, **reading: Any,
    ) -> None:  # fmt: skip
        table = _table(data, reading)
        self.frame, self.folder = table.frame, Path(table.path or ".").parent
        self.name = name or table.name or "labels"
        n = len(self.frame)
        if n == 0:
            raise ValueError("data must have at least one row, got none")
        self.images = [c for c in self.frame.columns if _are_images(self.frame[c])]
        self.elsewhere = any(_is_address(v) for c in self.images for v in self.frame[c].tolist())
        left_out = [*([drop] if isinstance(drop, str) else drop or ()), *self.images]
        options = {"text": text, "categorical": categorical, "drop": left_out or None}
        self.encoder = self._encoder(options, texts=is_texts(data))
        self.kinds = dict(self.encoder.kinds or {})
        seed = int(np.random.SeedSequence(random_state).generate_state(1)[0])
        about = {"number of rows": str(n), "table": digest_of(_cells(self.frame))}
        self.log = Events(store, about)
        try:
            self.seed = int(self.log.kept("seed", str(seed)))
            self.events = self.log.entries()
            self.state = State.replayed(n, self.events)
            self.n_answered = len(self.state.answered())  # for threads without the lock
        except BadInput as error:
            self.log.close()
            raise StoreError(f"{self.log.path} is damaged: {error}") from None
        except BaseException:
            self.log.close()
            raise
        self._lock, self._closed = threading.RLock(), False
        # person, since when, whether drawn at random
        self._leases: dict[int, tuple[str, float, bool]] = {}

    def _encoder(self, options: Mapping[str, Any], texts: bool) -> io.TableEncoder:
        """The encoder of the columns that tell something."""
        if len(options["drop"] or ()) == len(self.frame.columns):
            return io.TableEncoder(kinds={})
        if texts:
            options = {**options, "text": list(self.frame.columns)}
        return io.table_encoder(self.frame, **options)

    def features_of(self, row: int) -> dict[str, Any]:
        """The cells of a row, by column."""
        if not 0 <= row < self.state.n_rows:
            raise BadInput(f"there is no row {row}", status=404)
        cells = zip(self.frame.columns, self.frame.iloc[row].tolist())
        return {name: json_value(_plain(value)) for name, value in cells}

    def image(self, row: int, column: str) -> tuple[bytes, str]:
        """The content and media type of an image file of a row."""
        name = str(self.features_of(row).get(column)) if column in self.images else ""
        try:
            kind = IMAGES[Path(name).suffix.lower()]
            return (self.folder / name).read_bytes(), kind
        except (KeyError, OSError, ValueError):  # no image, no such file, no name of a file
            problem = f"row {row} has no image file in column {column!r}"
            raise BadInput(problem, status=404) from None

    @property
    def version(self) -> int:
        """Number of the last event."""
        return len(self.events)

    def say(
        self, person: str, kind: str, said: Mapping[str, Any], key: str | None = None
    ) -> dict[str, Any]:
        """Store what a person says, and learn it.

        Parameters
        ----------
        person : str
        kind : str
            "answer" (``rows``, ``labels``), "skip" (``rows``), "flag" (``rows``, ``on``),
            "comment" (``rows``, ``text``); "label" (``name``, ``description``), "rename"
            (``label``, ``name``), "describe" (``label``, ``description``), "merge" (``labels``,
            ``into``), "split" (``label``, ``into``: rows with the label are asked again),
            "remove" (``label``); "undo" (``id`` of an event).
        said : dict
        key : str, default=None
            Chosen by the caller: what was said already with this key is not said again.

        Returns
        -------
        dict
            ``id`` of the event, ``version`` of the project, and how many rows are ``answered``.
        """
        person = checked_name(person)
        if not isinstance(said, Mapping):
            raise BadInput(f"said must be an object, got {type(said).__name__}")
        if key is not None and (not isinstance(key, str) or not 0 < len(key) <= LONGEST):
            raise BadInput(f"key must be a text of at most {LONGEST} characters")
        with self._lock:
            if self._closed:
                raise BadInput("the service is being stopped", status=503)
            if key is not None and (before := self._said_before(key)):
                return self._done(before.id)
            said = dict(said)
            if kind in ("answer", "skip"):
                said.pop("audit", None)
                said |= self._audit(person, said.get("rows"))
            event = Event(self.version + 1, now(), person, kind, said, key)
            self._take([event])
            return self._done(event.id)

    def _said_before(self, key: str) -> Event | None:
        return next((event for event in self.events if event.key == key), None)

    def _done(self, id: int) -> dict[str, Any]:
        return {"id": id, "version": self.version, "answered": self.n_answered}

    def _take(self, events: list[Event]) -> None:
        """Check events, store them, and learn them."""
        state = self.state
        try:
            if len(events) > 1 or events[0].kind == "undo":
                state = self._replayed_with(events)
            else:
                state.apply(events[0])
            self.log.append(events)
        except BaseException:
            self.state = State.replayed(state.n_rows, self.events)  # one may be half applied
            raise
        self.events, self.state = [*self.events, *events], state
        self.n_answered = len(state.answered())
        for row in (row for event in events for row in event.said.get("rows", ())):
            self._leases.pop(row, None)
        self._learn()

    def _learn(self) -> None:
        """Learn what was said last; it is on disk."""

    def _replayed_with(self, events: list[Event]) -> State:
        """The state after imported answers, or an undo."""
        event, everything = events[0], [*self.events, *events]
        if event.kind != "undo":
            return State.replayed(self.state.n_rows, everything)
        id = event.said.get("id")
        if set(event.said) != {"id"} or type(id) is not int or not 0 < id <= self.version:
            raise BadInput(f"there is no event {id!r} to undo", status=404)
        undone = {one.said["id"] for one in self.events if one.kind == "undo"}
        if self.events[id - 1].kind == "undo":
            raise BadInput("an undo cannot be undone; say it again instead", status=409)
        if id in undone:
            raise BadInput(f"{id} is undone already", status=409)
        try:
            return State.replayed(self.state.n_rows, everything)
        except BadInput as error:
            problem = f"{id} cannot be undone before what was said after it: {error}"
            raise BadInput(problem, status=409) from None

    def _audit(self, person: str, rows: Any) -> dict[str, int]:
        """The row among some that was drawn at random for a person, and is shown only now."""
        first = rows[0] if isinstance(rows, list) and rows and type(rows[0]) is int else -1
        who, _, audit = self._leases.get(first, ("", 0.0, False))
        return {"audit": first} if audit and who == person else {}

    def labels_of(self, row: int) -> list[str]:
        """Current labels of a row."""
        return self.state.named(self.state.labels_of(row) or ())

    def history(self, most: int = 100, person: str | None = None) -> list[dict[str, Any]]:
        """What was said, the latest first."""
        undone = {event.said["id"] for event in self.events if event.kind == "undo"}
        said = [e for e in reversed(self.events) if person is None or e.person == person][:most]
        return [
            {"time": e.time, "person": e.person, "kind": e.kind, "undone": e.id in undone,
             **e.said, "undoes": e.said.get("id"), "id": e.id}
            for e in said
        ]  # fmt: skip

    @property
    def label_column(self) -> str:
        """Column of the labels in exported tables."""
        name = "labels"
        while name in self.frame.columns:
            name += "_given"
        return name

    def export(self, format: str = "csv") -> bytes:
        """Export the answered rows.

        Parameters
        ----------
        format : {"csv", "jsonl", "label-studio", "votes"}
            A table for ``plurilabel fit``, tasks of Label Studio with an annotation per person,
            or the opinion of each person on each label for ``plurilabel fuse``.
        """
        if format not in exchange.FORMATS:
            raise BadInput(f"format must be one of {', '.join(exchange.FORMATS)}")
        with self._lock:
            state, rows = self.state, self.state.answered()
            given = {
                row: {p: (state.named(a.labels), a.seconds) for p, a in state.answers[row].items()}
                for row in rows
            }
            if format == "votes":
                said = [(row, p, one[0]) for row in rows for p, one in given[row].items()]
                return exchange.votes(said, list(state.names.values()))
            if format == "label-studio":
                return exchange.tasks((row, self.features_of(row), given[row]) for row in rows)
            found = [(self.features_of(row), self.labels_of(row)) for row in rows]
        return exchange.written(found, list(self.frame.columns), self.label_column, format)

    def load(self, content: bytes, name: str, person: str = "imported") -> dict[str, Any]:
        """Import answers: tasks of Label Studio, or a table as :meth:`export` writes it.

        Rows are found by their cells, and unknown labels are added. All answers are stored, or
        none.
        """
        given = exchange.read(content, name, self.label_column)
        columns = list(self.frame.columns)
        rows = exchange.matched(
            given, [self.features_of(row) for row in range(self.state.n_rows)], columns
        )
        with self._lock:
            have, time = set(self.state.names.values()), now()
            new = dict.fromkeys(label for one in given for label in one.labels)
            said: list[tuple[str, str, dict[str, Any]]] = [
                (checked_name(person), "label", {"name": label})
                for label in new
                if label not in have
            ]
            n_new = len(said)
            for row, one in zip(rows, given):
                told = {"rows": [row], "labels": one.labels, "seconds": one.seconds}
                said.append((checked_name(one.person or person), "answer", told))
            if said:
                first = self.version + 1
                self._take([Event(first + i, time, *one) for i, one in enumerate(said)])
        return {"version": self.version, "answers": len(given), "labels": n_new}

    def close(self) -> None:
        """Close the store; a training in progress is given up."""
        with self._lock:
            self._closed = True
            self.log.close()


def checked_name(person: Any) -> str:
    """A name without spaces around it; an empty one is allowed."""
    if not isinstance(person, str) or len(person) > LONGEST:
        raise BadInput(f"person must be a name of at most {LONGEST} characters")
    check_text(person, None, None, "the name")
    return " ".join(person.split())


def _table(data: Any, reading: dict[str, Any]) -> Any:
    if isinstance(data, Dataset):
        pandas = table_module("pandas")
        names = list(map(str, data.feature_names)) or None
        data = (
            data.X if hasattr(data.X, "iloc") else pandas.DataFrame(dense(data.X), columns=names)
        )
    if hasattr(data, "columns") or isinstance(data, str | os.PathLike):
        return open_frame(data, **reading)
    return as_table(data)


def _are_images(column: Any) -> bool:
    """Whether all cells of a column that are not empty name images."""
    cells = [cell for cell in column.tolist() if isinstance(cell, str) and cell.strip()]
    return bool(cells) and all(Path(c.partition("?")[0]).suffix.lower() in IMAGES for c in cells)


def _is_address(cell: Any) -> bool:
    return isinstance(cell, str) and cell.startswith(("http://", "https://"))


def _cells(frame: Any) -> list[Any]:
    return [list(map(str, frame.columns)), *([str(v) for v in frame[c].tolist()] for c in frame)]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
