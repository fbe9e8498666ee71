"""Label sets of one size as rows of labels, how probable they are, and which were seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Members = NDArray[np.intp]
"""Sets of one size (c, k): the labels of each in rising order."""


class SeenSets:
    """The label sets of the training documents, to be found again."""

    def __init__(self, sets: Sequence[tuple[int, ...]]):
        self.number = {present: s for s, present in enumerate(sets)}
        # what a set becomes by one more label, for the sets that lack one of those seen
        self.more: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for present, s in self.number.items():
            for at, label in enumerate(present):
                rest = present[:at] + present[at + 1 :]
                self.more.setdefault(rest, []).append((label, s))

    def find(self, members: Members) -> NDArray[np.intp]:
        """The number of each set (c,), -1 where it was not seen."""
        numbers = (self.number.get(tuple(row), -1) for row in members.tolist())
        return np.fromiter(numbers, dtype=np.intp, count=len(members))

    def find_extended(
        self, present: tuple[int, ...], labels: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The numbers of a set with each of some labels added."""
        found = dict(self.more.get(present, ()))
        return np.array([found.get(label, -1) for label in labels.tolist()], dtype=np.intp)


class SetPrior:
    """log P(Y), up to a constant.

    Parameters
    ----------
    kind : {"uniform", "labels", "sets"}
    set_counts : array of shape (S,)
        Training documents with each label set.
    label_counts : array of shape (q,)
    """

    def __init__(self, kind: str, set_counts: Floats, label_counts: Floats):
        self.kind, self.n = kind, set_counts.sum()
        self.log_counts = np.log(set_counts)
        p = (label_counts + 1) / (self.n + 2)
        self.log_odds, self.log_none = np.log(p / (1 - p)), float(np.log1p(-p).sum())

    def __call__(self, members: Members, numbers: NDArray[np.intp]) -> Floats:
        """For each of the sets (c,), given the numbers of those that were seen."""
        if self.kind == "uniform":
            return np.zeros(len(members))
        independent = self.log_none + self.log_odds[members].sum(axis=1)
        if self.kind == "labels":
            return independent
        seen = np.where(numbers >= 0, self.log_counts[numbers], -np.inf)
        return np.logaddexp(seen, independent) - np.log(self.n + 1)


def with_labels(present: tuple[int, ...], labels: NDArray[np.intp]) -> Members:
    """A set with each of some labels added.

    Examples
    --------
    >>> with_labels((2, 5), np.array([0, 7]))
    array([[0, 2, 5],
           [2, 5, 7]])
    """
    old = np.broadcast_to(np.array(present, dtype=np.intp), (len(labels), len(present)))
    return np.sort(np.column_stack([old, labels]).astype(np.intp), axis=1)


def without_labels(present: tuple[int, ...], labels: Iterable[int]) -> Members:
    """A set with each of some labels taken away.

    Examples
    --------
    >>> without_labels((2, 5, 7), [2, 7])
    array([[5, 7],
           [2, 5]])
    """
    rest = [[m for m in present if m != label] for label in labels]
    return np.array(rest, dtype=np.intp).reshape(len(rest), len(present) - 1)


def count_sets(free: int, fewest: int, most: int) -> int:
    """How many sets of so many labels there are.

    Examples
    --------
    >>> count_sets(4, 1, 2)
    10
    """
    return sum(comb(free, k) for k in range(fewest, most + 1))


def all_sets(
    always: tuple[int, ...], free: NDArray[np.intp], fewest: int, most: int
) -> list[Members]:
    """Every set of some labels and from ``fewest`` to ``most`` others, by size.

    Examples
    --------
    >>> all_sets((1,), np.array([0, 2]), 0, 1)
    [array([[1]]), array([[0, 1], [1, 2]])]
    """
    lists = []
    for k in range(fewest, most + 1):
        rows = [always + some for some in combinations(free.tolist(), k)]
        lists.append(np.sort(np.array(rows, dtype=np.intp).reshape(len(rows), -1), axis=1))
    return lists


def by_size(sets: Iterable[tuple[int, ...]]) -> list[Members]:
    """Sets of any size, as one array for each size.

    Examples
    --------
    >>> by_size([(0,), (0, 2), (2,)])
    [array([[0], [2]]), array([[0, 2]])]
    """
    sizes: dict[int, list[tuple[int, ...]]] = {}
    for present in sets:
        sizes.setdefault(len(present), []).append(present)
    return [np.array(sizes[k], dtype=np.intp).reshape(len(sizes[k]), k) for k in sorted(sizes)]
