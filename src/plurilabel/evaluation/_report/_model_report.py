"""A page about one model: measures, labels, curves, and the rows that it gets wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plurilabel._core.base import names_or_default
from plurilabel._core.blocks import dense
from plurilabel._core.compat import versions
from plurilabel._core.unknown import known_part
from plurilabel._core.words import capital, shortened
from plurilabel.evaluation._report._charts import Chart
from plurilabel.evaluation._report._report import write_html
from plurilabel.metrics import evaluate, get_measure, per_label

HEADLINES = ("micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "average_precision")
BINS = 10
MOST_ROWS, MOST_LABELS, MOST_NAMED = 50, 2000, 12  # in the tables, and beside dots


def write_model_report(
    path: str | os.PathLike[str],
    Y_true: Any,
    scores: Any,
    labels: Any,
    *,
    label_names: Sequence[str] | None = None,
    instances: Sequence[str] | None = None,
    rows: Sequence[int] | None = None,
    title: str = "Evaluation",
    facts: Sequence[tuple[str, str]] = (),
    command: str = "",
) -> Path:
    """Write a page about the predictions of a model: all measures, labels, curves, worst rows.

    The page is self-contained, and the table of labels can be sorted. Needs jinja2
    (``pip install 'plurilabel[cli]'``).

    Parameters
    ----------
    path : path
        The file to write; folders are created if needed.
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame; NaN for unknown labels
    scores : matrix of shape (n, q), or None
        The output of ``predict_proba`` or ``decision_function``.
    labels : 0/1 matrix of shape (n, q)
        The output of ``predict``.
    label_names : sequence of str, default=None
    instances : sequence of n texts, default=None
        Shown for the rows with the most wrong labels; by default only their numbers.
    rows : sequence of n int, default=None
        Numbers of the rows, by default from 0.
    title : str
    facts : sequence of (word, value), default=()
        Shown at the top.
    command : str, default=""
        How to make the page again.

    Returns
    -------
    Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from plurilabel.evaluation import write_model_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_model_report(
    ...         f"{folder}/page.html", [[1, 0], [1, 1]], [[0.9, 0.2], [0.7, 0.4]],
    ...         [[1, 0], [1, 0]], label_names=["sea", "sun"], instances=["a", "b < c"])
    ...     "b &lt; c" in page.read_text()
    True
    """
    if labels is None:
        raise ValueError("labels must be a 0/1 matrix, the output of predict, got None")
    measures, table = evaluate(Y_true, scores, labels), per_label(Y_true, scores, labels)
    Y, unknown = known_part(Y_true)
    Y, Z = dense(np.asarray(Y) if hasattr(Y, "columns") else Y), dense(labels)
    names: Any = names_or_default(label_names, Y.shape[1])
    known = np.ones(Y.shape, dtype=bool) if unknown is None else ~dense(unknown)
    for name, given in (("instances", instances), ("rows", rows)):
        if given is not None and len(given) != len(Y):
            raise ValueError(f"{name} must have {len(Y)} entries, got {len(given)}")
    S = None if scores is None else dense(scores)
    shown = {
        "title": title,
        "headline": _headline(measures),
        "facts": [*facts, ("rows", f"{len(Y):,}"), ("labels", f"{len(names):,}")],
        "note": measures.note,
        "measures": _by_family(measures),
        "columns": list(table),
        "by_label": [
            (names[j], [_cell(column[j]) for column in table.values()])
            for j in np.argsort(-table["positives"], kind="stable")[:MOST_LABELS]
        ],
        "hidden": max(0, len(names) - MOST_LABELS),
        "charts": _charts(Y, S, known, table, names),
        "worst": _worst(Y, Z, S, known, names, instances, rows),
        "command": command,
        "repeat": list(versions().items()),
        "version": versions()["plurilabel"],
    }
    return write_html(path, "model", shown)


def _headline(measures: Any) -> str:
    found = [(get_measure(name).title, measures[name]) for name in HEADLINES if name in measures]
    return capital(", ".join(f"{title} {value:.3f}" for title, value in found)) + "."


def _by_family(measures: Any) -> list[tuple[str, list[Any]]]:
    """Title and value of each measure, family by family."""
    found: dict[str, list[Any]] = {}
    for name, value in measures.items():
        one = get_measure(name)
        line = (f"{capital(one.title)} {'↓↑'[one.greater_is_better]}", [f"{value:.4f}"])
        found.setdefault(capital(one.family), []).append(line)
    return list(found.items())


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def _charts(Y: Any, S: Any, known: Any, table: Any, names: Any) -> list[Chart]:
    """F1 against frequency; with scores, precision and recall; with probabilities, reliability."""
    positives, f1 = table["positives"], table["f1"]
    there = positives > 0
    drawn = []
    if there.any():
        ends = (positives[there].min() / 1.3, positives[there].max() * 1.3)
        chart = Chart(
            "Labels", "F1 of each label against its frequency", ends, (0, 1),
            ("rows with the label", "F1 ↑"), log_x=True,
        )  # fmt: skip
        titles = [f"{name}: {value:.3f}" for name, value in zip(np.array(names)[there], f1[there])]
        chart.dots(positives[there][:MOST_LABELS], f1[there][:MOST_LABELS], "s0", titles)
        few = [shortened(name, 20) for name in np.array(names)[there][:MOST_NAMED]]
        chart.names(positives[there][:MOST_NAMED], f1[there][:MOST_NAMED], few)
        drawn.append(chart)
    if S is None or not Y[known].any():
        return drawn
    y, s = Y[known], S[known]
    order = np.argsort(-s, kind="stable")
    hits, last = np.cumsum(y[order]), np.append(np.diff(s[order]) != 0, True)
    precision, recall = (hits / np.arange(1, len(hits) + 1))[last], (hits / hits[-1])[last]
    some = np.unique(np.linspace(0, len(recall) - 1, 200).astype(int))
    chart = Chart(
        "Precision and recall", "Precision against recall of all labels together", (0, 1), (0, 1),
        ("recall ↑", "precision ↑"),
    )  # fmt: skip
    chart.line(recall[some], precision[some], "s0")
    chart.caption = "All labels together, at every cut of the scores."
    drawn.append(chart)
    if s.min() >= 0 and s.max() <= 1:
        place = np.minimum((s * BINS).astype(int), BINS - 1)
        count = np.bincount(place, minlength=BINS)
        full = count > 0
        said, seen = (np.bincount(place, part, BINS)[full] / count[full] for part in (s, y))
        chart = Chart(
            "Reliability", "Share of labels that are there against their probability", (0, 1),
            (0, 1), ("probability", "observed frequency"),
        )  # fmt: skip
        chart.line([0, 1], [0, 1], "front")
        chart.line(said, seen, "s0")
        titles = [f"{p:.2f}: {share:.2f} of {n:,}" for p, share, n in zip(said, seen, count[full])]
        chart.dots(said, seen, "s0", titles)
        chart.caption = "Points on the diagonal are well calibrated."
        drawn.append(chart)
    return drawn


def _worst(
    Y: Any, Z: Any, S: Any, known: Any, names: Any, instances: Any, numbers: Any
) -> list[dict[str, Any]]:
    """The rows with the most wrong labels; of equal ones those with the surest mistakes."""
    wrong = (Y != Z) & known
    counts, sure = wrong.sum(axis=1), np.zeros(len(Y))
    if S is not None:
        sure = np.where(wrong, np.abs(S - np.median(S)), 0).max(axis=1)
    order = np.lexsort((-sure, -counts))[:MOST_ROWS]
    return [
        {
            "row": i if numbers is None else int(numbers[i]),
            "text": "" if instances is None else shortened(str(instances[i]), 400),
            "missed": [names[j] for j in np.flatnonzero(wrong[i] & (Y[i] == 1))],
            "added": [names[j] for j in np.flatnonzero(wrong[i] & (Y[i] == 0))],
            "right": [names[j] for j in np.flatnonzero(~wrong[i] & (Z[i] == 1))],
        }
        for i in order.tolist()
        if counts[i]
    ]
