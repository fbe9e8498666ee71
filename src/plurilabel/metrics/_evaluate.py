"""All measures in one call, over all labels or label by label; and the tables that come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurilabel._core.base import LabelMatrix, column_names, names_or_default
from plurilabel._core.html import html_table
from plurilabel._core.scores import check_count
from plurilabel._core.unknown import UnknownLabels
from plurilabel._core.words import aligned, counted
from plurilabel.metrics._at_k import make_top, worth_of
from plurilabel.metrics._auc import label_auc, mean_auc, pooled_auc
from plurilabel.metrics._bootstrap import intervals_of
from plurilabel.metrics._by_label import LABEL_BASED, macro, micro
from plurilabel.metrics._counts import COUNT_MEASURES, SetCounts, count_sets
from plurilabel.metrics._inputs import (
    ScoreMatrix,
    Terms,
    check_predicted,
    check_scored,
    check_top,
    mean_of_defined,
    split_known,
)
from plurilabel.metrics._ranking import rank

_SHOWN = 30  # labels of a printed table


class Evaluation(dict[str, float]):
    """Measures by name: a dict that prints as a table.

    Attributes
    ----------
    intervals : dict of str to (low, high)
        Bootstrap intervals by name; empty unless requested.
    confidence : float or None
        Share of the bootstrap samples inside each interval.
    note : str
        How many instances have no labels, and what becomes of them, and how many labels are not
        known; empty if there are none.
    n_unknown : int
        How many true labels are not known, and left out of every measure.
    """

    note = ""  # also of those pickled before there was one
    n_unknown = 0

    def __init__(
        self,
        values: Mapping[str, float] = {},
        intervals: Mapping[str, tuple[float, float]] | None = None,
        confidence: float | None = None,
        note: str = "",
    ) -> None:
        super().__init__(values)
        self.intervals = dict(intervals or {})
        self.confidence = confidence
        self.note = note

    def to_frame(self) -> Any:
        """A pandas data frame with a row per measure: value and, with intervals, low and high."""
        columns: dict[str, list[float]] = {"value": list(self.values())}
        if self.intervals:
            for i, end in enumerate(("low", "high")):
                columns[end] = [self.intervals[name][i] for name in self]
        return _data_frame(columns, list(self), "measure")

    def _table(self) -> list[list[str]]:
        """Heads and rows, as text."""
        header = ["measure", "value"]
        rows = [[name, f"{value:.4f}"] for name, value in self.items()]
        if self.intervals:
            header.append(f"{100 * (self.confidence or 0):g}% interval")
            for row in rows:
                low, high = self.intervals[row[0]]
                row.append(f"[{low:.4f}, {high:.4f}]")
        return [header, *rows]

    def __repr__(self) -> str:
        table = _lines(self._table())
        return f"{table}\n{self.note}" if self.note else table

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        return html_table(head, rows, note=self.note)


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

    Predicted ``labels`` give the measures of label sets, ``scores`` those of rankings; pass both
    to get all. The matrices are processed in blocks of rows: besides the inputs, memory holds one
    block and a few numbers per instance. How a measure treats ties, empty sets and absent labels
    is described in its own docstring. Instances without labels count in Hamming loss, subset
    accuracy and the macro and micro measures only; a line below the printed table says how many
    there are.

    True labels that are not known (NaN, None, NA, or
    :class:`~plurilabel.datasets.UnknownLabels`) are left out of every measure, and counted in
    ``n_unknown``: each instance is judged by its known labels, and each label by the instances
    that know it. Instances and labels of which nothing is known are left out of the means.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame; with NaN if not known
    scores : matrix of shape (n, q), dense or sparse, optional
        What ``predict_proba`` or ``decision_function`` returns. Sparse scores are not made dense:
        an entry that is not stored ranks below all stored ones.
    labels : 0/1 matrix of shape (n, q), dense, sparse or a data frame, optional
        What ``predict`` returns.
    top : sequence of int, default=(1, 3, 5)
        The values of k for the measures at k. Those larger than q are left out.
    propensities : array-like of shape (q,), optional
        Adds ``psp@k`` and ``ps_ndcg@k``; see :func:`propensities`.
    bootstrap : int, optional
        Number of bootstrap samples of the instances; adds percentile intervals. The scores are
        sorted once; the time then grows with ``bootstrap * n * q``.
    confidence : float, default=0.95
        Share of the bootstrap samples inside the interval.
    random_state : int, RandomState or None, default=None
        Controls the bootstrap samples.

    Returns
    -------
    Evaluation
        A dict from names to floats, with ``intervals`` and ``to_frame()``. A measure that is not
        defined for any instance or label is NaN.

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
    if bootstrap is not None:
        check_count(bootstrap, "bootstrap")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    check_top(top)
    found: list[Iterator[tuple[str, Terms | float]]] = []
    Y, Z, S = None, None, None
    if labels is not None:
        Y, Z = check_predicted(Y_true, labels, name="labels")
        found.append(_on_sets(Y, Z))
    if scores is not None:
        Y, S = check_scored(Y_true, scores)
        found.append(on_rankings(Y, S, top, propensities))
    n_unknown = Y.n_unknown if isinstance(Y, UnknownLabels) else 0
    result: dict[str, float] = {}
    terms: dict[str, Terms] = {}
    for name, value in chain(*found):
        if isinstance(value, float):
            result[name] = value
            continue
        result[name] = mean_of_defined(*value)
        if bootstrap is not None:
            terms[name] = value
    assert Y is not None
    note = note_of(Y.shape[0], without_labels(Y), n_unknown)
    if bootstrap is None:
        evaluation = Evaluation(result, note=note)
    else:
        ends = intervals_of(terms, Y, Z, S, bootstrap, confidence, random_state)
        evaluation = Evaluation(result, {name: ends[name] for name in result}, confidence, note)
    evaluation.n_unknown = n_unknown
    return evaluation


def without_labels(Y: LabelMatrix) -> int:
    """How many instances have no labels, although some are known of them."""
    labels, known, _ = split_known(Y)
    empty = labels.sum(axis=1, dtype=np.int64) == 0
    return int((empty if known is None else empty & (known > 0)).sum())


def note_of(n: int, without: int, n_unknown: int) -> str:
    """What becomes of instances without labels and of labels that are not known, in words."""
    lines = []
    if without:
        has, counts = ("has", "it counts") if without == 1 else ("have", "they count")
        lines.append(
            f"{without:,} of {counted(n, 'instance')} {has} no labels: {counts} in hamming_loss, "
            "subset_accuracy, macro_* and micro_* only"
        )
    if n_unknown:
        lines.append(f"{counted(n_unknown, 'label')} not known and left out")
    return "\n".join(lines)


def _on_sets(Y: LabelMatrix, Z: LabelMatrix) -> Iterator[tuple[str, Terms | float]]:
    """Measures of label sets by name: the terms of a mean over instances, or a value."""
    counts = count_sets(Y, Z)
    yield from on_instances(counts)
    for mean in (macro, micro):
        for name, measure in LABEL_BASED.items():
            yield f"{mean.__name__}_{name}", mean(counts, measure)


def on_instances(counts: SetCounts) -> Iterator[tuple[str, Terms]]:
    """The measures of label sets that are means over instances."""
    yield "hamming_loss", counts.hamming_loss()
    yield "subset_accuracy", counts.subset_accuracy()
    yield "accuracy", counts.accuracy()
    yield "precision", counts.precision()
    yield "recall", counts.recall()
    yield "f1", counts.f_beta()


def on_rankings(
    Y: LabelMatrix,
    S: ScoreMatrix,
    top: Sequence[int],
    propensities: ArrayLike | None,
    *,
    auc: bool = True,
) -> Iterator[tuple[str, Terms | float]]:
    """Measures of rankings by name: the terms of a mean over instances, or a value."""
    q = Y.shape[1]
    worth = worth_of(propensities, q)
    ks = [k for k in check_top(top) if k <= q]
    ranking = rank(Y, S, max([1, *ks]), worth.grade_of)
    yield "one_error", ranking.one_error()
    yield "coverage", ranking.coverage()
    yield "coverage_normalized", ranking.coverage_normalized()
    yield "ranking_loss", ranking.ranking_loss()
    yield "is_error", ranking.is_error()
    yield "average_precision", ranking.average_precision()
    if auc:
        yield "macro_auc", mean_auc(label_auc(Y, S))
        yield "micro_auc", pooled_auc(Y, S)
    first = make_top(Y, ranking.top, worth)
    at_k = {"precision": first.precision, "recall": first.recall, "ndcg": first.ndcg}
    if propensities is not None:
        at_k |= {"psp": first.psp, "ps_ndcg": first.ps_ndcg}
    for name, measure in at_k.items():
        for k in ks:
            yield f"{name}@{k}", measure(k)


class PerLabel(dict[str, NDArray[Any]]):
    """Columns by name, with one entry per label: a dict that prints as a table.

    Attributes
    ----------
    label_names : list of str
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]] = {},
        label_names: Sequence[str] = (),
    ) -> None:
        super().__init__(columns)
        self.label_names = list(label_names)

    def to_frame(self) -> Any:
        """A pandas data frame with one row per label."""
        return _data_frame(self, self.label_names, "label")

    def _table(self) -> list[list[str]]:
        """Heads and the first rows, as text."""
        rows = []
        for j, name in enumerate(self.label_names[:_SHOWN]):
            cells = [column[j] for column in self.values()]
            rows.append([name, *(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells)])
        return [["label", *self], *rows]

    def _more(self) -> str:
        more = len(self.label_names) - _SHOWN
        return f"... and {more} more labels" if more > 0 else ""

    def __repr__(self) -> str:
        return "\n".join(filter(None, [_lines(self._table()), self._more()]))

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        return html_table(head, rows, note=self._more())


def per_label(
    Y_true: ArrayLike,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    label_names: Sequence[str] | None = None,
) -> PerLabel:
    """Compute the counts and measures of each label.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
    scores : matrix of shape (n, q), dense or sparse, optional
        Adds the column ``auc``: NaN for a label without positives or without negatives.
    labels : 0/1 matrix of shape (n, q), dense, sparse or a data frame, optional
        Adds the counts and the measures of the counts; a ratio 0/0 is 0.
    label_names : sequence of str, optional
        By default the column names of Y_true, if it is a data frame.

    Returns
    -------
    PerLabel
        A dict of columns, with ``label_names`` and ``to_frame()``. Their means are the ``macro_*``
        measures.

    Examples
    --------
    >>> from plurilabel.metrics import per_label
    >>> Y_true = [[1, 0], [1, 1], [0, 1], [1, 0]]
    >>> scores = [[0.9, 0.2], [0.6, 0.7], [0.3, 0.4], [0.2, 0.1]]
    >>> labels = [[1, 0], [1, 1], [0, 0], [0, 0]]
    >>> table = per_label(Y_true, scores, labels, label_names=["red", "blue"])
    >>> table
    label  positives  predicted  tp  fp  fn  tn  accuracy  precision  recall      f1  jaccard     auc
    red            3          2   2   0   1   1    0.7500     1.0000  0.6667  0.8000   0.6667  0.6667
    blue           2          1   1   0   1   2    0.7500     1.0000  0.5000  0.6667   0.5000  1.0000
    >>> table["recall"]
    array([0.66666667, 0.5       ])
    """  # noqa: E501 - a table is a table
    if scores is None and labels is None:
        raise ValueError("per_label needs scores, labels or both, got neither")
    columns: dict[str, NDArray[Any]] = {}
    if labels is not None:
        Y, Z = check_predicted(Y_true, labels, name="labels")
        counts = count_sets(Y, Z)
        columns |= {"positives": counts.label_true, "predicted": counts.label_pred}
        columns |= dict(zip(("tp", "fp", "fn", "tn"), counts.per_label))
        for name in ("accuracy", "precision", "recall", "f1", "jaccard"):
            columns[name] = COUNT_MEASURES[name](*counts.per_label)
    if scores is not None:
        Y, S = check_scored(Y_true, scores)
        columns.setdefault("positives", split_known(Y)[0].sum(axis=0, dtype=np.int64))
        columns["auc"] = label_auc(Y, S)
    names = label_names if label_names is not None else column_names(Y_true)
    return PerLabel(columns, names_or_default(names, Y.shape[1]))


def _lines(table: Sequence[Sequence[str]]) -> str:
    return "\n".join(line.rstrip() for line in aligned(table))


def _data_frame(columns: Mapping[str, Any], index: Sequence[str], index_name: str) -> Any:
    """A pandas data frame, or an error that says how to install pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install 'plurilabel[table]'") from None
    return pd.DataFrame(columns, index=pd.Index(index, name=index_name))
