"""Writing the report of a comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from plurilabel.compare import Results
from plurilabel.io import write_atomic
from plurilabel.report._csv import csv_report
from plurilabel.report._data import Findings
from plurilabel.report._html import html_report
from plurilabel.report._latex import latex_report
from plurilabel.report._markdown import markdown_report
from plurilabel.report._words import counted, listed

FORMATS: dict[str, Callable[[Findings, str], str]] = {
    "html": html_report,
    "md": markdown_report,
    "tex": latex_report,
    "csv": csv_report,
}


def write_report(
    results: Results,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[str] = ("html", "md", "tex", "csv"),
    title: str | None = None,
) -> dict[str, Path]:
    """Write what a comparison found as ``report.html``, ``.md``, ``.tex`` and ``.csv``.

    The page holds everything it needs and asks the network for nothing. It shows who is best in
    what, tables with the best and the not significantly worse marked, ranks and tests, plots,
    what the data are, what failed, and how to repeat it. The LaTeX file holds tables for
    ``\\input``; the CSV file has one line for each dataset, learner and measure.

    How differences are tested:

    - Within a dataset with several folds, each learner is held against the best by the corrected
      resampled t-test (:func:`~plurilabel.stats.corrected_resampled_t`) with Holm's correction;
      those without a significant difference at 0.05 are marked.
    - Over five datasets or more, by :func:`~plurilabel.stats.friedman`,
      :func:`~plurilabel.stats.nemenyi` and :func:`~plurilabel.stats.wilcoxon`, for
      the headline measures. Datasets on which no learner has a result are left out, then
      learners that lack one of the others.

    Parameters
    ----------
    results : Results
        Of :func:`~plurilabel.compare.compare`, finished or not; cells that failed are shown as
        such.
    folder : path, optional
        By default that of the comparison. It is made if it is not there; each file is there
        whole or not at all.
    formats : sequence of str
        Of "html", "md", "tex" and "csv".
    title : str, optional
        By default made of the names of learners and datasets.

    Returns
    -------
    dict of str to Path
        The file of each format.

    Examples
    --------
    >>> import tempfile
    >>> from plurilabel.compare import Results
    >>> from plurilabel.report import write_report
    >>> plan = {"protocol": {"measures": ["f1"], "cv": 2}, "datasets": {"toy": {}},
    ...         "learners": {"MLkNN": {}, "BRkNN": {}}}
    >>> cells = [
    ...     {"dataset": "toy", "learner": learner, "repeat": 0, "fold": fold, "status": "ok",
    ...      "scores": {"f1": f1}, "n_train": 50, "n_test": 50}
    ...     for learner, values in {"MLkNN": (0.5, 0.7), "BRkNN": (0.4, 0.6)}.items()
    ...     for fold, f1 in enumerate(values)
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_report(Results(plan, cells), folder, formats=["csv"])
    ...     print(files["csv"].read_text())
    dataset,learner,measure,mean,deviation,splits,rank,best,not_worse
    toy,MLkNN,f1,0.6,0.1414...,2,1.0,1,0
    toy,BRkNN,f1,0.5,0.1414...,2,2.0,0,0
    <BLANKLINE>
    """
    formats = [formats] if isinstance(formats, str) else list(formats)
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"formats must be of {', '.join(FORMATS)}, got {name!r}")
    place = results.folder if folder is None else Path(folder)
    if place is None:
        raise ValueError("folder must say where to write: these results have none of their own")
    if not results.cells:
        raise ValueError("results must have at least one cell, got none")
    place.mkdir(parents=True, exist_ok=True)
    findings = Findings(results)
    heading = title or default_title(results)
    written = {}
    for name in formats:
        path = place / f"report.{name}"
        with write_atomic(path) as stream:
            stream.write(FORMATS[name](findings, heading).encode())
        written[name] = path
    return written


def default_title(results: Results) -> str:
    """What was compared, in a few words."""
    learners, datasets = results.learners, results.datasets
    return f"{_few(learners, 'learner')} on {_few(datasets, 'dataset')}"


def _few(names: Sequence[str], word: str) -> str:
    said = listed(names)
    return said if len(names) <= 3 and len(said) <= 60 else counted(len(names), word)
