"""Measures on label sets, from the confusion counts of each label.

``macro_*`` is the mean over labels of the measure of each; ``micro_*`` is the measure of the
counts of all labels together, so that frequent labels have more weight.

Every label counts, so that the means of different learners are over the same labels: **a ratio
0/0 is 0**, as in scikit-learn with ``zero_division=0``. A label that is never predicted has
precision 0; one that never occurs has recall 0 and F 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from plurilabel.metrics._counts import (
    COUNT_MEASURES,
    CountMeasure,
    SetCounts,
    counts_of,
    f_beta_of_counts,
)

LABEL_BASED = {name: COUNT_MEASURES[name] for name in ("accuracy", "precision", "recall", "f1")}


def macro(counts: SetCounts, measure: CountMeasure) -> float:
    """Mean over labels of a measure of the counts; those known of no instance are left out."""
    values = measure(*counts.per_label)
    if counts.label_known is not None:
        values = values[counts.label_known > 0]
    return float(values.mean()) if len(values) else float("nan")


def micro(counts: SetCounts, measure: CountMeasure) -> float:
    """A measure of the summed counts."""
    return float(measure(*(np.sum(count) for count in counts.per_label)))


def macro_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of the share of correct decisions; 1 is best.

    Equal to :func:`micro_accuracy` and to ``1 - hamming_loss``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import macro_accuracy
    >>> macro_accuracy([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return macro(counts_of(Y_true, Y_pred), COUNT_MEASURES["accuracy"])


def macro_precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of tp / (tp + fp); 1 is best.

    A label that is never predicted counts as 0. Equal to scikit-learn's
    ``precision_score(average="macro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import macro_precision
    >>> macro_precision([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.5
    """
    return macro(counts_of(Y_true, Y_pred), COUNT_MEASURES["precision"])


def macro_recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of tp / (tp + fn); 1 is best.

    A label that never occurs counts as 0. Equal to scikit-learn's
    ``recall_score(average="macro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import macro_recall
    >>> macro_recall([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return macro(counts_of(Y_true, Y_pred), COUNT_MEASURES["recall"])


def macro_f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """Mean over labels of F-beta; 1 is best.

    A label that neither occurs nor is predicted counts as 0. Equal to scikit-learn's
    ``fbeta_score(average="macro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import macro_f_beta
    >>> macro_f_beta([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]], beta=0.5)
    0.51...
    """
    return macro(counts_of(Y_true, Y_pred), f_beta_of_counts(beta))


def macro_f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Mean over labels of F1; 1 is best.

    A label that neither occurs nor is predicted counts as 0. Equal to scikit-learn's
    ``f1_score(average="macro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import macro_f1
    >>> macro_f1([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.55...
    """
    return macro(counts_of(Y_true, Y_pred), COUNT_MEASURES["f1"])


def micro_accuracy(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of correct decisions over all labels; 1 is best.

    Equal to :func:`macro_accuracy` and to ``1 - hamming_loss``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import micro_accuracy
    >>> micro_accuracy([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.66...
    """
    return micro(counts_of(Y_true, Y_pred), COUNT_MEASURES["accuracy"])


def micro_precision(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of all predicted labels that are true; 1 is best.

    0 if nothing is predicted. Equal to scikit-learn's
    ``precision_score(average="micro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import micro_precision
    >>> micro_precision([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return micro(counts_of(Y_true, Y_pred), COUNT_MEASURES["precision"])


def micro_recall(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of all true labels that are predicted; 1 is best.

    0 if no label is true. Equal to scikit-learn's
    ``recall_score(average="micro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import micro_recall
    >>> micro_recall([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return micro(counts_of(Y_true, Y_pred), COUNT_MEASURES["recall"])


def micro_f_beta(Y_true: ArrayLike, Y_pred: ArrayLike, beta: float = 1.0) -> float:
    """F-beta of the counts of all labels together; 1 is best.

    0 if no label is true and none predicted. Equal to scikit-learn's
    ``fbeta_score(average="micro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags
    beta : float, default=1.0
        Above 1 recall has more weight, below 1 precision.

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import micro_f_beta
    >>> micro_f_beta([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]], beta=0.5)
    0.75
    """
    return micro(counts_of(Y_true, Y_pred), f_beta_of_counts(beta))


def micro_f1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 of the counts of all labels together; 1 is best.

    0 if no label is true and none predicted. Equal to scikit-learn's
    ``f1_score(average="micro", zero_division=0)``.

    Parameters
    ----------
    Y_true, Y_pred : 0/1 matrices of shape (n, q), dense, sparse or data frames; or lists of tags

    Returns
    -------
    float

    Examples
    --------
    >>> from plurilabel.metrics import micro_f1
    >>> micro_f1([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 1, 0]])
    0.75
    """
    return micro(counts_of(Y_true, Y_pred), COUNT_MEASURES["f1"])
