"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from plurilabel.report._about import (
    datasets_table,
    facts,
    failure_rows,
    learner_rows,
    repeat_facts,
    warning_rows,
)
from plurilabel.report._data import Findings
from plurilabel.report._sentences import (
    headline,
    how_tested,
    left_out,
)
from plurilabel.report._table import Table, cell_text
from plurilabel.report._words import measure_title


def markdown_report(findings: Findings, title: str) -> str:
    """Headline, tables, tests, failures and how to repeat it."""
    results = findings.results
    parts = [f"# {escaped(title)}", escaped(headline(findings))]
    parts.append("\n".join(f"- {word}: {escaped(value)}" for word, value in facts(findings)))
    parts += [escaped(sentence) for sentence in how_tested(findings)]
    tests = _tests(findings)
    if tests:
        parts += ["## Ranks and tests", *tests]
    parts.append("## Results")
    several = len(results.datasets) > 1
    for family, measures in findings.families.items():
        parts.append(f"### {family}")
        tables = [findings.tables[m] for m in measures]
        if several:
            for t in tables:
                parts += [f"**{t.title}** {t.arrow}", _by_dataset(findings, t)]
        else:
            parts.append(_by_measure(findings, tables))
    columns, described = datasets_table(findings)
    parts += ["## Datasets", table(["dataset", *columns], [[n, *v] for n, v in described])]
    failed = failure_rows(results)
    if failed:
        heads = ["learner", "dataset", "folds", "status", "why"]
        parts += ["## Failures", table(heads, failed)]
    warned = warning_rows(results)
    if warned:
        heads = ["learner", "dataset", "folds", "warning"]
        parts += ["## Warnings", table(heads, warned)]
    columns, rows = learner_rows(findings)
    parts += ["## Learners", table(["learner", *columns], [[name, *row] for name, row in rows])]
    command, known = repeat_facts(results)
    parts.append("## How to repeat it")
    if command:
        parts.append("\n".join(f"    {line}" for line in command.splitlines()))
    parts.append("\n".join(f"- {escaped(word)}: {escaped(value)}" for word, value in known))
    return "\n\n".join(parts) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], marked: bool = False) -> str:
    """A table; cells are plain text unless they are ``marked`` up already."""
    lines = [heads, *rows]
    text = [
        [escaped(cell) if i == 0 or j == 0 or not marked else cell for j, cell in enumerate(line)]
        for i, line in enumerate(lines)
    ]
    rule = ["---", *("---:" if marked else "---" for _ in heads[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [text[0], rule, *text[1:]])


def escaped(text: str) -> str:
    """Text in which nothing is markup.

    Examples
    --------
    >>> print(escaped("a|b *c* <d> e_f"))
    a\\|b \\*c\\* &lt;d> e\\_f
    """
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text)


def _by_dataset(findings: Findings, t: Table) -> str:
    results = findings.results
    ranks = np.where(np.isnan(t.average_ranks), np.inf, t.average_ranks)
    rows = [
        [
            results.learners[j],
            *(value(t, i, j) for i in range(len(results.datasets))),
            "–" if np.isnan(t.average_ranks[j]) else f"{t.average_ranks[j]:.2f}",
        ]
        for j in np.lexsort((findings.overall, ranks))
    ]
    return table(["learner", *results.datasets, "average rank"], rows, marked=True)


def _by_measure(findings: Findings, tables: Sequence[Table]) -> str:
    names = findings.results.learners
    rows = [[names[j], *(value(t, 0, j) for t in tables)] for j in findings.order]
    heads = [f"{t.title} {t.arrow}" for t in tables]
    return table(["learner", *heads], rows, marked=True)


def value(t: Table, i: int, j: int) -> str:
    """A mean with its deviation and its mark."""
    mean, deviation, some = cell_text(t, i, j)
    if not mean:
        return str(t.absent[i, j])
    text = f"**{mean}**" if t.best[i, j] else mean
    text += f" ±{deviation}" if deviation else ""
    text += " ≈" if t.close[i, j] else ""
    return text + (f" ({some})" if some else "")


def _tests(findings: Findings) -> list[str]:
    parts = []
    for measure, found in findings.tests.items():
        sentences = (found.sentence, found.pairs_sentence, left_out(findings, measure))
        said = " ".join(escaped(sentence) for sentence in sentences if sentence)
        parts.append(f"**{measure_title(measure)}**: {said}")
    return parts
