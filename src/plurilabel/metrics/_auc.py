"""Area under the ROC curve: how well the instances of a label are ranked above the others.

**A tie counts one half**, as in the Mann-Whitney statistic and in scikit-learn. The review of
Zhang and Zhou (2014) writes ``f(x') >= f(x'')``, a full point for a tie, by which a learner that
gives the same score to everything would be perfect.

Sparse scores are never made dense: an entry that they do not store is below every stored one and
tied with all others that are not stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel.base import LabelMatrix
from plurilabel.metrics._auc_counts import all_half_wins, label_half_wins
from plurilabel.metrics._inputs import ScoreMatrix, check_scored


def label_auc(Y: LabelMatrix, S: ScoreMatrix) -> NDArray[np.float64]:
    """AUC of each label; NaN for a label without positives or without negatives."""
    half_wins, positives = label_half_wins(Y, S)
    pairs = positives * (Y.shape[0] - positives)
    auc = np.full(len(pairs), np.nan)
    np.divide(half_wins, 2 * pairs, out=auc, where=pairs > 0)
    return auc


def mean_auc(auc: NDArray[Any]) -> float:
    """Mean over the labels that have an AUC; NaN if none has."""
    defined = auc[~np.isnan(auc)]
    return float(defined.mean()) if len(defined) else float("nan")


def pooled_auc(Y: LabelMatrix, S: ScoreMatrix) -> float:
    """AUC of all entries of the matrix together."""
    half_wins, positives, negatives = all_half_wins(Y, S)
    pairs = positives * negatives
    return half_wins / (2 * pairs) if pairs else float("nan")


def macro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Mean over labels of the area under the ROC curve; 1 is best, 0.5 is chance.

    The AUC of a label is the share of pairs (instance with it, instance without) whose first
    scores higher, a tie counting one half: scikit-learn's ``roc_auc_score(average="macro")``. A
    label without positives or without negatives has no AUC and is left out, where scikit-learn
    gives NaN.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if no label has both positives and negatives.

    Examples
    --------
    >>> from plurilabel.metrics import macro_auc
    >>> macro_auc([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.3, 0.1], [0.5, 0.2]])
    0.625
    """
    return mean_auc(label_auc(*check_scored(Y_true, scores)))


def micro_auc(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve of all entries of the matrix together; 1 is best, 0.5 is chance.

    The share of pairs of a true and a false entry, anywhere in the matrix, whose first scores
    higher, a tie counting one half: scikit-learn's ``roc_auc_score(average="micro")``. Counted
    exactly, in whole numbers.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse

    Returns
    -------
    float
        NaN if the labels are all 0 or all 1.

    Examples
    --------
    >>> from plurilabel.metrics import micro_auc
    >>> micro_auc([[1, 0], [0, 1]], [[0.9, 0.1], [0.3, 0.3]])
    0.875
    """
    return pooled_auc(*check_scored(Y_true, scores))
