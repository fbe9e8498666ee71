"""Nemenyi's test of average ranks, and Demšar's critical-difference diagram of its result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from plurilabel._core.compat import import_extra
from plurilabel.evaluation._friedman import Array, check_values, rank_lines, ranks_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Nemenyi:
    """Result of :func:`nemenyi`; ``print`` shows a summary.

    Attributes
    ----------
    names : tuple of str
    average_ranks : ndarray of shape (learners,)
    n_datasets : int
    alpha : float
    critical_difference : float
        Learners whose average ranks differ by more than this are significantly different.
    pvalues : ndarray of shape (learners, learners)
        Of each pair, corrected for the number of pairs; 1 on the diagonal.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_datasets: int
    alpha: float
    critical_difference: float
    pvalues: Array

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Largest sets of learners that do not differ, as indices, the best first."""
        return cliques(self.average_ranks, self.critical_difference)

    def __str__(self) -> str:
        lines = [
            f"Nemenyi test of {len(self.names)} learners on {self.n_datasets} datasets",
            f"  critical difference {self.critical_difference:.3f} at alpha = {self.alpha:g}",
            rank_lines(self.names, self.average_ranks),
        ]
        alike = ["  " + ", ".join(self.names[j] for j in group) for group in self.groups]
        lines += ["not significantly different", *alike] if alike else []
        return "\n".join(lines)


def nemenyi(
    values: ArrayLike,
    *,
    greater_is_better: bool,
    alpha: float = 0.05,
    names: Sequence[str] | None = None,
    missing: str = "error",
) -> Nemenyi:
    """Compare all learners with each other by their average ranks.

    With N datasets and k learners, two average ranks differ significantly if they are further
    apart than the critical difference ``q_alpha * sqrt(k (k + 1) / (6 N))``, where q_alpha is the
    quantile of the studentized range for k groups and infinitely many degrees of freedom,
    divided by the square root of 2. Meant to be used after :func:`friedman` has found a
    difference.

    Parameters
    ----------
    values, greater_is_better, names, missing :
        As in :func:`friedman`.
    alpha : float, default=0.05

    Returns
    -------
    Nemenyi

    Examples
    --------
    >>> from plurilabel.evaluation import nemenyi
    >>> auc = [[0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.6, 0.3], [0.9, 0.8, 0.5]]
    >>> print(nemenyi(auc, greater_is_better=True, names=["forest", "chain", "kNN"]))
    Nemenyi test of 3 learners on 4 datasets
      critical difference 1.657 at alpha = 0.05
    average ranks
      1.000  forest
      2.000  chain
      3.000  kNN
    not significantly different
      forest, chain
      chain, kNN
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
    values, names = check_values(values, names, missing=missing)
    R, error = ranks_and_error(values, greater_is_better)
    k = len(R)
    apart = np.abs(R[:, None] - R) / error * np.sqrt(2)
    distinct, where = np.unique(apart, return_inverse=True)
    spread = stats.studentized_range(k, np.inf)
    # beyond 20 the p-value is 0 to every digit anyone prints, and the integral is slow
    p = [float(spread.sf(a)) if 0 < a < 20 else a == 0 for a in distinct]
    quantile = float(spread.isf(alpha)) / np.sqrt(2)
    return Nemenyi(
        names=names,
        average_ranks=R,
        n_datasets=len(values),
        alpha=alpha,
        critical_difference=float(quantile * error),
        pvalues=np.clip(np.array(p, dtype=np.float64)[where].reshape(k, k), 0, 1),
    )


def cliques(ranks: ArrayLike, critical_difference: float) -> list[tuple[int, ...]]:
    """Largest sets of two or more learners whose ranks lie within the critical difference."""
    ranks = np.asarray(ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    # a hair more than the difference: 3.1 - 2.1 must not exceed 1.0
    reach = ranks[order] + critical_difference + 1e-9
    groups, last = [], 0
    for start, end in enumerate(np.searchsorted(ranks[order], reach, side="right")):
        if end > max(last, start + 1):  # not inside the group before, and not one learner alone
            groups.append(tuple(order[start:end].tolist()))
            last = end
    return groups


Points = list[tuple[float, float]]
Text = tuple[str, float, float, str, str]


@dataclass(frozen=True)
class CriticalDifferenceDiagram:
    """Lines and texts of a diagram, for any program that draws.

    Points are (x, y) with x in ranks and y in rows of names, downwards from the axis.

    Attributes
    ----------
    left, right, top, bottom : float
        The edges of the drawing.
    row : float
        Ranks that are as wide as a row is high.
    lines : list of (str, list of (float, float))
        The style, "axis", "clique" or "stem", and the points to join.
    texts : list of (str, float, float, str, str)
        The style, "tick", "value" or "name", where the baseline starts or ends, "left", "center"
        or "right" for the part of the text that is there, and the text.
    """

    left: float
    right: float
    top: float
    bottom: float
    row: float
    lines: list[tuple[str, Points]]
    texts: list[Text]


def critical_difference_diagram(
    ranks: ArrayLike, names: Sequence[str], cd: float
) -> CriticalDifferenceDiagram:
    """Lay a diagram out so that no lines cross: the names of outer learners above inner ones.

    :func:`plot_critical_difference` draws it with matplotlib, and
    :func:`~plurilabel.evaluation.write_report` as SVG in the colors of the page.

    Parameters
    ----------
    ranks : array-like of shape (learners,)
        Average ranks, of :func:`average_ranks`; the best is to the left.
    names : sequence of str
    cd : float
        Critical difference, of :func:`nemenyi`.

    Returns
    -------
    CriticalDifferenceDiagram

    Examples
    --------
    >>> from plurilabel.evaluation import critical_difference_diagram
    >>> diagram = critical_difference_diagram([1.5, 2.0, 2.5], ["forest", "chain", "kNN"], cd=0.6)
    >>> [text for style, *_, text in diagram.texts if style == "name"]
    ['forest', 'chain', 'kNN']
    >>> [style for style, _ in diagram.lines].count("clique")
    2
    """
    r = np.asarray(ranks, dtype=np.float64)
    if r.ndim != 1 or len(r) < 2 or not np.isfinite(r).all():
        raise ValueError("ranks must be a list of at least two finite numbers")
    if len(names) != len(r):
        raise ValueError(f"names must have {len(r)} entries, one per rank, got {len(names)}")
    if not (np.isfinite(cd) and cd >= 0):
        raise ValueError(f"cd must be a finite number and not negative, got {cd}")
    low = floor(r.min() + 1e-9)
    high = max(ceil(r.max() - 1e-9), low + 1)
    row = (high - low) / max(13, high - low)
    side = row * (1.5 + 0.37 * max(len(str(name)) for name in names))
    left, right = low - side, high + side
    axis, texts = _axis(low, high, row, cd, right)
    bars, levels = _bars(r, cd, row)
    stems, half = [], ceil(len(r) / 2)
    order = np.argsort(r, kind="stable")
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
    """Lines and texts of the axis with its ticks, and of the bar that shows the difference."""
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
        # the first level at which the bar does not touch the one before
        level = next((i for i, e in enumerate(ends) if first > e + 0.05 * len(r)), len(ends))
        ends[level : level + 1] = [last]
        y = 0.6 + 0.45 * level
        bars.append([(first - 0.15 * row, y), (last + 0.15 * row, y)])
    return bars, len(ends)


_LINES: dict[str, dict[str, Any]] = {
    "axis": {"linewidth": 1}, "clique": {"linewidth": 3.5}, "stem": {"linewidth": 0.8},
}  # fmt: skip
_TEXTS: dict[str, dict[str, Any]] = {
    "tick": {"fontsize": 9}, "name": {"fontsize": 10}, "value": {"fontsize": 6.5, "color": "0.35"},
}  # fmt: skip


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
    ranks, names, cd :
        As in :func:`critical_difference_diagram`.
    path : path, optional
        A file to write the figure to, its format by its suffix.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of fitting size if None.

    Returns
    -------
    matplotlib Axes
        With ranks from left to right.

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
        # 20 points a row
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
