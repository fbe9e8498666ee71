"""Losses of predicted grades; distances and similarities of label distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import rel_entr
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from plurilabel._core.base import check_scores
from plurilabel._core.blocks import row_blocks
from plurilabel.graded._scale import at_least, check_scale, read_grades

__all__ = [
    "c_index_loss", "canberra_distance", "chebyshev_distance", "clark_distance",
    "cosine_similarity", "evaluate_distributions", "evaluate_grades", "horizontal_loss",
    "intersection_similarity", "kullback_leibler_divergence", "mean_absolute_error",
    "vertical_loss",
]  # fmt: skip

PAIRS = 2**22  # pairs of labels compared at a time
TOLERANCE = 1e-3  # how far a row may be from summing to one: published degrees are rounded


def mean_absolute_error(Y_true: ArrayLike, Y_pred: ArrayLike, *, grades: Any = None) -> float:
    """Mean over instances and labels of the number of grades between truth and prediction.

    The mean number of wrong answers to "at least g?", m - 1 times the Hamming loss of the paper,
    Cheng et al. (see :class:`~plurilabel.VerticalReduction`).

    Parameters
    ----------
    Y_true, Y_pred : grades of shape (n, q), or (n,) for one label
        As in ``fit``.
    grades : sequence, default=None
        The scale, the lowest grade first. None: the ordered categories, or all integers that
        occur. Pass it if a grade of the scale may not occur.

    Examples
    --------
    >>> from plurilabel.graded import mean_absolute_error
    >>> mean_absolute_error([[0, 5], [1, 3]], [[0, 1], [1, 5]], grades=[0, 1, 3, 5])
    0.75
    """
    true, predicted, _ = _both_ranks(Y_true, Y_pred, grades)
    return float(np.abs(true - predicted).mean())


def vertical_loss(Y_true: ArrayLike, Y_pred: ArrayLike, *, grades: Any = None) -> float:
    """Share of the labels whose grade is wrong: 0/1 loss label by label (vertical).

    Parameters as in :func:`mean_absolute_error`.

    Examples
    --------
    >>> from plurilabel.graded import vertical_loss
    >>> vertical_loss([[0, 5], [1, 3]], [[0, 1], [1, 5]])
    0.5
    """
    true, predicted, _ = _both_ranks(Y_true, Y_pred, grades)
    return float((true != predicted).mean())


def horizontal_loss(Y_true: ArrayLike, Y_pred: ArrayLike, *, grades: Any = None) -> float:
    """Share of the cut sets that are wrong: 0/1 loss grade by grade (horizontal).

    For each grade but the lowest, the set of labels with at least this grade is right only as a
    whole. 0 if there is only one grade.

    Parameters as in :func:`mean_absolute_error`.

    Examples
    --------
    >>> from plurilabel.graded import horizontal_loss
    >>> horizontal_loss([[0, 2, 1]], [[0, 1, 1]], grades=[0, 1, 2])  # "at least 2" is wrong
    0.5
    """
    true, predicted, m = _both_ranks(Y_true, Y_pred, grades)
    wrong = (at_least(true, m) != at_least(predicted, m)).any(axis=1)
    return float(wrong.mean()) if m > 1 else 0.0


def c_index_loss(Y_true: ArrayLike, scores: ArrayLike, *, grades: Any = None) -> float:
    """C-index: share of the pairs of labels of different grades that are ordered wrongly.

    The ranking loss for more than two grades. Equal scores count one half, as in the paper.

    Parameters
    ----------
    Y_true, grades : as for :func:`mean_absolute_error`
    scores : array of shape (n, q)
        The higher, the higher the grade: ``expected_rank(X)`` of a learner.

    Returns
    -------
    float
        Mean over the instances that have two labels of different grades; NaN if there is none.

    Examples
    --------
    >>> from plurilabel.graded import c_index_loss
    >>> c_index_loss([[0, 1, 3], [1, 1, 1]], [[0.1, 1.9, 1.5], [0, 1, 2]])  # one pair of three
    0.3333333333333333
    """
    found = read_grades(Y_true, grades, name="Y_true")
    given, shape = np.asarray(scores), found.ranks.shape
    s = np.asarray(check_scores(given[:, None] if given.ndim == 1 else given))
    if s.shape != shape:
        raise ValueError(f"scores must have the shape of Y_true, {shape}, got {s.shape}")
    q = s.shape[1]
    shares = []
    for rows in row_blocks(len(s), q * q, PAIRS):
        r, f = found.ranks[rows], s[rows]
        lower = r[:, :, None] < r[:, None, :]  # (b, q, q): label l has a lower grade than k
        wrong = (f[:, :, None] > f[:, None, :]) + 0.5 * (f[:, :, None] == f[:, None, :])
        pairs = lower.sum(axis=(1, 2))
        some = pairs > 0
        shares.append((wrong * lower).sum(axis=(1, 2))[some] / pairs[some])
    values = np.concatenate(shares)
    return float(values.mean()) if len(values) else float("nan")


def evaluate_grades(
    Y_true: ArrayLike, Y_pred: ArrayLike, scores: Any = None, *, grades: Any = None
) -> dict[str, float]:
    """All losses of predicted grades, by name.

    Parameters
    ----------
    Y_true, Y_pred, grades : as for :func:`mean_absolute_error`
    scores : array of shape (n, q), default=None
        For :func:`c_index_loss`, which is left out without them.

    Examples
    --------
    >>> from plurilabel.graded import evaluate_grades
    >>> evaluate_grades([[0, 2]], [[0, 1]], [[0.2, 1.1]], grades=[0, 1, 2])
    {'mean_absolute_error': 0.5, 'vertical_loss': 0.5, 'horizontal_loss': 0.5, 'c_index_loss': 0.0}
    """
    losses = (mean_absolute_error, vertical_loss, horizontal_loss)
    found = {loss.__name__: loss(Y_true, Y_pred, grades=grades) for loss in losses}
    if scores is not None:
        found[c_index_loss.__name__] = c_index_loss(Y_true, scores, grades=grades)
    return found


def _both_ranks(
    Y_true: Any, Y_pred: Any, grades: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Ranks of both on one scale, and how many grades it has."""
    if grades is None:
        true = read_grades(Y_true, name="Y_true")
        grades = true.scale
        if not true.declared:
            grades = np.union1d(grades, read_grades(Y_pred, name="Y_pred").scale)
    scale = check_scale(grades)
    true = read_grades(Y_true, scale, name="Y_true")
    predicted = read_grades(Y_pred, scale, name="Y_pred")
    check_consistent_length(true.ranks, predicted.ranks)
    if (shape := true.ranks.shape) != (other := predicted.ranks.shape):
        raise ValueError(f"Y_pred must have the shape of Y_true, {shape}, got {other}")
    return true.ranks, predicted.ranks, len(scale)


def check_distributions(D: Any, *, name: str = "D") -> NDArray[np.float64]:
    """Degrees (n, q), checked: not negative, and summing to one in each row."""
    if sparse.issparse(D):
        raise ValueError(f"{name} must be dense: the degrees of all labels are compared")
    degrees = check_array(D, dtype=np.float64, input_name=name, ensure_min_samples=1)
    if (degrees < 0).any():
        i, j = np.argwhere(degrees < 0)[0]
        got = f"{degrees[i, j]:g} in row {i}, column {j}"
        raise ValueError(f"{name} must hold degrees that are not negative, got {got}")
    sums = degrees.sum(axis=1)
    if (wrong := np.abs(sums - 1) > TOLERANCE).any():
        i = int(np.argmax(wrong))
        raise ValueError(f"{name} must have rows that sum to one, got {sums[i]:g} in row {i}")
    return degrees


def chebyshev_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Largest difference of a degree, as a mean over instances. Lower is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n, q)
        Degrees that sum to one in each row.

    References
    ----------
    X. Geng. Label distribution learning. IEEE TKDE 28(7), 2016, table 1.

    Examples
    --------
    >>> from plurilabel.graded import chebyshev_distance
    >>> round(chebyshev_distance([[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]), 2)
    0.2
    """
    d, p = _both_degrees(D_true, D_pred)
    return float(np.abs(d - p).max(axis=1).mean())


def clark_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Root of the sum of squared relative differences (d - p) / (d + p). Lower is better.

    A label with degree 0 in both adds nothing. Mean over instances; parameters as in
    :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import clark_distance
    >>> round(clark_distance([[0.5, 0.5, 0.0]], [[0.3, 0.7, 0.0]]), 3)
    0.3
    """
    d, p = _both_degrees(D_true, D_pred)
    return float(np.sqrt((_relative(d, p) ** 2).sum(axis=1)).mean())


def canberra_distance(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of the absolute relative differences (d - p) / (d + p). Lower is better.

    A label with degree 0 in both adds nothing. Mean over instances; parameters as in
    :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import canberra_distance
    >>> round(canberra_distance([[0.5, 0.5, 0.0]], [[0.3, 0.7, 0.0]]), 3)
    0.417
    """
    d, p = _both_degrees(D_true, D_pred)
    return float(np.abs(_relative(d, p)).sum(axis=1).mean())


def kullback_leibler_divergence(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of d log(d / p), in nats. Lower is better.

    Infinite if a label with a positive degree is predicted with degree 0. Mean over instances;
    parameters as in :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import kullback_leibler_divergence
    >>> round(kullback_leibler_divergence([[0.5, 0.5, 0.0]], [[0.25, 0.5, 0.25]]), 3)
    0.347
    """
    d, p = _both_degrees(D_true, D_pred)
    return float(rel_entr(d, p).sum(axis=1).mean())


def cosine_similarity(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Cosine of the angle between two distributions, as a mean over instances. Higher is better.

    Parameters as in :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import cosine_similarity
    >>> round(cosine_similarity([[0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0]]), 3)
    0.707
    """
    d, p = _both_degrees(D_true, D_pred)
    lengths = np.linalg.norm(d, axis=1) * np.linalg.norm(p, axis=1)
    return float(((d * p).sum(axis=1) / lengths).mean())


def intersection_similarity(D_true: ArrayLike, D_pred: ArrayLike) -> float:
    """Sum of the smaller of both degrees, as a mean over instances. Higher is better.

    Parameters as in :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import intersection_similarity
    >>> round(intersection_similarity([[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]), 2)
    0.8
    """
    d, p = _both_degrees(D_true, D_pred)
    return float(np.minimum(d, p).sum(axis=1).mean())


def evaluate_distributions(D_true: ArrayLike, D_pred: ArrayLike) -> dict[str, float]:
    """The six usual measures of predicted label distributions: four distances, two similarities.

    Parameters as in :func:`chebyshev_distance`.

    Examples
    --------
    >>> from plurilabel.graded import evaluate_distributions
    >>> evaluate_distributions([[0.5, 0.5]], [[0.5, 0.5]])["canberra_distance"]
    0.0
    """
    d, p = _both_degrees(D_true, D_pred)
    measures = (
        chebyshev_distance, clark_distance, canberra_distance, kullback_leibler_divergence,
        cosine_similarity, intersection_similarity,
    )  # fmt: skip
    return {measure.__name__: measure(d, p) for measure in measures}


def _both_degrees(D_true: Any, D_pred: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    d, p = check_distributions(D_true, name="D_true"), check_distributions(D_pred, name="D_pred")
    if d.shape != p.shape:
        raise ValueError(f"D_pred must have the shape of D_true, {d.shape}, got {p.shape}")
    return d, p


def _relative(d: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(d - p) / (d + p), 0 where both are 0."""
    total = d + p
    return np.divide(d - p, total, out=np.zeros_like(d), where=total > 0)
