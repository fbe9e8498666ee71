"""The learners that the automatic choice tried, and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline

from plurilabel.inspection import _display
from plurilabel.inspection._display import BLUE, GRAY, ORANGE, Axes, Display
from plurilabel.metrics import get_measure


class MembersDisplay(Display):
    """Measure and weight of each learner that :class:`~plurilabel.AutoClassifier` tried.

    Use :meth:`from_estimator`. Dots are the measure of each learner by itself in cross-validation,
    the line that of the weighted mean, and bars are weights. For the measure against the number of
    training rows, pass a fitted member to :class:`sklearn.model_selection.LearningCurveDisplay`.

    Parameters
    ----------
    report : mapping
        The ``report_`` of an AutoClassifier.

    Examples
    --------
    >>> from plurilabel import AutoClassifier, datasets
    >>> from plurilabel.inspection import MembersDisplay
    >>> data = datasets.make_multilabel(100, 5, 3, random_state=0)
    >>> model = AutoClassifier(portfolio="quick", random_state=0).fit(data.X, data.Y)
    >>> display = MembersDisplay.from_estimator(model)
    >>> len(display.ax_.get_yticklabels())
    4
    """

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Plot the learners of a fitted AutoClassifier.

        Parameters
        ----------
        estimator : AutoClassifier, a pipeline that ends in one, or a saved model
        ax : matplotlib Axes, default=None
            Where to draw; by default in a new figure.
        """
        estimator = getattr(estimator, "estimator", estimator)
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not hasattr(estimator, "report_"):
            name = type(estimator).__name__
            raise TypeError(f"estimator must be a fitted AutoClassifier, got {name}")
        return cls(estimator.report_).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax``, or in a new figure."""
        measure = get_measure(self.report["measure"])
        tried = sorted(self.report["tried"], key=lambda one: -one["weight"])
        names, at = [one["name"] for one in tried], np.arange(len(tried))
        size = _display.name_inches(names) + 5.0, max(0.25 * len(tried), 1.2) + 1.0
        ax = self._begin(ax, size)
        weights = ax.twiny()
        weights.barh(at, [one["weight"] for one in tried], color=GRAY, alpha=0.3, height=0.7)
        weights.set(xlim=(0, 1), xlabel="weight")
        weights.spines[["right"]].set_visible(False)
        values = [np.nan if one["value"] is None else one["value"] for one in tried]
        ax.plot(values, at, "o", color=BLUE)
        if self.report["estimate"] is not None:
            ax.axvline(self.report["estimate"], color=ORANGE, linewidth=1)
        _display.name_ticks(ax.yaxis, names)
        arrow = "↓↑"[measure.greater_is_better]
        ax.set(ylim=(len(tried) - 0.5, -0.5), xlabel=f"{measure.title} {arrow}")
        return self
