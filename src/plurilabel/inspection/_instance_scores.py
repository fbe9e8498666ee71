"""The scores of one instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from plurilabel._core.base import CUTS, check_labels, column_names
from plurilabel._core.blocks import dense
from plurilabel._core.scores import score_method
from plurilabel.inspection import _display
from plurilabel.inspection._display import BLUE, GRAY, ORANGE, Array, Axes, Display
from plurilabel.metrics import label_scores


@dataclass(eq=False, repr=False)
class InstanceScoresDisplay(Display):
    """Scores of one instance, the highest first, with predicted and true labels marked.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    scores : array of shape (q,)
    predicted : array of bool of shape (q,)
    true : array of bool of shape (q,), or None
        None if unknown.
    label_names : sequence of str
    cut : float, default=None
        Drawn as a line if given.

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
    def from_estimator(cls, estimator: Any, x: Any, y: Any = None, **options: Any) -> Self:
        """Score one instance and plot the scores.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba`` or ``decision_function``, or a model
        x : matrix or data frame with a single row
        y : 0/1 array of shape (q,) or (1, q), default=None
            The true labels, if known.
        **options
            As for :meth:`from_predictions`.
        """
        names = options.pop("label_names", None)
        estimator, x, y, names = _display.opened(estimator, x, y, names)
        Z = np.atleast_2d(dense(estimator.predict(x)))
        if Z.shape[0] != 1:
            raise ValueError(f"x must be one row, got {Z.shape[0]}")
        q = Z.shape[1]
        names = _display.names_of(names, y, q, estimator)
        # a classifier with its own strategy has no single cut
        cut = None if hasattr(estimator, "strategy_") else CUTS[score_method(estimator)]
        scores = dense(label_scores(estimator, x, n_labels=q))[0]
        return cls.from_predictions(scores, y, Z[0], label_names=names, **{"cut": cut} | options)

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
        y_true, y_pred : 0/1 arrays of shape (q,) or (1, q), default=None
            Without ``y_pred``, labels above the cut are predicted.
        cut : float, default=None
            Drawn as a line.
        max_labels : int, default=20
            Number of labels to show, those with the highest scores.
        label_names, ax
            As in :meth:`LabelScoresDisplay.from_predictions`.
        """
        names = column_names(scores)
        y_true, y_pred = _display.in_order(y_true, names), _display.in_order(y_pred, names)
        row = np.asarray(scores, dtype=np.float64)
        if row.size == 0 or row.ndim > 2 or (row.ndim == 2 and row.shape[0] != 1):
            raise ValueError(f"scores must be those of one instance, got the shape {row.shape}")
        row = row.ravel()
        true = None if y_true is None else _one_row(y_true, "y_true", len(row))
        if y_pred is not None:
            predicted = _one_row(y_pred, "y_pred", len(row))
        else:
            predicted = row > (np.inf if cut is None else cut)
        shown = _display.names_of(label_names, scores if names else y_true, len(row))
        return cls(row, predicted, true, shown, cut).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` highest scores in ``ax``, or in a new figure."""
        shown, names, _ = self._highest(self.scores, max_labels)
        k, scores = len(shown), self.scores[shown]
        ax = self._begin(ax, (_display.name_inches(names) + 4.5, max(0.24 * k, 1.0) + 1.1))
        at, chosen = np.arange(k), self.predicted[shown].astype(bool)
        for which, color, label in ((chosen, BLUE, "predicted"), (~chosen, "#b9c2cb", None)):
            if which.any():
                ax.barh(at[which], scores[which], height=0.66, color=color, label=label)
        if self.true is not None:  # to the right of the axes, where no bar ends
            true = self.true[shown].astype(bool)
            ax.plot(
                np.full(true.sum(), 1.03), at[true], "o", color=ORANGE, markersize=6,
                transform=ax.get_yaxis_transform(), clip_on=False, label="true",
            )  # fmt: skip
        if self.cut is not None:
            ax.axvline(self.cut, color=GRAY, linewidth=1, label=f"cut {self.cut:g}")
        _display.name_ticks(ax.yaxis, names)
        ax.axvline(0, color="#59636e", linewidth=0.8)
        ax.set(xlabel="score", ylim=(k - 0.5, -0.5))
        ax.locator_params(axis="x", nbins=5)
        if k < len(self.label_names):
            title = f"the {k} highest of {len(self.label_names):,} scores"
            ax.set_title(title, loc="left", fontsize=10)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.06, 1))
        return self


def _one_row(labels: Any, name: str, q: int) -> Array:
    row = dense(check_labels(labels if np.ndim(labels) == 2 else [labels], name=name))
    if row.shape != (1, q):
        raise ValueError(f"{name} must have the {q} labels of one instance, got {row.shape}")
    return row[0].astype(bool)
