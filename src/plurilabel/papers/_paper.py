"""Published tables and figures as data: what is printed, how it was made, how close we must be.

A paper is a TOML file in ``data/``, read by :mod:`plurilabel.papers._read`. A figure that others
printed is never in the code, only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Split = Literal["holdout"] | int
"""The published training and test files, or the number of folds."""


@dataclass(frozen=True)
class Protocol:
    """Data and split: what is learned from and what is measured on, in data and in words."""

    dataset: str
    split: Split
    text: str


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from the printed value, and why so far.

    ``values`` by measure, in its units. ``deviations`` is used for all other measures: so many
    standard deviations over our own folds.
    """

    values: Mapping[str, float]
    deviations: float | None
    reason: str

    def of(self, measure: str, deviation: float) -> float:
        """The tolerance for a measure whose deviation over the folds is given."""
        if measure in self.values:
            return self.values[measure]
        if self.deviations is None:
            raise ValueError(f"no tolerance for {measure!r}")
        return self.deviations * deviation


@dataclass(frozen=True)
class Known:
    """A cell that does not come out: what does, and the evidence."""

    ours: float
    why: str


@dataclass(frozen=True)
class Row:
    """One line of a table: a learner, and what was printed for it.

    ``learner`` is the text of a learner, with ``{k}`` where ``over`` gives several values; they
    are combined by their mean or, for each measure, by the best. A row without learner states
    facts about the data. ``published`` and ``recorded`` map measures to values: the paper's, and
    for cells that no paper has, those that this library gave when the row was written.
    ``claim`` "same" asks for the printed value; with "no worse" a better one will do.
    """

    name: str
    protocol: Protocol
    tolerance: Tolerance
    claim: Literal["same", "no worse"]
    learner: str | None
    over: tuple[int, ...]
    combine: Literal["mean", "best"]
    published: Mapping[str, float]
    recorded: Mapping[str, float]
    differs: Mapping[str, Known]
    needs: str | None
    label_set: tuple[str, ...] | None

    def learners(self) -> list[str]:
        """The learners to run, as text."""
        return expanded(self.learner, self.over)


@dataclass(frozen=True)
class Table:
    """Rows with the same measures; ``notes`` are readings of the paper that are ours."""

    name: str
    title: str
    measures: tuple[str, ...]
    decimals: int
    notes: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Statement:
    """A sentence about a figure that can be checked: who wins, or that more neighbours are better.

    ``winner`` and ``loser`` are curves, compared by their mean; ``rising`` is a curve that gets
    better with k. ``why`` is the evidence if the sentence does not hold.
    """

    text: str
    measure: str
    winner: str | None
    loser: str | None
    rising: str | None
    why: str | None


@dataclass(frozen=True)
class Figure:
    """Measures against k, a curve for each learner; the printed curves have no numbers."""

    name: str
    title: str
    protocol: Protocol
    measures: tuple[str, ...]
    over: tuple[int, ...]
    curves: Mapping[str, str]
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Paper:
    """A paper: how to cite it, and what it printed."""

    key: str
    name: str
    citation: str
    about: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]

    @property
    def parts(self) -> list[Table | Figure]:
        """Its tables, then its figures."""
        return [*self.tables, *self.figures]

    def part_names(self) -> list[str]:
        """Names of its tables and figures, as ``table=`` takes them."""
        return [part.name for part in self.parts]


def expanded(learner: str | None, over: tuple[int, ...]) -> list[str]:
    """A learner's text, once for each k."""
    if learner is None:
        return []
    return [learner.replace("{k}", str(k)) for k in over] if over else [learner]
