"""Fused labels and the estimated quality of each source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import import_extra
from plurilabel._core.scores import check_count
from plurilabel.metrics import PerLabel
from plurilabel.votes._votes import Floats, Votes


@dataclass(frozen=True, repr=False)
class Fused:
    """Labels of :func:`plurilabel.votes.fuse`.

    Attributes
    ----------
    probabilities : ndarray of shape (n, q)
        Probability of each label; exactly 0 or 1 for known labels.
    sensitivity, specificity : ndarray of shape (s, q)
        Estimated probability that a source votes yes if the label is present, and no if it is
        absent.
    copied : ndarray of shape (s,)
        Estimated share of a source's votes copied from an earlier source of its group.
    groups : tuple of tuples of str
        Sources that copy each other.
    path : ndarray
        Log posterior at each step of the fit, never decreasing; empty for majorities.
    calibration : tuple (intercept, slope)
        Linear map of the log-odds, fitted to the known labels; (0, 1) without any.
    votes : Votes
        The votes that were fused.
    """

    probabilities: Floats
    sensitivity: Floats
    specificity: Floats
    copied: Floats
    groups: tuple[tuple[str, ...], ...]
    path: Floats
    calibration: tuple[float, float]
    votes: Votes

    @property
    def certainty(self) -> Floats:
        """Probability that each cell is correct if cut at 0.5, (n, q)."""
        return np.maximum(self.probabilities, 1 - self.probabilities)

    def labels(self, cut: float = 0.5) -> NDArray[np.int8]:
        """The 0/1 matrix (n, q) of the labels with a probability above the cut."""
        if not 0 <= cut <= 1:
            raise ValueError(f"cut must be between 0 and 1, got {cut!r}")
        return (self.probabilities > cut).astype(np.int8)

    def least_certain(self, k: int) -> NDArray[np.int64]:
        """The k rows with the lowest mean certainty, the first to review."""
        return np.argsort(self.certainty.mean(axis=1), kind="stable")[: check_count(k, "k")]

    def vote_proba(self) -> Floats:
        """Probability that one more source votes yes, (n, q).

        It lies between the mean false positive rate and the mean sensitivity of the sources:
        people may disagree even on a label that is certain.
        """
        n = np.zeros((len(self.votes.source_names), self.votes.shape[1]))
        np.add.at(n, (self.votes.sources, self.votes.labels), 1)
        n += 1e-9  # a label without votes
        rates = self.sensitivity, 1 - self.specificity
        a, b = (np.average(rate, axis=0, weights=n) for rate in rates)
        return b + self.probabilities * (a - b)

    def source_table(self) -> PerLabel:
        """Sources, best first, with mean sensitivity and specificity and share of copied votes."""
        a, b = self.sensitivity.mean(axis=1), self.specificity.mean(axis=1)
        order = np.argsort(-(a + b), kind="stable")
        n = np.bincount(self.votes.sources, minlength=len(a))
        columns = {"votes": n, "sensitivity": a, "specificity": b, "copied": self.copied}
        names = [self.votes.source_names[s] for s in order]
        return PerLabel({key: c[order] for key, c in columns.items()}, names, of="source")

    def to_frame(self) -> Any:
        """The probabilities as a pandas data frame, with a column per label."""
        pandas = import_extra("pandas", "Fused.to_frame", "table")
        index = pandas.Index(self.votes.row_names, name="row")
        return pandas.DataFrame(self.probabilities, index=index, columns=self.votes.label_names)

    def __repr__(self) -> str:
        right = f"about {self.certainty.mean():.1%} of the cells right"
        copies = "".join(f"\ncopies: {', '.join(group)}" for group in self.groups)
        return f"Fused({self.votes!r}), {right}{copies}\n{self.source_table()!r}"
