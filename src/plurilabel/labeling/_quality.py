"""How good a model is by label, what it confuses, and what has changed since it was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import ks_2samp, norm

from plurilabel._core.base import check_labels, column_names
from plurilabel._core.blocks import dense
from plurilabel._core.labels import names_or_default
from plurilabel.metrics import PerLabel, per_label

Floats = NDArray[np.float64]
Names = Sequence[str] | None


def quality(
    Y_true: ArrayLike, labels: ArrayLike, *, label_names: Names = None, confidence: float = 0.95
) -> PerLabel:
    """Precision, recall and F1 of each label with their intervals, the worst label first.

    Parameters
    ----------
    Y_true, labels : 0/1 matrices of shape (n, q), dense, sparse or data frames
        True labels, and predictions of models that were not fitted on the row, such as those of
        ``cross_val_predict``.
    label_names : sequence of str, default=None
        By default the column names of Y_true, if it is a data frame.
    confidence : float, default=0.95

    Returns
    -------
    PerLabel
        With the columns ``rows``, ``predicted``, and for each measure its value (NaN if 0/0),
        ``_low`` and ``_high``. Intervals are Wilson's; that of F1 = 2 J / (1 + J) follows from
        the one of J, the share of hits among the rows that have the label or its prediction.

    Examples
    --------
    >>> from plurilabel.labeling import quality
    >>> Y, Z = [[1, 0], [1, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> table = quality(Y, Z, label_names=["sea", "sun"])
    >>> table.label_names, table["f1"], table["f1_low"].round(2)
    (['sun', 'sea'], array([0.5, 1. ]), array([0.12, 0.61]))
    """
    counted = per_label(Y_true, labels=labels, label_names=label_names)
    tp, fp, fn = (counted[name] for name in ("tp", "fp", "fn"))
    with np.errstate(invalid="ignore"):
        f1 = 2 * tp / (2 * tp + fp + fn)
        jaccard = _wilson(tp, tp + fp + fn, confidence)
        columns: dict[str, Any] = {"rows": counted["positives"], "predicted": counted["predicted"]}
        for name, value, bounds in (
            ("precision", tp / (tp + fp), _wilson(tp, tp + fp, confidence)),
            ("recall", tp / (tp + fn), _wilson(tp, tp + fn, confidence)),
            ("f1", f1, tuple(2 * j / (1 + j) for j in jaccard)),
        ):
            columns |= {name: value, f"{name}_low": bounds[0], f"{name}_high": bounds[1]}
    return _sorted(columns, counted.label_names, f1)


def confusions(
    Y_true: ArrayLike, labels: ArrayLike, *, label_names: Names = None, n: int = 20
) -> list[tuple[str, str, int]]:
    """Pairs of labels that are confused, the most frequent first.

    Parameters
    ----------
    Y_true, labels, label_names
        As for :func:`quality`.
    n : int, default=20

    Returns
    -------
    list of at most n tuples
        A label that was missed, another that was wrongly predicted, and the number of rows where
        both happened. :class:`plurilabel.inspection.LabelConfusionDisplay` shows all pairs.

    Examples
    --------
    >>> from plurilabel.labeling import confusions
    >>> confusions([[1, 0], [1, 0], [0, 1]], [[0, 1], [0, 1], [1, 1]], label_names=["sea", "sun"])
    [('sea', 'sun', 2)]
    """
    Y, Z = (dense(check_labels(M)) == 1 for M in (Y_true, labels))
    counts = (Y & ~Z).astype(np.float64).T @ (Z & ~Y).astype(np.float64)
    given = label_names if label_names is not None else column_names(Y_true)
    names, best = (
        names_or_default(given, Y.shape[1]),
        np.argsort(-counts, axis=None, kind="stable"),
    )
    pairs = zip(*np.unravel_index(best[:n], counts.shape))
    return [(names[i], names[j], int(counts[i, j])) for i, j in pairs if counts[i, j]]


def drift(
    before: ArrayLike, now: ArrayLike, *, label_names: Names = None, confidence: float = 0.95
) -> PerLabel:
    """Which labels are scored differently than when the model was made.

    Parameters
    ----------
    before, now : array-like of shapes (n, q) and (m, q)
        Scores or labels of the rows at the time of training, by models that were not fitted on
        them, and of recent rows.
    label_names : sequence of str, default=None
    confidence : float, default=0.95
        Probability that no label drifts by mere chance, at least.

    Returns
    -------
    PerLabel
        With the columns ``before`` and ``now`` (means), ``distance`` and ``p_value`` (Kolmogorov
        and Smirnov's, the latter times the number of labels) and ``drifted``; the smallest p-value
        first. For rows that arrive one by one, see :class:`plurilabel.streams.ADWIN`.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.labeling import drift
    >>> S = np.random.default_rng(0).random((500, 2))
    >>> found = drift(S, S[:200] ** [1, 2], label_names=["sea", "sun"])
    >>> found.label_names, found["drifted"]
    (['sun', 'sea'], array([ True, False]))
    """
    A, B = (np.asarray(dense(M), dtype=np.float64) for M in (before, now))
    if A.ndim != 2 or A.shape[1:] != B.shape[1:] or not (len(A) and len(B)):
        problem = "before and now must be matrices of the same labels, got shapes"
        raise ValueError(f"{problem} {A.shape} and {B.shape}")
    q = A.shape[1]
    if np.isnan(A).any() or np.isnan(B).any():
        raise ValueError("before and now must be numbers, got NaN")
    method = "asymp" if len(A) + len(B) > 2 else "exact"  # scipy divides by 0 for a single pair
    found = [ks_2samp(a, b, method=method) for a, b in zip(A.T, B.T)]
    p = np.minimum(q * np.array([one.pvalue for one in found]), 1.0)
    columns: dict[str, Any] = {"before": A.mean(axis=0), "now": B.mean(axis=0)}
    columns |= {"distance": np.array([one.statistic for one in found]), "p_value": p}
    return _sorted(columns | {"drifted": p < 1 - confidence}, names_or_default(label_names, q), p)


def _sorted(columns: dict[str, Any], names: Sequence[str], by: Floats) -> PerLabel:
    order = np.argsort(by, kind="stable")  # NaN last
    return PerLabel(
        {name: column[order] for name, column in columns.items()}, [names[j] for j in order]
    )


def _wilson(hits: Any, of: Any, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share; NaN where it is 0/0."""
    z2 = norm.ppf((1 + confidence) / 2) ** 2
    centre = (hits + z2 / 2) / (of + z2)
    half = np.sqrt(z2 * (hits * (1 - hits / of) + z2 / 4)) / (of + z2)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
