"""The report as LaTeX tables, to be read by ``\\input`` after ``\\usepackage{booktabs}``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plurilabel.report._data import Findings
from plurilabel.report._table import ALPHA, Table, cell_text
from plurilabel.report._words import measure_title

MOST_COLUMNS = 6
"""More do not fit a page; the table is then made of several."""


def latex_report(findings: Findings, title: str) -> str:
    """One table for each measure, or for each family if there is one dataset."""
    results = findings.results
    parts = [f"% {_one_line(title)}\n% needs \\usepackage{{booktabs}}"]
    several = len(results.datasets) > 1
    for family, measures in findings.families.items():
        tables = [findings.tables[m] for m in measures]
        if several:
            parts += [part for t in tables for part in _by_dataset(findings, t)]
        else:
            parts += _by_measure(findings, family, tables)
    tests = _tests(findings)
    return "\n\n".join([*parts, *tests]) + "\n"


def escaped(text: str) -> str:
    r"""Text in which nothing is a command.

    Examples
    --------
    >>> print(escaped("50% of a_b & {c}"))
    50\% of a\_b \& \{c\}
    """
    spelled = {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
        "≈": r"$\approx$", "±": r"$\pm$", "–": "--", "∞": r"$\infty$", "…": r"\ldots{}",
    }  # fmt: skip
    return "".join(
        f"\\{c}" if c in "&%$#_{}" else spelled.get(c, c) for c in " ".join(text.split())
    )


def _by_dataset(findings: Findings, t: Table) -> list[str]:
    results = findings.results
    ranks = np.where(np.isnan(t.average_ranks), np.inf, t.average_ranks)
    order = np.lexsort((findings.overall, ranks))
    columns = [
        (escaped(name), [value(t, i, j) for j in order]) for i, name in enumerate(results.datasets)
    ]
    average = [
        ("--" if np.isnan(t.average_ranks[j]) else f"{t.average_ranks[j]:.2f}") for j in order
    ]
    columns.append(("rank", average))
    names = [escaped(results.learners[j]) for j in order]
    caption = f"{escaped(t.title)} {_arrow(t)}. {_marks(findings)}"
    return _tables(names, columns, caption, f"tab:{t.measure.replace('_', '-')}")


def _by_measure(findings: Findings, family: str, tables: Sequence[Table]) -> list[str]:
    results = findings.results
    columns = [
        (f"{escaped(t.title)} {_arrow(t)}", [value(t, 0, j) for j in findings.order])
        for t in tables
    ]
    names = [escaped(results.learners[j]) for j in findings.order]
    caption = f"{escaped(family)}, on {escaped(results.datasets[0])}. {_marks(findings)}"
    return _tables(
        names, columns, caption, f"tab:{family.lower().replace(' ', '-').replace(',', '')}"
    )


def _tables(
    names: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]], caption: str, label: str
) -> list[str]:
    parts = []
    pieces = [columns[i : i + MOST_COLUMNS] for i in range(0, len(columns), MOST_COLUMNS)]
    for number, piece in enumerate(pieces):
        rows = [
            " & ".join([name, *(column[row] for _, column in piece)]) + r" \\"
            for row, name in enumerate(names)
        ]
        more = "" if number == 0 else " (continued)"
        lines = [
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{caption}{more}}}",
            f"  \\label{{{label}{'' if number == 0 else f'-{number + 1}'}}}",
            r"  \footnotesize",
            f"  \\begin{{tabular}}{{l{'r' * len(piece)}}}",
            r"    \toprule",
            "    " + " & ".join(["Learner", *(head for head, _ in piece)]) + r" \\",
            r"    \midrule",
            *(f"    {row}" for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    return parts


def value(t: Table, i: int, j: int) -> str:
    """A mean with its deviation and its mark."""
    mean, deviation, some = cell_text(t, i, j)
    if not mean:
        return escaped(str(t.absent[i, j]))
    text = f"\\textbf{{{mean}}}" if t.best[i, j] else mean
    text += f" $\\pm$ {deviation}" if deviation else ""
    text += r" $\approx$" if t.close[i, j] else ""
    return text + (f" ({some})" if some else "")


def _marks(findings: Findings) -> str:
    if not findings.tested.any():
        return "Bold: the best."
    return (
        r"Bold: the best; $\approx$: not significantly worse (corrected resampled $t$-test, "
        f"Holm, {ALPHA:g})."
    )


def _tests(findings: Findings) -> list[str]:
    rows = [
        f"    {escaped(measure_title(measure))} & {t.friedman.chi2:.2f} & "
        f"{escaped(_number(t.friedman.f))} & {t.friedman.pvalue:.4f} & "
        f"{t.nemenyi.critical_difference:.2f} \\\\"
        for measure, t in findings.tests.items()
    ]
    if not rows:
        return []
    lines = [
        r"\begin{table}",
        r"  \centering",
        r"  \caption{Friedman tests over the datasets and Nemenyi's critical difference.}",
        r"  \label{tab:tests}",
        r"  \begin{tabular}{lrrrr}",
        r"    \toprule",
        r"    Measure & $\chi^2$ & $F$ & $p$ & CD \\",
        r"    \midrule",
        *rows,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return ["\n".join(lines)]


def _number(number: float) -> str:
    return "∞" if np.isinf(number) else f"{number:.2f}"


def _arrow(t: Table) -> str:
    return r"$\uparrow$" if t.greater_is_better else r"$\downarrow$"


def _one_line(text: str) -> str:
    return " ".join(text.split())
