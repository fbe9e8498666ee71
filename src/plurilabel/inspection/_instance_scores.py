"""The scores of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel._core.base import CUTS, check_labels, column_names
from plurilabel._core.blocks import dense
from plurilabel._core.scores import score_method
from plurilabel.inspection._display import (
    BLUE,
    GRAY,
    ORANGE,
    Array,
    Display,
    in_order,
    most_frequent,
    name_inches,
    name_ticks,
    names_of,
    opened,
)
from plurilabel.metrics import label_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class InstanceScoresDisplay(Display):
    """The scores of one instance, the highest first; predicted and true labels are marked.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    scores : array of shape (q,)
    predicted : array of bool of shape (q,)
    true : array of bool of shape (q,), or None
        None if unknown.
    label_names : sequence of str
    cut : float, default=None
        Marked if given.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from plurilabel.inspection import InstanceScoresDisplay
    >>> display = InstanceScoresDisplay.from_predictions(
    ...     [0.2, 0.9, 0.6], label_names=["sea", "sun", "sand"], cut=0.5)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['sun', 'sand', 'sea']
    """

    scores: Array
    predicted: Array
    true: Array | None
    label_names: Sequence[str]
    cut: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        y: Any = None,
        *,
        label_names: Sequence[str] | None = None,
        max_labels: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Score one instance, and plot the scores.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba`` or ``decision_function``
        x : one row that it takes, as a matrix or frame with a single row
        y : 0/1 matrix of shape (1, q) or array of shape (q,), default=None
            The true labels, if they are known.
        label_names : sequence of str, default=None
            By default what the learner knows.
        max_labels : int, default=20
            Number of labels shown, those with the highest scores.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        InstanceScoresDisplay
        """
        estimator, x, y, label_names = opened(estimator, x, y, label_names)
        Z = np.atleast_2d(dense(estimator.predict(x)))
        if Z.shape[0] != 1:
            raise ValueError(f"x must be one row, got {Z.shape[0]}")
        q = Z.shape[1]
        names = names_of(label_names, y, q, estimator)
        # a classifier with a strategy of its own has no cut to show
        cut = None if hasattr(estimator, "strategy_") else CUTS[score_method(estimator)]
        scores = dense(label_scores(estimator, x, n_labels=q))[0]
        return cls.from_predictions(
            scores, y, Z[0], cut=cut, label_names=names, max_labels=max_labels, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        y_true: Any = None,
        y_pred: Any = None,
        *,
        cut: float | None = None,
        label_names: Sequence[str] | None = None,
        max_labels: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the scores of one instance.

        Parameters
        ----------
        scores : array of shape (q,) or (1, q)
        y_true, y_pred : arrays of 0 and 1 of shape (q,) or (1, q), default=None
            Without ``y_pred``, labels above the cut are predicted.
        cut : float, default=None
            Marked in the plot.
        label_names, max_labels, ax
            As for :meth:`from_estimator`.

        Returns
        -------
        InstanceScoresDisplay
        """
        names = column_names(scores)
        y_true, y_pred = in_order(y_true, names), in_order(y_pred, names)
        row = np.asarray(scores, dtype=np.float64)
        if row.size == 0 or row.ndim > 2 or (row.ndim == 2 and row.shape[0] != 1):
            raise ValueError(f"scores must be those of one instance, got the shape {row.shape}")
        row = row.ravel()
        true = None if y_true is None else _one_row(y_true, "y_true", len(row))
        if y_pred is not None:
            predicted = _one_row(y_pred, "y_pred", len(row))
        else:
            predicted = row > (np.inf if cut is None else cut)
        shown = names_of(label_names, scores if names else y_true, len(row))
        return cls(row, predicted, true, shown, cut).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` highest scores in ``ax``, or in a new figure."""
        shown = most_frequent(self.scores, max_labels)
        names, scores = [self.label_names[l] for l in shown], self.scores[shown]
        ax = self._begin(ax, (name_inches(names) + 4.5, max(0.24 * len(shown), 1.0) + 1.1))
        at, chosen = np.arange(len(shown)), self.predicted[shown].astype(bool)
        for which, color, what in ((chosen, BLUE, "predicted"), (~chosen, "#b9c2cb", "")):
            if which.any():
                ax.barh(at[which], scores[which], height=0.66, color=color, label=what or None)
        # marks stand in a column of their own, where no bar ends
        if self.true is not None:
            true = self.true[shown].astype(bool)
            ax.plot(
                np.full(true.sum(), 1.03), at[true], "o", color=ORANGE, markersize=6,
                transform=ax.get_yaxis_transform(), clip_on=False, label="true",
            )  # fmt: skip
        if self.cut is not None:
            ax.axvline(self.cut, color=GRAY, linewidth=1, label=f"cut {self.cut:g}")
        name_ticks(ax.yaxis, names)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.axvline(0, color="#59636e", linewidth=0.8)
        ax.set_xlabel("score")
        ax.locator_params(axis="x", nbins=5)
        if len(shown) < len(self.label_names):
            ax.set_title(f"the {len(shown)} highest of {len(self.label_names):,} scores",
                         loc="left", fontsize=10)  # fmt: skip
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.06, 1))
        return self


def _one_row(labels: Any, name: str, q: int) -> Array:
    row = dense(check_labels(labels if np.ndim(labels) == 2 else [labels], name=name))
    if row.shape != (1, q):
        raise ValueError(f"{name} must have the {q} labels of one instance, got {row.shape}")
    return row[0].astype(bool)
