"""Why this label: the neighbours that have it and those that lack it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.explanation.contributions import Explained
from plurilabel._core.html import html_table
from plurilabel._core.words import display_width, filled


@dataclass(frozen=True, eq=False)
class Vote:
    """The neighbours that vote for and against one label, and the score that results.

    ``odds`` is P(label) / P(no label).
    """

    label: str
    neighbors_for: NDArray[np.intp]
    distances_for: NDArray[np.float64]
    neighbors_against: NDArray[np.intp]
    distances_against: NDArray[np.float64]
    posterior: float
    odds: float


@dataclass(frozen=True, eq=False)
class Explanation(Explained):
    """The neighbours of one instance and the scores that result from their labels.

    It also has the attributes that all explanations share: each neighbour's part is its vote, 1/k
    for a label that it has, -1/k for one that it lacks. The learner turns votes into the score.

    Attributes
    ----------
    neighbors, distances : arrays of shape (k,)
        Training rows, nearest first.
    labels : bool array of shape (k, q)
        Which neighbour has which label.
    asked : bool array of shape (k, q), or None for all
        Which neighbours vote on which label, if some labels are unknown: the nearest that know it.
    posterior : array of shape (q,)
    label_names : tuple of str
    """

    neighbors: NDArray[np.intp]
    distances: NDArray[np.float64]
    labels: NDArray[np.bool_]
    posterior: NDArray[np.float64]
    label_names: tuple[str, ...]
    asked: NDArray[np.bool_] | None = None

    @property
    def scores(self) -> NDArray[np.float64]:
        """The same as ``posterior``."""
        return self.posterior

    @property
    def base(self) -> NDArray[np.float64]:
        """Zeros, since votes begin with nothing."""
        return np.zeros(len(self.label_names))

    @property
    def parts(self) -> NDArray[np.float64]:
        """The votes of the neighbours, shape (k, q)."""
        votes = np.where(self.labels, 1.0, -1.0)
        if self.asked is None:
            return votes / max(1, len(self.neighbors))
        return np.where(self.asked, votes, 0.0) / np.maximum(1, self.asked.sum(axis=0))

    @property
    def part_names(self) -> tuple[str, ...]:
        """The neighbours, by their rows."""
        return tuple(f"training row {i}" for i in self.neighbors)

    @property
    def scales(self) -> tuple[str, ...]:
        """Votes for each label."""
        votes = "the votes of the neighbours for a label less those against it"
        return (votes,) * len(self.label_names)

    def __getitem__(self, label: str | int) -> Vote:
        """The votes on one label, given by its name or number."""
        j = self._number(label)
        p, asked = float(self.posterior[j]), True if self.asked is None else self.asked[:, j]
        has, lacks = self.labels[:, j] & asked, ~self.labels[:, j] & asked
        return Vote(
            label=self.label_names[j],
            neighbors_for=self.neighbors[has],
            distances_for=self.distances[has],
            neighbors_against=self.neighbors[lacks],
            distances_against=self.distances[lacks],
            posterior=p,
            odds=p / (1 - p) if p < 1 else float("inf"),
        )

    def __str__(self) -> str:
        width = max(5, *map(display_width, self.label_names))
        lines = [f"{'label':{width}}  score      odds  neighbours for (distance)"]
        for label, score, odds, voters in self._rows():
            lines.append(f"{filled(label, width)}  {score}  {odds:>8}  {voters}")
        return "\n".join(lines)

    def _rows(self) -> Iterator[list[str]]:
        """Label, score, odds and neighbours as text, the highest score first."""
        for j in np.argsort(-self.posterior, kind="stable"):
            vote = self[int(j)]
            voters = zip(vote.neighbors_for, vote.distances_for)
            names = ", ".join(f"{i} ({d:.3g})" for i, d in voters) or "-"
            yield [vote.label, f"{vote.posterior:5.3f}", f"{vote.odds:.3g}", names]

    def _repr_html_(self) -> str:
        head = ["label", "score", "odds", "neighbours for (distance)"]
        return html_table(head, list(self._rows()), text=True)
