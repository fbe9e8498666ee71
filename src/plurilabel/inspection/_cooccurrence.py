"""Which labels occur together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from plurilabel.datasets import describe
from plurilabel.inspection import _display
from plurilabel.inspection._display import Array, Axes, Display


class CooccurrenceDisplay(Display):
    """Co-occurrence of labels: the share of a label's instances that also have another label.

    Use :meth:`from_estimator` for predicted labels, :meth:`from_predictions` for any.

    Parameters
    ----------
    together : sparse matrix of shape (q, q)
        Number of instances with both labels; on the diagonal, with one.
    label_names : sequence of str

    Attributes
    ----------
    share_ : array of shape (labels shown, labels shown)
        Row a, column b: the share of instances with a that have b. NaN on the diagonal.

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
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Predict the labels of X and plot which occur together.

        ``estimator``: fitted, or a saved model; ``options``: of :meth:`from_predictions`.
        """
        names = options.pop("label_names", None)
        estimator, X, _, names = _display.opened(estimator, X, None, names)
        Z = estimator.predict(X)
        names = _display.names_of(names, Z, Z.shape[1], estimator)
        return cls.from_predictions(Z, label_names=names, **options)

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
            As in :meth:`LabelScoresDisplay.from_predictions`.
        """
        found = describe(Y, label_names=label_names)
        return cls(found.cooccurrence, found.label_names).plot(max_labels=max_labels, ax=ax)

    def plot(self, *, max_labels: int = 40, ax: Axes | None = None) -> Self:
        """Draw the ``max_labels`` most frequent labels in ``ax``, or in a new figure."""
        counts = self.together.diagonal()
        shown, names, note = self._highest(counts, max_labels)
        part: Array = self.together[shown][:, shown].toarray()
        self.share_ = part / np.maximum(counts[shown], 1)[:, None]
        np.fill_diagonal(self.share_, np.nan)  # always 1, far above the rest
        ax = self._begin(ax, _display.heat_size(names, names))
        _display.heat(ax, self.share_, names, names, f"share of the row's instances{note}")
        ax.set_xlabel("that also have this label")
        return self
