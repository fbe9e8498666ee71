"""Whether probabilities match observed frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from plurilabel.inspection import _display
from plurilabel.inspection._display import BLUE, GRAY, Array, Axes, Display


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: observed frequency of labels against predicted probability.

    The probabilities of all labels, or of one, are divided into bins of equal width. A point on
    the diagonal is a well-calibrated bin; the bars show the share of predictions in each bin. Use
    :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    predicted, observed : arrays of shape (bins,)
        Mean probability and frequency of true labels in each bin that is not empty.
    counts : array of shape (bins,)
        Number of predictions in each bin.
    title : str, default="all labels"

    Examples
    --------
    >>> from plurilabel.inspection import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [[1, 0], [1, 0], [0, 0], [1, 1]], [[0.9, 0.2], [0.9, 0.2], [0.9, 0.2], [0.9, 0.2]])
    >>> display.observed
    array([0.25, 0.75])
    >>> round(display.expected_error, 3)
    0.1
    """

    predicted: Array
    observed: Array
    counts: Array
    title: str = "all labels"

    @property
    def expected_error(self) -> float:
        """Expected calibration error, the mean distance from the diagonal by counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any, **options: Any) -> Self:
        """Predict the probabilities of X and plot them against the true labels Y.

        ``estimator`` is a fitted classifier with ``predict_proba`` or a saved model; ``options``
        are those of :meth:`from_predictions`.
        """
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"estimator must have predict_proba, got {type(estimator).__name__}")
        Y, proba = _display.with_scores(estimator, X, Y, options)
        return cls.from_predictions(Y, proba, **options)

    @classmethod
    def from_predictions(
        cls,
        Y_true: Any,
        proba: Any,
        *,
        label: str | int | None = None,
        n_bins: int = 10,
        label_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot probabilities against true labels.

        Parameters
        ----------
        Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        proba : matrix of shape (n, q)
            Predicted probabilities.
        label : str or int, default=None
            Name or index of one label; by default all labels together.
        n_bins : int, default=10
        label_names, ax
            As in :meth:`LabelScoresDisplay.from_predictions`.
        """
        Y, P, title = _display.scored(Y_true, proba, "proba", label, label_names)
        if P.min() < 0 or P.max() > 1:
            raise ValueError(f"proba must be from 0 to 1, got {P.min():g} to {P.max():g}")
        if n_bins < 2:
            raise ValueError(f"n_bins must be at least 2, got {n_bins}")
        y, p = Y.ravel().astype(np.float64), P.ravel().astype(np.float64)
        place = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        used = counts > 0
        counts = counts[used]
        mean, share = (np.bincount(place, part, n_bins)[used] / counts for part in (p, y))
        return cls(mean, share, counts, title or "all labels").plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax``, or in a new figure."""
        ax = self._begin(ax, (5.2, 4.8))
        share, label = self.counts / self.counts.sum(), "share of predictions"
        ax.bar(self.predicted, share, width=0.04, color=GRAY, alpha=0.4, label=label)
        ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=(0, (4, 4)))
        ax.plot(self.predicted, self.observed, "o-", color=BLUE, markersize=5, label="observed")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set(xlabel="predicted probability", ylabel="observed frequency")
        (title,) = _display.shown_names([self.title])
        ax.set_title(f"{title}: expected error {self.expected_error:.3f}", loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        return self
