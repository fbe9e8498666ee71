"""What a weak rule asks of an instance, and the columns of X that answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Condition:
    """A question about one feature: above a threshold, or present (not zero).

    Attributes
    ----------
    feature : int
    threshold : float or None
        None asks whether the feature is present.
    """

    feature: int
    threshold: float | None = None

    def sides(self, column: NDArray[np.float64]) -> NDArray[np.int8]:
        """1 where the condition holds, 0 where it does not, -1 where the value is missing."""
        holds = column != 0 if self.threshold is None else column > self.threshold
        sides = holds.astype(np.int8)
        sides[np.isnan(column)] = -1
        return sides

    def text(self, names: Sequence[str], holds: bool = True) -> str:
        """The condition, or its contrary, in words."""
        name = names[self.feature]
        if self.threshold is None:
            return f"word {name!r} {'present' if holds else 'absent'}"
        return f"{name} {'>' if holds else '<='} {self.threshold:.4g}"


class Columns:
    """Columns of X, dense or CSR, as float64."""

    def __init__(self, X: Any):
        self.n = X.shape[0]
        self._X = sparse.csc_array(X) if sparse.issparse(X) else X

    def __call__(self, j: int) -> NDArray[np.float64]:
        """Column j, with the zeros that a sparse matrix leaves out."""
        if not sparse.issparse(self._X):
            return np.asarray(self._X[:, j], dtype=np.float64)
        column = np.zeros(self.n)
        stored = slice(*self._X.indptr[j : j + 2])
        # += and not =: an entry may be stored in parts
        np.add.at(column, self._X.indices[stored], self._X.data[stored])
        return column


def split_rows(
    rows: NDArray[np.intp], condition: Condition, columns: Columns
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows where a condition holds and those where it does not; missing values: neither."""
    sides = condition.sides(columns(condition.feature)[rows])
    return rows[sides == 1], rows[sides == 0]
