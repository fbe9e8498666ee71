"""Sums of rows of a matrix, for many sets of rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.learners.boosting._rules import Floats, Rows

SHORT = 16
"""Mean number of rows in a running sum up to which adding them all anew takes less time."""


class Summer:
    """Sums rows of matrices by sparse products."""

    def __init__(self) -> None:
        self._members: dict[tuple[int, int], Any] = {}
        self._ones = np.empty(0)

    def __call__(self, rows: NDArray[Any], starts: Rows, W: Floats) -> Floats:
        """The sums of W[rows], anew from each start, and zeros up to a power of two."""
        # scipy takes longer to make a small matrix than to multiply it: it is filled anew
        size = 1 << len(starts).bit_length()
        member = self._members.get((size, len(W)))
        if member is None:
            member = self._members[size, len(W)] = sparse.csr_array((size, len(W)))
        if len(self._ones) < len(rows):
            self._ones = np.ones(2 * len(rows))
        member.data, member.indices = self._ones[: len(rows)], rows
        member.indptr = np.full(size + 1, len(rows), dtype=np.int32)
        member.indptr[: len(starts)] = starts
        return member @ W

    def running(self, H: Floats, starts: Rows, m: int) -> Floats:
        """Running sums of the first m rows of H, anew from each start; H is overwritten."""
        if len(starts) == m:
            return H
        first = np.zeros(m, dtype=np.intp)
        first[starts] = starts
        np.maximum.accumulate(first, out=first)
        # each sum is of the rows from the first of its run to itself
        terms = np.arange(1, m + 1)
        terms -= first
        ends = terms.cumsum()
        if ends[-1] > SHORT * m:
            # what a run leaves is taken off where the next begins: all sums stay small, and exact
            H = H[:m]
            H[starts[1:]] -= np.add.reduceat(H, starts, axis=0)[:-1]
            return np.cumsum(H, axis=0, out=H)
        ends -= terms
        first -= ends
        rows = first.repeat(terms)
        rows += np.arange(len(rows))
        return self(rows.astype(np.int32), ends, H)
