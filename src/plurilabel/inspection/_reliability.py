"""Whether probabilities match observed frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel._core.base import check_labels
from plurilabel.inspection import _display
from plurilabel.inspection._display import BLUE, GRAY, Array, Display
from plurilabel.metrics import label_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    Attributes
    ----------
    expected_error : float
        Expected calibration error: the mean distance from the diagonal, weighted by counts.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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
        """Mean distance from the diagonal, weighted by counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, Y: Any, **options: Any) -> Self:
        """Predict the probabilities of X and plot them against the true labels Y.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``, or a saved model
        X, Y : input of the estimator, and its true labels
        **options
            As for :meth:`from_predictions`.
        """
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"estimator must have predict_proba, got {type(estimator).__name__}")
        names = options.pop("label_names", None)
        estimator, X, Y, names = _display.opened(estimator, X, Y, names)
        q = check_labels(Y, name="Y").shape[1]
        names = _display.names_of(names, Y, q, estimator)
        proba = label_scores(estimator, X, n_labels=q)
        return cls.from_predictions(Y, proba, label_names=names, **options)

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
        label_names : sequence of str, default=None
            By default those of the data frame or the estimator.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        ReliabilityDisplay
        """
        Y, P, title = _display.scored(Y_true, proba, "proba", label, label_names)
        if P.min() < 0 or P.max() > 1:
            raise ValueError(
                f"proba must be between 0 and 1, got values from {P.min():g} to {P.max():g}"
            )
        if n_bins < 2:
            raise ValueError(f"n_bins must be at least 2, got {n_bins}")
        y, p = Y.ravel().astype(np.float64), P.ravel().astype(np.float64)
        place = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        used = counts > 0
        predicted, observed = (
            np.bincount(place, part, n_bins)[used] / counts[used] for part in (p, y)
        )
        return cls(predicted, observed, counts[used], title or "all labels").plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax``, or in a new figure."""
        ax = self._begin(ax, (5.2, 4.8))
        share = self.counts / self.counts.sum()
        ax.bar(
            self.predicted, share, width=0.04, color=GRAY, alpha=0.4, label="share of predictions"
        )
        ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=(0, (4, 4)))
        ax.plot(self.predicted, self.observed, "o-", color=BLUE, markersize=5, label="observed")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set(xlabel="predicted probability", ylabel="observed frequency")
        (title,) = _display.shown_names([self.title])
        ax.set_title(f"{title}: expected error {self.expected_error:.3f}", loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        return self
