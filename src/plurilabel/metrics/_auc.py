"""Areas under curves: how well the instances of a label are ranked above the others.

**A tie counts one half in AUC**, as in the Mann-Whitney statistic and in scikit-learn. The review
of Zhang and Zhou (2014) has ``f(x') >= f(x'')``, a full point for a tie: a learner that gives the
same score to everything would be perfect. **In average precision a tie counts against the
learner**: the rank of an instance is the number of instances that score at least as high.

Sparse scores are never made dense: an entry that they do not store is below every stored one and
tied with all others that are not stored.

Pairs of a positive and a negative are counted, not formed, in **half wins**: 2 for a pair whose
positive scores higher, 1 for a tie. These are whole numbers, so that the result depends neither
on block sizes nor on the order of sums. The same sort gives the precisions.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import dense, row_blocks
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    check_scored,
    ratio,
    soft_part,
    split_known,
    stored_relevance,
)
from plurilabel.metrics._rank import padded_rows, positions, sort_against
from plurilabel.metrics._registry import MEASURES, Measure, measure

__all__ = [
    "macro_auc", "macro_average_precision", "micro_auc", "micro_average_precision",
    "weighted_average_precision",
]  # fmt: skip

Counts: TypeAlias = NDArray[np.int64]
Sums: TypeAlias = NDArray[np.float64]

_PART = 2**20  # fewest entries of the matrix sorted at a time; for large ones, a quarter of all


@measure("scores", None, average="macro")
def macro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of the area under the ROC curve; 1 is best, 0.5 is chance.

    The AUC of a label is the share of pairs of an instance with the label and one without in which
    the first scores higher; a tie counts one half. A label without positives or without negatives
    has no AUC and is left out; apart from that, equal to scikit-learn's
    ``roc_auc_score(average="macro")``, which then returns NaN. NaN if no label has both positives
    and negatives. Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_auc
    >>> macro_auc([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.3, 0.1], [0.5, 0.2]])
    0.625
    """
    return Curves(*check_scored(Y_true, scores)).area(MEASURES["macro_auc"])


@measure("scores", None, average="micro")
def micro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve of all entries of the matrix together; 1 is best, 0.5 is chance.

    The share of pairs of a true and a false entry, anywhere in the matrix, in which the first
    scores higher; a tie counts one half. Equal to scikit-learn's
    ``roc_auc_score(average="micro")``, and counted exactly, in whole numbers. NaN if the labels
    are all 0 or all 1. Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import micro_auc
    >>> micro_auc([[1, 0], [0, 1]], [[0.9, 0.1], [0.3, 0.3]])
    0.875
    """
    return Curves(*check_scored(Y_true, scores)).area(MEASURES["micro_auc"])


@measure("scores", None, average="macro")
def macro_average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    r"""Mean over labels of the average precision of the ranked instances (mAP); 1 is best.

    The average precision of a label is the mean over its instances of the precision of the ranking
    down to them: the area under the precision-recall curve, in steps. A label without positives
    has none and is left out; scikit-learn's ``average_precision_score(average="macro")`` and
    torchmetrics, equal apart from that, count it as 0. In the literature on hierarchies this is
    :math:`\overline{AUPRC}`. NaN if no label has positives. Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import macro_average_precision
    >>> macro_average_precision([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.6, 0.1], [0.5, 0.2]])
    0.58...
    """
    return Curves(*check_scored(Y_true, scores)).area(MEASURES["macro_average_precision"])


@measure("scores", None, average="weighted")
def weighted_average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """:func:`macro_average_precision` with labels weighted by how many instances have them.

    AUPRC_w of Vens et al. (2008), and scikit-learn's ``average_precision_score`` with
    ``average="weighted"``. NaN if no label has positives. Parameters as in :func:`one_error`.

    Examples
    --------
    >>> from plurilabel.metrics import weighted_average_precision
    >>> weighted_average_precision([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.6, 0.1], [0.5, 0.2]])
    0.66...
    """
    return Curves(*check_scored(Y_true, scores)).area(MEASURES["weighted_average_precision"])


@measure("scores", None, average="micro")
def micro_average_precision(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Average precision of all entries of the matrix together, AU(PRC); 1 is best.

    The area under the precision-recall curve of all pairs of an instance and a label, the measure
    of the literature on hierarchies of labels. Precision is a step function of recall here, as in
    scikit-learn's ``average_precision_score(average="micro")``, which is equal and by which the
    figures since C-HMCNN (2020) were computed. Vens et al. (2008) interpolate between the points
    of the curve, which changes the fourth digit unless many scores are tied. NaN if there are no
    positives. Parameters as in :func:`one_error`.

    References
    ----------
    C. Vens, J. Struyf, L. Schietgat, S. Džeroski, H. Blockeel. Decision trees for hierarchical
    multi-label classification. Machine Learning 73, 2008.

    E. Giunchiglia, T. Lukasiewicz. Coherent hierarchical multi-label classification networks.
    NeurIPS 2020.

    Examples
    --------
    >>> from plurilabel.metrics import micro_average_precision
    >>> micro_average_precision([[1, 0], [0, 1]], [[0.9, 0.1], [0.3, 0.3]])
    0.83...
    """
    return Curves(*check_scored(Y_true, scores)).area(MEASURES["micro_average_precision"])


class Areas(NamedTuple):
    """Areas under the curves of labels, which are on the last axis; NaN where there is none."""

    auc: Any
    precision: Any
    positives: Any

    def mean(self, measure: Measure) -> Any:
        """Mean over the labels, as the measure takes it; NaN if no label has an area."""
        areas = self.auc if measure.name.endswith("_auc") else self.precision
        weighted = measure.average == "weighted"
        weight = np.where(np.isnan(areas), 0, self.positives if weighted else 1)
        total = (np.nan_to_num(areas) * weight).sum(axis=-1)
        return ratio(total, weight.sum(axis=-1), np.nan)


class Curves:
    """True labels and scores, whose curves are computed once for all measures."""

    def __init__(self, Y: LabelMatrix, S: ScoreMatrix) -> None:
        self.Y, self.S = Y, S

    @cached_property
    def by_label(self) -> Areas:
        return label_areas(self.Y, self.S)

    @cached_property
    def pooled(self) -> Areas:
        return pooled_areas(self.Y, self.S)

    def area(self, measure: Measure) -> float:
        areas = self.pooled if measure.average == "micro" else self.by_label
        return float(areas.mean(measure))


def label_areas(Y: LabelMatrix, S: ScoreMatrix) -> Areas:
    """Areas of each label; without positives there are none, without negatives no AUC."""
    if (P := soft_part(Y)) is not None:
        return _soft_areas(P, S)
    Y, _, known = split_known(Y)
    positives = Y.sum(axis=0, dtype=np.int64)
    sums = _sparse_sums if sparse.issparse(S) else _dense_sums
    half_wins, precisions = sums(Y, S, positives)
    # unknown labels score below all others: wins over them do not count
    half_wins -= 2 * positives * (Y.shape[0] - known)
    auc = ratio(half_wins, 2 * positives * (known - positives), np.nan)
    return Areas(auc, ratio(precisions, positives, np.nan), positives)


def pooled_areas(Y: LabelMatrix, S: ScoreMatrix) -> Areas:
    """Areas of all entries of the matrix together, as those of one label."""
    if (P := soft_part(Y)) is not None:
        return _soft_areas(P.reshape(-1, 1), S.reshape(-1, 1))
    Y, known, _ = split_known(Y)
    positives = int(Y.sum(dtype=np.int64))
    negatives = S.shape[0] * S.shape[1] - positives
    pairs = positives * negatives
    if sparse.issparse(S):
        relevant = stored_relevance(Y, S)
        hits = int(np.count_nonzero(relevant))
        misses = S.nnz - hits
        half_wins, precisions = _sums_in_parts(S.data, relevant, hits, misses)
        # Stored scores are above all others, which are tied.
        half_wins += (2 * hits + positives - hits) * (negatives - misses)
        precisions += (positives - hits) * positives / (positives + negatives)
    else:
        half_wins, precisions = _sums_in_parts(S, Y, positives, negatives)
    n_unknown = S.shape[0] * S.shape[1] - int(known.sum())
    half_wins -= 2 * positives * n_unknown
    pairs -= positives * n_unknown
    auc, precision = ratio([half_wins, precisions], [2 * pairs, positives], np.nan)
    return Areas(auc[None], precision[None], np.array([positives]))


def _soft_areas(P: NDArray[np.float64], S: NDArray[Any]) -> Areas:
    """Areas of the columns: expected wins over expected pairs, expected precisions likewise."""
    return Areas(*np.transpose([_soft_area(p, s) for p, s in zip(P.T, S.T)]))


def _soft_area(p: NDArray[np.float64], scores: NDArray[Any]) -> tuple[float, ...]:
    known = np.isfinite(scores)
    p, place = p[known], np.unique(scores[known], return_inverse=True)[1]
    present, absent = np.bincount(place, p), np.bincount(place, 1 - p)
    half_wins = present @ (2 * (np.cumsum(absent) - absent) + absent) - p @ (1 - p)
    pairs = p.sum() * (1 - p).sum() - p @ (1 - p)  # no entry forms a pair with itself
    found, rank = (np.cumsum(of[::-1])[::-1][place] for of in (present, present + absent))
    precisions = p @ ((found + 1 - p) / rank)  # a positive itself is found for certain
    auc = half_wins / (2 * pairs) if pairs > 1e-12 else np.nan
    return auc, precisions / p.sum() if p.any() else np.nan, p.sum()


def half_wins_over(left: NDArray[Any], right: NDArray[Any]) -> tuple[int, Counts]:
    """Half wins of one sorted array over another, and how many are below each of the first."""
    below = right.searchsorted(left, "left")
    tied = np.append(right, np.nan)[below] == left
    ties = right.searchsorted(left[tied], "right") - below[tied]
    return int(2 * below.sum() + ties.sum()), below


def _precisions(positive: NDArray[Any], above: NDArray[Any]) -> float:
    """Sum of the precisions at sorted positives, with the numbers of negatives not below them."""
    found = len(positive) - positive.searchsorted(positive, "left")
    return float((found / (found + above)).sum())


def _dense_sums(Y: LabelMatrix, S: NDArray[Any], positives: Counts) -> tuple[Counts, Sums]:
    """Half wins of each label's positives over its negatives, and the sum of their precisions."""
    wins, precisions = np.zeros_like(positives), np.zeros(len(positives))
    by_label = Y.tocsc() if sparse.issparse(Y) else Y
    # Reading a few columns at a time uses every cache line of the rows.
    for start in range(0, len(wins), 8):
        columns = np.ascontiguousarray(S[:, start : start + 8].T)
        present = dense(by_label[:, start : start + 8]).T.astype(bool)
        for j, (f, y) in enumerate(zip(columns, present), start):
            positive, negative = np.sort(f[y]), np.sort(f[~y])
            wins[j], below = half_wins_over(positive, negative)
            precisions[j] = _precisions(positive, len(negative) - below)
    return wins, precisions


def stored_by_label(Y: LabelMatrix, S: sparse.csr_array) -> tuple[NDArray[Any], ...]:
    """The stored scores label by label: pointers, and row, score and relevance of each entry."""
    entry = sparse.csr_array((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape).tocsc()
    relevant = stored_relevance(Y, S)
    return entry.indptr, entry.indices, S.data[entry.data], relevant[entry.data]


def _sparse_sums(Y: LabelMatrix, S: sparse.csr_array, positives: Counts) -> tuple[Counts, Sums]:
    wins, precisions = np.zeros_like(positives), np.zeros(len(positives))
    ends, _, score, relevant = stored_by_label(Y, S)
    for labels, block, positive in padded_rows(ends, score, relevant.astype(np.int8), 1):
        stored = np.diff(ends)[labels]
        hits = np.count_nonzero(positive, axis=1)
        # Half of the losses with ties as losses, half of those with ties as wins.
        ordered, ties = sort_against(block, positive)
        precisions[labels] = positions(ordered > 0, ties, positives[labels], S.shape[0])[2]
        lost = _pairs_lost(ordered > 0)
        lost += lost if ties is None else _pairs_lost(sort_against(block, 1 - positive)[0] == 0)
        won = 2 * hits * (stored - hits) - lost
        other_hits = positives[labels] - hits
        other_negatives = S.shape[0] - stored - other_hits
        wins[labels] = won + 2 * hits * other_negatives + other_hits * other_negatives
    return wins, precisions


def _pairs_lost(positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs with the negative before the positive, in each row."""
    hits = np.count_nonzero(positive, axis=1)
    places = positive.astype(np.int64) @ np.arange(1, positive.shape[1] + 1)
    return places - hits * (hits + 1) // 2


def _sums_in_parts(
    values: NDArray[Any], positive: LabelMatrix, positives: int, negatives: int
) -> tuple[int, float]:
    """Half wins of the positives and their precisions, with a part of the negatives at a time."""
    n = len(values)
    width = values.size // max(1, n)
    parts = row_blocks(n, width, max(_PART, -(-n // 4) * width))
    some = (values[rows][dense(positive[rows]).view(bool)] for rows in parts)
    kept = np.concatenate([values[:0].ravel(), *some])
    kept.sort()
    won, below = 0, np.zeros(positives, dtype=np.int64)
    for rows in parts:
        others = values[rows][~dense(positive[rows]).view(bool)]
        others.sort()
        more, lower = half_wins_over(kept, others)
        won, below = won + more, below + lower
    return won, _precisions(kept, negatives - below)
