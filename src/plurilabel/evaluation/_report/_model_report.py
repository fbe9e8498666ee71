"""A page about one model: measures, labels, curves, and the rows with the most errors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve

from plurilabel._core.base import names_or_default
from plurilabel._core.blocks import dense
from plurilabel._core.compat import versions
from plurilabel._core.unknown import known_part
from plurilabel._core.words import capital, shortened
from plurilabel.evaluation._report._charts import Chart, evenly
from plurilabel.evaluation._report._report import write_html
from plurilabel.metrics import evaluate, get_measure, per_label

HEADLINES = ("micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "average_precision")
BINS = 10
MOST_ROWS, MOST_LABELS, MOST_NAMED = 50, 2000, 12  # in the tables, and next to dots


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
    """Write a page about the predictions of a model: measures, labels, curves, worst rows.

    The page is self-contained. Needs jinja2 (``pip install 'plurilabel[cli]'``).

    Parameters
    ----------
    path : path
        File to write; folders are created if needed.
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame; NaN for unknown labels
    scores : matrix of shape (n, q), or None
        Output of ``predict_proba`` or ``decision_function``.
    labels : 0/1 matrix of shape (n, q)
        Output of ``predict``.
    label_names : sequence of str, default=None
    instances : sequence of n texts, default=None
        Text to show for the rows with the most errors; by default only their numbers are shown.
    rows : sequence of n int, default=None
        Row numbers, by default from 0.
    title : str
    facts : sequence of (name, value), default=()
        Shown at the top.
    command : str, default=""
        Command that creates the page.

    Examples
    --------
    >>> import tempfile
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
    best = [(get_measure(name).title, measures[name]) for name in HEADLINES if name in measures]
    families: dict[str, list[Any]] = {}
    for name, value in measures.items():
        one = get_measure(name)
        row = (f"{capital(one.title)} {'↓↑'[one.greater_is_better]}", [f"{value:.4f}"])
        families.setdefault(capital(one.family), []).append(row)
    shown = {
        "title": title,
        "headline": capital(", ".join(f"{title} {value:.3f}" for title, value in best)) + ".",
        "facts": [*facts, ("rows", f"{len(Y):,}"), ("labels", f"{len(names):,}")],
        "note": measures.note,
        "measures": list(families.items()),
        "columns": list(table),
        "by_label": [
            (names[j], [_cell(column[j]) for column in table.values()])
            for j in np.argsort(-table["positives"], kind="stable")[:MOST_LABELS]
        ],
        "hidden": max(0, len(names) - MOST_LABELS),
        "charts": _charts(Y, S, known, table, np.array(names)),
        "worst": _worst(Y, Z, S, known, names, instances, rows),
        "command": command,
        "repeat": list(versions().items()),
        "version": versions()["plurilabel"],
    }
    return write_html(path, "model", shown)


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def _charts(Y: Any, S: Any, known: Any, table: Any, names: Any) -> list[Chart]:
    """F1 by frequency; with scores, precision and recall; with probabilities, reliability."""
    drawn = []
    there = np.flatnonzero(table["positives"] > 0)[:MOST_LABELS]
    if len(there):
        positives, f1, names = table["positives"][there], table["f1"][there], names[there]
        ends = (positives.min() / 1.3, positives.max() * 1.3)
        chart = Chart(
            "Labels", "F1 of each label against its frequency", ends, (0, 1),
            ("rows with the label", "F1 ↑"), log_x=True,
        )  # fmt: skip
        titles = [f"{name}: {value:.3f}" for name, value in zip(names, f1)]
        chart.dots(positives, f1, "s0", titles)
        few = [shortened(name, 20) for name in names[:MOST_NAMED]]
        chart.names(positives[:MOST_NAMED], f1[:MOST_NAMED], few)
        drawn.append(chart)
    if S is None or not Y[known].any():
        return drawn
    y, s = Y[known], S[known]
    precision, recall, _ = precision_recall_curve(y, s)
    some = np.unique(evenly(len(recall), 200))
    chart = Chart(
        "Precision and recall", "Precision against recall of all labels together", (0, 1), (0, 1),
        ("recall ↑", "precision ↑"),
    )  # fmt: skip
    chart.line(recall[some], precision[some], "s0")
    chart.caption = "All labels together, over all thresholds."
    drawn.append(chart)
    if s.min() >= 0 and s.max() <= 1:
        place = np.minimum((s * BINS).astype(int), BINS - 1)
        count = np.bincount(place, minlength=BINS)
        full = count > 0
        said, seen = (np.bincount(place, part, BINS)[full] / count[full] for part in (s, y))
        chart = Chart(
            "Reliability", "Observed frequency of labels against predicted probability", (0, 1),
            (0, 1), ("predicted probability", "observed frequency"),
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
    """The rows with the most errors; ties are broken by the most confident error."""
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
