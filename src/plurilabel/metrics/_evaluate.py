"""All measures in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plurilabel.base import LabelMatrix
from plurilabel.metrics._auc import label_auc, mean_auc, pooled_auc
from plurilabel.metrics._bootstrap import intervals_of
from plurilabel.metrics._counts import (
    CountMeasure,
    accuracy_from_counts,
    f_beta_from_counts,
    precision_from_counts,
    recall_from_counts,
)
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    check_predicted,
    check_scored,
    check_top,
    mean_of_defined,
)
from plurilabel.metrics._label_based import macro, micro
from plurilabel.metrics._rank import rank
from plurilabel.metrics._set_counts import SetCounts, Terms, count_sets
from plurilabel.metrics._table import aligned, data_frame
from plurilabel.metrics._top import Worth, check_propensities, make_top

LABEL_BASED: dict[str, CountMeasure] = {
    "accuracy": accuracy_from_counts,
    "precision": precision_from_counts,
    "recall": recall_from_counts,
    "f1": f_beta_from_counts,
}


class Evaluation(dict[str, float]):
    """Measures by name: a dict that prints as a table.

    Attributes
    ----------
    intervals : dict of str to (low, high)
        Bootstrap intervals by name; empty unless they were asked for.
    confidence : float or None
        Share of the bootstrap samples inside each interval.
    """

    def __init__(
        self,
        values: Mapping[str, float] = {},
        intervals: Mapping[str, tuple[float, float]] | None = None,
        confidence: float | None = None,
    ) -> None:
        super().__init__(values)
        self.intervals = dict(intervals or {})
        self.confidence = confidence

    def to_frame(self) -> Any:
        """A pandas data frame with a row per measure: value and, if there are any, low, high."""
        columns: dict[str, list[float]] = {"value": list(self.values())}
        if self.intervals:
            for i, end in enumerate(("low", "high")):
                columns[end] = [self.intervals[name][i] for name in self]
        return data_frame(columns, list(self), "measure")

    def __repr__(self) -> str:
        header = ["measure", "value"]
        rows = [[name, f"{value:.4f}"] for name, value in self.items()]
        if self.intervals:
            header.append(f"{100 * (self.confidence or 0):g}% interval")
            for row in rows:
                low, high = self.intervals[row[0]]
                row.append(f"[{low:.4f}, {high:.4f}]")
        return aligned(header, rows)


def evaluate(
    Y_true: ArrayLike,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    top: Sequence[int] = (1, 3, 5),
    propensities: ArrayLike | None = None,
    bootstrap: int | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> Evaluation:
    """Compute every measure that the given predictions allow.

    Predicted ``labels`` give the measures on label sets, ``scores`` those on rankings; give both
    for all. Works on a part of the matrices at a time: beside the inputs, memory holds such a part
    and a few numbers per instance.
    What each measure does with ties, empty sets and absent labels is in its own docstring.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse, optional
        What ``predict_proba`` or ``decision_function`` returns. Sparse scores are not made dense:
        an entry that is not stored ranks below every stored one.
    labels : 0/1 matrix of shape (n, q), dense, sparse or a data frame, optional
        What ``predict`` returns.
    top : sequence of int
        The k of the measures at k. Those larger than q are left out.
    propensities : array-like of shape (q,), optional
        Adds ``psp@k`` and ``ps_ndcg@k``; see :func:`propensities`.
    bootstrap : int, optional
        Number of bootstrap samples of the instances; adds percentile intervals. The time is that
        of sorting once, then grows with ``bootstrap * n * q``.
    confidence : float
        Share of the bootstrap samples inside the interval.
    random_state : int, RandomState or None
        Of the bootstrap.

    Returns
    -------
    Evaluation
        A dict of names to floats, with ``intervals`` and ``to_frame()``. A measure that is
        defined for no instance, or no label, is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from plurilabel.metrics import evaluate
    >>> Y_true = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0]])
    >>> scores = np.array([[0.9, 0.5, 0.6], [0.4, 0.3, 0.2], [0.8, 0.1, 0.3]])
    >>> result = evaluate(Y_true, scores, labels=scores > 0.5, top=(1,))
    >>> result["hamming_loss"]
    0.11...
    >>> result
    measure               value
    hamming_loss         0.1111
    subset_accuracy      0.6667
    accuracy             0.6667
    precision            0.6667
    recall               0.6667
    f1                   0.6667
    macro_accuracy       0.8889
    macro_precision      0.6667
    macro_recall         0.6667
    macro_f1             0.6667
    micro_accuracy       0.8889
    micro_precision      1.0000
    micro_recall         0.7500
    micro_f1             0.8571
    one_error            0.3333
    coverage             0.6667
    coverage_normalized  0.2222
    ranking_loss         0.1667
    is_error             0.3333
    average_precision    0.8333
    macro_auc            0.8333
    micro_auc            0.8750
    precision@1          0.6667
    recall@1             0.5000
    ndcg@1               0.6667
    """
    if scores is None and labels is None:
        raise ValueError("evaluate needs scores, labels or both, got neither")
    if bootstrap is not None and (isinstance(bootstrap, bool) or bootstrap < 1):
        raise ValueError(f"bootstrap must be a number of samples from 1, got {bootstrap!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    check_top(top)
    result: dict[str, float] = {}
    terms: dict[str, Terms] = {}

    def add(name: str, measure: Callable[..., Terms], *args: Any) -> None:
        term = measure(*args)
        result[name] = mean_of_defined(*term)
        if bootstrap is not None:
            terms[name] = term

    Y: LabelMatrix
    Z: LabelMatrix | None = None
    S: ScoreMatrix | None = None
    if labels is not None:
        Y, Z = check_predicted(Y_true, labels, name="labels")
        _evaluate_sets(count_sets(Y, Z), add, result)
    if scores is not None:
        Y, S = check_scored(Y_true, scores)
        _evaluate_ranking(Y, S, top, propensities, add, result)
    if bootstrap is None:
        return Evaluation(result)
    found = intervals_of(terms, Y, Z, S, LABEL_BASED, bootstrap, confidence, random_state)
    return Evaluation(result, {name: found[name] for name in result}, confidence)


def _evaluate_sets(counts: SetCounts, add: Callable[..., None], result: dict[str, float]) -> None:
    add("hamming_loss", counts.hamming_loss)
    add("subset_accuracy", counts.subset_accuracy)
    add("accuracy", counts.accuracy)
    add("precision", counts.precision)
    add("recall", counts.recall)
    add("f1", counts.f_beta)
    for mean in (macro, micro):
        for name, measure in LABEL_BASED.items():
            result[f"{mean.__name__}_{name}"] = mean(counts, measure)


def _evaluate_ranking(
    Y: LabelMatrix,
    S: ScoreMatrix,
    top: Sequence[int],
    propensities: ArrayLike | None,
    add: Callable[..., None],
    result: dict[str, float],
) -> None:
    q = Y.shape[1]
    worth = None
    if propensities is not None:
        worth = Worth.from_propensities(check_propensities(propensities, q))
    ks = [k for k in check_top(top) if k <= q]
    ranking = rank(Y, S, max([1, *ks]), None if worth is None else worth.grade_of)
    add("one_error", ranking.one_error)
    add("coverage", ranking.coverage)
    add("coverage_normalized", ranking.coverage_normalized)
    add("ranking_loss", ranking.ranking_loss)
    add("is_error", ranking.is_error)
    add("average_precision", ranking.average_precision)
    result["macro_auc"] = mean_auc(label_auc(Y, S))
    result["micro_auc"] = pooled_auc(Y, S)
    first = make_top(Y, ranking.top, worth)
    at_k = {"precision": first.precision, "recall": first.recall, "ndcg": first.ndcg}
    if worth is not None:
        at_k |= {"psp": first.psp, "ps_ndcg": first.ps_ndcg}
    for name, measure in at_k.items():
        for k in ks:
            add(f"{name}@{k}", measure, k)
