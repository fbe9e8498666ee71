"""What a log of corrections amounts to: which rows there are, their order and their labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from plurilabel.serve._rows import BadInput
from plurilabel.serve._store import Entry


@dataclass
class Ledger:
    """The rows of the training set under a log of corrections.

    The first ``n_given`` rows are those that the model has been fitted on; a row that a
    correction adds has the number ``n_given + entry.id``. A row keeps its number. In the order of
    the training set a row moves to the end whenever its labels change, because that is where a
    learner puts what it learns: so the training set is a function of the log.

    Parameters
    ----------
    n_given : int
        Rows of the model's own training set.

    Examples
    --------
    >>> from plurilabel.serve import Ledger, Store
    >>> ledger = Ledger(3)
    >>> ledger.add(Store.new(1, row=0, labels=["sun"]))
    0
    >>> ledger.add(Store.new(2, features={"x": 1.0}, labels=["sea"]))
    5
    >>> list(ledger.changed), ledger.labels(0), ledger.labels(1)
    ([0, 5], ('sun',), None)
    >>> ledger.add(Store.new(3, undoes=1))
    0
    >>> list(ledger.changed), ledger.labels(0)
    ([5, 0], None)
    """

    n_given: int
    entries: dict[int, Entry] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)
    """Rows that are not where they were at first, in the order of the training set."""
    _said: dict[int, list[Entry]] = field(
        default_factory=dict
    )  # what holds for a row, latest last
    keys: dict[str, int] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Number of the last entry; 0 for none."""
        return len(self.entries)

    def has(self, row: int) -> bool:
        """Whether there is such a row."""
        return 0 <= row < self.n_given or bool(self._said.get(row))

    def labels(self, row: int) -> tuple[str, ...] | None:
        """The labels that were given to a row; None if it has those of the training set."""
        said = self._said.get(row)
        return said[-1].labels if said else None

    def in_force(self, row: int) -> list[int]:
        """The corrections of a row that are not undone, the latest first."""
        return [entry.id for entry in reversed(self._said.get(row, []))]

    def features(self, row: int) -> object:
        """What a row is that a correction has added."""
        return self.entries[row - self.n_given].features

    def row_of(self, entry: Entry) -> int:
        """The row that an entry is about."""
        if entry.undoes is not None:
            return self.row_of(self.entries[entry.undoes])
        return self.n_given + entry.id if entry.row is None else entry.row

    def undone(self, id: int) -> bool:
        """Whether a correction does not hold any more."""
        entry = self.entries[id]
        return entry not in self._said.get(self.row_of(entry), [])

    def check(self, entry: Entry) -> None:
        """Raise an error for an entry that makes no sense here."""
        if entry.undoes is not None:
            target = self.entries.get(entry.undoes)
            if target is None or target.undoes is not None:
                raise BadInput(f"there is no correction {entry.undoes}", status=404)
            if self.undone(target.id):
                raise BadInput(f"correction {entry.undoes} is undone already", status=409)
            row = self.row_of(target)
            if row >= self.n_given and target.row is None and len(self._said[row]) > 1:
                raise BadInput(
                    f"row {row} has been corrected since: undo correction "
                    f"{self._said[row][-1].id} first",
                    status=409,
                )
        elif entry.row is not None and not self.has(entry.row):
            raise BadInput(f"there is no row {entry.row}", status=404)

    def add(self, entry: Entry) -> int:
        """Take an entry to the log; returns its row."""
        self.check(entry)
        row = self.row_of(entry)
        self.entries[entry.id] = entry
        if entry.key is not None:
            self.keys[entry.key] = entry.id
        if entry.undoes is None:
            self._said.setdefault(row, []).append(entry)
        else:
            self._said[row].remove(self.entries[entry.undoes])
        self.changed.pop(row, None)
        if row < self.n_given or self._said[row]:
            self.changed[row] = None
        return row

    def copy(self) -> Ledger:
        """A ledger that can be added to without changing this one."""
        said = {row: list(entries) for row, entries in self._said.items()}
        return Ledger(self.n_given, dict(self.entries), dict(self.changed), said, dict(self.keys))


def replayed(n_given: int, entries: Iterable[Entry]) -> Ledger:
    """The ledger after a log."""
    ledger = Ledger(n_given)
    for entry in entries:
        ledger.add(entry)
    return ledger
