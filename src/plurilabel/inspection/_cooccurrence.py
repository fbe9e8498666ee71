"""Which labels occur together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel.datasets import describe
from plurilabel.inspection._display import (
    Array,
    Display,
    heat,
    heat_size,
    how_many,
    most_frequent,
    predicted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CooccurrenceDisplay(Display):
    """Which labels occur together: the share of a label's instances that have another.

    Use :meth:`from_estimator` for predicted labels, :meth:`from_predictions` for any.

    Parameters
    ----------
    together : sparse matrix of shape (q, q)
        Instances with both labels; the diagonal holds those with one.
    label_names : sequence of str

    Attributes
    ----------
    share_ : array of shape (labels shown, labels shown)
        Row a, column b: the share of the instances with label a that have label b. NaN on the
        diagonal.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from plurilabel.inspection import CooccurrenceDisplay
    >>> display = CooccurrenceDisplay.from_predictions([[1, 1], [1, 0], [1, 0], [0, 0]])
    >>> display.share_.round(2)
    array([[ nan, 0.33],
           [1.  ,  nan]])
    """

    def __init__(self, together: Any, label_names: Sequence[str]) -> None:
        self.together, self.label_names = together, label_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        label_names: Sequence[str] | None = None,
        max_labels: int = 40,
        ax: Axes | None = None,
    ) -> Self:
        """Predict the labels of X, and plot which occur together.

        Parameters
        ----------
        estimator : fitted classifier, or a Model from a file
        X : rows that it takes
        label_names : sequence of str, default=None
            By default what the learner knows.
        max_labels : int, default=40
            Number of labels shown, the most frequent ones.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        CooccurrenceDisplay
        """
        _, Z, names = predicted(estimator, X, None, label_names)
        return cls.from_predictions(Z, label_names=names, max_labels=max_labels, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        Y: Any,
        *,
        label_names: Sequence[str] | None = None,
        max_labels: int = 40,
        ax: Axes | None = None,
    ) -> Self:
        """Plot which labels occur together, predicted or true.

        Parameters
        ----------
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        label_names, max_labels, ax
            As for :meth:`from_estimator`.

        Returns
        -------
        CooccurrenceDisplay
        """
        found = describe(Y, label_names=label_names)
        return cls(found.cooccurrence, found.label_names).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 40, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` most frequent labels in ``ax``, or in a new figure."""
        counts = self.together.diagonal()
        shown = most_frequent(counts, max_labels)
        names = [self.label_names[l] for l in shown]
        part: Array = self.together[shown][:, shown].toarray()
        self.share_ = part / np.maximum(counts[shown], 1)[:, None]
        np.fill_diagonal(self.share_, np.nan)  # always 1: it would drown the rest
        ax = self._begin(ax, heat_size(names, names))
        left_out = how_many(len(shown), len(self.label_names))
        heat(ax, self.share_, names, names, f"share of the row's instances{left_out}")
        ax.set_xlabel("that also have this label")
        return self
