"""A page for reviewing labels that are probably wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plurilabel._core.compat import versions
from plurilabel._core.scores import check_count
from plurilabel._core.words import counted
from plurilabel.evaluation._report._report import write_html
from plurilabel.inspection import LabelIssues


def write_issues_report(
    issues: LabelIssues,
    path: str | os.PathLike[str],
    *,
    instances: Sequence[Any] | None = None,
    top: int = 500,
    title: str = "Labels to check",
) -> Path:
    """Write a page for reviewing labels that are probably wrong, worst first.

    Each row shows the instance, the label, the issue and the evidence, and can be marked as right
    or wrong; a button saves the decisions as a CSV file. The page is self-contained. Needs jinja2
    (``pip install 'plurilabel[cli]'``).

    Parameters
    ----------
    issues : LabelIssues
        From :func:`~plurilabel.inspection.find_label_issues`.
    path : path
        File to write; folders are created if needed.
    instances : sequence of n texts, optional
        Text to show for each instance; by default only its row number is shown.
    top : int, default=500
        Maximum number of issues to show.
    title : str

    Examples
    --------
    >>> import tempfile
    >>> from plurilabel.inspection import find_label_issues
    >>> from plurilabel.evaluation import write_issues_report
    >>> scores = [[0.9, 0.2], [0.7, 0.6]]
    >>> issues = find_label_issues([[1, 0], [0, 1]], scores, calibrate=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_issues_report(issues, f"{folder}/issues.html", instances=["a", "b < c"])
    ...     "b &lt; c" in page.read_text()
    True
    """
    n, q = issues.shape
    if instances is not None and len(instances) != n:
        raise ValueError(f"instances must have {n} entries, one per row, got {len(instances)}")
    check_count(top, "top")
    lines = [
        {
            "row": row,
            "text": "" if instances is None else str(instances[row]),
            "label": issues.label_names[issues.labels[i]],
            "given": bool(issues.given[i]),
            "quality": f"{issues.quality[i]:.3f}",
            "score": f"{issues.scores[i]:.2f}",
            "agreeing": None if issues.agreeing is None else int(issues.agreeing[i]),
        }
        for i, row in enumerate(issues.rows[:top].tolist())
    ]
    counts = np.bincount(issues.labels, minlength=q)
    wrong = np.bincount(issues.labels[issues.given], minlength=q)
    most = [l for l in np.argsort(-counts, kind="stable")[:50].tolist() if counts[l]]
    shown = {
        "title": title,
        "headline": f"{counted(len(issues), 'label')} of {n * q:,} should be checked.",
        "facts": [
            ("instances", f"{n:,}"),
            ("labels", f"{q:,}"),
            ("probably wrong", f"{int(issues.given.sum()):,}"),
            ("probably missing", f"{int((~issues.given).sum()):,}"),
        ],
        "lines": lines,
        "hidden": len(issues) - len(lines),
        "texts": instances is not None,
        "neighbors": None if issues.agreeing is None else issues.n_neighbors,
        "by_label": [
            (issues.label_names[l], [f"{wrong[l]:,}", f"{counts[l] - wrong[l]:,}"]) for l in most
        ],
        "version": versions()["plurilabel"],
    }
    return write_html(path, "issues", shown)
