"""All measures in one call, over all labels, label by label or block by block, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from plurilabel._core.base import LabelMatrix, column_names, names_or_default
from plurilabel._core.compat import import_extra
from plurilabel._core.html import html_table
from plurilabel._core.names import ALIASES
from plurilabel._core.scores import check_count
from plurilabel._core.words import aligned, counted
from plurilabel.metrics import _inputs
from plurilabel.metrics._auc import Curves, label_areas
from plurilabel.metrics._bootstrap import percentiles, samples_of
from plurilabel.metrics._counts import (
    COUNT_MEASURES,
    SetCounts,
    count_sets,
    label_counts,
    value_of_counts,
)
from plurilabel.metrics._rank import Ranking, rank, worth_of
from plurilabel.metrics._registry import Kind, Measure, get_measure, usual_measures

_SHOWN = 30  # labels of a printed table


class _Table:
    """Prints as a table, with a note below it."""

    note = ""

    def _table(self) -> list[list[str]]:
        """Heads and rows, as text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [line.rstrip() for line in aligned(self._table())]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        return html_table(head, rows, note=self.note)


class Evaluation(_Table, dict[str, float]):
    """Measures by name: a dict that prints as a table.

    Attributes
    ----------
    intervals : dict of str to (low, high)
        Bootstrap intervals by name; empty unless requested.
    confidence : float or None
        Share of the bootstrap samples inside each interval.
    note : str
        How many instances have no labels and where they count, and how many labels are unknown.
    n_unknown : int
        Number of unknown true labels, which are left out of every measure.
    """

    n_unknown = 0

    def __init__(
        self,
        values: Mapping[str, float] = {},
        intervals: Mapping[str, tuple[float, float]] | None = None,
        confidence: float | None = None,
        note: str = "",
        n_unknown: int = 0,
    ) -> None:
        super().__init__(values)
        self.intervals, self.confidence = dict(intervals or {}), confidence
        self.note, self.n_unknown = note, n_unknown

    def __missing__(self, name: str) -> float:
        if name in ALIASES:  # as scikit-learn spells it
            return self[ALIASES[name]]
        raise KeyError(name)

    def worse_than(self, bounds: Mapping[str, float]) -> list[str]:
        """The measures that are below their bounds, or above for a loss; NaN is worse, too."""
        worse = []
        for name, bound in bounds.items():
            if name not in self and name not in ALIASES:
                raise ValueError(f"{name} is not among the measures: {', '.join(self)}")
            sign = 1 if get_measure(name).greater_is_better else -1
            if not sign * self[name] >= sign * bound:
                worse.append(name)
        return worse

    def to_frame(self) -> Any:
        """A pandas data frame with a row per measure: value and, with intervals, low and high."""
        columns: dict[str, list[float]] = {"value": list(self.values())}
        if self.intervals:
            for i, end in enumerate(("low", "high")):
                columns[end] = [self.intervals[name][i] for name in self]
        return _data_frame(columns, list(self), "measure")

    def _table(self) -> list[list[str]]:
        table = [["measure", "value"], *([name, f"{v:.4f}"] for name, v in self.items())]
        if self.intervals:
            table[0].append(f"{100 * (self.confidence or 0):g}% interval")
            for row in table[1:]:
                row.append("[{:.4f}, {:.4f}]".format(*self.intervals[row[0]]))
        return table


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

    ``labels`` give the measures of label sets, ``scores`` those of rankings. The matrices
    are processed in blocks of rows: besides the inputs, memory holds one block and a few numbers
    per instance. How a measure treats ties, empty sets and absent labels is described in its own
    docstring. Instances without labels count in Hamming loss, subset accuracy and the macro and
    micro measures only; a line below the printed table says how many there are.

    True labels may be soft: between 0 and 1, the probability that the label is there. A mean over
    instances is then an expected value for independent labels: the sum over all label sets, up to
    256 for each instance (more are replaced by that many draws), with their probabilities. Macro
    and micro measures are those of expected counts, AUC is the share of expected pairs.

    Unknown true labels (NaN, None, NA, or :class:`~plurilabel.datasets.UnknownLabels`) are left
    out of every measure and counted in ``n_unknown``. Instances and labels without any known value
    are left out of the means.

    Parameters
    ----------
    Y_true : 0/1 matrix of shape (n, q), dense, sparse or a data frame
        NaN for unknown labels, numbers between 0 and 1 for soft ones.
    scores : matrix of shape (n, q), dense or sparse, optional
        The output of ``predict_proba`` or ``decision_function``. Sparse scores are not made dense:
        an entry that is not stored ranks below all stored ones.
    labels : 0/1 matrix of shape (n, q), dense, sparse or a data frame, optional
        The output of ``predict``.
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
    >>> evaluate(Y_true, scores, labels=scores > 0.5)["hamming_loss"]
    0.11...
    >>> evaluate(Y_true, scores, top=(1,))
    measure                      value
    one_error                   0.3333
    coverage                    0.6667
    coverage_normalized         0.2222
    ranking_loss                0.1667
    is_error                    0.3333
    average_precision           0.8333
    r_precision                 0.6667
    ndcg                        0.8770
    macro_auc                   0.8333
    macro_average_precision     0.8333
    micro_auc                   0.8750
    micro_average_precision     0.8929
    weighted_average_precision  0.8750
    precision@1                 0.6667
    recall@1                    0.5000
    r_precision@1               0.6667
    ndcg@1                      0.6667
    """
    if bootstrap is not None:
        check_count(bootstrap, "bootstrap")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    given = checked_inputs("evaluate", Y_true, scores, labels, top, propensities)
    Y = given.Y
    result = {measure.name: given.value(measure) for measure in given.measures}
    intervals = None
    if bootstrap is not None:
        sampled = given.samples(bootstrap, random_state)
        intervals = {name: percentiles(values, confidence) for name, values in sampled.items()}
    n_unknown = getattr(Y, "n_unknown", 0)
    note = _note(Y.shape[0], _count_without_labels(Y), n_unknown)
    if _inputs.soft_part(Y) is not None:
        note += "\n" * bool(note) + "expected values: some labels are probabilities"
    return Evaluation(result, intervals, confidence if intervals else None, note, n_unknown)


class _Given(NamedTuple):
    """Checked true labels, label sets and scores, and what their measures are computed from."""

    Y: LabelMatrix
    Z: LabelMatrix | None
    S: _inputs.ScoreMatrix | None
    counts: SetCounts | None
    ranking: Ranking | None
    curves: Curves
    measures: list[Measure]

    def terms(self, measure: Measure) -> _inputs.Terms:
        """The terms of a mean over instances."""
        assert measure.terms is not None
        return _inputs.terms_of(
            measure.terms, self.counts if measure.kind == "labels" else self.ranking
        )

    def value(self, measure: Measure) -> float:
        if measure.average == "instances":
            return _inputs.mean_of_defined(*self.terms(measure))
        if measure.kind == "scores":
            return self.curves.area(measure)
        assert self.counts is not None
        return value_of_counts(measure, self.counts)

    def samples(self, n_samples: int, random_state: Any) -> dict[str, NDArray[np.float64]]:
        """Values of all measures in bootstrap samples of the instances."""
        terms = {m.name: self.terms(m) for m in self.measures if m.average == "instances"}
        return samples_of(self.measures, terms, self.Y, self.Z, self.S, n_samples, random_state)


def checked_inputs(
    caller: str, Y_true: Any, scores: Any, labels: Any, top: Sequence[int], propensities: Any
) -> _Given:
    if scores is None and labels is None:
        raise ValueError(f"{caller} needs scores, labels or both, got neither")
    ks = [check_count(k, "k") for k in (top if isinstance(top, Iterable) else [top])]
    Y = Z = S = counts = ranking = None
    kinds: list[Kind] = []
    if labels is not None:
        kinds.append("labels")
        Y, Z = _inputs.check_predicted(Y_true, labels, name="labels")
        counts = count_sets(Y, Z)
    if scores is not None:
        kinds.append("scores")
        Y, S = _inputs.check_scored(Y_true, scores)
        ks = [k for k in ks if k <= S.shape[1]]
        ranking = rank(Y, S, max([1, *ks]), worth_of(propensities, S.shape[1]))
    measures = usual_measures(ks, kinds=kinds, propensities=propensities is not None)
    return _Given(Y, Z, S, counts, ranking, Curves(Y, S), measures)


def _count_without_labels(Y: LabelMatrix) -> int:
    """Number of instances that have known labels, none of them present."""
    labels, known, _ = _inputs.split_known(Y)
    return int(((labels.sum(axis=1) == 0) & (known > 0)).sum())


def _note(n: int, without: int, n_unknown: int) -> str:
    """How instances without labels and unknown labels are treated."""
    lines = []
    if without:
        has, counts = ("has", "it counts") if without == 1 else ("have", "they count")
        lines.append(
            f"{without:,} of {counted(n, 'instance')} {has} no labels: {counts} in hamming_loss, "
            "subset_accuracy, macro_*, micro_* and weighted_* only"
        )
    if n_unknown:
        lines.append(f"{counted(n_unknown, 'label')} not known and left out")
    return "\n".join(lines)


@dataclass(frozen=True)
class MeasureSums:
    """Sums from which :func:`~plurilabel.metrics.evaluate` can be computed block by block.

    Sums of different rows are added with ``+``, in any order; :meth:`evaluation` computes the
    measures of all rows. Macro and micro measures are exactly those of ``evaluate``, means over
    instances up to rounding. Areas under curves compare rows with each other and have no sums.

    Attributes
    ----------
    n, n_labels, n_unknown : int
        Number of rows, of labels, and of unknown true labels.

    Examples
    --------
    >>> from plurilabel.metrics import MeasureSums
    >>> first = MeasureSums.of([[1, 0], [0, 1]], labels=[[1, 1], [0, 1]])
    >>> second = MeasureSums.of([[1, 1]], labels=[[0, 0]])
    >>> (first + second).evaluation()["hamming_loss"]
    0.5
    """

    n: int
    n_labels: int
    n_unknown: int
    _without: int  # rows without labels
    _is_labels: bool  # whether all scores were integers 0 and 1
    _names: tuple[str, ...]  # of all measures, in order
    _terms: dict[str, NDArray[np.float64]]  # (2,): sums of the terms and of their weights
    _counts: Any  # None or (4, q): true, predicted, both and known of each label

    @classmethod
    def of(
        cls,
        Y_true: ArrayLike,
        scores: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        top: Sequence[int] = (1, 3, 5),
        propensities: ArrayLike | None = None,
    ) -> Self:
        """Sum up some rows; parameters as in :func:`~plurilabel.metrics.evaluate`."""
        is_labels = scores is not None and _inputs.are_labels(scores)  # one block cannot tell
        if scores is not None:
            S: Any = scores if sparse.issparse(scores) else np.asarray(scores)
            scores = S.astype(np.float64) if S.dtype.kind in "biu" else S
        given = checked_inputs("MeasureSums", Y_true, scores, labels, top, propensities)
        Y, counts, table = given.Y, given.counts, None
        n, q = Y.shape
        terms = {
            one.name: np.array([np.sum(part, dtype=np.float64) for part in given.terms(one)])
            for one in given.measures
            if one.average == "instances"
        }
        if counts is not None:
            of_labels = counts.label_true, counts.label_pred, counts.label_both
            table = np.array([*of_labels, counts.label_known])
        names, without = tuple(one.name for one in given.measures), _count_without_labels(Y)
        return cls(n, q, getattr(Y, "n_unknown", 0), without, is_labels, names, terms, table)

    def __add__(self, other: MeasureSums) -> MeasureSums:
        if not isinstance(other, MeasureSums):
            return NotImplemented
        if (q := self.n_labels) != other.n_labels:
            raise ValueError(f"sums must be of the same labels, got {q} and {other.n_labels}")
        if self._names != other._names:
            raise ValueError("sums must be of the same measures")
        return replace(
            self,
            n=self.n + other.n,
            n_unknown=self.n_unknown + other.n_unknown,
            _without=self._without + other._without,
            _is_labels=self._is_labels and other._is_labels,
            _terms={name: sums + other._terms[name] for name, sums in self._terms.items()},
            _counts=None if self._counts is None else self._counts + other._counts,
        )

    def evaluation(self, areas: Mapping[str, float] = {}) -> Evaluation:
        """Compute the measures of all rows; ``areas`` may add the areas under curves."""
        if self._is_labels:
            _inputs.refuse_labels(np.array([0, 1]))
        values = {}
        for name in self._names:
            if name in self._terms:
                values[name] = _inputs.mean_of_defined(*self._terms[name])
            elif get_measure(name).kind == "labels":
                values[name] = value_of_counts(get_measure(name), label_counts(*self._counts))
            elif name in areas:
                values[name] = areas[name]
        note = _note(self.n, self._without, self.n_unknown)
        return Evaluation(values, note=note, n_unknown=self.n_unknown)


class PerLabel(_Table, dict[str, NDArray[Any]]):
    """Columns by name, with one entry per label: a dict that prints as a table.

    The names of the labels are in ``label_names``. In a table of something else, ``of`` says of
    what.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]] = {},
        label_names: Sequence[str] = (),
        of: str = "label",
    ) -> None:
        super().__init__(columns)
        self.label_names, self.of = list(label_names), of
        more = len(self.label_names) - _SHOWN
        self.note = f"... and {more} more {of}s" if more > 0 else ""

    def to_frame(self) -> Any:
        """A pandas data frame with one row per label."""
        return _data_frame(self, self.label_names, self.of)

    def _table(self) -> list[list[str]]:
        rows = []
        for j, name in enumerate(self.label_names[:_SHOWN]):
            cells = [column[j] for column in self.values()]
            rows.append([name, *(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells)])
        return [[self.of, *self], *rows]


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
        Y, Z = _inputs.check_predicted(Y_true, labels, name="labels")
        counts = count_sets(Y, Z)
        columns |= {"positives": counts.label_true, "predicted": counts.label_pred}
        columns |= dict(zip(("tp", "fp", "fn", "tn"), counts.per_label))
        for name in ("accuracy", "precision", "recall", "f1", "jaccard"):
            columns[name] = COUNT_MEASURES[name](*counts.per_label)
    if scores is not None:
        Y, S = _inputs.check_scored(Y_true, scores)
        columns.setdefault("positives", _inputs.split_known(Y)[0].sum(axis=0))
        columns["auc"] = label_areas(Y, S).auc
    names = label_names if label_names is not None else column_names(Y_true)
    return PerLabel(columns, names_or_default(names, Y.shape[1]))


def _data_frame(columns: Mapping[str, Any], index: Sequence[str], index_name: str) -> Any:
    pd = import_extra("pandas", "to_frame", "table")
    return pd.DataFrame(columns, index=pd.Index(index, name=index_name))
