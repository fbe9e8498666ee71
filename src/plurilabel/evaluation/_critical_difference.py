"""Demšar's critical-difference diagram: its layout, and a drawing by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from plurilabel._core.compat import import_extra
from plurilabel.evaluation._friedman import Array
from plurilabel.evaluation._pairs import cliques

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = list[tuple[float, float]]
Text = tuple[str, float, float, str, str]

_LINES: dict[str, dict[str, Any]] = {
    "axis": {"linewidth": 1}, "clique": {"linewidth": 3.5}, "stem": {"linewidth": 0.8},
}  # fmt: skip
_TEXTS: dict[str, dict[str, Any]] = {
    "tick": {"fontsize": 9}, "name": {"fontsize": 10}, "value": {"fontsize": 6.5, "color": "0.35"},
}  # fmt: skip


@dataclass(frozen=True)
class CriticalDifferenceDiagram:
    """Lines and texts of a diagram, for any drawing library.

    Points are (x, y) with x in ranks and y in rows of names, downwards from the axis.
    """

    left: float
    right: float
    top: float
    bottom: float
    row: float  # width of a square, in ranks, that is one row high
    lines: list[tuple[str, Points]]  # style ("axis", "clique" or "stem"), and points to join
    texts: list[Text]  # style ("tick", "value" or "name"), x and y, alignment, text


def critical_difference_diagram(
    ranks: ArrayLike, names: Sequence[str], cd: float
) -> CriticalDifferenceDiagram:
    """Compute the layout of a diagram, which matplotlib draws, and reports as SVG."""
    r = np.asarray(ranks, dtype=np.float64)
    if r.ndim != 1 or len(r) < 2 or not np.isfinite(r).all():
        raise ValueError("ranks must be a list of at least two finite numbers")
    if len(names) != len(r):
        raise ValueError(f"names must have {len(r)} entries, one per rank, got {len(names)}")
    if not (np.isfinite(cd) and cd >= 0):
        raise ValueError(f"cd must be finite and not negative, got {cd}")
    low = floor(r.min() + 1e-9)
    high = max(ceil(r.max() - 1e-9), low + 1)
    row = (high - low) / max(13, high - low)
    side = row * (1.5 + 0.37 * max(len(str(name)) for name in names))
    left, right = low - side, high + side
    axis, texts = _axis(low, high, row, cd, right)
    bars, levels = _bars(r, cd, row)
    stems, half = [], ceil(len(r) / 2)
    order = np.argsort(r, kind="stable")
    # names of outer learners are above inner ones, so that lines do not cross
    sides = ((order[:half], low, -row, "right"), (order[: half - 1 : -1], high, row, "left"))
    for learners, edge, out, align in sides:
        for place, j in enumerate(learners):
            y = 1.7 + 0.45 * levels + place
            stems.append([(r[j], 0), (r[j], y), (edge + 0.8 * out, y)])
            texts.append(("name", edge + 1.05 * out, y + 0.2, align, str(names[j])))
            texts.append(("value", edge + 0.4 * out, y - 0.08, "center", f"{r[j]:.2f}"))
    styled = (("axis", axis), ("clique", bars), ("stem", stems))
    lines = [(style, points) for style, of_style in styled for points in of_style]
    bottom = 1.3 + 0.45 * levels + half
    return CriticalDifferenceDiagram(left, right, -2.8, bottom, row, lines, texts)


def _axis(
    low: int, high: int, row: float, cd: float, right: float
) -> tuple[list[Points], list[Text]]:
    """Lines and texts of the axis, and of the bar that shows the critical difference."""
    lines: list[Points] = [[(low, 0), (high, 0)]]
    texts: list[Text] = []
    for tick in range(low, high + 1, 1 if high - low <= 14 else 2):
        lines.append([(tick, 0), (tick, -0.25)])
        texts.append(("tick", tick, -0.45, "center", str(tick)))
    end = min(low + cd, right - 0.2 * row)
    lines.append([(x, -1.8 + up) for x in (low, end) for up in (0, -0.2, 0.2, 0)])
    note = "" if low + cd <= end else " (longer than the axis)"
    texts.append(("tick", low + 0.3 * row, -2.2, "left", f"CD = {cd:.2f}{note}"))
    return lines, texts


def _bars(r: Array, cd: float, row: float) -> tuple[list[Points], int]:
    """Bars that join learners that do not differ, and the number of levels they take."""
    bars: list[Points] = []
    ends: list[float] = []
    for group in cliques(r, cd):
        first, last = r[list(group)].min(), r[list(group)].max()
        # the first level at which the bar does not touch the previous one
        level = next((i for i, e in enumerate(ends) if first > e + 0.05 * len(r)), len(ends))
        ends[level : level + 1] = [last]
        y = 0.6 + 0.45 * level
        bars.append([(first - 0.15 * row, y), (last + 0.15 * row, y)])
    return bars, len(ends)


def plot_critical_difference(
    ranks: ArrayLike,
    names: Sequence[str],
    cd: float,
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot average ranks on a line; a bar joins learners that do not differ significantly.

    Parameters
    ----------
    ranks : array-like of shape (learners,)
        Average ranks, from :func:`average_ranks`; the best is on the left.
    names : sequence of str
    cd : float
        Critical difference, from :func:`nemenyi`.
    path : path, optional
        File to write the figure to, in the format of its suffix.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> from plurilabel.evaluation import plot_critical_difference
    >>> names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    >>> ax = plot_critical_difference([3.143, 2.000, 2.893, 1.964], names, cd=1.12)
    >>> [text.get_text() for text in ax.texts if "C4.5" in text.get_text()]
    ['C4.5+m+cf', 'C4.5+m', 'C4.5', 'C4.5+cf']
    """
    diagram = critical_difference_diagram(ranks, names, cd)
    if ax is None:
        pyplot = import_extra("matplotlib.pyplot", "plot_critical_difference", "cli")
        # 20 points per row
        width = (diagram.right - diagram.left) / diagram.row * 20 / 72
        height = (diagram.bottom - diagram.top) * 20 / 72
        ax = pyplot.figure(figsize=(width, height)).add_axes((0, 0, 1, 1))
    for style, points in diagram.lines:
        ax.plot(*np.transpose(points), color="black", solid_capstyle="butt", **_LINES[style])
    for style, x, y, align, text in diagram.texts:
        ax.text(x, y, text.replace("$", r"\$"), ha=align, va="baseline", **_TEXTS[style])
    ax.set_xlim(diagram.left, diagram.right)
    ax.set_ylim(diagram.bottom, diagram.top)
    ax.set_axis_off()
    if path is not None:
        ax.figure.canvas.print_figure(path, dpi=150, bbox_inches="tight")
    return ax
