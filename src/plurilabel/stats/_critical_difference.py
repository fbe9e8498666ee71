"""Demsar's critical-difference diagram: average ranks, and who does not differ."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from plurilabel.stats._nemenyi import cliques

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Layout:
    """Where everything goes, in ranks from left to right and rows from top to bottom.

    Attributes
    ----------
    low, high : int
        Ends of the axis.
    bars : list of (float, float, int)
        First and last rank of each group of learners that do not differ, and its row.
    rows : int
        Rows that the bars take.
    labels : list of (int, float, int, str)
        Learner, its rank, row of its name, and "left" or "right".
    """

    low: int
    high: int
    bars: list[tuple[float, float, int]]
    rows: int
    labels: list[tuple[int, float, int, str]]


def cd_layout(ranks: ArrayLike, cd: float) -> Layout:
    """Place bars and names so that no lines cross: outer learners above inner ones."""
    r = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(r, kind="stable")
    ends: list[float] = []
    bars = []
    for group in cliques(r, cd):
        first, last = float(r[list(group)].min()), float(r[list(group)].max())
        # the first row in which the bar does not touch the one before
        row = next((i for i, end in enumerate(ends) if first > end + 0.05 * len(r)), len(ends))
        ends[row : row + 1] = [last]
        bars.append((first, last, row))
    half = ceil(len(r) / 2)
    left = [(int(j), float(r[j]), row, "left") for row, j in enumerate(order[:half])]
    right = [(int(j), float(r[j]), row, "right") for row, j in enumerate(order[: half - 1 : -1])]
    low, high = floor(r.min() + 1e-9), ceil(r.max() - 1e-9)
    return Layout(low, max(high, low + 1), bars, len(ends), left + right)


def plot_critical_difference(
    ranks: ArrayLike,
    names: Sequence[str],
    cd: float,
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw average ranks on a line; a bar joins learners that do not differ significantly.

    Parameters
    ----------
    ranks : array-like of shape (learners,)
        Average ranks, of :func:`average_ranks`; the best is to the left.
    names : sequence of str
    cd : float
        Critical difference, of :func:`nemenyi`.
    path : path, optional
        A file to write the figure to, its format by its suffix.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of fitting size if None.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    J. Demsar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> from plurilabel.stats import plot_critical_difference
    >>> names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    >>> ax = plot_critical_difference([3.143, 2.000, 2.893, 1.964], names, cd=1.12)
    >>> [text.get_text() for text in ax.texts if "C4.5" in text.get_text()]
    ['C4.5+m+cf', 'C4.5+m', 'C4.5', 'C4.5+cf']
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    if ranks.ndim != 1 or len(ranks) < 2 or not np.isfinite(ranks).all():
        raise ValueError("ranks must be a list of at least two finite numbers")
    if len(names) != len(ranks):
        raise ValueError(f"names must have {len(ranks)} entries, one per rank, got {len(names)}")
    if not (np.isfinite(cd) and cd >= 0):
        raise ValueError(f"cd must be a finite number and not negative, got {cd}")
    layout = cd_layout(ranks, cd)
    if ax is None:
        ax = _new_axes(layout, max(len(str(name)) for name in names))
    _draw(ax, layout, [str(name) for name in names], cd)
    if path is not None:
        ax.figure.canvas.print_figure(path, dpi=150, bbox_inches="tight")
    return ax


# heights in rows: a name needs one, a bar less
_BAR = 0.45
_FIRST_BAR = 0.55
_TOP = -2.8


def _depth(layout: Layout, row: int) -> float:
    """Height of a name below the axis: under all bars."""
    return _FIRST_BAR + layout.rows * _BAR + 0.6 + row


def _draw(ax: Axes, layout: Layout, names: Sequence[str], cd: float) -> None:
    low, high = layout.low, layout.high
    ink: dict[str, Any] = {"color": "black", "clip_on": False, "solid_capstyle": "butt"}
    ax.plot([low, high], [0, 0], linewidth=1, **ink)
    for tick in range(low, high + 1):
        ax.plot([tick, tick], [0, -0.25], linewidth=1, **ink)
        ax.text(tick, -0.4, str(tick), ha="center", va="bottom", fontsize=9)
    ax.plot([low, low + cd], [-1.65, -1.65], linewidth=1, **ink)
    for end in (low, low + cd):
        ax.plot([end, end], [-1.8, -1.5], linewidth=1, **ink)
    ax.text(low + cd / 2, -1.85, f"CD = {cd:.3g}", ha="center", va="bottom", fontsize=9)
    for first, last, row in layout.bars:
        y, pad = _FIRST_BAR + row * _BAR, 0.006 * (high - low)
        ax.plot([first - pad, last + pad], [y, y], linewidth=3.5, **ink)
    margin = 0.08 * (high - low)  # room for the figures beyond the ends of the axis
    for j, rank, row, side in layout.labels:
        y = _depth(layout, row)
        end, turn, align = (low, -1, "right") if side == "left" else (high, 1, "left")
        edge = end + turn * margin
        ax.plot([rank, rank, edge], [0, y, y], linewidth=0.8, **ink)
        name = names[j].replace("$", r"\$")
        ax.text(edge + turn * margin / 6, y, name, ha=align, va="center", fontsize=9)
        style: dict[str, Any] = {"va": "bottom", "fontsize": 7, "color": "0.35"}
        ax.text(end + turn * margin / 2, y - 0.06, f"{rank:.2f}", ha="center", **style)
    lowest = max(_depth(layout, row) for _, _, row, _ in layout.labels)
    ax.set_xlim(low - margin, max(high, low + cd) + margin)
    ax.set_ylim(lowest + 0.5, _TOP)
    ax.set_axis_off()


def _new_axes(layout: Layout, longest: int) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "plot_critical_difference needs matplotlib: pip install plurilabel[cli]"
        ) from None
    rows = max(row for _, _, row, _ in layout.labels)
    height = 0.24 * (_depth(layout, rows) + 0.5 - _TOP)
    names = 0.075 * longest + 0.2  # inches on either side
    width = max(4.5, 0.45 * (layout.high - layout.low)) + 2 * names
    figure, ax = pyplot.subplots(figsize=(width, height))
    figure.subplots_adjust(left=names / width, right=1 - names / width, bottom=0, top=1)
    return ax
