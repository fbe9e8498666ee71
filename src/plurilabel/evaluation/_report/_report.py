"""Write the report of a comparison from templates."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from io import StringIO
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plurilabel._core.compat import import_extra
from plurilabel._core.records import write_atomic
from plurilabel._core.words import capital, counted, listed, no_formula, shortened
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._report._charts import charts, label_scores
from plurilabel.evaluation._report._findings import Findings

if TYPE_CHECKING:
    from jinja2 import Template

FORMATS = ("html", "md", "tex", "csv")

_SPACES = dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029", " ")
_MARKDOWN = _SPACES | {c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"&": "&amp;", "<": "&lt;"}
_LATEX = _SPACES | {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "≈": r"$\approx$", "±": r"$\pm$", "–": "--", "∞": r"$\infty$", "…": r"\ldots{}",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$",
}  # fmt: skip
_JOINTS = str.maketrans({c: f"{c}\u200b" for c in "(_,/"})
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_LONG_WORD = re.compile(r"[^\s\u200b-]{15,}")


def breakable(text: str) -> str:
    """Allow line breaks after brackets and underscores, in camel case and in very long words."""
    joined = _CAMEL.sub("\u200b", text.translate(_JOINTS))
    return _LONG_WORD.sub(lambda found: "\u200b".join(re.findall(".{1,12}", found[0])), joined)


FILTERS = {
    # escape everything that is markup; jinja2 itself escapes HTML
    "markdown": methodcaller("translate", str.maketrans(_MARKDOWN)),
    "latex": methodcaller("translate", str.maketrans(_LATEX)),
    "breakable": breakable,
    "capital": capital,
    "counted": counted,
    "listed": listed,
    "shortened": shortened,
}


def write_report(
    results: Results,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[str] = FORMATS,
    title: str | None = None,
) -> dict[str, Path]:
    """Write the results of a comparison as ``report.html``, ``.md``, ``.tex`` and ``.csv``.

    The HTML page is self-contained: the best learners by measure and those not significantly
    worse, ranks and tests, plots, descriptions of the data, failures, and how to reproduce the
    results. The LaTeX file has tables for ``\\input``; the CSV file has one row per dataset,
    learner and measure. All but CSV need jinja2 (``pip install 'plurilabel[cli]'``).

    On a dataset with several folds, each learner is compared with the best by
    :func:`~plurilabel.evaluation.corrected_resampled_t` with Holm's correction, at 0.05. With five
    datasets or more, :func:`~plurilabel.evaluation.friedman`,
    :func:`~plurilabel.evaluation.nemenyi` and :func:`~plurilabel.evaluation.wilcoxon` test the
    headline measures, on the datasets with results and for the learners that have all of them.

    Parameters
    ----------
    results : Results
        From :func:`~plurilabel.evaluation.compare`, finished or not.
    folder : path, optional
        By default that of the comparison. Created if needed; each file is replaced atomically.
    formats : sequence of str
        Some of "html", "md", "tex" and "csv".
    title : str, optional
        By default the names of learners and datasets.

    Returns
    -------
    dict of str to Path
        The file of each format.

    Examples
    --------
    >>> import tempfile
    >>> from plurilabel import BRkNN, MLkNN, datasets
    >>> from plurilabel.evaluation import compare, write_report
    >>> data = {"toy": datasets.make_multilabel(100, random_state=0)}
    >>> results = compare(data, [MLkNN(5), BRkNN(5)], cv=2, measures=["f1"], n_jobs=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_report(results, folder, formats=["csv"])
    ...     print(files["csv"].read_text().splitlines()[0])
    dataset,learner,measure,mean,deviation,splits,rank,best,not_worse
    """
    place, formats = destination(results.folder, folder, formats, FORMATS)
    if not results.cells:
        raise ValueError("results must have at least one cell, got none")
    findings = Findings(results)
    texts = {"csv": _csv(findings)} if "csv" in formats else {}
    if set(formats) - {"csv"}:
        shown = findings.variables()
        shown["title"] = title or shown["title"]
        for name in {"md", "tex"} & set(formats):
            texts[name] = _template(name).render(shown)
        if "html" in formats:
            plan = results.plan["datasets"]
            shown["plots"] = [
                (name, plan[name].get("q"), charts(findings, name), label_scores(findings, name))
                for name in results.datasets
            ]
            texts["html"] = html_page("report", shown)
    return write_files(place, {name: texts[name] for name in formats})


def destination(
    own: Path | None,
    folder: str | os.PathLike[str] | None,
    formats: Sequence[str],
    known: Sequence[str],
) -> tuple[Path, list[str]]:
    """Check the folder of a report, by default that of the results, and its formats."""
    formats = [formats] if isinstance(formats, str) else list(formats)
    for name in formats:
        if name not in known:
            raise ValueError(f"formats must be some of {', '.join(known)}, got {name!r}")
    place = own if folder is None else Path(folder)
    if place is None:
        raise ValueError("folder must be given: these results have none of their own")
    return place, formats


def write_files(place: Path, texts: Mapping[str, str]) -> dict[str, Path]:
    """Write ``report.*`` for each format; return the paths."""
    return {name: _write(place / f"report.{name}", text) for name, text in texts.items()}


def write_html(path: str | os.PathLike[str], page: str, shown: dict[str, Any]) -> Path:
    return _write(Path(path), html_page(page, shown))


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomic(path) as stream:
        stream.write(text.encode(errors="backslashreplace"))
    return path


def html_page(page: str, shown: dict[str, Any]) -> str:
    """Render a page, without the whitespace between tags."""
    return re.sub(r">\n\s*<", "><", _template("html", page).render(shown).lstrip())


@cache
def _template(name: str, page: str = "report") -> Template:
    jinja2 = import_extra("jinja2", "a report", "cli")
    options: dict[str, Any] = {"autoescape": name == "html"}
    if name == "tex":  # braces belong to TeX
        options |= {"block_start_string": "<%", "block_end_string": "%>"}
        options |= {"variable_start_string": "<<", "variable_end_string": ">>"}
        options |= {"comment_start_string": "<#", "comment_end_string": "#>"}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plurilabel.evaluation._report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )
    environment.filters |= FILTERS
    return environment.get_template(f"{page}.{name}")


def _csv(findings: Findings) -> str:
    """One row per dataset, learner and measure; empty where there is no value."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    columns = "dataset learner measure mean deviation splits rank best not_worse"
    writer.writerow(columns.split())
    tables = {
        name: (t.means, t.deviations, t.counts, t.ranks, 1 * t.best, 1 * t.close)
        for name, t in findings.tables.items()
    }
    for i, dataset in enumerate(findings.results.datasets):
        for j, learner in enumerate(findings.results.learners):
            for measure, parts in tables.items():
                numbers = [part[i, j].item() for part in parts]
                cells = ["" if np.isnan(number) else number for number in numbers]
                writer.writerow([*map(no_formula, (dataset, learner, measure)), *cells])
    return text.getvalue()
