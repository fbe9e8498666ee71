"""The training rows, their order and their labels after a log of corrections."""

from __future__ import annotations

from dataclasses import dataclass, field

from plurilabel.serve._row_reader import BadInput
from plurilabel.serve._store import Entry


@dataclass
class Ledger:
    """The training set after a log of corrections.

    The first ``n_given`` rows are those that the model was fitted on; a row added by a correction
    has the number ``n_given + entry.id``. Row numbers never change. A row moves to the end of the
    training set whenever its labels change, since learners append what they learn: the training
    set is thus a function of the log.
    """

    n_given: int
    entries: dict[int, Entry] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)
    """Rows that have moved, in the order of the training set."""
    # corrections in force by row, the latest last
    _in_force: dict[int, list[Entry]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Number of the last entry; 0 for none."""
        return len(self.entries)

    def rows(self) -> list[int]:
        """Numbers of all rows, in the order of the training set."""
        return [r for r in range(self.n_given) if r not in self.changed] + list(self.changed)

    def has(self, row: int) -> bool:
        """Whether the row exists."""
        return 0 <= row < self.n_given or bool(self._in_force.get(row))

    def labels(self, row: int) -> tuple[str, ...] | None:
        """Corrected labels of a row; None if it has its original labels."""
        corrections = self._in_force.get(row)
        return corrections[-1].labels if corrections else None

    def in_force(self, row: int) -> list[int]:
        """Ids of the corrections of a row that are not undone, the latest first."""
        return [entry.id for entry in reversed(self._in_force.get(row, []))]

    def features(self, row: int) -> object:
        """Features of a row that was added by a correction."""
        return self.entries[row - self.n_given].features

    def row_of(self, entry: Entry) -> int:
        """The row that an entry corrects or adds."""
        if entry.undoes is not None:
            return self.row_of(self.entries[entry.undoes])
        return self.n_given + entry.id if entry.row is None else entry.row

    def undone(self, id: int) -> bool:
        """Whether a correction has been undone."""
        entry = self.entries[id]
        return entry not in self._in_force.get(self.row_of(entry), [])

    def check(self, entry: Entry) -> None:
        """Raise an error for an entry that cannot be added."""
        if entry.undoes is None:
            if entry.row is not None and not self.has(entry.row):
                raise BadInput(f"there is no row {entry.row}", status=404)
            return
        target = self.entries.get(entry.undoes)
        if target is None or target.undoes is not None:
            raise BadInput(f"there is no correction {entry.undoes}", status=404)
        if self.undone(target.id):
            raise BadInput(f"correction {entry.undoes} is undone already", status=409)
        row = self.row_of(target)
        if target.row is None and len(self._in_force[row]) > 1:
            last = self._in_force[row][-1].id
            problem = f"row {row} has been corrected since: undo correction {last} first"
            raise BadInput(problem, status=409)

    def add(self, entry: Entry) -> int:
        """Add an entry to the log and return its row."""
        self.check(entry)
        row = self.row_of(entry)
        self.entries[entry.id] = entry
        if entry.key is not None:
            self.keys[entry.key] = entry.id
        if entry.undoes is None:
            self._in_force.setdefault(row, []).append(entry)
        else:
            self._in_force[row].remove(self.entries[entry.undoes])
        self.changed.pop(row, None)
        if row < self.n_given or self._in_force[row]:
            self.changed[row] = None
        return row

    def copy(self) -> Ledger:
        """Return an independent copy."""
        rows = {row: list(entries) for row, entries in self._in_force.items()}
        return Ledger(self.n_given, dict(self.entries), dict(self.changed), rows, dict(self.keys))
