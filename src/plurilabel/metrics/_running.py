"""Measures of predictions that come row by row: over all rows, over a window, and with fading.

What a row adds to a mean over instances does not change later, and neither does its entry in the
counts of a label. So sums and counts are enough, and a row costs O(q), or O(q log q) for rankings.
Rows wait until the measures are read, at most 256 of them: then they pass through the same code as
a whole matrix does, so that ties, empty sets and 0/0 mean the same here and in :func:`evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import is_missing
from plurilabel._core.limits import check_size
from plurilabel._core.scores import check_count
from plurilabel.metrics._at_k import Top, make_top, worth_of
from plurilabel.metrics._auc import label_auc, mean_auc, pooled_auc
from plurilabel.metrics._by_label import LABEL_BASED
from plurilabel.metrics._counts import SetCounts, count_sets
from plurilabel.metrics._evaluate import Evaluation
from plurilabel.metrics._inputs import Terms
from plurilabel.metrics._measures import get_measure
from plurilabel.metrics._ranking import Ranking, rank

Kind: TypeAlias = Literal["overall", "window", "fading"]
Array: TypeAlias = NDArray[Any]

_WAITING = 256  # rows that wait at most
_BINS = 256  # of scores, for each unit

_OF_SETS: dict[str, Callable[[SetCounts], Terms]] = {
    "hamming_loss": SetCounts.hamming_loss,
    "subset_accuracy": SetCounts.subset_accuracy,
    "accuracy": SetCounts.accuracy,
    "precision": SetCounts.precision,
    "recall": SetCounts.recall,
    "f_beta": SetCounts.f_beta,
    "f1": SetCounts.f_beta,
}
_OF_RANKINGS: dict[str, Callable[[Ranking], Terms]] = {
    "one_error": Ranking.one_error,
    "coverage": Ranking.coverage,
    "coverage_normalized": Ranking.coverage_normalized,
    "ranking_loss": Ranking.ranking_loss,
    "is_error": Ranking.is_error,
    "average_precision": Ranking.average_precision,
}
_AT_K: dict[str, Callable[[Top, int], Terms]] = {
    "precision": Top.precision,
    "recall": Top.recall,
    "ndcg": Top.ndcg,
    "psp": Top.psp,
    "ps_ndcg": Top.ps_ndcg,
}
_OF_LABELS = {**LABEL_BASED, "f_beta": LABEL_BASED["f1"]}
_AUC = ("macro_auc", "micro_auc")


class RunningMeasures:
    """Measures of a stream of predictions, updated row by row.

    They are kept in three ways: ``overall``, over all rows since the first; ``window``, over the
    last rows; and ``fading``, over all rows with weights that shrink by a factor with each row.

    Parameters
    ----------
    measures : sequence of str
        Names as :func:`get_measure` takes them, with a number in place of k.
    window : int or None, default=1000
        Number of rows of the window; None to keep none.
    fading : float or None, default=0.995
        Factor by which the weight of a row shrinks with each further row; None to keep none.
    propensities : mapping of label to float, optional
        For ``psp@k`` and ``ps_ndcg@k``; see :func:`propensities`.

    Attributes
    ----------
    n_rows : int
        Rows so far with at least one known label.
    labels : list
        All labels that were known in some row, in the order in which they came.

    Notes
    -----
    A row is measured on the labels that are known in it, and undefined rows are left out as the
    docstring of each measure says. For a measure at k, so is a row with fewer than k known labels.
    A label has a place in macro means if it is known in some row (of the window).

    Without missing labels, ``overall`` and ``window`` are equal to what the functions of the
    measures return for the same rows, with one exception: the AUC compares rows with each other.
    Over a window it is exact and computed when it is read; overall and with fading it is
    that of scores rounded to 1/256 (beyond 0 and 1, more coarsely), so that memory stays bounded.

    Examples
    --------
    >>> from plurilabel.metrics import RunningMeasures
    >>> running = RunningMeasures(["f1", "one_error"], window=2, fading=0.5)
    >>> running.update({"a": 1, "b": 0}, {"a": 0.2, "b": 0.4}, {"a": 0, "b": 0})
    >>> running.update({"a": 1, "b": 0}, {"a": 0.9, "b": 0.4}, {"a": 1, "b": 0})
    >>> running.update({"a": 1, "b": None}, {"a": 0.8, "b": 0.9}, {"a": 1, "b": 1})
    >>> {kind: round(values["f1"], 3) for kind, values in running.read().items()}
    {'overall': 0.667, 'window': 1.0, 'fading': 0.857}
    """

    def __init__(
        self,
        measures: Sequence[str],
        *,
        window: int | None = 1000,
        fading: float | None = 0.995,
        propensities: Mapping[Hashable, float] | None = None,
    ) -> None:
        self.measures = list(dict.fromkeys(measures))
        if not self.measures:
            raise ValueError("measures must name at least one measure, got none")
        for name in self.measures:
            if get_measure(name).name.endswith("@k"):
                raise ValueError(
                    f"measures must have a number for k, such as precision@3, got {name}"
                )
            if name.startswith(("psp@", "ps_ndcg@")) and propensities is None:
                raise ValueError(f"{name} needs propensities, got none")
        if window is not None:
            check_count(window, "window")
        if fading is not None and not (isinstance(fading, Real) and 0 < fading < 1):
            raise ValueError(f"fading must lie strictly between 0 and 1, got {fading!r}")
        self.window, self.fading, self.propensities = window, fading, propensities
        self.n_rows = 0
        self._column: dict[Hashable, int] = {}
        self._waiting: list[_Row] = []
        # the places of the measures that are sums over rows
        self._sets = {n: i for i, n in enumerate(self.measures) if n in _OF_SETS}
        self._rankings = {n: i for i, n in enumerate(self.measures) if n in _OF_RANKINGS}
        self._at_k = {n: i for i, n in enumerate(self.measures) if "@" in n}
        with_auc = not {*_AUC}.isdisjoint(self.measures)
        self._sums: dict[Kind, _Faded | _Window] = {"overall": _Faded(1.0, with_auc)}
        if window is not None:
            self._sums["window"] = _Window(int(window), with_auc)
        if fading is not None:
            self._sums["fading"] = _Faded(float(fading), with_auc)

    @property
    def labels(self) -> list[Hashable]:
        """All labels that were known in some row."""
        return list(self._column)

    def update(
        self,
        y_true: Mapping[Any, Any],
        scores: Mapping[Any, float] | None = None,
        labels: Mapping[Any, Any] | None = None,
    ) -> None:
        """Take note of one row.

        Parameters
        ----------
        y_true : mapping of label to bool
            A label that is not there, None or NaN is missing and left out.
        scores : mapping of label to float, optional
            A label that is not there has score 0. Without scores the row is left out of the
            measures of rankings.
        labels : mapping of label to bool, optional
            The predicted labels. One that is not there is not predicted. Without any mapping the
            row is left out of the measures of label sets.
        """
        known = {label: y for label, y in y_true.items() if not is_missing(y)}
        if not known:
            return
        keys = tuple(known)
        truth = _bits(known, keys, "y_true")
        predicted = None if labels is None else _bits(labels, keys, "labels")
        ranked = None if scores is None else [float(scores.get(l, 0.0)) for l in keys]
        if ranked is not None and not all(map(isfinite, ranked)):
            label, score = next(pair for pair in zip(keys, ranked) if not isfinite(pair[1]))
            raise ValueError(f"scores must be finite, got {score} for {label!r}")
        for label in keys:
            self._column.setdefault(label, len(self._column))
        self.n_rows += 1
        self._waiting.append(_Row(keys, truth, ranked, predicted))
        if len(self._waiting) >= _WAITING:
            self._flush()

    def read(self) -> dict[Kind, Evaluation]:
        """The measures as they are now.

        Returns
        -------
        dict of str to Evaluation
            ``overall`` and, where they are kept, ``window`` and ``fading``. A measure that is not
            defined for any row or label is NaN.
        """
        self._flush()
        return {kind: self._values(sums) for kind, sums in self._sums.items()}

    def _values(self, sums: _Faded | _Window) -> Evaluation:
        values: dict[str, float] = {}
        is_known = sums.counts.sum(axis=0) > 0
        of_known = sums.counts[:, is_known]  # tn, fp, fn and tp of each label
        for i, name in enumerate(self.measures):
            mean, _, of_label = name.partition("_")
            value = float("nan")
            if name in _AUC:
                value = sums.auc()[_AUC.index(name)]
            elif mean in ("macro", "micro"):
                if of_known.size:
                    tn, fp, fn, tp = of_known if mean == "macro" else of_known.sum(axis=1)
                    value = float(np.mean(_OF_LABELS[of_label](tp, fp, fn, tn)))
            elif sums.n_rows:
                total, weight = sums.terms[i]
                value = float(total / weight) if weight > 0 else value
            values[name] = value
        return Evaluation(values)

    def _flush(self) -> None:
        """Pass the waiting rows on, those with the same known labels together."""
        if not self._waiting:
            return
        b, q, m = len(self._waiting), len(self._column), len(self.measures)
        block = _Block(np.zeros((b, m, 2)), np.zeros((b, q), np.uint8), np.full((b, q), np.nan))
        groups: dict[Any, list[int]] = {}
        for i, row in enumerate(self._waiting):
            key = (row.keys, row.scores is None, row.labels is None)
            groups.setdefault(key, []).append(i)
        for (keys, no_scores, no_labels), rows in groups.items():
            several = [self._waiting[i] for i in rows]
            at = np.ix_(rows, [self._column[label] for label in keys])
            Y = np.array([row.truth for row in several], dtype=np.int8)
            Z = Y
            if no_labels:
                block.codes[at] = 8 + 2 * Y
            else:
                Z = np.array([row.labels for row in several], dtype=np.int8)
                block.codes[at] = 1 + 2 * Y + Z
                counts = count_sets(Y, Z)
                for name, j in self._sets.items():
                    block.terms[rows, j] = np.transpose(_OF_SETS[name](counts))
            if not no_scores:
                S = np.array([row.scores for row in several])
                block.scores[at] = S
                if self._rankings or self._at_k:
                    self._rank(block.terms, rows, keys, Y, S)
        for sums in self._sums.values():
            sums.add(block)
        self._waiting.clear()

    def _rank(
        self, terms: Array, rows: list[int], keys: tuple[Any, ...], Y: Array, S: Array
    ) -> None:
        ks = {name: int(name.partition("@")[2]) for name in self._at_k}
        ks = {name: k for name, k in ks.items() if k <= len(keys)}
        worth = worth_of(None, len(keys))
        if self.propensities is not None:
            unknown = [label for label in keys if label not in self.propensities]
            if unknown:
                raise ValueError(f"propensities must have all labels, but {unknown[0]!r} is not")
            worth = worth_of([self.propensities[label] for label in keys], len(keys))
        ranking = rank(Y, S, max([1, *ks.values()]), worth.grade_of)
        for name, j in self._rankings.items():
            terms[rows, j] = np.transpose(_OF_RANKINGS[name](ranking))
        top = make_top(Y, ranking.top, worth)
        for name, k in ks.items():
            measure = _AT_K[name.partition("@")[0]]
            terms[rows, self._at_k[name]] = np.transpose(measure(top, k))


class _Row(NamedTuple):
    keys: tuple[Any, ...]
    truth: list[Any]
    scores: list[float] | None
    labels: list[Any] | None


class _Block(NamedTuple):
    """Rows as the sums take them.

    terms : (b, m, 2), what each row adds to the sum of a measure, and its weight
    codes : (b, q), 1 to 4 for tn, fp, fn and tp; 0 if the label is not known; 8 and 10 for absent
        and present where nothing was predicted
    scores : (b, q), NaN where there is none
    """

    terms: Array
    codes: Array
    scores: Array


def _bits(values: Mapping[Any, Any], keys: tuple[Any, ...], name: str) -> list[Any]:
    bits = [values.get(label, 0) for label in keys]
    if any(bit != 0 and bit != 1 for bit in bits):
        label, bit = next(pair for pair in zip(keys, bits) if pair[1] != 0 and pair[1] != 1)
        raise ValueError(f"{name} must be 0 or 1, got {bit!r} for {label!r}")
    return bits


def _is_present(codes: Array) -> NDArray[np.bool_]:
    return (codes == 3) | (codes == 4) | (codes == 10)


def _widened(array: Array, q: int, axis: int = 1, fill: float = 0) -> Array:
    """The array with room for q labels: new ones may come at any time."""
    more = q - array.shape[axis]
    if more <= 0:
        return array
    shape = list(array.shape)
    shape[axis] = more
    return np.concatenate([array, np.full(shape, fill, dtype=array.dtype)], axis=axis)


class _Faded:
    """Sums in which the weight of a row shrinks by a factor with each further row."""

    def __init__(self, factor: float, with_auc: bool) -> None:
        self.factor, self.n_rows = factor, 0
        self.terms: Array = np.zeros((0, 2))
        self.counts = np.zeros((4, 0))
        # (absent or present, label, bin), for the AUC
        self.bins = np.zeros((2, 0, 3 * _BINS)) if with_auc else None

    def add(self, block: _Block) -> None:
        b, q = block.codes.shape
        weights = self.factor ** np.arange(b - 1, -1, -1)
        past = self.factor**b
        terms = np.einsum("i,ijk->jk", weights, block.terms)
        self.terms = self.terms * past + terms if self.n_rows else terms
        self.counts = _widened(self.counts, q) * past
        for code in range(4):
            self.counts[code] += weights @ (block.codes == code + 1)
        if self.bins is not None:
            self.bins = _widened(self.bins, q)
            self.bins *= past
            row, label = np.nonzero(~np.isnan(block.scores))
            present = _is_present(block.codes[row, label]).astype(np.intp)
            at = (present, label, _bin(block.scores[row, label]))
            np.add.at(self.bins, at, weights[row])
        self.n_rows += b

    def auc(self) -> tuple[float, float]:
        """Macro and micro AUC of the binned scores."""
        assert self.bins is not None
        by_label = _binned_auc(self.bins)
        return mean_auc(by_label), float(_binned_auc(self.bins.sum(axis=1, keepdims=True))[0])


def _bin(scores: Array) -> NDArray[np.intp]:
    """Number of the bin of each score: equal ones from 0 to 1, then wider and wider."""
    beyond = np.abs(scores - np.clip(scores, 0, 1))
    place = np.clip(scores, 0, 1) + np.sign(scores) * beyond / (1 + beyond)
    found: NDArray[np.intp] = np.floor((1 + place) * _BINS).astype(np.intp)
    return np.clip(found, 0, 3 * _BINS - 1)


def _binned_auc(bins: Array) -> Array:
    absent, present = bins  # (q, bins)
    below = np.cumsum(absent, axis=1) - absent / 2
    pairs = absent.sum(axis=1) * present.sum(axis=1)
    wins = (present * below).sum(axis=1)
    return np.divide(wins, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


class _Window:
    """Sums over the last rows, which are kept in a ring."""

    def __init__(self, size: int, with_auc: bool) -> None:
        self.size, self.with_auc, self.n_rows = size, with_auc, 0
        self.terms: Array = np.zeros((0, 2))
        self.counts = np.zeros((4, 0), dtype=np.int64)
        self.ring = _Block(np.zeros((0, 0, 2)), np.zeros((size, 0), np.uint8), np.zeros((size, 0)))

    def add(self, block: _Block) -> None:
        b, q = block.codes.shape
        if q > self.ring.codes.shape[1]:
            for_row = q * (9 if self.with_auc else 1) + block.terms[0].nbytes
            sizes = f"{self.size:,} rows of {q:,} labels"
            memory = float(self.size) * for_row
            check_size("the window", sizes, memory=memory, instead="a smaller window")
            codes, scores = _widened(self.ring.codes, q), self.ring.scores
            if self.with_auc:
                scores = _widened(scores, q, fill=np.nan)
            self.ring = self.ring._replace(codes=codes, scores=scores)
            self.counts = _widened(self.counts, q)
        if not self.n_rows:
            self.ring = self.ring._replace(terms=np.zeros((self.size, *block.terms.shape[1:])))
            self.terms = np.zeros(block.terms.shape[1:])
        new = block if b <= self.size else _Block(*(part[-self.size :] for part in block))
        at = np.arange(self.n_rows + b - len(new.codes), self.n_rows + b) % self.size
        self.terms = self.terms + new.terms.sum(axis=0) - self.ring.terms[at].sum(axis=0)
        for code in range(4):
            old = self.ring.codes[at] == code + 1
            self.counts[code] += (new.codes == code + 1).sum(axis=0) - old.sum(axis=0)
        self.ring.terms[at], self.ring.codes[at] = new.terms, new.codes
        if self.with_auc:
            self.ring.scores[at] = new.scores
        if (self.n_rows + b) // self.size > self.n_rows // self.size:
            # once a round, so that rounding errors cannot add up
            self.terms = self.ring.terms.sum(axis=0)
        self.terms[self.terms[:, 1] < 1e-9] = 0
        self.n_rows += b

    def auc(self) -> tuple[float, float]:
        """Macro and micro AUC of the rows in the window."""
        n = min(self.n_rows, self.size)
        S = self.ring.scores[:n]
        Y, known = _is_present(self.ring.codes[:n]).astype(np.int8), ~np.isnan(S)
        if not known.any():
            return float("nan"), float("nan")
        if known.all():
            return mean_auc(label_auc(Y, S)), pooled_auc(Y, S)
        columns = [(Y[k, j, None], S[k, j, None]) for j, k in enumerate(known.T) if k.any()]
        by_label = np.concatenate([label_auc(*column) for column in columns])
        return mean_auc(by_label), pooled_auc(Y[known][:, None], S[known][:, None])
