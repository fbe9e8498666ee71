"""Repeat published tables and judge them cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.papers.paper import (
    Paper,
    Protocol,
    PublishedFigure,
    PublishedTable,
    Row,
    Statement,
    expanded,
    load_paper,
    paper_names,
)
from benchmarks.papers.reproduction import (
    Cell,
    Curves,
    Reproduction,
    Verdict,
    facts,
    judge,
    judge_recorded,
)
from plurilabel.datasets import load
from plurilabel.evaluation import Results, compare
from plurilabel.metrics import get_measure

Progress: TypeAlias = Callable[[int, int, dict[str, Any], float | None], Any]


class UnknownPart(ValueError):
    """None of the chosen papers has such a table or figure."""


def reproduce(
    paper: str | None = None,
    table: str | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat published tables and figures on the original data.

    Each printed value is compared with ours: it holds within a justified tolerance, is better, or
    differs. Known differences come with a reason. Cells that need a missing library are skipped.

    Parameters
    ----------
    paper : str, optional
        One of :func:`paper_names`; by default all of them.
    table : str, optional
        One table or figure, such as ``"I"``, ``"table 3"`` or ``"figure 2"``; by default all.
    n_jobs, progress :
        As in :func:`plurilabel.evaluation.compare`.
    """
    chosen = [load_paper(name) for name in ([paper] if paper else paper_names())]
    return reproduce_papers(chosen, table, n_jobs=n_jobs, progress=progress)


def reproduce_papers(
    papers: Sequence[Paper],
    table: str | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat tables and figures of loaded papers."""
    wanted = None if table is None else " ".join(table.lower().replace("-", " ").split())
    chosen = [
        (paper, part)
        for paper in papers
        for name, part in paper.parts.items()
        if wanted is None or name.lower() in (wanted, f"table {wanted}")
    ]
    if not chosen:
        there = dict.fromkeys(name for paper in papers for name in paper.parts)
        whose = f"{papers[0].key} has no" if len(papers) == 1 else "no paper has a"
        raise UnknownPart(f"{whose} {table!r}; there are {', '.join(there)}")
    ours = _Ours([part for _, part in chosen], n_jobs, progress)
    cells: list[Cell] = []
    curves = {}
    for paper, part in chosen:
        if isinstance(part, PublishedTable):
            cells += _table_cells(paper, part, ours)
        else:
            values = [
                [ours.values(part.protocol, expanded(text, part.over), m) for m in part.measures]
                for text in part.curves.values()
            ]  # NaN where a learner failed
            drawn = curves[paper.key, part.name] = Curves(part, np.array(values)[:, :, :, 0])
            cells += _figure_cells(paper, part, drawn)
    return Reproduction(tuple(papers), tuple(cells), curves)


class _Ours:
    """Our values: each learner of the given parts, run once on every split of its protocol."""

    def __init__(
        self,
        parts: Sequence[PublishedTable | PublishedFigure],
        n_jobs: int | None,
        progress: Progress | None,
    ) -> None:
        texts: dict[tuple[str, Any], dict[str, str]] = {}
        for part in parts:
            for protocol, learners in _asked(part):
                key = (protocol.dataset, protocol.split)
                texts.setdefault(key, {}).update((text, text) for text in learners)
        # load everything first: a missing file stops the run before anything is computed
        self.data = {name: load(name) for name in dict.fromkeys(key[0] for key in texts)}
        needed = {key: learners for key, learners in texts.items() if learners}
        total = sum(len(own) * (1 if f == "holdout" else f) for (_, f), own in needed.items())
        self.results: dict[tuple[str, Any], Results] = {}
        done = 0

        def tell(now: int, _: int, cell: dict[str, Any], left: float | None) -> None:
            if progress is not None:
                progress(done + now, total, cell, left)

        for (name, folds), own in needed.items():
            cv = folds if folds == "holdout" else KFold(folds, shuffle=True, random_state=0)
            data = {name: self.data[name]}
            found = compare(data, own, cv=cv, n_jobs=n_jobs, progress=tell)
            self.results[name, folds] = found
            done += len(found.cells)

    def failure(self, protocol: Protocol, learners: Sequence[str]) -> str:
        """Why one of the learners failed, or an empty string."""
        results = self.results.get((protocol.dataset, protocol.split))
        failures = [] if results is None else results.failures()
        return next((cell["error"] for cell in failures if cell["learner"] in learners), "")

    def values(
        self, protocol: Protocol, learners: Sequence[str], measure: str
    ) -> list[tuple[float, float]]:
        """Mean and standard deviation over the folds for each learner."""
        results = self.results[protocol.dataset, protocol.split]
        means, deviations = results.means(measure)[0], results.deviations(measure)[0]
        rows = [results.learners.index(text) for text in learners]
        return [(float(means[j]), float(deviations[j])) for j in rows]


def _asked(part: PublishedTable | PublishedFigure) -> Iterator[tuple[Protocol, list[str]]]:
    if isinstance(part, PublishedTable):
        for row in part.rows:
            yield row.protocol, [] if _skipped(row) else row.learners()
    else:
        for learner in part.curves.values():
            yield part.protocol, expanded(learner, part.over)


def _skipped(row: Row) -> bool:
    return row.needs is not None and find_spec(row.needs) is None


# tables ------------------------------------------------------------------------------------


def _table_cells(paper: Paper, table: PublishedTable, ours: _Ours) -> Iterator[Cell]:
    for row in table.rows:
        stopped = None
        if _skipped(row):
            stopped = Verdict("skipped", True, f"needs plurilabel[{row.needs}]")
        elif failure := ours.failure(row.protocol, row.learners()):
            stopped = Verdict("failed", False, failure)
        for measure in table.measures:
            if row.learner is None and measure not in row.published:
                continue  # not reported in this row of the paper
            value = (np.nan, np.nan) if stopped else _value(row, measure, ours)
            tolerance = None
            if measure in row.published or measure in row.recorded:
                tolerance = row.tolerance.of(measure, value[1])
            verdict = stopped or _verdict(row, measure, value[0], tolerance)
            yield Cell(
                paper=paper.key,
                table=table.name,
                row=row.name,
                measure=measure,
                published=row.published.get(measure),
                recorded=row.recorded.get(measure),
                ours=value[0],
                deviation=value[1],
                tolerance=tolerance,
                **verdict._asdict(),
                dataset=row.protocol.dataset,
                split=row.protocol.split,
                learner=row.learner,
                decimals=table.decimals,
            )


def _value(row: Row, measure: str, ours: _Ours) -> tuple[float, float]:
    if row.learner is None:
        return facts(ours.data[row.protocol.dataset], row.label_set)[measure], np.nan
    values = ours.values(row.protocol, row.learners(), measure)
    if row.combine == "best":
        best = max if get_measure(measure).greater_is_better else min
        return best(values, key=lambda value: value[0])
    mean, deviation = np.mean(values, axis=0)
    return float(mean), float(deviation)


def _verdict(row: Row, measure: str, ours: float, tolerance: float | None) -> Verdict:
    if tolerance is None:
        return Verdict("ours only", True)
    if measure not in row.published:
        return judge_recorded(ours, row.recorded[measure], tolerance)
    return judge(
        ours,
        row.published[measure],
        tolerance,
        claim=row.claim,
        greater_is_better=row.learner is not None and get_measure(measure).greater_is_better,
        known=row.differs.get(measure),
    )


# figures -----------------------------------------------------------------------------------


def _figure_cells(paper: Paper, figure: PublishedFigure, curves: Curves) -> Iterator[Cell]:
    for statement in figure.statements:
        difference, holds = _check(statement, curves)
        differs = Verdict("differs", statement.why is not None, statement.why or "")
        verdict = Verdict("holds", True) if holds else differs
        yield Cell(
            paper=paper.key,
            table=figure.name,
            row=statement.text,
            measure=statement.measure,
            ours=difference,
            **verdict._asdict(),
            dataset=figure.protocol.dataset,
            split=figure.protocol.split,
        )


def _check(statement: Statement, curves: Curves) -> tuple[float, bool]:
    """A difference of means or a rank correlation, and whether it confirms the statement."""
    sign = 1 if get_measure(statement.measure).greater_is_better else -1
    if statement.rising is not None:
        values = curves.of(statement.rising, statement.measure)
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        correlation = float(np.corrcoef(np.arange(len(values)), ranks)[0, 1])
        return correlation, sign * correlation > 0
    names = (str(statement.winner), str(statement.loser))
    winner, loser = (np.mean(curves.of(name, statement.measure)) for name in names)
    return float(winner - loser), bool(sign * (winner - loser) > 0)
