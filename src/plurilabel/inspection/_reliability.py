"""Whether probabilities mean what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from plurilabel._core.base import check_labels
from plurilabel.inspection._display import (
    BLUE,
    GRAY,
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


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """How often labels are true, against the probability that was predicted for them.

    The probabilities of all labels, or of one, are put into bins of equal width. A point on the
    diagonal is a bin whose probabilities are right on average; the bars below show how many there
    are in each. Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    predicted, observed : arrays of shape (bins,)
        Mean probability and share of true labels in each bin that is not empty.
    counts : array of shape (bins,)
        Pairs of instance and label in each.
    title : str, default="all labels"

    Attributes
    ----------
    expected_error : float
        Mean distance from the diagonal, bins weighted by their counts: the expected calibration
        error.
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
        """Mean distance from the diagonal, bins weighted by their counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        Y: Any,
        *,
        label: str | int | None = None,
        n_bins: int = 10,
        label_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Predict probabilities for X, and plot how often labels are true.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X : rows that it takes
        Y : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        label : str or int, default=None
            One label, by its name or number; by default all together.
        n_bins : int, default=10
        label_names : sequence of str, default=None
            By default the columns of Y, or what the learner knows.
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.

        Returns
        -------
        ReliabilityDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, which {type(estimator).__name__} has not"
            )
        estimator, X, Y, label_names = opened(estimator, X, Y, label_names)
        q = check_labels(Y, name="Y").shape[1]
        names = names_of(label_names, Y, q, estimator)
        proba = label_scores(estimator, X, n_labels=q)
        return cls.from_predictions(Y, proba, label=label, n_bins=n_bins, label_names=names, ax=ax)

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
        """Plot how often labels are true against their probabilities.

        Parameters
        ----------
        Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        proba : matrix of shape (n, q)
            Probabilities.
        label, n_bins, label_names, ax
            As for :meth:`from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        Y, P, title = scored(Y_true, proba, "proba", label, label_names)
        if P.min() < 0 or P.max() > 1:
            raise ValueError(
                f"proba must lie between 0 and 1, got values from {P.min():g} to {P.max():g}"
            )
        if n_bins < 2:
            raise ValueError(f"n_bins must be at least 2, got {n_bins}")
        y, p = Y.ravel().astype(np.float64), P.ravel().astype(np.float64)
        place = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        used = counts > 0
        mean_p, mean_y = (
            np.bincount(place, weights=values, minlength=n_bins)[used] / counts[used]
            for values in (p, y)
        )
        return cls(mean_p, mean_y, counts[used], title or "all labels").plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw it in ``ax``, or in a new figure."""
        ax = self._begin(ax, (5.2, 4.8))
        share = self.counts / self.counts.sum()
        ax.bar(
            self.predicted, share, width=0.04, color=GRAY, alpha=0.4, label="share of the pairs"
        )
        ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=(0, (4, 4)))
        ax.plot(self.predicted, self.observed, "o-", color=BLUE, markersize=5, label="observed")
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("share of true labels")
        (title,) = shown_names([self.title])
        ax.set_title(f"{title}: expected error {self.expected_error:.3f}", loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        return self
