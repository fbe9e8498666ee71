"""The plots of the report that each dataset has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel.report._data import Findings
from plurilabel.report._svg import SERIES, Chart, Figure, padded, series, shortened
from plurilabel.report._words import capital, listed, measure_title

QUALITY = ("average_precision", "f1", "micro_f1", "accuracy", "hamming_loss")
CURVES = ("hamming_loss", "f1", "subset_accuracy")
MOST_POINTS = 400
"""Labels of a dataset that the plot of recall shows."""
RECALL_SERIES = 4


def time_against_quality(findings: Findings, dataset: str) -> Figure | None:
    """Seconds of training and prediction against a measure; a line joins the best trade-offs."""
    measures = [m for m in (*QUALITY, *findings.headlines) if m in findings.tables]
    if not measures:
        return None
    i, table = findings.results.datasets.index(dataset), findings.tables[measures[0]]
    seconds, quality = findings.seconds[i], table.means[i]
    shown = [j for j in findings.order if seconds[j] > 0 and np.isfinite(quality[j])]
    if not shown:
        return None
    low, high = seconds[shown].min(), seconds[shown].max()
    chart = Chart(
        (low / 1.5, high * (2.5 if high / low > 3 else 1.6)), padded(quality[shown], 0.1),
        x_label="seconds to train and predict, one fold", y_label=f"{table.title} {table.arrow}",
        says=f"{table.title} on {dataset} against time", log_x=True,
    )  # fmt: skip
    front: list[int] = []
    for j in sorted(
        shown, key=lambda j: (seconds[j], -_signed(table.greater_is_better, quality[j]))
    ):
        value = _signed(table.greater_is_better, quality[j])
        if not front or value > _signed(table.greater_is_better, quality[front[-1]]):
            front.append(j)
    chart.line(seconds[front], quality[front], "front")
    names = findings.results.learners
    for place, j in enumerate(findings.order):
        if j in shown:
            title = f"{names[j]}: {quality[j]:.4f} in {seconds[j]:.3g} s"
            chart.dots([seconds[j]], [quality[j]], series(place), [title])
    wanted = front + [j for j in shown if j not in front]
    points = [(seconds[j], quality[j]) for j in wanted]
    chart.names(points, [shortened(names[j], 24) for j in wanted])
    joined = listed([names[j] for j in front], 5)
    caption = f"The line joins those that no other beats in both: {joined}."
    if len(front) == 1:
        caption = f"{names[front[0]]} is both the fastest and the best."
    return Figure("Time against quality", chart.svg(), caption)


def frequency_against_recall(findings: Findings, dataset: str) -> Figure | None:
    """Recall of each label against how many instances have it, with the mean of like labels."""
    counts = findings.results.plan["datasets"][dataset].get("label_counts")
    learners = [n for n in findings.learners if (dataset, n) in findings.pooled][:RECALL_SERIES]
    if not counts or not learners:
        return None
    frequency = np.asarray(counts, dtype=np.float64)
    present = np.flatnonzero(frequency > 0)
    if len(present) < 2:
        return None
    present = present[np.argsort(frequency[present], kind="stable")]
    drawn = present
    if len(present) > MOST_POINTS:
        drawn = present[np.linspace(0, len(present) - 1, MOST_POINTS).astype(int)]
    low, high = frequency[present].min(), frequency[present].max()
    chart = Chart(
        (low / 1.15, high * 1.15), (-0.02, 1.02),
        x_label="instances with the label", y_label="recall of the label",
        says=f"Recall of the labels of {dataset} against their frequency", log_x=True,
    )  # fmt: skip
    legend = []
    for learner in learners:
        pooled = findings.pooled[dataset, learner]
        with np.errstate(invalid="ignore"):
            recall = pooled["tp"] / (pooled["tp"] + pooled["fn"])
        style = series(findings.learners.index(learner))
        chart.cloud(frequency[drawn], recall[drawn], style)
        if len(present) >= 12:
            chart.line(*_binned(frequency[present], recall[present]), style)
        legend.append((style, learner))
    caption = "Each point is a label"
    if len(present) >= 12:
        caption += "; lines are means of labels that are about equally frequent"
    if len(drawn) < len(present):
        caption += f"; {len(drawn)} of {len(present):,} labels are drawn"
    title = "Label frequency against recall"
    return Figure(title, chart.svg(), caption + ".", tuple(legend))


def threshold_curves(findings: Findings, dataset: str) -> list[Figure]:
    """Measures against the cut, mean over splits; probabilities apart from other scores."""
    curves = {
        name: curve
        for name in findings.learners[:SERIES]
        if (curve := _mean_curve(findings.cells_of(dataset, name))) is not None
    }
    kinds = {
        "probabilities": {n: c for n, c in curves.items() if _is_share(c["cut"])},
        "other scores": {n: c for n, c in curves.items() if not _is_share(c["cut"])},
    }
    figures = []
    for kind, members in kinds.items():
        for measure in CURVES:
            drawn = {n: c for n, c in members.items() if np.isfinite(c.get(measure, np.nan)).any()}
            if not drawn:
                continue
            cuts = np.concatenate([c["cut"] for c in drawn.values()])
            values = np.concatenate([c[measure] for c in drawn.values()])
            title = measure_title(measure)
            chart = Chart(
                (float(cuts.min()), float(cuts.max())), padded(values),
                x_label="cut: labels with a higher score are predicted", y_label=title,
                says=f"{title} on {dataset} against the cut of {kind}",
            )  # fmt: skip
            styles = [series(findings.learners.index(name)) for name in drawn]
            for style, curve in zip(styles, drawn.values()):
                chart.line(curve["cut"], curve[measure], style)
            legend = tuple(zip(styles, drawn))
            figures.append(
                Figure(f"{capital(title)} against the cut ({kind})", chart.svg(), "", legend)
            )
    return figures


def _binned(frequency: NDArray[Any], recall: NDArray[Any]) -> tuple[list[float], list[float]]:
    """Means of runs of labels in the order of their frequency; about eight runs."""
    parts = np.array_split(np.arange(len(frequency)), min(8, len(frequency) // 4))
    xs, ys = [], []
    for part in parts:
        known = part[np.isfinite(recall[part])]
        if len(known):
            xs.append(float(np.exp(np.log(frequency[known]).mean())))
            ys.append(float(recall[known].mean()))
    return xs, ys


def _mean_curve(cells: Sequence[dict[str, Any]]) -> dict[str, NDArray[np.float64]] | None:
    """Mean of the curves of several splits, on one grid of cuts."""
    curves = [
        c["threshold_curve"] for c in cells if c["status"] == "ok" and c.get("threshold_curve")
    ]
    if not curves:
        return None
    own = [np.asarray(curve["cut"], dtype=np.float64) for curve in curves]
    grid = np.linspace(min(c[0] for c in own), max(c[-1] for c in own), len(own[0]))
    mean: dict[str, NDArray[np.float64]] = {"cut": grid}
    for measure in CURVES:
        if all(measure in curve for curve in curves):
            values = [np.array(curve[measure], dtype=np.float64) for curve in curves]
            mean[measure] = np.mean([np.interp(grid, x, y) for x, y in zip(own, values)], axis=0)
    return mean


def _is_share(cuts: NDArray[np.float64]) -> bool:
    return bool(abs(cuts[0]) < 1e-9 and abs(cuts[-1] - 1) < 1e-9)


def _signed(greater_is_better: bool, value: float) -> float:
    return value if greater_is_better else -value
