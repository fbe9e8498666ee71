"""Published tables and figures as data: printed values, protocols and tolerances.

A paper is a TOML file in ``data/``, the only place of a printed value. Unknown or missing entries
are errors that say where.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeVar

NAMES = ("ml-knn", "dw-ml-knn", "ml-wknn", "bp-mll", "review", "insdif", "miml")
CHOICES = {"claim": ("same", "no worse"), "combine": ("mean", "best")}

Made = TypeVar("Made")


@dataclass(frozen=True)
class Protocol:
    """Data, their split ("holdout" for the published files, or folds), and a description."""

    dataset: str
    split: Literal["holdout"] | int
    text: str


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from the printed value, and why so far."""

    values: Mapping[str, float]  # by measure, in its units
    reason: str
    deviations: float | None = None  # over our own folds: for all other measures

    def of(self, measure: str, deviation: float) -> float:
        """The tolerance for a measure whose deviation over the folds is given."""
        if measure in self.values:
            return self.values[measure]
        if self.deviations is None:
            raise ValueError(f"no tolerance for {measure!r}")
        return self.deviations * deviation


@dataclass(frozen=True)
class Known:
    """A known difference: our value, and the evidence."""

    ours: float
    why: str


@dataclass(frozen=True)
class Row:
    """A line of a table: a learner, and the values printed for it."""

    name: str
    protocol: Protocol
    tolerance: Tolerance
    claim: Literal["same", "no worse"] = "same"  # with "no worse" a better value will do
    learner: str | None = None  # its text, with {k} for ``over``; without: facts about the data
    over: tuple[int, ...] = ()
    combine: Literal["mean", "best"] = "mean"  # of the values over k, for each measure
    published: Mapping[str, float] = field(default_factory=dict)  # by measure
    # of cells that no paper has: what this library gave when the row was written
    recorded: Mapping[str, float] = field(default_factory=dict)
    differs: Mapping[str, Known] = field(default_factory=dict)
    needs: str | None = None
    label_set: tuple[str, ...] | None = None

    def learners(self) -> list[str]:
        """The learners to run, as text."""
        return [] if self.learner is None else expanded(self.learner, self.over)


@dataclass(frozen=True)
class PublishedTable:
    """Rows with the same measures; ``notes`` are readings of the paper that are ours."""

    name: str
    title: str
    measures: tuple[str, ...]
    decimals: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def row(self, name: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)


@dataclass(frozen=True)
class Statement:
    """A sentence about a figure: who wins, or that more neighbours are better."""

    text: str
    measure: str
    winner: str | None = None  # a curve, compared with the loser's by its mean
    loser: str | None = None
    rising: str | None = None  # a curve that gets better with k
    why: str | None = None  # the evidence if the sentence does not hold


@dataclass(frozen=True)
class PublishedFigure:
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
    tables: tuple[PublishedTable, ...]
    figures: tuple[PublishedFigure, ...]

    @property
    def parts(self) -> dict[str, PublishedTable | PublishedFigure]:
        """Its tables, then its figures, by the names that ``table=`` takes."""
        parts: list[PublishedTable | PublishedFigure] = [*self.tables, *self.figures]
        return {part.name: part for part in parts}

    def table(self, name: str) -> PublishedTable:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)


def expanded(learner: str, over: tuple[int, ...]) -> list[str]:
    """A learner's text, once for each k."""
    return [learner.replace("{k}", str(k)) for k in over] if over else [learner]


# reading -------------------------------------------------------------------------------------


def paper_names() -> list[str]:
    """Papers whose results can be reproduced, by the name that :func:`reproduce` takes.

    Examples
    --------
    >>> from plurilabel import evaluation
    >>> evaluation.paper_names()
    ['ml-knn', 'dw-ml-knn', 'ml-wknn', 'bp-mll', 'review', 'insdif', 'miml']
    """
    return list(NAMES)


def load_paper(key: str) -> Paper:
    """The published results of a paper, and how they were made.

    Parameters
    ----------
    key : str
        One of :func:`paper_names`.

    Returns
    -------
    Paper

    Examples
    --------
    >>> from plurilabel import evaluation
    >>> row = evaluation.load_paper("ml-knn").table("table I").row("k = 7")
    >>> row.learner, row.published["average_precision"]
    ('MLkNN(n_neighbors=7)', 0.761)
    """
    if key not in NAMES:
        raise ValueError(f"unknown paper {key!r}; there are {', '.join(NAMES)}")
    return read_paper(files("plurilabel.evaluation._papers") / "data" / f"{key}.toml")


def read_paper(file: Traversable) -> Paper:
    """Read a paper from a TOML file."""
    key = file.name.removesuffix(".toml")
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    protocols = {}
    for name, entry in content.pop("protocols", {}).items():
        protocols[name] = _made(Protocol, entry, f"{key}, protocol {name}")
        split = protocols[name].split
        if split != "holdout" and not isinstance(split, int):
            raise ValueError(f'{key}, protocol {name}: split must be "holdout" or a number')
    content["tables"] = [_table(entry, key, protocols) for entry in content.pop("table", [])]
    content["figures"] = [_figure(entry, key, protocols) for entry in content.pop("figure", [])]
    return _made(Paper, {"key": key, **content}, key)


def _made(kind: type[Made], entries: Mapping[str, Any], where: str) -> Made:
    """An object of a part of the file; lists become tuples."""
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    for name, one in known.items():
        if name not in entries and one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{where}: {name} is missing")
    if unknown := [name for name in entries if name not in known]:
        raise ValueError(f"{where}: unknown entries {', '.join(unknown)}")
    for name, allowed in CHOICES.items():
        if name in entries:
            _check_choice(name, entries[name], allowed, where)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in entries.items()})


def _check_choice(name: str, choice: Any, allowed: Any, where: str) -> None:
    if choice not in allowed:
        raise ValueError(f"{where}: {name} must be one of {', '.join(allowed)}, got {choice!r}")


def _table(entry: dict[str, Any], key: str, protocols: Mapping[str, Protocol]) -> PublishedTable:
    where = f"{key}, {entry.get('name')}"
    # entries of a table are defaults of its rows
    shared = {name: entry.pop(name) for name in [f.name for f in fields(Row)[1:]] if name in entry}
    given = entry.pop("row", [])
    rows = [_row(shared | row, f"{where}, {row.get('name')}", protocols) for row in given]
    table = _made(PublishedTable, {**entry, "rows": rows}, where)
    for row in table.rows:
        for measure in {**row.published, **row.recorded, **row.differs}:
            if measure not in table.measures:
                raise ValueError(f"{where}, {row.name}: {measure!r} is not a measure of the table")
    return table


def _row(entry: dict[str, Any], where: str, protocols: Mapping[str, Protocol]) -> Row:
    _check_choice("protocol", entry.get("protocol"), protocols, where)
    values = dict(entry.get("tolerance", {}))
    rest = {name: values.pop(name) for name in ("reason", "deviations") if name in values}
    read = {
        "protocol": protocols[entry["protocol"]],
        "tolerance": _made(Tolerance, {"values": values, **rest}, f"{where}, tolerance"),
        "differs": {m: _made(Known, k, where) for m, k in entry.get("differs", {}).items()},
    }
    return _made(Row, entry | read, where)


def _figure(entry: dict[str, Any], key: str, protocols: Mapping[str, Protocol]) -> PublishedFigure:
    where = f"{key}, {entry.get('name')}"
    _check_choice("protocol", entry.get("protocol"), protocols, where)
    entry["statements"] = [_made(Statement, one, where) for one in entry.pop("statement", [])]
    entry["protocol"] = protocols[entry["protocol"]]
    return _made(PublishedFigure, entry, where)
