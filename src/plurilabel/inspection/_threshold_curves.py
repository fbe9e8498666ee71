"""Measures against the threshold: any measure of each label, or precision, recall and F1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import CUTS, column_names, names_or_default
from plurilabel._core.scores import score_method
from plurilabel.inspection import _display
from plurilabel.inspection._display import BLUE, COLORS, GRAY, GREEN, ORANGE, Array, Axes, Display
from plurilabel.metrics.shared import CountMeasure
from plurilabel.thresholds import shared as thresholds

X_LABEL = "cut: labels with a higher score are predicted"


def plot_threshold_curves(
    Y: ArrayLike,
    scores: ArrayLike,
    measure: str | Callable[..., Any] = "f1",
    *,
    label_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a measure of each label against the cut, and mark the best cuts.

    Up to seven labels have a color and a name each; more share one, with their mean curve.

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

    Examples
    --------
    >>> from plurilabel.inspection import plot_threshold_curves
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2], [0.1, 0.1]]
    >>> ax = plot_threshold_curves([[1, 1], [0, 1], [1, 0], [0, 0]], scores)
    >>> ax.get_ylabel()
    'f1'
    """
    f, labels = thresholds.check_scores_and_labels(scores, Y)
    names = names_or_default(column_names(Y) if label_names is None else label_names, f.shape[1])
    of_counts = thresholds.count_measure(measure)
    ax = _display.axes(ax, (8, 4.5), "plot_threshold_curves")
    columns = thresholds.by_label(f, labels)
    curves = [Curve(ordered, chosen, of_counts) for ordered, chosen in columns]
    low, high = float(f.min()), float(f.max())
    pad = 0.03 * (high - low or 1.0)
    low, high = low - pad, high + pad
    if len(curves) <= len(COLORS):
        for curve, name, color in zip(curves, names, COLORS):
            best = f"{name}: {curve.best_value:.2f} at {curve.best_cut:.3g}"
            curve.draw(ax, low, high, color=color, label=best)
        title = "label: best value at cut"
        ax.legend(title=title, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    else:
        for curve in curves:
            curve.draw(ax, low, high, color=BLUE, alpha=0.3)
        grid = np.linspace(low, high, 500)
        mean = np.mean([curve(grid) for curve in curves], axis=0)
        ax.plot(grid, mean, color=ORANGE, linewidth=2.5, label=f"mean of {len(curves)} labels")
        ax.plot([], [], "o", color=BLUE, alpha=0.3, label="best cut of a label")
        ax.legend(frameon=False)
    ax.set_xlabel(X_LABEL)
    ax.set_ylabel(measure if isinstance(measure, str) else getattr(measure, "__name__", "measure"))
    return ax


class Curve:
    """A measure as a step function of the cut, for one label."""

    def __init__(self, ordered: thresholds.Scores, chosen: Any, of_counts: CountMeasure):
        n = len(ordered)
        counts = thresholds.counts_by_size(n, thresholds.entry_sizes(ordered, chosen), 0, n + 1)
        sizes = np.flatnonzero(thresholds.cuttable(ordered, 0, n + 1))[::-1]
        self.edges = ordered[sizes[:-1] - 1]  # the distinct scores, ascending
        # one value more than edges: the first is that below the first edge
        self.values = thresholds.evaluate(of_counts, *counts)[sizes]
        best = len(sizes) - 1 - self.values[::-1].argmax()  # the highest of equally good cuts
        self.best_cut = thresholds.cut_keeping(ordered, int(sizes[best]))
        self.best_value = float(self.values[best])

    def __call__(self, cuts: thresholds.Scores) -> NDArray[np.float64]:
        return self.values[np.searchsorted(self.edges, cuts, side="right")]

    def draw(self, ax: Axes, low: float, high: float, **style: Any) -> None:
        edges = _at_most(self.edges, 2000).astype(np.float64)
        edges = np.concatenate([[low], edges, [high]])
        ax.stairs(self(edges[:-1]), edges, baseline=None, linewidth=1.5, **style)
        style.pop("label", None)
        ax.plot(self.best_cut, self.best_value, "o", **style)


def _at_most(values: Array, most: int) -> Array:
    """At most this many evenly spaced entries."""
    return values[np.linspace(0, len(values) - 1, min(most, len(values))).astype(int)]


@dataclass(eq=False, repr=False)
class PrecisionRecallThresholdDisplay(Display):
    """Precision, recall and F1 against the cut above which labels are predicted.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    cuts : array of shape (cuts,)
        Ascending.
    precision, recall, f1 : arrays of shape (cuts,)
        If labels with a score strictly above each cut are predicted.
    title : str
    default_cut : float, default=None
        The cut that the learner uses.

    Examples
    --------
    >>> from plurilabel.inspection import PrecisionRecallThresholdDisplay
    >>> display = PrecisionRecallThresholdDisplay.from_predictions(
    ...     [[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.4, 0.8], [0.6, 0.5]])
    >>> display.best_cut
    0.5
    >>> display.recall[display.cuts == 0.6].round(2)
    array([0.67])
    """

    cuts: Array
    precision: Array
    recall: Array
    f1: Array
    title: str
    default_cut: float | None = None

    @property
    def best_cut(self) -> float:
        """The highest cut with the best F1."""
        return float(self.cuts[len(self.f1) - 1 - self.f1[::-1].argmax()])

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any, **options: Any) -> Self:
        """Score X, and plot precision and recall of the true labels Y over all cuts.

        ``estimator``: fitted, or a saved model; ``options``: of :meth:`from_predictions`.
        """
        Y, scores = _display.with_scores(estimator, X, Y, options)
        options = {"default_cut": CUTS[score_method(estimator)]} | options
        return cls.from_predictions(Y, scores, **options)

    @classmethod
    def from_predictions(
        cls,
        Y_true: Any,
        scores: Any,
        *,
        average: str = "micro",
        label: str | int | None = None,
        label_names: Sequence[str] | None = None,
        default_cut: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot precision and recall over all cuts of the scores.

        Parameters
        ----------
        Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        scores : matrix of shape (n, q)
        average : {"micro", "macro"}, default="micro"
            From the counts of all labels, or the mean over the labels.
        label : str or int, default=None
            Name or index of one label, instead of an average.
        default_cut : float, default=None
            A cut to mark, such as 0.5.
        label_names, ax
            As in :meth:`LabelScoresDisplay.from_predictions`.
        """
        Y, S, title = _display.scored(Y_true, scores, "scores", label, label_names)
        Y, S = Y.astype(bool), S.astype(np.float64)
        title = title or f"{average} average of {Y.shape[1]:,} labels"
        if average not in ("micro", "macro"):
            raise ValueError(f"average must be 'micro' or 'macro', got {average!r}")
        cuts = _at_most(np.unique(S), 400)
        # predictions at each cut, and the correct ones among them (q, cuts)
        above, hits = (
            np.array([_above(S[chosen, l], cuts) for l, chosen in enumerate(which.T)])
            for which in (np.ones_like(Y), Y)
        )
        true = Y.sum(axis=0)[:, None]
        if average == "micro":
            above, hits, true = (part.sum(axis=0, keepdims=True) for part in (above, hits, true))
        parts = _ratio(hits, above), _ratio(hits, true), _ratio(2 * hits, above + true)
        precision, recall, f1 = (part.mean(axis=0) for part in parts)
        return cls(cuts, precision, recall, f1, title, default_cut).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax``, or in a new figure."""
        ax = self._begin(ax, (6.8, 4.4))
        for name, color in (("precision", BLUE), ("recall", ORANGE), ("F1", GREEN)):
            values = getattr(self, name.lower())
            ax.step(self.cuts, values, where="post", color=color, linewidth=1.8, label=name)
        best, height = self.best_cut, float(self.f1.max())
        ax.axvline(best, color=GREEN, linewidth=1, linestyle=(0, (4, 3)))
        label = f"best F1 {height:.2f} at {best:.3g}"
        ax.plot([best], [height], "o", color=GREEN, markersize=6, label=label)
        if self.default_cut is not None:
            label = f"default cut {self.default_cut:g}"
            ax.axvline(self.default_cut, color=GRAY, linewidth=1, label=label)
        ax.set(xlabel=X_LABEL, ylim=(-0.02, 1.02))
        (title,) = _display.shown_names([self.title])
        ax.set_title(title, loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        return self


def _above(scores: Array, cuts: Array) -> Array:
    """Number of scores strictly above each cut."""
    return len(scores) - np.searchsorted(np.sort(scores), cuts, side="right")


def _ratio(part: Array, whole: Array) -> Array:
    whole = np.broadcast_to(whole, part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
