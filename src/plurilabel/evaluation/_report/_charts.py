"""The charts of the report, drawn as SVG by the template.

Not drawn with matplotlib: the marks only have classes and take their colors from the page, so that
one drawing works in light and dark mode and on paper, and its points show names on hover. It is
also smaller and much faster, and a report may have a hundred charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.words import display_width, listed, shortened
from plurilabel.evaluation._compare._results import divided
from plurilabel.evaluation._report._findings import Findings
from plurilabel.evaluation._report._tables import Array

SERIES = 7  # learners with a color of their own; the others are gray
QUALITY = ("average_precision", "f1", "micro_f1", "accuracy", "hamming_loss")
MOST_POINTS, RECALL_SERIES = 400, 4  # labels and learners in the chart of recall
MOST_LABELS, MOST_LEARNERS = 30, 12  # in the table of labels

Ends = tuple[float, float]


class Mark(NamedTuple):
    """A path; a text, which has an anchor; or a dot, whose text is shown on hover."""

    style: str
    path: str = ""
    x: float = 0.0
    y: float = 0.0
    text: str = ""
    anchor: str = ""


class Chart:
    """A drawing of 420 by 280 pixels with axes, and marks at data coordinates.

    ``says`` describes it for screen readers; ``x`` and ``y`` are the ends of the axes and
    ``labels`` their titles. Ticks are (pixel, text), entries of the ``legend`` (class, name).
    """

    left, right, top, bottom = 44, 408, 30, 238

    def __init__(
        self, title: str, says: str, x: Ends, y: Ends, labels: tuple[str, str], log_x: bool = False
    ) -> None:
        self.title, self.says, self.caption = title, says, ""
        self.x_label, self.y_label = labels
        self.log_x = log_x
        self.x0, self.x1 = _apart(*np.log10(x)) if log_x else _apart(*x)
        self.y0, self.y1 = _apart(*y)
        up = ticks(self.y0, self.y1)
        self.left = max([self.left, *(ceil(text_width(text)) + 9 for _, text in up)])
        across = (log_ticks if log_x else ticks)(self.x0, self.x1)
        self.x_ticks = [(self._px(tick), text) for tick, text in across]
        self.y_ticks = [(self._py(tick), text) for tick, text in up]
        self.marks: list[Mark] = []
        self.legend: list[tuple[str, str]] = []

    def _px(self, x: Any) -> Any:
        return self.left + (x - self.x0) / (self.x1 - self.x0) * (self.right - self.left)

    def _py(self, y: Any) -> Any:
        return self.bottom - (y - self.y0) / (self.y1 - self.y0) * (self.bottom - self.top)

    def points(self, xs: ArrayLike, ys: ArrayLike) -> list[tuple[float, float]]:
        """Pixels of data points; NaN where a value is missing."""
        x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
        return list(zip(self._px(np.log10(x) if self.log_x else x), self._py(y)))

    def line(self, xs: ArrayLike, ys: ArrayLike, style: str) -> None:
        """Draw a line, interrupted where a value is missing."""
        path, pen = "", "M"
        for px, py in self.points(xs, ys):
            is_known = np.isfinite(py)
            path += f"{pen}{px:.1f} {py:.1f}" if is_known else ""
            pen = "L" if is_known else "M"
        if path:
            self.marks.append(Mark(f"line {style}", path))

    def series(self, xs: ArrayLike, ys: ArrayLike, style: str, name: str) -> None:
        """Draw a line with an entry in the legend."""
        self.line(xs, ys, style)
        self.legend.append((style, name))

    def dots(self, xs: ArrayLike, ys: ArrayLike, style: str, titles: Sequence[str]) -> None:
        """Draw points, each with a text shown on hover."""
        for (px, py), title in zip(self.points(xs, ys), titles):
            self.marks.append(Mark(f"dot {style}", x=px, y=py, text=title))

    def cloud(self, xs: ArrayLike, ys: ArrayLike, style: str) -> None:
        """Draw many small points in one path: lines of length 0 with round caps."""
        points = [f"M{px:.0f} {py:.0f}h0" for px, py in self.points(xs, ys) if np.isfinite(py)]
        if points:
            self.marks.append(Mark(f"cloud {style}", "".join(points)))

    def names(self, xs: ArrayLike, ys: ArrayLike, names: Sequence[str]) -> None:
        """Write names next to points, in this order, wherever there is room."""
        points = self.points(xs, ys)
        taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in points]
        for (px, py), name in zip(points, names):
            wide = text_width(name)
            for dx, dy, anchor in (
                (8, 4, "start"), (-8, 4, "end"), (0, -9, "middle"), (0, 17, "middle"),
                (-5, -9, "start"), (-5, 17, "start"), (5, -9, "end"), (5, 17, "end"),
            ):  # fmt: skip
                x, y = px + dx, py + dy
                start = x - {"start": 0.0, "end": wide, "middle": wide / 2}[anchor]
                box = (start, y - 12, start + wide, y + 4)
                inside = start >= self.left and start + wide <= 420 and y >= 10
                if inside and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    self.marks.append(Mark("", x=x, y=y, text=name, anchor=anchor))
                    break


def charts(findings: Findings, dataset: str) -> list[Chart]:
    return time_against_quality(findings, dataset) + frequency_against_recall(findings, dataset)


def time_against_quality(findings: Findings, dataset: str) -> list[Chart]:
    """Quality against time; a line joins the best trade-offs."""
    tables = [findings.tables[m] for m in QUALITY if m in findings.tables] or findings.headlines
    if not tables:
        return []
    names, i = findings.results.learners, findings.results.datasets.index(dataset)
    t, seconds, quality = tables[0], findings.seconds[i], tables[0].means[i]
    shown = [j for j in findings.order if seconds[j] > 0 and np.isfinite(quality[j])]
    if not shown:
        return []
    low, high = seconds[shown].min(), seconds[shown].max()
    chart = Chart(
        "Quality and time",
        f"{t.title} on {dataset} against time",
        (low / 1.5, high * (2.5 if high / low > 3 else 1.6)),
        padded(quality[shown], 0.1),
        ("seconds to train and predict, per fold", f"{t.title} {t.arrow}"),
        log_x=True,
    )
    losses = -quality if t.greater_is_better else quality
    front: list[int] = []
    for j in sorted(shown, key=lambda j: (seconds[j], losses[j])):
        if not front or losses[j] < losses[front[-1]]:
            front.append(j)
    chart.line(seconds[front], quality[front], "front")
    for j in shown:
        title = f"{names[j]}: {quality[j]:.4f} in {seconds[j]:.3g} s"
        chart.dots([seconds[j]], [quality[j]], series(findings.learners.index(names[j])), [title])
    wanted = front + [j for j in shown if j not in front]
    chart.names(seconds[wanted], quality[wanted], [shortened(names[j], 24) for j in wanted])
    chart.caption = f"{names[front[0]]} is both the fastest and the best."
    if len(front) > 1:
        joined = listed([names[j] for j in front], 5)
        chart.caption = f"No other learner is both faster and better than those joined: {joined}."
    return [chart]


def frequency_against_recall(findings: Findings, dataset: str) -> list[Chart]:
    """Recall of each label against its frequency, with means over labels of similar frequency."""
    counts = findings.results.plan["datasets"][dataset].get("label_counts")
    learners = [n for n in findings.learners if (dataset, n) in findings.pooled][:RECALL_SERIES]
    frequency = np.asarray(counts or (), dtype=np.float64)
    order = np.argsort(frequency, kind="stable")
    present = order[frequency[order] > 0]
    if not learners or len(present) < 2:
        return []
    at = np.linspace(0, len(present) - 1, MOST_POINTS).astype(int)
    drawn = present[at] if len(present) > MOST_POINTS else present
    chart = Chart(
        "Recall by label frequency",
        f"Recall of the labels of {dataset} against their frequency",
        (frequency[present[0]] / 1.15, frequency[present[-1]] * 1.15),
        (-0.02, 1.02),
        ("instances with the label", "recall of the label"),
        log_x=True,
    )
    runs = np.array_split(present, min(8, len(present) // 4)) if len(present) >= 12 else []
    for learner in learners:
        pooled = findings.pooled[dataset, learner]
        with np.errstate(invalid="ignore"):
            recall = pooled["tp"] / (pooled["tp"] + pooled["fn"])
        style = series(findings.learners.index(learner))
        chart.cloud(frequency[drawn], recall[drawn], style)
        known = [of for run in runs if len(of := run[np.isfinite(recall[run])])]
        xs = [np.exp(np.log(frequency[run]).mean()) for run in known]
        chart.series(xs, [recall[run].mean() for run in known], style, learner)
    means = "; lines are means over labels of similar frequency" if runs else ""
    some = f"; {len(drawn)} of {len(present):,} labels are shown"
    chart.caption = f"Each point is a label{means}{some if len(drawn) < len(present) else ''}."
    return [chart]


def label_scores(findings: Findings, dataset: str) -> dict[str, Any] | None:
    """F1 of each label and learner, from counts summed over the splits."""
    about = findings.results.plan["datasets"][dataset]
    known = [name for name in findings.learners if (dataset, name) in findings.pooled]
    if not known:
        return None
    f1 = np.transpose([label_f1(findings.pooled[dataset, n]) for n in known[:MOST_LEARNERS]])
    names = about.get("label_names") or [f"label {l}" for l in range(len(f1))]
    counts = np.asarray(about.get("label_counts") or np.zeros(len(f1)), dtype=np.float64)
    rows = [(str(names[l]), [counts[l], *f1[l]]) for l in shown_labels(counts)]
    return {"learners": known[:MOST_LEARNERS], "rows": rows, "known": known, "labels": len(f1)}


def label_f1(pooled: Mapping[str, Array]) -> Array:
    """F1 of each label from counts; NaN where a label is neither present nor predicted."""
    return divided(2 * pooled["tp"], 2 * pooled["tp"] + pooled["fp"] + pooled["fn"])


def shown_labels(counts: Array, most: int = MOST_LABELS) -> NDArray[np.intp]:
    """Labels by frequency, the most frequent first; some of them if there are many."""
    order = np.argsort(-counts, kind="stable")
    return order if len(order) <= most else order[evenly(len(order), most)]


def evenly(n: int, most: int) -> NDArray[np.intp]:
    return np.linspace(0, n - 1, most).round().astype(int)


_NARROW, _BROAD = set("iljtfrI.,:;'|!()[] "), set("MWmw@%—")


def text_width(text: str) -> float:
    """Approximate width of a text in pixels, on the safe side for the usual fonts."""
    widths = (
        14.0 if display_width(c) == 2 else 4.7 if c in _NARROW else 12.0 if c in _BROAD
        else 9.8 if c.isupper() else 8.2
        for c in text
    )  # fmt: skip
    return sum(widths)


def series(place: int) -> str:
    """CSS class of the learner at this place of the order."""
    return f"s{place}" if place < SERIES else "other"


def ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Round numbers within an interval, and their texts."""
    rough = (high - low) / about
    power = 10 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    digits = max(0, -floor(log10(step) + 1e-9) + (step / power == 2.5))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.{digits}f}") for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten between two exponents, with numbers in between if these are few."""
    several = high - low >= 2
    steps = (1,) if several else (1, 2, 5) if high - low >= 0.6 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    every = ceil((high - low) / 7) if several else 1
    exponents = range(floor(low), ceil(high) + 1, every)
    found = [(e + log10(m), f"{m * 10.0**e:g}") for e in exponents for m in steps]
    return [(tick, text) for tick, text in found if low - 1e-9 <= tick <= high + 1e-9]


def padded(values: ArrayLike, pad: float = 0.06) -> Ends:
    """Smallest and largest finite value, with some room."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    room = pad * (np.ptp(known) or abs(known[0]) or 1.0)
    return known.min() - room, known.max() + room


def _apart(low: float, high: float) -> Ends:
    return (low, high) if high - low > 1e-12 else (low - 0.5, high + 0.5)


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
