"""Pairs of a positive and a negative, counted exactly, without ever forming them.

All functions count **half wins**: 2 for a pair whose positive scores higher, 1 for a tie. They
are whole numbers, so that the result depends neither on block sizes nor on the order of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel.base import LabelMatrix
from plurilabel.metrics._inputs import ScoreMatrix, dense_rows, is_sparse
from plurilabel.metrics._rank import padded_rows, sort_against, stored_relevance

# Entries of the shorter list handled at a time: they and their share of the other fit the cache.
_SLICE = 8192

# Fewest entries of the matrix sorted at a time; the most are a quarter of it.
_PART = 2**20

_LOWEST_BIT = np.int64(1)
_ALL_BUT_SIGN = np.int64(2**63 - 1)


def half_wins_over(left: NDArray[Any], right: NDArray[Any]) -> int:
    """Half wins of the entries of one sorted array over those of another sorted array."""
    if len(left) > len(right):
        return 2 * len(left) * len(right) - half_wins_over(right, left)
    total = 0
    for start in range(0, len(left), _SLICE):
        few = left[start : start + _SLICE]
        lo = int(right.searchsorted(few[0], "left"))
        hi = int(right.searchsorted(few[-1], "right"))
        total += 2 * lo * len(few) + _half_wins_of_slice(few, right[lo:hi])
    return total


def _half_wins_of_slice(few: NDArray[Any], many: NDArray[Any]) -> int:
    if len(many) <= 4 * len(few):
        is_few = np.zeros(len(few) + len(many), dtype=np.int64)
        is_few[: len(few)] = 1
        wins = _wins_by_sorting(np.concatenate([few, many]), is_few)
        if wins is not None:
            return 2 * wins
    return _half_wins_by_search(few, many)


def _half_wins_by_search(few: NDArray[Any], many: NDArray[Any]) -> int:
    return int(many.searchsorted(few, "left").sum() + many.searchsorted(few, "right").sum())


def _wins_by_sorting(values: NDArray[Any], positive: NDArray[np.int64]) -> int | None:
    """Wins, from one sort of whole numbers: vectorised, far faster than searching.

    A float is mapped to an integer of the same order, whose lowest bit then says whether it is
    positive (1) or not (0). If a positive meets a negative that agrees in all other bits, the two
    may be tied or not: None, and the caller counts in another way.
    """
    key = np.add(values, 0.0, dtype=np.float64).view(np.int64)  # -0.0 becomes 0.0
    key ^= (key >> 63) & _ALL_BUT_SIGN
    key &= ~_LOWEST_BIT
    key |= positive
    key.sort()
    if ((key[1:] ^ key[:-1]) == 1).any():
        return None
    key &= _LOWEST_BIT
    p = int(key.sum())
    return int(np.dot(key, np.arange(len(key)))) - p * (p - 1) // 2


def label_half_wins(Y: LabelMatrix, S: ScoreMatrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """Half wins of each label's positives over its negatives, and its number of positives."""
    if is_sparse(S):
        return _sparse_label_half_wins(Y, S)
    q = S.shape[1]
    wins, positives = np.zeros(q, dtype=np.int64), np.zeros(q, dtype=np.int64)
    by_label = Y.tocsc() if is_sparse(Y) else Y
    # Reading a few columns at a time uses every cache line of the rows.
    for start in range(0, q, 8):
        columns = np.ascontiguousarray(S[:, start : start + 8].T)
        labels = by_label[:, start : start + 8]
        present = (labels.toarray() if is_sparse(labels) else labels).T.astype(np.int64)
        for j, (f, y) in enumerate(zip(columns, present), start):
            positives[j] = y.sum()
            won = _wins_by_sorting(f, y)
            if won is None:
                wins[j] = _half_wins_by_search(np.sort(f[y == 1]), np.sort(f[y == 0]))
            else:
                wins[j] = 2 * won
    return wins, positives


def _sparse_label_half_wins(
    Y: LabelMatrix, S: sparse.csr_array
) -> tuple[NDArray[Any], NDArray[Any]]:
    n, q = S.shape
    positives = np.bincount(sparse.csr_array(Y).indices, minlength=q)
    entry = sparse.csr_array((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape).tocsc()
    values, relevant = S.data[entry.data], stored_relevance(Y, S)[entry.data].astype(np.int8)
    wins = np.zeros(q, dtype=np.int64)
    for labels, block, positive in padded_rows(entry.indptr, values, relevant, 1):
        stored = np.diff(entry.indptr)[labels]
        hits = np.count_nonzero(positive, axis=1)
        # Half of the losses with ties as losses, half of those with ties as wins.
        ordered, end = sort_against(block, positive)
        lost = _pairs_lost(ordered > 0)
        if end is None:
            lost *= 2
        else:
            lost += _pairs_lost(sort_against(block, 1 - positive)[0] == 0)
        won = 2 * hits * (stored - hits) - lost
        other_hits = positives[labels] - hits
        other_negatives = n - stored - other_hits
        wins[labels] = won + 2 * hits * other_negatives + other_hits * other_negatives
    return wins, positives


def _pairs_lost(positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs with the negative before the positive, in each row."""
    hits = np.count_nonzero(positive, axis=1)
    places = positive.astype(np.int64) @ np.arange(1, positive.shape[1] + 1)
    return places - hits * (hits + 1) // 2


def all_half_wins(Y: LabelMatrix, S: ScoreMatrix) -> tuple[int, int, int]:
    """Half wins over all entries of the matrix, and its numbers of positives and negatives."""
    positives = sparse.csr_array(Y).nnz if is_sparse(Y) else int(np.count_nonzero(Y))
    negatives = S.shape[0] * S.shape[1] - positives
    if not is_sparse(S):
        return _half_wins_of_parts(_DenseParts(Y, S), positives, negatives), positives, negatives
    relevant = stored_relevance(Y, S)
    hits = int(np.count_nonzero(relevant))
    misses = S.nnz - hits
    won = _half_wins_of_parts(_FlatParts(relevant, S.data), hits, misses)
    # Whatever is stored beats whatever is not; what is not stored is tied.
    won += (2 * hits + positives - hits) * (negatives - misses)
    return won, positives, negatives


class _FlatParts:
    """Quarters of a vector: values, and which of them are positive."""

    def __init__(self, positive: Any, values: Any) -> None:
        self.positive, self.values = positive, values

    def __iter__(self) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
        n = self.values.shape[0]
        width = self.values.size // max(1, n)
        step = max(_PART // max(1, width), -(-n // 4), 1)
        for start in range(0, n, step):
            yield self._part(slice(start, start + step))

    def _part(self, rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return self.values[rows], self.positive[rows]


class _DenseParts(_FlatParts):
    """Quarters of a matrix, row after row."""

    def _part(self, rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return self.values[rows].ravel(), dense_rows(self.positive, rows).ravel().view(bool)


def _half_wins_of_parts(parts: _FlatParts, positives: int, negatives: int) -> int:
    """Half wins of the positives, keeping the smaller class and a part of the other sorted."""
    keep = positives <= negatives
    kept = np.empty(min(positives, negatives), dtype=parts.values.dtype)
    filled = 0
    for values, positive in parts:
        some = values[positive == keep]
        kept[filled : filled + len(some)] = some
        filled += len(some)
    kept.sort()
    won = sum(
        half_wins_over(kept, np.sort(values[positive != keep])) for values, positive in parts
    )
    return won if keep else 2 * positives * negatives - won
