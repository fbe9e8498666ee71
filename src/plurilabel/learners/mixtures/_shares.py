"""Why these labels: which label each word of a document comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.explanation.contributions import Explained
from plurilabel._core.html import html_table
from plurilabel._core.words import aligned


@dataclass(frozen=True, eq=False)
class WordShares(Explained):
    """Where the words of one document come from, given its predicted labels.

    Attributes
    ----------
    words : tuple of str
        The words of the document, in the order of the features.
    counts : array of shape (w,)
        How often each occurs.
    sources : tuple of str
        The predicted labels and, if words can come from it, ``"(no label)"``.
    shares : array of shape (w, s)
        The probability that a word comes from each source; rows sum to one.
    label_names, scores, base, parts, scales
        As in all explanations. The part of a word in a label is its log-odds: how much more
        probable the document is with the label than without it, because of this word.
    """

    words: tuple[str, ...]
    counts: NDArray[np.float64]
    sources: tuple[str, ...]
    shares: NDArray[np.float64]
    label_names: tuple[str, ...]
    scores: NDArray[np.float64]
    base: NDArray[np.float64]
    parts: NDArray[np.float64]
    scales: tuple[str, ...]

    @property
    def part_names(self) -> tuple[str, ...]:
        """The same as ``words``."""
        return self.words

    def __getitem__(self, source: str | int) -> dict[str, float]:
        """The share of one source in each word, the largest first."""
        j = self.sources.index(source) if isinstance(source, str) else source
        order = np.lexsort((-self.counts, -self.shares[:, j]))
        return {self.words[i]: float(self.shares[i, j]) for i in order}

    def totals(self) -> dict[str, float]:
        """The part of the document's words that comes from each source; they sum to one."""
        weight = self.counts.sum()
        part = self.counts @ self.shares / (weight if weight > 0 else 1.0)
        return dict(zip(self.sources, part.tolist()))

    def __str__(self) -> str:
        if not self.words:
            return f"no known words: {', '.join(self.sources)}"
        least = (4, 5, *[5] * len(self.sources))
        return "\n".join(aligned([self._head(), *self._rows()], least=least))

    def _head(self) -> list[str]:
        return ["word", "count", *self.sources]

    def _rows(self) -> list[list[str]]:
        """Words, counts and shares as text, and a last row for all of them."""
        # by source, the words that are surest to come from it first
        own = self.shares.argmax(axis=1)
        order = np.lexsort((-self.shares.max(axis=1), own))
        found = [(self.words[i], self.counts[i], self.shares[i]) for i in order]
        found.append(("all", self.counts.sum(), np.array([*self.totals().values()])))
        return [[word, f"{n:g}", *(f"{p:.2f}" for p in parts)] for word, n, parts in found]

    def _repr_html_(self) -> str:
        if not self.words:
            return html_table([], [[str(self)]])
        return html_table(self._head(), self._rows())
