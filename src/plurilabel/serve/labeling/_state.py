"""What people have said about the rows and labels of a project: the replay of its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar

from plurilabel._core.words import listed, shortened, similar
from plurilabel.serve._row_reader import BadInput, check_text
from plurilabel.serve._store import Log

LONGEST = 200  # characters of a name
LONGEST_TEXT = 10_000  # characters of a comment or a description
MOST_LABELS = 10_000
RESERVED = ";|"  # they separate the tags of a cell


@dataclass(frozen=True)
class Event:
    """An entry of the log: what a person said, and when. A key makes sending it again safe."""

    id: int
    time: str
    person: str
    kind: str
    said: Mapping[str, Any]
    key: str | None = None


class Events(Log):
    """The log of a project."""

    table, what, entry = "events", "answers", Event
    as_json = ("said",)
    columns: ClassVar = {
        "id": "INTEGER PRIMARY KEY",
        "time": "TEXT NOT NULL",
        "person": "TEXT NOT NULL",
        "kind": "TEXT NOT NULL",
        "said": "TEXT NOT NULL",
        "key": "TEXT UNIQUE",
    }
    full = "export them, and give a new file"


@dataclass(frozen=True)
class Answer:
    """The labels that a person gave a row, by id; a final answer decides a conflict."""

    event: int
    labels: frozenset[int]
    seconds: float | None = None
    final: bool = False


@dataclass
class State:
    """Labels, answers and remarks after some events; ``apply`` adds one.

    Labels are known by id, so that answers follow a label that is renamed or merged.
    """

    n_rows: int
    names: dict[int, str] = field(default_factory=dict)  # by id, in order
    about: dict[int, str] = field(default_factory=dict)  # descriptions, by id
    born: dict[int, int] = field(default_factory=dict)  # event since which answers tell of a label
    since: dict[int, int] = field(default_factory=dict)  # number of rows shown before that
    answers: dict[int, dict[str, Answer]] = field(default_factory=dict)  # by row and person
    again: dict[int, None] = field(default_factory=dict)  # rows of a label that was split
    shown: dict[int, bool] = field(default_factory=dict)  # answered or skipped: drawn at random?
    skips: dict[int, set[str]] = field(default_factory=dict)
    flags: dict[int, str] = field(default_factory=dict)  # row: who flagged it
    comments: dict[int, list[dict[str, str]]] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)  # last event that used each label
    _next: int = 0

    @classmethod
    def replayed(cls, n_rows: int, events: Iterable[Event]) -> State:
        """The state after all events but those that were undone, and the undoing."""
        events = list(events)
        undone = {event.said["id"] for event in events if event.kind == "undo"}
        state = cls(n_rows)
        for event in events:
            if event.id in undone and "audit" in event.said:  # the draw was seen, and counts
                state.shown.setdefault(event.said["audit"], True)
            elif event.id not in undone and event.kind != "undo":
                state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Add an event, or raise an error and change nothing."""
        work = _KINDS.get(event.kind) if isinstance(event.kind, str) else None
        if work is None:
            kinds = listed(sorted([*_KINDS, "undo"]))
            raise BadInput(f"unknown kind {event.kind!r}; there are {kinds}")
        if strange := [name for name in event.said if name not in _FIELDS[event.kind]]:
            raise BadInput(f"unknown field {strange[0]!r}")
        work(self, event, **event.said)

    # reading ----------------------------------------------------------------------------------

    def id_of(self, name: Any) -> int:
        for id, other in self.names.items():
            if other == name:
                return id
        close = similar(str(name), list(self.names.values())) if isinstance(name, str) else None
        hint = f"; did you mean {close!r}?" if close else ""
        raise BadInput(f"there is no label {shortened(str(name))!r}{hint}")

    def labels_of(self, row: int) -> frozenset[int] | None:
        """Labels of a row: those of most people, the latest answer if there is a tie."""
        if row in self.again or not (given := self.answers.get(row)):
            return None
        last = max(given.values(), key=lambda answer: (answer.final, answer.event))
        if last.final or len(given) == 1:
            return last.labels
        votes = Counter(label for answer in given.values() for label in answer.labels)
        half = len(given) / 2
        sure = {label for label, n in votes.items() if n > half}
        return frozenset(sure | {label for label in last.labels if votes[label] == half})

    def answered(self) -> list[int]:
        """Rows with labels, in the order of their first answers."""
        return [row for row in self.answers if row not in self.again]

    def skipped(self) -> list[int]:
        """Rows that were skipped and have no answer."""
        return [row for row in self.skips if row not in self.answers]

    def in_conflict(self, row: int) -> bool:
        """Whether people gave a row different labels, and nobody has decided."""
        given = self.answers.get(row, {}).values()
        return len({a.labels for a in given}) > 1 and not any(a.final for a in given)

    def named(self, labels: Iterable[int]) -> list[str]:
        """Names of labels, in order."""
        wanted = set(labels)
        return [name for id, name in self.names.items() if id in wanted]

    # events: what was said are keyword arguments, of any types -------------------------------

    def _rows(self, rows: Any) -> list[int]:
        if not isinstance(rows, list) or not rows or any(type(row) is not int for row in rows):
            raise BadInput("rows must be a list of row numbers")
        if strange := [row for row in rows if not 0 <= row < self.n_rows]:
            raise BadInput(f"there is no row {strange[0]}; there are {self.n_rows:,}")
        return list(dict.fromkeys(rows))

    def _add(self, event: Event, name: Any = None, description: Any = "") -> None:
        name, about = self._new_name(name), _text(description, "description")
        if len(self.names) >= MOST_LABELS:
            raise BadInput(f"there may be at most {MOST_LABELS:,} labels")
        self._made(name, about, event.id if self.answers else 0, len(self.shown))

    def _made(self, name: str, about: str, born: int, since: int) -> None:
        id = self._next
        self.names[id], self.about[id], self.born[id], self.since[id] = name, about, born, since
        self._next += 1

    def _new_name(self, name: Any, but: Sequence[int] = ()) -> str:
        if not isinstance(name, str) or not (name := " ".join(name.split())):
            raise BadInput("a label needs a name")
        check_text(name, None, None, "the name")
        if len(name) > LONGEST:
            raise BadInput(f"the name of a label may have at most {LONGEST} characters")
        if bad := next((mark for mark in RESERVED if mark in name), None):
            raise BadInput(f"the name of a label must not have {bad!r}, got {shortened(name)!r}")
        if name in (other for id, other in self.names.items() if id not in but):
            raise BadInput(f"there is a label {name!r} already", status=409)
        return name

    def _rename(self, _: Event, label: Any = None, name: Any = None) -> None:
        id = self.id_of(label)
        self.names[id] = self._new_name(name, [id])

    def _describe(self, _: Event, label: Any = None, description: Any = "") -> None:
        self.about[self.id_of(label)] = _text(description, "description")

    def _merge(self, _: Event, labels: Any = None, into: Any = None) -> None:
        ids = [self.id_of(name) for name in labels] if isinstance(labels, list) else []
        if len(set(ids)) < 2:
            raise BadInput("labels must be the names of at least two labels to merge")
        name = self._new_name(into, ids)
        kept = next((id for id in ids if self.names[id] == name), ids[0])
        gone = set(ids) - {kept}
        self.names[kept] = name
        self.about[kept] = " ".join(filter(None, (self.about.get(id, "") for id in ids)))
        self.born[kept] = max(self.born[id] for id in ids)
        self.since[kept] = max(self.since[id] for id in ids)
        self._map(lambda labels: labels - gone | {kept} if labels & gone else labels)
        self._forget(gone)

    def _split(self, _: Event, label: Any = None, into: Any = None) -> None:
        id = self.id_of(label)
        given = into if isinstance(into, list) else []
        names = list(dict.fromkeys(self._new_name(name, [id]) for name in given))
        if len(names) < 2:
            raise BadInput("into must be a list of at least two names")
        for row, answers in self.answers.items():
            if any(id in answer.labels for answer in answers.values()):
                self.again[row] = None  # which of the parts it has must be asked
        born, since = self.born[id], self.since[id]
        self._map(lambda labels: labels - {id})
        self._forget({id})
        for name in names:
            self._made(name, "", born, since)

    def _remove(self, _: Event, label: Any = None) -> None:
        id = self.id_of(label)
        self._map(lambda labels: labels - {id})
        self._forget({id})

    def _map(self, change: Callable[[frozenset[int]], frozenset[int]]) -> None:
        for given in self.answers.values():
            for person, a in given.items():
                given[person] = replace(a, labels=change(a.labels))

    def _forget(self, ids: set[int]) -> None:
        for id in ids:
            for table in (self.names, self.about, self.born, self.since, self.used):
                table.pop(id, None)

    def _answer(
        self, event: Event, rows: Any = None, labels: Any = None, seconds: Any = None,
        final: Any = False, audit: Any = None,
    ) -> None:  # fmt: skip
        rows = self._rows(rows)
        if not isinstance(labels, list):
            raise BadInput("labels must be a list of names")
        if not isinstance(final, bool):
            raise BadInput("final must be true or false")
        if seconds is not None and (type(seconds) not in (int, float) or not 0 <= seconds < 1e9):
            raise BadInput("seconds must be a number from 0")
        ids = frozenset(map(self.id_of, labels))
        each = None if seconds is None else seconds / len(rows)
        for row in rows:
            self.answers.setdefault(row, {})[event.person] = Answer(event.id, ids, each, final)
            self.shown.setdefault(row, row == audit)
            self.again.pop(row, None)
            self.skips.pop(row, None)
        self.used |= dict.fromkeys(ids, event.id)

    def _skip(self, event: Event, rows: Any = None, audit: Any = None) -> None:
        for row in self._rows(rows):
            self.skips.setdefault(row, set()).add(event.person)
            self.shown.setdefault(row, row == audit)

    def _flag(self, event: Event, rows: Any = None, on: Any = True) -> None:
        if not isinstance(on, bool):
            raise BadInput("on must be true or false")
        for row in self._rows(rows):
            self.flags.pop(row, None)
            if on:
                self.flags[row] = event.person

    def _comment(self, event: Event, rows: Any = None, text: Any = "") -> None:
        one = {"person": event.person, "time": event.time, "text": _text(text, "text")}
        if not one["text"]:
            raise BadInput("a comment needs a text")
        for row in self._rows(rows):
            self.comments.setdefault(row, []).append(one)


_KINDS: dict[str, Callable[..., None]] = {
    "label": State._add,
    "rename": State._rename,
    "describe": State._describe,
    "merge": State._merge,
    "split": State._split,
    "remove": State._remove,
    "answer": State._answer,
    "skip": State._skip,
    "flag": State._flag,
    "comment": State._comment,
}
_FIELDS = {kind: list(signature(work).parameters)[2:] for kind, work in _KINDS.items()}


def _text(text: Any, name: str) -> str:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise BadInput(f"{name} must be a text of at most {LONGEST_TEXT:,} characters")
    check_text(text, None, None, f"the {name}")
    return text.strip()
