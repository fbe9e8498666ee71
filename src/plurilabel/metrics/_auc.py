"""Area under the ROC curve: how well the instances of a label are ranked above the others.

**A tie counts one half**, as in the Mann-Whitney statistic and in scikit-learn. The review of
Zhang and Zhou (2014) has ``f(x') >= f(x'')``, a full point for a tie: a learner that gives the
same score to everything would be perfect.

Sparse scores are never made dense: an entry that they do not store is below every stored one and
tied with all others that are not stored.

Pairs of a positive and a negative are counted, not formed, in **half wins**: 2 for a pair whose
positive scores higher, 1 for a tie. These are whole numbers, so that the result depends neither
on block sizes nor on the order of sums.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    check_scored,
    soft_part,
    split_known,
    stored_relevance,
)
from plurilabel.metrics._rank import padded_rows, sort_against
from plurilabel.metrics._registry import Average, measure

__all__ = ["macro_auc", "micro_auc"]

Counts: TypeAlias = NDArray[np.int64]

_SLICE = (
    8192  # entries of the shorter list at a time: with their part of the other they fit in cache
)
_PART = 2**20  # fewest entries of the matrix sorted at a time; for large ones, a quarter of all


@measure("scores", None, average="macro")
def macro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of the area under the ROC curve; 1 is best, 0.5 is chance.

    The AUC of a label is the share of pairs of an instance with the label and one without in which
    the first scores higher; a tie counts one half. A label without positives or without negatives
    has no AUC and is left out; apart from that, equal to scikit-learn's
    ``roc_auc_score(average="macro")``, which then returns NaN. NaN if no label has both positives
    and negatives.

    Parameters
    ----------
    Y_true, scores : as in :func:`one_error`

    Examples
    --------
    >>> from plurilabel.metrics import macro_auc
    >>> macro_auc([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.3, 0.1], [0.5, 0.2]])
    0.625
    """
    return auc_of("macro", *check_scored(Y_true, scores))


@measure("scores", None, average="micro")
def micro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve of all entries of the matrix together; 1 is best, 0.5 is chance.

    The share of pairs of a true and a false entry, anywhere in the matrix, in which the first
    scores higher; a tie counts one half. Equal to scikit-learn's
    ``roc_auc_score(average="micro")``, and counted exactly, in whole numbers. NaN if the labels
    are all 0 or all 1.

    Parameters
    ----------
    Y_true, scores : as in :func:`one_error`

    Examples
    --------
    >>> from plurilabel.metrics import micro_auc
    >>> micro_auc([[1, 0], [0, 1]], [[0.9, 0.1], [0.3, 0.3]])
    0.875
    """
    return auc_of("micro", *check_scored(Y_true, scores))


def auc_of(average: Average, Y: LabelMatrix, S: ScoreMatrix) -> float:
    """Mean of the labels' AUCs ("macro"), or the AUC of all entries together ("micro")."""
    return mean_auc(label_auc(Y, S)) if average == "macro" else pooled_auc(Y, S)


def label_auc(Y: LabelMatrix, S: ScoreMatrix) -> NDArray[np.float64]:
    """AUC of each label; NaN for a label without positives or without negatives."""
    n = Y.shape[0]
    if (P := soft_part(Y)) is not None:
        return np.array([_soft_auc(p, s) for p, s in zip(P.T, S.T)])
    Y, _, known = split_known(Y)
    positives = Y.sum(axis=0, dtype=np.int64)
    half_wins = (_sparse_half_wins if sparse.issparse(S) else _dense_half_wins)(Y, S, positives)
    if known is not None:  # unknown labels score below all others: wins over them do not count
        half_wins -= 2 * positives * (n - known)
        n = known
    pairs = positives * (n - positives)
    auc = np.full(len(pairs), np.nan)
    np.divide(half_wins, 2 * pairs, out=auc, where=pairs > 0)
    return auc


def mean_auc(auc: NDArray[Any]) -> float:
    """Mean over the labels that have an AUC; NaN if none has."""
    defined = auc[~np.isnan(auc)]
    return float(defined.mean()) if len(defined) else float("nan")


def pooled_auc(Y: LabelMatrix, S: ScoreMatrix) -> float:
    """AUC of all entries of the matrix together."""
    if (P := soft_part(Y)) is not None:
        return _soft_auc(P.ravel(), S.ravel())
    Y, known, _ = split_known(Y)
    positives = int(Y.sum(dtype=np.int64))
    negatives = S.shape[0] * S.shape[1] - positives
    pairs = positives * negatives
    if sparse.issparse(S):
        relevant = stored_relevance(Y, S)
        hits = int(np.count_nonzero(relevant))
        misses = S.nnz - hits
        half_wins = _half_wins_in_parts(S.data, relevant, hits, misses)
        # Stored scores are above all others, which are tied.
        half_wins += (2 * hits + positives - hits) * (negatives - misses)
    else:
        half_wins = _half_wins_in_parts(S, Y, positives, negatives)
    if known is not None:
        n_unknown = S.shape[0] * S.shape[1] - int(known.sum())
        half_wins -= 2 * positives * n_unknown
        pairs -= positives * n_unknown
    return half_wins / (2 * pairs) if pairs else float("nan")


def _soft_auc(p: NDArray[np.float64], scores: NDArray[Any]) -> float:
    """Expected wins over expected pairs of different entries, for present with probability p."""
    known = np.isfinite(scores)
    p, place = p[known], np.unique(scores[known], return_inverse=True)[1]
    present, absent = np.bincount(place, p), np.bincount(place, 1 - p)
    half_wins = present @ (2 * (np.cumsum(absent) - absent) + absent) - p @ (1 - p)
    pairs = p.sum() * (1 - p).sum() - p @ (1 - p)  # no entry forms a pair with itself
    return float(half_wins / (2 * pairs)) if pairs > 1e-12 else float("nan")


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
    """Wins from one sort of integers, which is vectorised and much faster than searching."""
    # Each float is mapped to an integer of the same order, whose lowest bit is then replaced: 1
    # for a positive, 0 for a negative. If a positive and a negative agree in all other bits, they
    # may be tied or not; the result is None, and the caller has to count in another way.
    key = np.add(values, 0.0, dtype=np.float64).view(np.int64)  # -0.0 becomes 0.0
    key ^= (key >> 63) & np.int64(2**63 - 1)  # all bits but the sign
    key &= -2  # all but the lowest
    key |= positive
    key.sort()
    if ((key[1:] ^ key[:-1]) == 1).any():
        return None
    key &= 1
    p = int(key.sum())
    return int(np.dot(key, np.arange(len(key)))) - p * (p - 1) // 2


def _dense_half_wins(Y: LabelMatrix, S: NDArray[Any], positives: Counts) -> Counts:
    """Half wins of each label's positives over its negatives."""
    wins = np.zeros_like(positives)
    by_label = Y.tocsc() if sparse.issparse(Y) else Y
    # Reading a few columns at a time uses every cache line of the rows.
    for start in range(0, len(wins), 8):
        columns = np.ascontiguousarray(S[:, start : start + 8].T)
        present = dense(by_label[:, start : start + 8]).T.astype(np.int64)
        for j, (f, y) in enumerate(zip(columns, present), start):
            if (won := _wins_by_sorting(f, y)) is not None:
                wins[j] = 2 * won
            else:
                wins[j] = _half_wins_by_search(np.sort(f[y == 1]), np.sort(f[y == 0]))
    return wins


def stored_by_label(Y: LabelMatrix, S: sparse.csr_array) -> tuple[NDArray[Any], ...]:
    """The stored scores label by label: pointers, and row, score and relevance of each entry."""
    entry = sparse.csr_array((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape).tocsc()
    relevant = stored_relevance(Y, S)
    return entry.indptr, entry.indices, S.data[entry.data], relevant[entry.data]


def _sparse_half_wins(Y: LabelMatrix, S: sparse.csr_array, positives: Counts) -> Counts:
    wins = np.zeros_like(positives)
    ends, _, score, relevant = stored_by_label(Y, S)
    for labels, block, positive in padded_rows(ends, score, relevant.astype(np.int8), 1):
        stored = np.diff(ends)[labels]
        hits = np.count_nonzero(positive, axis=1)
        # Half of the losses with ties as losses, half of those with ties as wins.
        ordered, ties = sort_against(block, positive)
        lost = _pairs_lost(ordered > 0)
        lost += lost if ties is None else _pairs_lost(sort_against(block, 1 - positive)[0] == 0)
        won = 2 * hits * (stored - hits) - lost
        other_hits = positives[labels] - hits
        other_negatives = S.shape[0] - stored - other_hits
        wins[labels] = won + 2 * hits * other_negatives + other_hits * other_negatives
    return wins


def _pairs_lost(positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs with the negative before the positive, in each row."""
    hits = np.count_nonzero(positive, axis=1)
    places = positive.astype(np.int64) @ np.arange(1, positive.shape[1] + 1)
    return places - hits * (hits + 1) // 2


def _half_wins_in_parts(
    values: NDArray[Any], positive: LabelMatrix, positives: int, negatives: int
) -> int:
    """Half wins of the positives, keeping the smaller class and a part of the other sorted."""
    n = len(values)
    width = values.size // max(1, n)
    parts = row_blocks(n, width, max(_PART, -(-n // 4) * width))
    keep = positives <= negatives
    kept = np.empty(min(positives, negatives), dtype=values.dtype)
    filled = 0
    for rows in parts:
        some = values[rows][dense(positive[rows]).view(bool) == keep]
        kept[filled : filled + len(some)] = some
        filled += len(some)
    kept.sort()
    won = 0
    for rows in parts:
        others = values[rows][dense(positive[rows]).view(bool) != keep]
        others.sort()
        won += half_wins_over(kept, others)
    return won if keep else 2 * positives * negatives - won
