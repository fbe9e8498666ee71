"""Reading the data files; what is unknown in one, or missing, is an error that says where."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from plurilabel.papers._paper import (
    Figure,
    Known,
    Paper,
    Protocol,
    Row,
    Statement,
    Table,
    Tolerance,
)

NAMES = ("ml-knn", "dw-ml-knn", "ml-wknn", "bp-mll", "review")


def paper_names() -> list[str]:
    """Papers whose results can be reproduced, by the name that :func:`reproduce` takes.

    Examples
    --------
    >>> from plurilabel import papers
    >>> papers.paper_names()
    ['ml-knn', 'dw-ml-knn', 'ml-wknn', 'bp-mll', 'review']
    """
    return list(NAMES)


def load_paper(key: str) -> Paper:
    """A paper that ships with the library."""
    if key not in NAMES:
        raise ValueError(f"unknown paper {key!r}; there are {', '.join(NAMES)}")
    return read_paper(files("plurilabel.papers") / "data" / f"{key}.toml")


def read_paper(file: Traversable) -> Paper:
    """Read a paper from a TOML file."""
    key = file.name.removesuffix(".toml")
    part = _Part(tomllib.loads(file.read_text(encoding="utf-8")), key)
    protocols = {
        name: _protocol(_Part(entry, f"{key}, protocol {name}"))
        for name, entry in part.take("protocols").items()
    }
    paper = Paper(
        key=key,
        name=part.take("name"),
        citation=part.take("citation"),
        about=part.take("about"),
        tables=tuple(
            _table(_Part(entry, f"{key}, {entry.get('name')}"), protocols)
            for entry in part.take("table", [])
        ),
        figures=tuple(
            _figure(_Part(entry, f"{key}, {entry.get('name')}"), protocols)
            for entry in part.take("figure", [])
        ),
    )
    part.done()
    return paper


class _Part:
    """A table of the file that knows where it is, and whether all of it was used."""

    def __init__(self, entries: Mapping[str, Any], where: str) -> None:
        self.entries, self.where = dict(entries), where

    def take(self, name: str, *default: Any) -> Any:
        if name not in self.entries and not default:
            raise ValueError(f"{self.where}: {name} is missing")
        return self.entries.pop(name, *default)

    def one_of(self, name: str, allowed: Mapping[str, Any], *default: str) -> Any:
        choice = self.take(name, *default)
        if choice not in allowed:
            raise ValueError(
                f"{self.where}: {name} must be one of {', '.join(allowed)}, got {choice!r}"
            )
        return allowed[choice]

    def done(self) -> None:
        if self.entries:
            raise ValueError(f"{self.where}: unknown entries {', '.join(self.entries)}")


def _protocol(part: _Part) -> Protocol:
    protocol = Protocol(part.take("dataset"), part.take("split"), part.take("text"))
    if protocol.split != "holdout" and not isinstance(protocol.split, int):
        raise ValueError(f'{part.where}: split must be "holdout" or a number of folds')
    part.done()
    return protocol


def _tolerance(part: _Part) -> Tolerance:
    deviations, reason = part.take("deviations", None), part.take("reason")
    return Tolerance(part.entries, deviations, reason)


def _table(part: _Part, protocols: Mapping[str, Protocol]) -> Table:
    # what a table says holds for its rows, unless they say otherwise
    shared = {
        name: part.entries.pop(name)
        for name in ("protocol", "claim", "tolerance", "over", "combine")
        if name in part.entries
    }
    name, measures = part.take("name"), tuple(part.take("measures"))
    table = Table(
        name=name,
        title=part.take("title"),
        measures=measures,
        decimals=part.take("decimals"),
        notes=tuple(part.take("notes", [])),
        rows=tuple(
            _row(_Part(shared | entry, f"{part.where}, {entry.get('name')}"), protocols, measures)
            for entry in part.take("row")
        ),
    )
    part.done()
    return table


def _row(part: _Part, protocols: Mapping[str, Protocol], measures: tuple[str, ...]) -> Row:
    label_set = part.take("label_set", None)
    row = Row(
        name=part.take("name"),
        protocol=part.one_of("protocol", protocols),
        tolerance=_tolerance(_Part(part.take("tolerance"), f"{part.where}, tolerance")),
        claim=part.one_of("claim", {"same": "same", "no worse": "no worse"}, "same"),
        learner=part.take("learner", None),
        over=tuple(part.take("over", [])),
        combine=part.one_of("combine", {"mean": "mean", "best": "best"}, "mean"),
        published=part.take("published", {}),
        recorded=part.take("recorded", {}),
        differs={
            measure: Known(entry["ours"], entry["why"])
            for measure, entry in part.take("differs", {}).items()
        },
        needs=part.take("needs", None),
        label_set=None if label_set is None else tuple(label_set),
    )
    part.done()
    for measure in {**row.published, **row.recorded, **row.differs}:
        if measure not in measures:
            raise ValueError(f"{part.where}: {measure!r} is no measure of the table")
    return row


def _figure(part: _Part, protocols: Mapping[str, Protocol]) -> Figure:
    figure = Figure(
        name=part.take("name"),
        title=part.take("title"),
        protocol=part.one_of("protocol", protocols),
        measures=tuple(part.take("measures")),
        over=tuple(part.take("over")),
        curves=part.take("curves"),
        statements=tuple(
            _statement(_Part(entry, f"{part.where}, statement"))
            for entry in part.take("statement", [])
        ),
    )
    part.done()
    return figure


def _statement(part: _Part) -> Statement:
    statement = Statement(
        text=part.take("text"),
        measure=part.take("measure"),
        winner=part.take("winner", None),
        loser=part.take("loser", None),
        rising=part.take("rising", None),
        why=part.take("why", None),
    )
    part.done()
    return statement
