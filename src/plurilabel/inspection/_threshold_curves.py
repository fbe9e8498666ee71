"""Thresholds drawn: precision and recall of each label, and a measure against the threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import CUTS, check_labels, column_names, names_or_default
from plurilabel._core.scores import score_method
from plurilabel.inspection._display import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    Array,
    Display,
    axes,
    names_of,
    opened,
    scored,
    shown_names,
)
from plurilabel.metrics import label_scores
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

    def __init__(self, ordered: Scores, chosen: Any, of_counts: CountMeasure):
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


MOST_CUTS = 400  # finer than any screen


@dataclass(eq=False, repr=False)
class PrecisionRecallThresholdDisplay(Display):
    """Precision, recall and F1 against the cut above which labels are predicted.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    cuts : array of shape (cuts,)
        Ascending.
    precision, recall, f1 : arrays of shape (cuts,)
        Predicting the labels with a score strictly above each cut.
    title : str
    default_cut : float, default=None
        The learner's own.

    Attributes
    ----------
    best_cut : float
        The highest cut with the best F1.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        Y: Any,
        *,
        average: str = "micro",
        label: str | int | None = None,
        label_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Score X, and plot precision and recall over all cuts.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba`` or ``decision_function``
        X : rows that it takes
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        average : {"micro", "macro"}, default="micro"
            From the counts of all labels, or the mean over the labels.
        label : str or int, default=None
            One label, by its name or number, instead of an average.
        label_names : sequence of str, default=None
            By default the columns of Y, or what the learner knows.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        PrecisionRecallThresholdDisplay
        """
        estimator, X, Y, label_names = opened(estimator, X, Y, label_names)
        q = check_labels(Y, name="Y").shape[1]
        names = names_of(label_names, Y, q, estimator)
        return cls.from_predictions(
            Y,
            label_scores(estimator, X, n_labels=q),
            average=average,
            label=label,
            label_names=names,
            default_cut=CUTS[score_method(estimator)],
            ax=ax,
        )

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
        """Plot precision and recall of scores over all cuts.

        Parameters
        ----------
        Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        scores : matrix of shape (n, q)
        average, label, label_names, ax
            As for :meth:`from_estimator`.
        default_cut : float, default=None
            A cut to mark, such as 0.5.

        Returns
        -------
        PrecisionRecallThresholdDisplay
        """
        Y, S, title = scored(Y_true, scores, "scores", label, label_names)
        Y, S = Y.astype(bool), S.astype(np.float64)
        title = title or f"{average} average of {Y.shape[1]:,} labels"
        if average not in ("micro", "macro"):
            raise ValueError(f"average must be 'micro' or 'macro', got {average!r}")
        cuts = np.unique(S)
        if len(cuts) > MOST_CUTS:
            cuts = cuts[np.linspace(0, len(cuts) - 1, MOST_CUTS).astype(np.intp)]
        # labels with a score strictly above each cut, and those of them that are true (q, cuts)
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
        """Draw it in ``ax``, or in a new figure."""
        ax = self._begin(ax, (6.8, 4.4))
        for name, color in (("precision", BLUE), ("recall", ORANGE), ("F1", GREEN)):
            values = getattr(self, name.lower())
            ax.step(self.cuts, values, where="post", color=color, linewidth=1.8, label=name)
        best = self.best_cut
        ax.axvline(best, color=GREEN, linewidth=1, linestyle=(0, (4, 3)))
        height = float(self.f1.max())
        label = f"best F1 {height:.2f} at {best:.3g}"
        ax.plot([best], [height], "o", color=GREEN, markersize=6, label=label)
        if self.default_cut is not None:
            shown = f"default cut {self.default_cut:g}"
            ax.axvline(self.default_cut, color=GRAY, linewidth=1, label=shown)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("cut: labels with a higher score are predicted")
        (title,) = shown_names([self.title])
        ax.set_title(title, loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
        return self


def _above(scores: Array, cuts: Array) -> Array:
    """How many scores are strictly above each cut."""
    return len(scores) - np.searchsorted(np.sort(scores), cuts, side="right")


def _ratio(part: Array, whole: Array) -> Array:
    whole = np.broadcast_to(whole, part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
