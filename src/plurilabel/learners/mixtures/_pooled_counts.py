"""Word counts of the documents with the same label set, and one step of EM on them.

All documents with the same label set draw their words from the same distribution. So their counts
are summed first, and EM runs over distinct label sets, not over documents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.blocks import ranges, row_blocks

Floats = NDArray[np.float64]

BLOCK = 2**22  # triples of set, word and component processed at once


class Memberships(NamedTuple):
    """Which components the words of each label set can come from: the rows of a CSR matrix."""

    indptr: NDArray[np.intp]  # (S + 1,)
    components: NDArray[np.intp]  # (M,), labels in rising order, then the background if any
    n_components: int

    def rows(self) -> NDArray[np.intp]:
        """The set of each membership (M,)."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def matrix(self, values: Floats) -> sparse.csr_array:
        """Values of the memberships as a matrix (S, components)."""
        shape = (len(self.indptr) - 1, self.n_components)
        return sparse.csr_array((values, self.components, self.indptr), shape=shape)


class Expected(NamedTuple):
    """The result of an E-step."""

    log_likelihood: float
    by_word: Floats  # occurrences of each word that come from each component, as ``keys`` has them
    by_set: Floats  # (M,), words of each set that come from each of its components


class PooledCounts:
    """Word counts (S, V) of label sets, and the components that each count can come from.

    ``keys`` are the pairs of component and word that occur, component * V + word, ascending. The
    expected count of all other pairs is always 0.
    """

    def __init__(self, counts: sparse.csr_array, members: Memberships):
        self.counts, self.members = counts.data, members
        V = counts.shape[1]
        sizes = np.diff(members.indptr)
        set_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))  # (E,)
        reach = sizes[set_of]  # number of components of each count
        self.ends = np.concatenate(([0], np.cumsum(reach)))
        # a triple is a stored count and one of its components
        member = ranges(members.indptr[set_of], reach)
        word = np.repeat(counts.indices.astype(np.int64), reach)
        self.keys, place = np.unique(members.components[member] * V + word, return_inverse=True)
        small = np.int32 if max(len(self.keys), len(member)) < 2**31 else np.int64
        self.member, self.place = member.astype(small), place.ravel().astype(small)
        self.component, self.word = np.divmod(self.keys, max(V, 1))
        self.shape = (members.n_components, V)

    def expect(self, theta: Floats, shares: Floats) -> Expected:
        """The E-step, for word probabilities at ``keys`` and a share for each membership."""
        log_likelihood = 0.0
        by_word, by_set = np.zeros(len(self.keys)), np.zeros(len(shares))
        width = self.ends[-1] / max(len(self.counts), 1)
        for entries in row_blocks(len(self.counts), width, BLOCK):
            starts = self.ends[entries]
            triples = slice(self.ends[entries.start], self.ends[entries.stop])
            member, place = self.member[triples], self.place[triples]
            part = shares[member] * theta[place]
            phi = np.add.reduceat(part, starts - starts[0])  # of each word in its set
            counts = self.counts[entries]
            log_likelihood += float(counts @ np.log(phi))
            part *= np.repeat(counts / phi, np.diff(self.ends[entries.start : entries.stop + 1]))
            by_word += np.bincount(place, part, len(by_word))
            by_set += np.bincount(member, part, len(by_set))
        return Expected(log_likelihood, by_word, by_set)

    def spread(self, shares: Floats) -> Floats:
        """Counts at ``keys`` if the shares alone divide every word."""
        part = shares[self.member] * np.repeat(self.counts, np.diff(self.ends))
        return np.bincount(self.place, part, len(self.keys)).astype(np.float64)

    def matrix(self, values: Floats) -> sparse.csr_array:
        """Values at ``keys`` as a matrix (components, V)."""
        sizes = np.bincount(self.component, minlength=self.shape[0])
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        return sparse.csr_array((values, self.word, indptr), shape=self.shape)


def distinct_sets(Y: Any) -> tuple[list[tuple[int, ...]], NDArray[np.intp]]:
    """The distinct label sets in ascending order, and the index of each row's set."""
    csr = sparse.csr_array(Y)
    csr.sort_indices()
    rows = [tuple(part.tolist()) for part in np.split(csr.indices, csr.indptr[1:-1])]
    sets = sorted(set(rows))
    number = {present: s for s, present in enumerate(sets)}
    return sets, np.array([number[row] for row in rows], dtype=np.intp)
