"""A measure against the cut, label by label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import column_names, names_or_default
from plurilabel.inspection._display import axes
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds.shared import (
    Scores,
    by_label,
    check_scores_and_labels,
    count_measure,
    counts_by_size,
    cut_keeping,
    cuttable,
    entry_sizes,
    evaluate,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which can be distinguished with any colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def plot_threshold_curves(
    Y: ArrayLike,
    scores: ArrayLike,
    measure: str | Callable[..., Any] = "f1",
    *,
    label_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a measure of each label against the cut, and mark where it is highest.

    Up to seven labels each have a colour and a name; more are drawn in one colour, with the mean
    of all curves.

    Parameters
    ----------
    Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        True labels.
    scores : array-like of shape (n, q)
    measure : str or callable, default="f1"
        As for :class:`SCut`.
    label_names : sequence of str, optional
        By default the column names of Y, if it is a data frame.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from plurilabel.inspection import plot_threshold_curves
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> ax = plot_threshold_curves([[1, 1], [0, 1], [1, 0], [0, 0]], scores)
    >>> ax.get_ylabel()
    'f1'
    """
    f, labels = check_scores_and_labels(scores, Y)
    names = names_or_default(column_names(Y) if label_names is None else label_names, f.shape[1])
    of_counts = count_measure(measure)
    ax = axes(ax, (8, 4.5), "plot_threshold_curves")
    curves = [Curve(ordered, chosen, of_counts) for ordered, chosen in by_label(f, labels)]
    low, high = float(f.min()), float(f.max())
    pad = 0.03 * (high - low or 1.0)
    low, high = low - pad, high + pad
    if len(curves) <= len(COLOURS):
        for curve, name, colour in zip(curves, names, COLOURS):
            best = f"{name}: {curve.best_value:.2f} at {curve.best_cut:.3g}"
            curve.draw(ax, low, high, color=colour, label=best)
        title = "label: best value at cut"
        ax.legend(title=title, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    else:
        for curve in curves:
            curve.draw(ax, low, high, color=COLOURS[0], alpha=0.3)
        grid = np.linspace(low, high, 500)
        mean = np.mean([curve(grid) for curve in curves], axis=0)
        ax.plot(grid, mean, color=COLOURS[1], linewidth=2.5, label=f"mean of {len(curves)} labels")
        ax.plot([], [], "o", color=COLOURS[0], alpha=0.3, label="best cut of a label")
        ax.legend(frameon=False)
    ax.set_xlabel("cut: labels with a higher score are predicted")
    ax.set_ylabel(measure if isinstance(measure, str) else getattr(measure, "__name__", "measure"))
    return ax


class Curve:
    """A measure as a step function of the cut, for one column of scores."""

    def __init__(self, ordered: Scores, chosen: Scores, of_counts: CountMeasure):
        n = len(ordered)
        counts = counts_by_size(n, entry_sizes(ordered, chosen), 0, n + 1)
        sizes = np.flatnonzero(cuttable(ordered, 0, n + 1))
        self.edges = ordered[sizes[:0:-1] - 1]  # the distinct scores, ascending
        self.values = evaluate(of_counts, *counts)[sizes[::-1]]  # one more: below the first edge
        best = len(sizes) - 1 - self.values[::-1].argmax()  # the highest of equally good cuts
        self.best_cut = cut_keeping(ordered, int(sizes[::-1][best]))
        self.best_value = float(self.values[best])

    def __call__(self, cuts: Scores) -> NDArray[np.float64]:
        return self.values[np.searchsorted(self.edges, cuts, side="right")]

    def draw(self, ax: Axes, low: float, high: float, *, most: int = 2000, **style: Any) -> None:
        edges = self.edges
        if len(edges) > most:  # finer than any screen
            edges = edges[np.linspace(0, len(edges) - 1, most).astype(int)]
        edges = np.concatenate([[low], edges.astype(np.float64), [high]])
        ax.stairs(self(edges[:-1]), edges, baseline=None, linewidth=1.5, **style)
        style.pop("label", None)
        ax.plot(self.best_cut, self.best_value, "o", **style)
