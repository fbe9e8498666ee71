"""Precision and recall over all cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel._core.base import CUTS, check_labels
from plurilabel._core.scores import score_method
from plurilabel.inspection._display import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    Array,
    Display,
    names_of,
    opened,
    scored,
    shown_names,
)
from plurilabel.metrics import label_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
