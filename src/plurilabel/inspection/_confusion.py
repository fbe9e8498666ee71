"""Which labels are predicted in place of which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel.inspection._display import (
    Array,
    Display,
    heat,
    heat_size,
    how_many,
    label_arrays,
    most_frequent,
    names_of,
    predicted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTHING = "(nothing instead)"


class LabelConfusionDisplay(Display):
    """Confusion between labels: what is predicted where a true label is missed.

    An instance may have several labels, so that the matrix of a single-label problem has no
    counterpart in which rows sum to one. Here the row of a true label a has, as shares of the
    instances with a:

    - on the diagonal, those for which a is predicted;
    - in column b, those for which a is missed and b is predicted although it is not true;
    - in the last column, those for which a is missed and nothing is predicted wrongly.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    counts : array of shape (q, q + 1)
        Instances, as above.
    positives : array of shape (q,)
        Instances with each label.
    label_names : sequence of str

    Attributes
    ----------
    share_ : array of shape (labels shown, labels shown + 1)
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        Y: Any,
        *,
        label_names: Sequence[str] | None = None,
        max_labels: int = 30,
        ax: Axes | None = None,
    ) -> Self:
        """Predict the labels of X, and plot what is predicted in place of true labels.

        Parameters
        ----------
        estimator : fitted classifier, or a Model from a file
        X : rows that it takes
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        label_names : sequence of str, default=None
            By default the columns of Y, or what the learner knows.
        max_labels : int, default=30
            Number of labels shown, the most frequent ones.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        LabelConfusionDisplay
        """
        Y, Z, names = predicted(estimator, X, Y, label_names)
        return cls.from_predictions(Y, Z, label_names=names, max_labels=max_labels, ax=ax)

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
        """Plot what is predicted in place of true labels.

        Parameters
        ----------
        Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames
        label_names, max_labels, ax
            As for :meth:`from_estimator`.

        Returns
        -------
        LabelConfusionDisplay
        """
        Y, Z = label_arrays(Y_true, Y_pred)
        missed, wrong = (Y & ~Z).astype(np.float64), (Z & ~Y).astype(np.float64)
        counts = np.column_stack([missed.T @ wrong, missed[~wrong.any(axis=1)].sum(axis=0)])
        counts = counts.astype(np.int64)
        np.fill_diagonal(counts, (Y & Z).sum(axis=0))
        names = names_of(label_names, Y_true, Y.shape[1])
        return cls(counts, Y.sum(axis=0), names).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 30, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` most frequent labels in ``ax``, or in a new figure."""
        shown = most_frequent(self.positives, max_labels)
        names = [self.label_names[l] for l in shown]
        part = self.counts[np.ix_(shown, np.append(shown, -1))]
        self.share_ = part / np.maximum(self.positives[shown], 1)[:, None]
        columns = [*names, NOTHING]
        ax = self._begin(ax, heat_size(names, columns))
        left_out = how_many(len(shown), len(self.label_names))
        errors = self.share_.copy()
        np.fill_diagonal(errors, np.nan)  # hits would drown the errors: they are written out
        heat(ax, errors, names, columns, f"share of a true label's instances{left_out}")
        for i, hit in enumerate(self.share_.diagonal()):
            ax.text(i, i, f"{100 * hit:.0f}", ha="center", va="center", fontsize=6)
        ax.set_xlabel("predicted instead\n(on the diagonal: percent predicted rightly)")
        return self
