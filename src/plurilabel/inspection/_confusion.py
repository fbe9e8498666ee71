"""Confusion between labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from plurilabel.inspection import _display
from plurilabel.inspection._display import Array, Axes, PredictedDisplay

NOTHING = "(nothing instead)"


class LabelConfusionDisplay(PredictedDisplay):
    """Confusion between labels: what is predicted when a true label is missed.

    As an instance may have several labels, the rows of a multi-label confusion matrix need not
    sum to one. Here the row of a true label a shows, as shares of the instances with a:

    - on the diagonal, those for which a is predicted;
    - in column b, those for which a is missed and b is wrongly predicted;
    - in the last column, those for which a is missed and nothing is wrongly predicted.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    counts : array of shape (q, q + 1)
        Number of instances, as above.
    positives : array of shape (q,)
        Number of instances with each label.
    label_names : sequence of str

    Attributes
    ----------
    share_ : array of shape (labels shown, labels shown + 1)

    Examples
    --------
    >>> from plurilabel.inspection import LabelConfusionDisplay
    >>> Y_true = [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> Y_pred = [[1, 0], [0, 1], [0, 0], [0, 1]]
    >>> LabelConfusionDisplay.from_predictions(Y_true, Y_pred).counts
    array([[1, 1, 1],
           [0, 1, 0]])
    """

    def __init__(self, counts: Array, positives: Array, label_names: Sequence[str]) -> None:
        self.counts, self.positives, self.label_names = counts, positives, label_names

    @classmethod
    def from_predictions(
        cls,
        Y_true: Any,
        Y_pred: Any,
        *,
        label_names: Sequence[str] | None = None,
        max_labels: int = 30,
        ax: Axes | None = None,
    ) -> Self:
        """Plot what is predicted instead of true labels.

        Parameters
        ----------
        Y_true, Y_pred, label_names, max_labels, ax
            As in :meth:`LabelScoresDisplay.from_predictions`.
        """
        Y, Z = _display.label_arrays(Y_true, Y_pred)
        missed, wrong = (Y & ~Z).astype(np.float64), (Z & ~Y).astype(np.float64)
        counts = np.column_stack([missed.T @ wrong, missed[~wrong.any(axis=1)].sum(axis=0)])
        counts = counts.astype(np.int64)
        np.fill_diagonal(counts, (Y & Z).sum(axis=0))
        names = _display.names_of(label_names, Y_true, Y.shape[1])
        return cls(counts, Y.sum(axis=0), names).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 30, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` most frequent labels in ``ax``, or in a new figure."""
        shown, names, note = self._highest(self.positives, max_labels)
        part = self.counts[np.ix_(shown, np.append(shown, -1))]
        self.share_ = part / np.maximum(self.positives[shown], 1)[:, None]
        columns = [*names, NOTHING]
        ax = self._begin(ax, _display.heat_size(names, columns))
        errors = self.share_.copy()
        np.fill_diagonal(errors, np.nan)  # hits are far above the errors: written as text
        _display.heat(ax, errors, names, columns, f"share of a true label's instances{note}")
        for i, hit in enumerate(self.share_.diagonal()):
            ax.text(i, i, f"{100 * hit:.0f}", ha="center", va="center", fontsize=6)
        ax.set_xlabel("predicted instead\n(diagonal: percent correctly predicted)")
        return self
