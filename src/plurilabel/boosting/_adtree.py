"""The search for the next rule of an alternating decision tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurilabel.boosting._bins import Bins
from plurilabel.boosting._conditions import Columns, Condition, split_rows
from plurilabel.boosting._search import TIE, Found, best_condition
from plurilabel.boosting._weak import log_ratio


@dataclass(frozen=True)
class ADTRule:
    """A decision node of the tree and its two prediction nodes.

    Attributes
    ----------
    precondition : int
        The prediction node that the rule hangs on: 0 is the root, rule t makes 2t - 1 (yes) and
        2t (no).
    condition : Condition or None
        None for the root, whose scores are in ``yes``.
    yes, no : ndarray of shape (q,)
        What is added to the scores where the precondition is met and the condition holds or not.
    """

    precondition: int
    condition: Condition | None
    yes: NDArray[np.float64]
    no: NDArray[np.float64]


class TreeSearch:
    """Finds the precondition and the condition with the smallest Z, round by round.

    A rule at node p leaves the weight outside p as it is: Z = 1 - W(p) + Z(p, c). So the best
    condition of a node stays the best until the weights of its rows change, which a rule at p
    does only to the rows of p; and no rule at p can take off more than W(p).
    """

    def __init__(self, bins: Bins, columns: Columns, smoothing: float):
        self._bins, self._columns, self._smoothing = bins, columns, smoothing
        self._rows: list[NDArray[np.intp]] = []  # of each prediction node
        self._found: list[tuple[float, Found | None] | None] = []  # W(p) then, best condition

    def next_rule(self, V: NDArray[np.float64]) -> ADTRule | None:
        """The next rule for weights V (n, 2q); None if no rule takes anything off Z."""
        if not self._rows:
            self._add_node(np.arange(self._columns.n))
            scores = log_ratio(V.sum(axis=0), self._smoothing)
            return ADTRule(0, None, scores, np.zeros_like(scores))
        p, found = self._search(V)
        if found is None:
            return None
        yes, no = split_rows(self._rows[p], found.condition, self._columns)
        a, b = (log_ratio(V[rows].sum(axis=0), self._smoothing) for rows in (yes, no))
        self._forget_overlapping(p)
        self._add_node(yes)
        self._add_node(no)
        return ADTRule(p, found.condition, a, b)

    def _search(self, V: NDArray[np.float64]) -> tuple[int, Found | None]:
        of_row = V.sum(axis=1)
        W = np.array([of_row[rows].sum() for rows in self._rows])
        gains = np.zeros(len(W))
        for p in np.argsort(-W, kind="stable"):
            if W[p] < gains.max() - TIE:
                break
            gains[p] = self._gain(p, W[p], V)
        if gains.max() <= TIE:
            return 0, None
        p = int(np.argmax(gains >= gains.max() - TIE))
        known = self._found[p]
        return p, known[1] if known else None

    def _gain(self, p: int, W: float, V: NDArray[np.float64]) -> float:
        """What the best rule at node p takes off Z."""
        known = self._found[p]
        if known is None:
            rows = self._rows[p]
            everything = len(rows) == self._columns.n
            found = None
            if len(rows) > 1:
                found = best_condition(self._bins, V, "real", None if everything else rows)
            known = self._found[p] = W, found
        then, found = known
        # since then the weights of p's rows have all been divided by the same numbers
        return 0.0 if found is None or then == 0 else (then - found.Z) * W / then

    def _forget_overlapping(self, p: int) -> None:
        changed = np.zeros(self._columns.n, dtype=bool)
        changed[self._rows[p]] = True
        for k, rows in enumerate(self._rows):
            if changed[rows].any():
                self._found[k] = None

    def _add_node(self, rows: NDArray[np.intp]) -> None:
        self._rows.append(rows)
        self._found.append(None)
