"""Measures of each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from plurilabel.inspection import _display
from plurilabel.inspection._display import COLORS, Array, Axes, PredictedDisplay
from plurilabel.metrics import per_label

MEASURES = ("accuracy", "precision", "recall", "f1", "jaccard")


class LabelScoresDisplay(PredictedDisplay):
    """Measures of each label, the most frequent label first.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    values : mapping of str to array of shape (q,)
        By measure.
    positives : array of shape (q,)
        Number of instances with each label.
    label_names : sequence of str

    Examples
    --------
    >>> from plurilabel.inspection import LabelScoresDisplay
    >>> Y_true, Y_pred = [[1, 0], [1, 1], [0, 1], [1, 0]], [[1, 0], [1, 1], [0, 0], [0, 0]]
    >>> display = LabelScoresDisplay.from_predictions(
    ...     Y_true, Y_pred, label_names=["red", "blue"])
    >>> display.values["recall"].round(2)
    array([0.67, 0.5 ])
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['red', 'blue']
    """

    def __init__(
        self, values: Mapping[str, Array], positives: Array, label_names: Sequence[str]
    ) -> None:
        self.values, self.positives, self.label_names = dict(values), positives, label_names

    @classmethod
    def from_predictions(
        cls,
        Y_true: Any,
        Y_pred: Any,
        *,
        measures: Sequence[str] = ("precision", "recall", "f1"),
        label_names: Sequence[str] | None = None,
        max_labels: int = 40,
        ax: Axes | None = None,
    ) -> Self:
        """Plot measures of predicted labels.

        Parameters
        ----------
        Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames
        measures : sequence of str, default=("precision", "recall", "f1")
            One to three of "accuracy", "precision", "recall", "f1" and "jaccard".
        label_names : sequence of str, default=None
            By default those of the data frame or the estimator.
        max_labels : int, default=40
            Number of labels to show, the most frequent ones.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.
        """
        measures = [measures] if isinstance(measures, str) else list(measures)
        if not 1 <= len(measures) <= 3 or not set(measures) <= set(MEASURES):
            known = ", ".join(MEASURES)
            raise ValueError(f"measures must be one to three of {known}, got {measures}")
        Y, Z = _display.label_arrays(Y_true, Y_pred)
        table = per_label(Y, labels=Z)
        names = _display.names_of(label_names, Y_true, Y.shape[1])
        display = cls({name: table[name] for name in measures}, table["positives"], names)
        return display.plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 40, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` most frequent labels in ``ax``, or in a new figure."""
        shown, names, note = self._highest(self.positives, max_labels)
        k = len(shown)
        ax = self._begin(ax, (_display.name_inches(names) + 5.0, max(0.2 * k, 1.2) + 1.0))
        at = np.arange(k)
        values = np.array([self.values[m][shown] for m in self.values])
        ax.hlines(at, values.min(axis=0), values.max(axis=0), color="#c5ccd3", linewidth=1.5)
        for name, row, color, marker in zip(self.values, values, COLORS, "o^D"):
            ax.plot(row, at, marker, color=color, markersize=5, label=name, clip_on=False)
        _display.name_ticks(ax.yaxis, names)
        ax.set(xlim=(-0.02, 1.02), ylim=(k - 0.5, -0.5), axisbelow=True)
        ax.grid(axis="x", color="#e4e7eb", linewidth=0.8)
        # the number of instances, to the right of the axes
        for y, count in zip(at, self.positives[shown]):
            ax.annotate(
                f"{count:,}", (1, y), (8, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize=7.5, color="#59636e",
            )  # fmt: skip
        ax.set_title(f"by label, with number of instances{note}", loc="left", fontsize=10)
        ax.legend(
            frameon=False, ncols=3, loc="upper left", bbox_to_anchor=(0, -0.25 / k * 4),
            fontsize=9, borderaxespad=1.2,
        )  # fmt: skip
        return self
