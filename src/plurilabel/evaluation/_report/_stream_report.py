"""The report of a run on a stream: curves over time, with the drifts marked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plurilabel._core.words import capital, counted, duration, file_size, listed
from plurilabel.evaluation._report._charts import Chart, Mark, evenly, padded, series
from plurilabel.evaluation._report._report import destination, html_page, write_files
from plurilabel.metrics import get_measure
from plurilabel.streams import StreamResults

HEADLINES = (
    "subset_accuracy", "f1", "micro_f1", "macro_f1", "hamming_loss", "average_precision",
    "ranking_loss",
)  # fmt: skip
MOST_POINTS = 400  # points of a curve
FORMATS = ("html", "csv")


def write_stream_report(
    results: StreamResults,
    folder: str | os.PathLike[str] | None = None,
    *,
    formats: Sequence[str] = FORMATS,
    title: str | None = None,
) -> dict[str, Path]:
    """Write the results of a run on a stream as ``report.html`` and ``report.csv``.

    The HTML page is self-contained: which learner is best over all rows, curves over time with the
    drifts marked, how soon each learner recovers, speed and size. The CSV file has all readings,
    one row per learner, kind and row of the stream. Needs jinja2 and pandas
    (``pip install 'plurilabel[cli]'``).

    Parameters
    ----------
    results : StreamResults
        From :func:`~plurilabel.streams.prequential`, finished or not.
    folder, formats, title :
        As in :func:`write_report`, with the formats "html" and "csv".

    Examples
    --------
    >>> import tempfile
    >>> from plurilabel.evaluation import write_stream_report
    >>> from plurilabel.streams import LabelShares, RandomTreeStream, prequential
    >>> results = prequential(RandomTreeStream(500), LabelShares(), ["f1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_stream_report(results, folder)
    ...     "<svg" in files["html"].read_text()
    True
    """
    place, formats = destination(results.folder, folder, formats, FORMATS)
    if not results.n_rows:
        raise ValueError("results must have at least one reading, got none")
    writers = {
        "html": lambda: html_page("stream", _shown(results, title)),
        "csv": lambda: results.frame().to_csv(index=False, lineterminator="\n"),
    }
    return write_files(place, {name: writers[name]() for name in formats})


def _shown(results: StreamResults, title: str | None) -> dict[str, Any]:
    headlines = [name for name in HEADLINES if name in results.measures] or results.measures[:6]
    others = [name for name in results.measures if name not in headlines]
    plan, protocol = results.plan, results.plan["protocol"]
    kinds = {
        "window": f"over the last {counted(protocol['window'] or 0, 'row')}",
        "fading": f"with fading by {protocol['fading']}",
        "overall": "over all rows so far",
    }
    kind = next(kind for kind in kinds if kind in results.kinds)
    speeds = {n: f"{v:,.0f}" if np.isfinite(v) else "–" for n, v in results.speed().items()}
    sizes = {n: file_size(v) if np.isfinite(v) else "–" for n, v in results.size().items()}
    repeat = {k.replace("_", " "): v for k, v in protocol.items() if k != "measures"}
    repeat["versions"] = ", ".join(f"{k} {v}" for k, v in plan["versions"].items())
    return {
        "title": title or f"{capital(listed(results.learners, 3))} on {plan['name']}",
        "headline": _headline(results, headlines[0]),
        "facts": _facts(results),
        "overall": _table(results, [*headlines, *others], results.final),
        "means": _table(results, headlines, results.mean) if "fading" in results.kinds else None,
        "fading": protocol["fading"],
        "recoveries": _recoveries(results, headlines[0], kind),
        "costs": [(name, [speeds[name], sizes[name]]) for name in results.learners],
        "kind": kinds[kind],
        "charts": [c for name in headlines if (c := curve_chart(results, name, kind))],
        "others": [c for name in others if (c := curve_chart(results, name, kind))],
        "cost_charts": [c for name in ("seconds", "bytes") if (c := _cost_chart(results, name))],
        "failures": list(results.errors.items()),
        "learners": list(plan["learners"].items()),
        "command": plan.get("command") or "",
        "repeat": [(name, value) for name, value in repeat.items() if value is not None],
        "version": plan["versions"]["plurilabel"],
    }


def _headline(results: StreamResults, measure: str) -> str:
    about = get_measure(measure)
    found = {n: v for n, v in results.final(measure).items() if np.isfinite(v)}
    order = sorted(found, key=lambda n: found[n], reverse=about.greater_is_better)
    if not order:
        return "No learner reached the end of the stream; see the failures below."
    said = f"{capital(about.title)} over all rows: {order[0]} {found[order[0]]:.3f}"
    others = [f"{name} {found[name]:.3f}" for name in order[1:4]]
    return f"{said}, followed by {listed(others)}." if others else f"{said}."


def _facts(results: StreamResults) -> list[tuple[str, str]]:
    protocol = results.plan["protocol"]
    seconds = [results.curve("seconds", name) for name in results.learners]
    spent = sum(float(np.nanmax(s)) for s in seconds if np.isfinite(s).any())
    state = "" if results.is_finished else ", not finished"
    found = [
        ("rows", f"{results.n_rows:,}{state}"),
        ("learners", f"{len(results.learners):,}"),
        ("drifts", f"{len(results.drifts):,}"),
        ("evaluated every", counted(protocol["every"], "row")),
        ("label delay", counted(protocol["delay"], "row")),
        ("learner time", duration(spent)),
    ]
    return [fact for fact in found if fact[1] not in ("0", "0 rows")]


def _table(
    results: StreamResults, measures: Sequence[str], values: Any
) -> tuple[list[str], list[tuple[str, list[tuple[str, bool]]]]]:
    """Titles, and the values of each learner as text, with the best ones marked."""
    columns, cells = [], {name: [] for name in results.learners}  # type: ignore[var-annotated]
    for measure in measures:
        about = get_measure(measure)
        columns.append(f"{about.title} {'↓↑'[about.greater_is_better]}")
        found = values(measure)
        known = [v for v in found.values() if np.isfinite(v)]
        best = (max if about.greater_is_better else min)(known, default=np.nan)
        for name, value in found.items():
            text = f"{value:.3f}" if np.isfinite(value) else "–"
            cells[name].append((text, len(known) > 1 and value == best))
    return columns, list(cells.items())


def _recoveries(results: StreamResults, measure: str, kind: str) -> Any:
    """Number of rows until each learner has recovered from each drift."""
    drifts = [d for d in results.drifts if d.kind != "moving" and d.row < results.n_rows]
    if not drifts:
        return None
    rows = []
    for name in results.learners:
        found = results.recoveries(measure, name, kind=kind)[: len(drifts)]
        rows.append((name, ["–" if rest is None else f"{rest:,}" for rest in found]))
    title = get_measure(measure).title
    return title, [f"drift at {drift.row:,}" for drift in drifts], rows


def curve_chart(results: StreamResults, measure: str, kind: str) -> Chart | None:
    """A measure of all learners over time, with the drifts; None if it is never defined."""
    about = get_measure(measure)
    curves = {name: results.curve(measure, name, kind) for name in results.learners}
    label = f"{about.title} {'↓↑'[about.greater_is_better]}"
    chart = _chart(results, curves, capital(about.title), label)
    if chart is None:
        return None
    marks = []
    for drift in results.drifts:
        if drift.row >= results.n_rows:
            continue
        (start, _), (end, _) = chart.points(
            [drift.row, min(drift.row + drift.width, results.n_rows)], [np.nan, np.nan]
        )
        if drift.width:
            band = f"M{start:.1f} {chart.top}V{chart.bottom}H{end:.1f}V{chart.top}Z"
            marks.append(Mark("drifting", band))
        marks.append(Mark("drift", f"M{start:.1f} {chart.top}V{chart.bottom}"))
    chart.marks[:0] = marks  # behind the curves
    return chart


def _cost_chart(results: StreamResults, cost: str) -> Chart | None:
    """Time or size of the learners over time."""
    curves = {name: results.curve(cost, name) for name in results.learners}
    if cost == "seconds":
        return _chart(results, curves, "Time for prediction and learning", "seconds", at_zero=True)
    sizes = {name: curve / 1e6 for name, curve in curves.items()}
    several = any(np.isfinite(curve).sum() > 1 for curve in sizes.values())
    return _chart(results, sizes, "Size when pickled", "MB", at_zero=True) if several else None


def _chart(
    results: StreamResults, curves: dict[str, Any], title: str, label: str, at_zero: bool = False
) -> Chart | None:
    values = np.concatenate(list(curves.values()))
    if not np.isfinite(values).any():
        return None
    low, high = padded(values)
    says = f"{title} of {listed(list(curves), 4)} over the rows of the stream"
    ends = (0.0 if at_zero else low, high)
    chart = Chart(title, says, (0, results.n_rows), ends, ("rows", label))
    for place, (name, curve) in enumerate(curves.items()):
        rows, known = results.rows, np.isfinite(curve)
        if not known.any():
            continue
        if at_zero:  # sizes are only known for some rows
            rows, curve = rows[known], curve[known]
        if len(rows) > MOST_POINTS:
            shown = evenly(len(rows), MOST_POINTS)
            rows, curve = rows[shown], curve[shown]
        chart.series(rows, curve, series(place), name)
    return chart
