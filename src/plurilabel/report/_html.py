"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import numpy as np

from plurilabel.report import _plots as plots
from plurilabel.report._about import (
    datasets_table,
    facts,
    failure_rows,
    learner_rows,
    repeat_facts,
    warning_rows,
)
from plurilabel.report._cd import critical_difference
from plurilabel.report._data import Findings
from plurilabel.report._html_parts import (
    figure,
    number,
    paragraph,
    table,
)
from plurilabel.report._k import against_k
from plurilabel.report._labels import heat_table
from plurilabel.report._sentences import (
    headline,
    how_tested,
    left_out,
)
from plurilabel.report._table import Table, cell_text
from plurilabel.report._words import capital, counted, listed, measure_title


def html_report(findings: Findings, title: str) -> str:
    """The whole page."""
    sections = [
        ("overview", "Overview", _overview(findings)),
        ("tests", "Ranks and tests", _tests(findings)),
        ("results", "Results", _results(findings)),
        ("datasets", "Datasets", _datasets(findings)),
        ("failures", "Failures", _failures(findings)),
        ("warnings", "Warnings", _warnings(findings)),
        ("learners", "Learners", _learners(findings)),
        ("repeat", "How to repeat it", _repeat(findings)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{id_}">{name}</a></li>' for id_, name, _ in sections)
    body = "".join(
        f'<section id="{id_}"><h2>{name}</h2>{content}</section>'
        for id_, name, content in sections
    )
    known = "".join(
        f"<li>{escape(word)} <b>{escape(value)}</b></li>" for word, value in facts(findings)
    )
    here = files("plurilabel.report")
    style = here.joinpath("_report.css").read_text(encoding="utf-8")
    script = here.joinpath("_report.js").read_text(encoding="utf-8")
    version = findings.results.plan.get("versions", {}).get("plurilabel", "")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>"
        f'<p class="lead">{escape(headline(findings))}</p><ul class="facts">{known}</ul>'
        f'<nav aria-label="Contents"><ul>{links}</ul></nav></header>\n'
        f"<main>\n{body}\n</main>\n"
        f"<footer>Made by plurilabel {escape(str(version))}.</footer>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _overview(findings: Findings) -> str:
    """Learners by headline measures: means on one dataset, average ranks on several."""
    results, shown = findings.results, [findings.tables[m] for m in findings.headlines]
    if not shown:
        return paragraph("No learner has a result; see the failures below.")
    single = len(results.datasets) == 1
    rows = []
    for j in findings.order:
        cells = [_value(t, 0, j, spread=False) if single else _rank(t, j) for t in shown]
        seconds = findings.seconds[:, j]
        time = number(float(np.nanmean(seconds)), 2) if np.isfinite(seconds).any() else "–"
        cells += [f"<td>{findings.overall[j]:.2f}</td>", f"<td>{time}</td>"]
        rows.append((results.learners[j], cells))
    columns = [f"{t.title} {t.arrow}" if single else t.title for t in shown]
    what = "Means over the folds" if single else "Average ranks over the datasets, 1 is best"
    if single and not findings.tested.any():
        what = "Values on the test part"
    caption = f"{what}; the best first, by the mean of all ranks"
    if any(np.isnan(t.ranks).any() for t in shown):
        caption += ", in which a missing result counts as the last"
    caption += "."
    page = table(
        "Learner", [*columns, "mean rank", "seconds a fold"], rows, caption, sortable=True
    )
    return page + "".join(paragraph(sentence, "quiet") for sentence in how_tested(findings))


def _tests(findings: Findings) -> str:
    found = findings.tests
    if not found:
        return ""
    parts = [
        paragraph(
            "Average ranks over the datasets, the best to the left. A bar joins learners whose "
            "ranks differ by no more than Nemenyi's critical difference (CD): between them no "
            "difference can be shown."
        )
    ]
    for place, (measure, test) in enumerate(found.items()):
        drawing = critical_difference(test.nemenyi, measure_title(measure))
        content = (
            paragraph(test.sentence)
            + figure(drawing, wide=True, titled=False)
            + paragraph(test.pairs_sentence, "quiet")
            + paragraph(left_out(findings, measure), "quiet")
        )
        title, note = capital(measure_title(measure)), test.summary
        parts.append(_details(title, note, content, is_open=place == 0))
    return "".join(parts)


def _results(findings: Findings) -> str:
    parts = []
    several = len(findings.results.datasets) > 1
    for family, measures in findings.families.items():
        parts.append(f"<h3>{escape(family)}</h3>")
        tables = [findings.tables[m] for m in measures]
        if several:
            main = [t for t in tables if t.measure in findings.headlines]
            rest = [t for t in tables if t.measure not in findings.headlines]
            parts.append(_side_by_side(_by_dataset(findings, t) for t in main))
            if rest:
                more = _side_by_side(_by_dataset(findings, t) for t in rest)
                parts.append(_details("More", listed([t.title for t in rest]), more))
        else:
            parts.append(_by_measure(findings, tables))
    return "".join(parts)


def _side_by_side(tables: Iterable[str]) -> str:
    return f'<div class="tables">{"".join(tables)}</div>'


def _by_dataset(findings: Findings, t: Table) -> str:
    """One measure: learners by datasets."""
    results = findings.results
    ranks = np.where(np.isnan(t.average_ranks), np.inf, t.average_ranks)
    order = np.lexsort((findings.overall, ranks))
    rows = [
        (
            results.learners[j],
            [*(_value(t, i, j) for i in range(len(results.datasets))), _rank(t, j)],
        )
        for j in order
    ]
    better = "higher is better" if t.greater_is_better else "lower is better"
    caption = f"<b>{escape(capital(t.title))}</b> {t.arrow} {better}"
    return table("Learner", [*results.datasets, "average rank"], rows, caption, sortable=True)


def _by_measure(findings: Findings, tables: Sequence[Table]) -> str:
    """One dataset: learners by the measures of a family."""
    results = findings.results
    rows = [(results.learners[j], [_value(t, 0, j) for t in tables]) for j in findings.order]
    columns = [f"{t.title} {t.arrow}" for t in tables]
    return table("Learner", columns, rows, _means(findings), sortable=True)


def _value(t: Table, i: int, j: int, *, spread: bool = True) -> str:
    """A mean with its deviation and its mark."""
    text, deviation, some = cell_text(t, i, j)
    if not text:
        style = ' class="fail"' if t.absent[i, j] == "failed" else ""
        return f"<td{style}>{t.absent[i, j]}</td>"
    mark = "<u>≈</u>" if t.close[i, j] else "<u></u>" if t.close.any() else ""
    style = ' class="best"' if t.best[i, j] else ""
    about = f"<i>±{deviation}</i>" if deviation and spread else ""
    return f"<td{style}>{text}{mark}{about}{f'<i>{some}</i>' if some else ''}</td>"


def _means(findings: Findings) -> str:
    where = escape(findings.results.datasets[0])
    if findings.tested.any():
        return f"Mean ± standard deviation over the folds of {where}."
    return f"On the test part of {where}."


def _rank(t: Table, j: int) -> str:
    rank = t.average_ranks[j]
    if np.isnan(rank):
        return "<td>–</td>"
    best = ' class="best"' if rank == np.nanmin(t.average_ranks) else ""
    return f"<td{best}>{rank:.2f}</td>"


def _datasets(findings: Findings) -> str:
    results = findings.results
    columns, rows = datasets_table(findings)
    styles = [' class="text"' if name == "split" else "" for name in columns]
    cells = [
        (name, [f"<td{style}>{escape(value)}</td>" for style, value in zip(styles, values)])
        for name, values in rows
    ]
    parts = [table("Dataset", columns, cells, "What the learners were given.", texts=["split"])]
    for place, dataset in enumerate(results.datasets):
        drawn = [
            *against_k(findings, dataset),
            plots.time_against_quality(findings, dataset),
            plots.frequency_against_recall(findings, dataset),
            *plots.threshold_curves(findings, dataset),
        ]
        content = '<div class="figures">' + "".join(figure(f) for f in drawn if f) + "</div>"
        content = content if any(drawn) else ""
        content += heat_table(findings, dataset)
        if content:
            q = results.plan["datasets"][dataset].get("q")
            note = counted(q, "label") if q else ""
            parts.append(_details(f"{dataset}: plots", note, content, is_open=place == 0))
    return "".join(parts)


def _failures(findings: Findings) -> str:
    rows = failure_rows(findings.results)
    if not rows:
        return ""
    styles = ("text", "text", "fail text", "text long")
    cells = [
        (learner, [f'<td class="{style}">{escape(c)}</td>' for style, c in zip(styles, others)])
        for learner, *others in rows
    ]
    caption = "Cells without a result, the same ones together."
    heads = ["dataset", "folds", "status", "why"]
    return table("Learner", heads, cells, caption, texts=heads)


def _warnings(findings: Findings) -> str:
    rows = warning_rows(findings.results)
    if not rows:
        return ""
    cells = [
        (learner, [f'<td class="text">{escape(c)}</td>' for c in others])
        for learner, *others in rows
    ]
    heads = ["dataset", "folds", "warning"]
    caption = "What learners warned of while they were trained or asked."
    return table("Learner", heads, cells, caption, texts=heads)


def _learners(findings: Findings) -> str:
    columns, rows = learner_rows(findings)
    cells = [
        (name, [f'<td class="text long"><code>{escape(value)}</code></td>' for value in values])
        for name, values in rows
    ]
    return table("Learner", columns, cells, "What was compared.", texts=columns)


def _repeat(findings: Findings) -> str:
    command, known = repeat_facts(findings.results)
    items = "".join(f"<dt>{escape(word)}</dt><dd>{escape(value)}</dd>" for word, value in known)
    return (f"<pre>{escape(command)}</pre>" if command else "") + f"<dl>{items}</dl>"


def _details(title: str, note: str, content: str, *, is_open: bool = False) -> str:
    quietly = f' <span class="quietly">{escape(note)}</span>' if note else ""
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(title)}{quietly}</summary>"
        f"{content}</details>"
    )
