"""Run the published tables again and say, cell by cell, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from plurilabel.metrics import get_measure
from plurilabel.papers._facts import FACTS, state
from plurilabel.papers._paper import (
    Figure,
    Paper,
    Row,
    Statement,
    Table,
    expanded,
)
from plurilabel.papers._read import load_paper, paper_names
from plurilabel.papers._reproduction import Cell, Curves, Reproduction
from plurilabel.papers._runs import Outcome, Progress, Run, execute, load_data
from plurilabel.papers._verdict import Verdict, judge, judge_recorded

Outcomes = Mapping[Run, Outcome]
Part = TypeVar("Part", Table, Figure)


class UnknownPart(ValueError):
    """A table or figure that no chosen paper has."""


def reproduce(
    paper: str | None = None,
    table: str | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run published tables and figures again, on the original data.

    Each printed value stands beside the one that comes out here, with a verdict: it holds within
    a tolerance that is argued for, is better, or differs. What is known to differ says why.

    Parameters
    ----------
    paper : str, optional
        One of :func:`paper_names`; all of them by default.
    table : str, optional
        One table or figure, such as ``"I"``, ``"table 3"`` or ``"figure 2"``. By default all.
    n_jobs : int, optional
        Processes, as in joblib.
    progress : callable, optional
        Called after each step with the number of steps done, their number and a title.

    Returns
    -------
    Reproduction
        ``holds`` says whether all that is claimed came out; ``frame()`` has a row for each cell.

    Notes
    -----
    The data are found as :func:`plurilabel.datasets.load` finds them. Cells that need a library
    which is not installed are skipped, and say so.

    Examples
    --------
    >>> from plurilabel import papers
    >>> papers.reproduce("ml-knn", "I")  # doctest: +SKIP
    <Reproduction: 20 holds>
    >>> papers.reproduce("ml-knn", "9")
    Traceback (most recent call last):
    ...
    plurilabel.papers.UnknownPart: ml-knn has no '9'; there are data, table I, table II
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
    """Run tables and figures of papers that were read already."""
    tables, figures = [], []
    for paper in papers:
        tables += [(paper, part) for part in _chosen(paper.tables, table)]
        figures += [(paper, part) for part in _chosen(paper.figures, table)]
    if not tables and not figures:
        there = dict.fromkeys(name for paper in papers for name in paper.part_names())
        whose = papers[0].key if len(papers) == 1 else "no paper"
        has = "has no" if len(papers) == 1 else "has a"
        raise UnknownPart(f"{whose} {has} {table!r}; there are {', '.join(there)}")
    load_data.cache_clear()  # PLURILABEL_DATA may name another folder by now
    runs = [run for _, part in tables for row in part.rows for run in _runs_of_row(row)]
    runs += [run for _, part in figures for run in _runs_of_figure(part)]
    outcomes = execute(runs, n_jobs=n_jobs, progress=progress)
    cells = [cell for paper, part in tables for cell in _table_cells(paper, part, outcomes)]
    curves = {(paper.key, part.name): _curves(part, outcomes) for paper, part in figures}
    for paper, part in figures:
        cells += _figure_cells(paper, part, curves[paper.key, part.name])
    return Reproduction(tuple(papers), tuple(cells), curves)


def _chosen(parts: Sequence[Part], table: str | None) -> list[Part]:
    if table is None:
        return list(parts)
    wanted = " ".join(table.lower().replace("-", " ").split())
    return [part for part in parts if part.name.lower() in (wanted, f"table {wanted}")]


def _runs_of_row(row: Row) -> list[Run]:
    protocol = row.protocol
    return [Run(protocol.dataset, protocol.split, text, row.needs) for text in row.learners()]


def _runs_of_figure(figure: Figure) -> list[Run]:
    return [
        Run(figure.protocol.dataset, figure.protocol.split, text)
        for learner in figure.curves.values()
        for text in expanded(learner, figure.over)
    ]


# tables ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    ours: float
    deviation: float


def _table_cells(paper: Paper, table: Table, outcomes: Outcomes) -> Iterator[Cell]:
    for row in table.rows:
        found = [outcomes[run] for run in _runs_of_row(row)]
        for measure in table.measures:
            if row.learner is None and measure not in row.published:
                continue  # a fact that this line of the paper does not state
            value, verdict = _stopped(found)
            if verdict is None:
                value = _value(row, measure, found)
                verdict = _verdict(row, measure, value)
            yield Cell(
                paper=paper.key,
                part=table.name,
                row=row.name,
                measure=measure,
                published=row.published.get(measure),
                recorded=row.recorded.get(measure),
                ours=value.ours,
                deviation=value.deviation,
                tolerance=_tolerance(row, measure, value),
                verdict=verdict,
                dataset=row.protocol.dataset,
                split=row.protocol.split,
                learner=row.learner,
                decimals=table.decimals,
            )


def _stopped(found: Sequence[Outcome]) -> tuple[_Value, Verdict | None]:
    """The verdict on a row that has no value: it was skipped, or a learner failed."""
    nothing = _Value(np.nan, np.nan)
    for outcome in found:
        if outcome.failed:
            return nothing, Verdict("failed", False, outcome.failed)
        if outcome.skipped:
            return nothing, Verdict("skipped", True, outcome.skipped)
    return nothing, None


def _value(row: Row, measure: str, found: Sequence[Outcome]) -> _Value:
    if row.learner is None:
        return _Value(state(load_data(row.protocol.dataset), measure, row.label_set), np.nan)
    values = [_Value(outcome.mean(measure), outcome.deviation(measure)) for outcome in found]
    if row.combine == "best":
        best = max if get_measure(measure).greater_is_better else min
        return best(values, key=lambda value: value.ours)
    return _Value(*(float(np.mean(part)) for part in zip(*map(_pair, values))))


def _pair(value: _Value) -> tuple[float, float]:
    return value.ours, value.deviation


def _tolerance(row: Row, measure: str, value: _Value) -> float | None:
    if measure in row.published or measure in row.recorded:
        return row.tolerance.of(measure, value.deviation)
    return None


def _verdict(row: Row, measure: str, value: _Value) -> Verdict:
    tolerance = _tolerance(row, measure, value)
    if tolerance is None:
        return Verdict("ours only", True)
    if measure not in row.published:
        return judge_recorded(value.ours, row.recorded[measure], tolerance)
    greater = measure not in FACTS and bool(get_measure(measure).greater_is_better)
    return judge(
        value.ours,
        row.published[measure],
        tolerance,
        claim=row.claim,
        greater_is_better=greater,
        known=row.differs.get(measure),
    )


# figures -----------------------------------------------------------------------------------


def _curves(figure: Figure, outcomes: Outcomes) -> Curves:
    """Our values, (curves, measures, k); NaN where a learner failed."""
    values = np.full((len(figure.curves), len(figure.measures), len(figure.over)), np.nan)
    for c, learner in enumerate(figure.curves.values()):
        for i, text in enumerate(expanded(learner, figure.over)):
            outcome = outcomes[Run(figure.protocol.dataset, figure.protocol.split, text)]
            if outcome.folds:
                values[c, :, i] = [outcome.mean(measure) for measure in figure.measures]
    return Curves(figure, values)


def _figure_cells(paper: Paper, figure: Figure, curves: Curves) -> Iterator[Cell]:
    for statement in figure.statements:
        difference, holds = _check(statement, curves)
        if holds:
            verdict = Verdict("holds", True)
        else:
            verdict = Verdict("differs", statement.why is not None, statement.why or "")
        yield Cell(
            paper=paper.key,
            part=figure.name,
            row=statement.text,
            measure=statement.measure,
            published=None,
            recorded=None,
            ours=difference,
            deviation=np.nan,
            tolerance=None,
            verdict=verdict,
            dataset=figure.protocol.dataset,
            split=figure.protocol.split,
            learner=None,
            decimals=4,
        )


def _check(statement: Statement, curves: Curves) -> tuple[float, bool]:
    """The number that decides a statement: a difference of means, or a rank correlation."""
    sign = 1 if get_measure(statement.measure).greater_is_better else -1
    if statement.rising is not None:
        values = curves.of(statement.rising, statement.measure)
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        correlation = float(np.corrcoef(np.arange(len(values)), ranks)[0, 1])
        return correlation, sign * correlation > 0
    winner, loser = (
        np.mean(curves.of(str(name), statement.measure))
        for name in (statement.winner, statement.loser)
    )
    return float(winner - loser), bool(sign * (winner - loser) > 0)
