"""Published tables and figures as data: printed values, protocols and tolerances.

Each paper is a TOML file in ``data/``, the only place where its printed values are stored. Unknown
and missing entries raise an error that says where.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

NAMES = ("ml-knn", "dw-ml-knn", "ml-wknn", "bp-mll", "review", "insdif", "miml")
DATA = Path(__file__).parent / "data"
CHOICES = {"claim": ("same", "no worse"), "combine": ("mean", "best")}

Made = TypeVar("Made")


@dataclass(frozen=True)
class Protocol:
    """A dataset, its split ("holdout": the published one; or a number of folds), and a text."""

    dataset: str
    split: Literal["holdout"] | int
    text: str


@dataclass(frozen=True)
class Tolerance:
    """How far our value may be from the printed one, and why."""

    values: Mapping[str, float]  # by measure, in its units
    reason: str
    deviations: float | None = None  # for other measures: multiple of our deviation over the folds

    def of(self, measure: str, deviation: float) -> float:
        """The tolerance for a measure, given its standard deviation over the folds."""
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
    """A row of a table: a learner and the values printed for it."""

    name: str
    protocol: Protocol
    tolerance: Tolerance
    claim: Literal["same", "no worse"] = "same"  # "no worse": a better value also passes
    learner: str | None = None  # with {k} for ``over``; None: facts about the data
    over: tuple[int, ...] = ()
    combine: Literal["mean", "best"] = "mean"  # how to combine the values over k
    published: Mapping[str, float] = field(default_factory=dict)  # by measure
    # for cells that no paper has: the value when the row was written
    recorded: Mapping[str, float] = field(default_factory=dict)
    differs: Mapping[str, Known] = field(default_factory=dict)
    needs: str | None = None
    label_set: tuple[str, ...] | None = None

    def learners(self) -> list[str]:
        """Specifications of the learners to run."""
        return [] if self.learner is None else expanded(self.learner, self.over)


@dataclass(frozen=True)
class PublishedTable:
    """Rows with the same measures; ``notes`` state how we read the paper."""

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
    """A claim about a figure: one curve beats another, or a curve improves with k."""

    text: str
    measure: str
    winner: str | None = None  # the curve with the better mean
    loser: str | None = None
    rising: str | None = None  # a curve that improves with k
    why: str | None = None  # the evidence if the claim does not hold


@dataclass(frozen=True)
class PublishedFigure:
    """Measures against k, one curve per learner; the printed curves have no numbers."""

    name: str
    title: str
    protocol: Protocol
    measures: tuple[str, ...]
    over: tuple[int, ...]
    curves: Mapping[str, str]
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Paper:
    """A paper: its citation, tables and figures."""

    key: str
    name: str
    citation: str
    about: str
    tables: tuple[PublishedTable, ...]
    figures: tuple[PublishedFigure, ...]

    @property
    def parts(self) -> dict[str, PublishedTable | PublishedFigure]:
        """Tables, then figures, by name."""
        parts: list[PublishedTable | PublishedFigure] = [*self.tables, *self.figures]
        return {part.name: part for part in parts}

    def table(self, name: str) -> PublishedTable:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)


def expanded(learner: str, over: tuple[int, ...]) -> list[str]:
    """The specification of a learner, once for each k."""
    return [learner.replace("{k}", str(k)) for k in over] if over else [learner]


# reading -------------------------------------------------------------------------------------


def paper_names() -> list[str]:
    """Names of the papers that :func:`reproduce` accepts."""
    return list(NAMES)


def load_paper(key: str) -> Paper:
    """The published results of a paper, one of :func:`paper_names`."""
    if key not in NAMES:
        raise ValueError(f"unknown paper {key!r}; there are {', '.join(NAMES)}")
    return read_paper(DATA / f"{key}.toml")


def read_paper(file: Path) -> Paper:
    """Read a paper from a TOML file."""
    key = file.stem
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
    """Make a dataclass from a table of the file; lists become tuples."""
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
    # entries of a table are the defaults of its rows
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
