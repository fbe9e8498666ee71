"""Measures of predictions that come row by row: over all rows, over a window, and with fading.

Sums and counts are enough, as what a row adds to them does not change later: a row costs O(q), or
O(q log q) for rankings. Up to 256 rows wait until the measures are read, then pass through the
same code as a whole matrix, so that ties, empty sets and 0/0 are treated as in :func:`evaluate`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.blocks import is_missing
from plurilabel._core.limits import check_size
from plurilabel._core.scores import check_count
from plurilabel.metrics._auc import Areas, label_areas, pooled_areas
from plurilabel.metrics._counts import count_sets
from plurilabel.metrics._evaluate import Evaluation
from plurilabel.metrics._inputs import ratio
from plurilabel.metrics._rank import Ranking, rank, worth_of
from plurilabel.metrics._registry import check_measures, get_measure

Kind: TypeAlias = Literal["overall", "window", "fading"]
Array: TypeAlias = NDArray[Any]

_WAITING = 256  # rows that wait at most
_BINS = 256  # of scores, for each unit

# Outcomes of a label in a row. ABSENT and PRESENT are those of rows without predicted labels.
UNKNOWN, TN, FP, FN, TP, ABSENT, PRESENT = range(7)
_OUTCOME = np.array([[TN, FP], [FN, TP]], np.uint8)  # by true and predicted value
_UNPREDICTED = np.array([ABSENT, PRESENT], np.uint8)  # by true value
_IS_PRESENT = np.isin(range(7), [FN, TP, PRESENT])  # by outcome


class RunningMeasures:
    """Measures of a stream of predictions, updated row by row.

    Each is kept in three ways: ``overall``, over all rows; ``window``, over the last rows; and
    ``fading``, over all rows with weights that shrink by a factor with each row.

    Parameters
    ----------
    measures : sequence of str
        Names as :func:`get_measure` takes them, with a number in place of k.
    window : int or None, default=1000
        Number of rows of the window; None for no window.
    fading : float or None, default=0.995
        Factor by which the weight of a row shrinks with each further row; None for no fading.
    propensities : mapping of label to float, optional
        For ``psp@k`` and ``ps_ndcg@k``; see :func:`propensities`.

    Attributes
    ----------
    n_rows : int
        Rows so far with at least one known label.

    Notes
    -----
    A row is measured on the labels that are known in it; rows for which a measure is undefined are
    left out of it. For a measure at k, so are rows with fewer than k known labels. A label counts
    in macro means if it is known in some row (of the window).

    Without unknown labels, ``overall`` and ``window`` are equal to the functions of the measures
    on the same rows, except for areas under curves, which compare rows with each other. Over a
    window they are exact and computed when they are read; overall and with fading, scores are
    rounded to 1/256 (beyond 0 and 1, more coarsely), so that memory stays bounded.

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
        self.measures = check_measures(measures, propensities=propensities is not None)
        if window is not None:
            check_count(window, "window")
        if fading is not None and not (isinstance(fading, Real) and 0 < fading < 1):
            raise ValueError(f"fading must lie strictly between 0 and 1, got {fading!r}")
        self.window, self.fading, self.propensities = window, fading, propensities
        self.n_rows = 0
        self._column: dict[Hashable, int] = {}
        self._waiting: list[_Row] = []
        self._measures = [get_measure(name) for name in self.measures]
        with_areas = any(one.terms is None for one in self._measures)
        self._sums: dict[Kind, _Faded | _Window] = {"overall": _Faded(1.0, with_areas)}
        if window is not None:
            self._sums["window"] = _Window(int(window), with_areas)
        if fading is not None:
            self._sums["fading"] = _Faded(float(fading), with_areas)

    @property
    def labels(self) -> list[Hashable]:
        """All labels that were known in some row, in the order in which they came."""
        return list(self._column)

    def update(
        self,
        y_true: Mapping[Any, Any],
        scores: Mapping[Any, float] | None = None,
        labels: Mapping[Any, Any] | None = None,
    ) -> None:
        """Add one row.

        Parameters
        ----------
        y_true : mapping of label to bool
            A label that is absent, None or NaN is unknown and left out.
        scores : mapping of label to float, optional
            An absent label has score 0. Without scores the row is left out of the measures of
            rankings.
        labels : mapping of label to bool, optional
            The predicted labels; an absent one is not predicted. Without them the row is left out
            of the measures of label sets.
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
        """Compute the measures of the rows so far.

        Returns
        -------
        dict of str to Evaluation
            ``overall`` and, where they are kept, ``window`` and ``fading``. A measure that is not
            defined for any row or label is NaN.
        """
        self._flush()
        return {kind: self._values(sums) for kind, sums in self._sums.items()}

    def _values(self, sums: _Faded | _Window) -> Evaluation:
        counts = sums.counts[:, sums.counts.sum(axis=0) > 0]  # of labels that are known
        areas = sums.areas() if any(one.terms is None for one in self._measures) else ()
        values = {}
        for i, measure in enumerate(self._measures):
            value = float("nan")
            if measure.terms is None:
                value = float(areas[measure.average == "micro"].mean(measure))
            elif measure.average != "instances":
                if counts.size:
                    tn, fp, fn, tp = counts if measure.average == "macro" else counts.sum(axis=1)
                    value = float(np.mean(measure.terms(tp, fp, fn, tn)))
            elif sums.n_rows and sums.terms[i, 1] > 0:
                value = float(sums.terms[i, 0] / sums.terms[i, 1])
            values[measure.name] = value
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
            if no_labels:
                block.outcomes[at] = _UNPREDICTED[Y]
            else:
                Z = np.array([row.labels for row in several], dtype=np.int8)
                block.outcomes[at] = _OUTCOME[Y, Z]
                self._add_terms(block.terms, rows, "labels", count_sets(Y, Z), len(keys))
            if not no_scores:
                S = np.array([row.scores for row in several])
                block.scores[at] = S
                ranking = self._ranking(keys, Y, S)
                self._add_terms(block.terms, rows, "scores", ranking, len(keys))
        for sums in self._sums.values():
            sums.add(block)
        self._waiting.clear()

    def _add_terms(self, terms: Array, rows: list[int], kind: str, source: Any, q: int) -> None:
        """Put the terms of the measures of a kind, for rows with q known labels, among terms."""
        for i, measure in enumerate(self._measures):
            if (measure.kind, measure.average) == (kind, "instances") and (measure.k or 1) <= q:
                assert measure.terms is not None
                terms[rows, i] = np.transpose(measure.terms(source))

    def _ranking(self, keys: tuple[Any, ...], Y: Array, S: Array) -> Ranking | None:
        """The ranking of the labels; None if no measure needs it."""
        ranked = [m for m in self._measures if m.kind == "scores" and m.average == "instances"]
        if not ranked:
            return None
        propensities = None
        if self.propensities is not None:
            for label in keys:
                if label not in self.propensities:
                    raise ValueError(f"propensities must have all labels, but {label!r} is not")
            propensities = [self.propensities[label] for label in keys]
        ks = [m.k for m in ranked if m.k is not None and m.k <= len(keys)]
        return rank(Y, S, max([1, *ks]), worth_of(propensities, len(keys)))


class _Row(NamedTuple):
    keys: tuple[Any, ...]
    truth: list[Any]
    scores: list[float] | None
    labels: list[Any] | None


class _Block(NamedTuple):
    """Rows as the sums take them."""

    terms: Array  # (b, m, 2): what each row adds to the sum of a measure, and its weight
    outcomes: Array  # (b, q): of each label in each row
    scores: Array  # (b, q): NaN where there is none


def _bits(values: Mapping[Any, Any], keys: tuple[Any, ...], name: str) -> list[Any]:
    bits = [values.get(label, 0) for label in keys]
    for label, bit in zip(keys, bits):
        if bit != 0 and bit != 1:
            raise ValueError(f"{name} must be 0 or 1, got {bit!r} for {label!r}")
    return bits


def _widened(array: Array, q: int, fill: float = 0) -> Array:
    """The array with room for q labels on its second axis: new ones may come at any time."""
    more = q - array.shape[1]
    widths = [(0, 0), (0, more), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, widths, constant_values=fill) if more > 0 else array


class _Faded:
    """Sums in which the weight of a row shrinks by a factor with each further row."""

    def __init__(self, factor: float, with_areas: bool) -> None:
        self.factor, self.n_rows = factor, 0
        self.terms: Array = np.zeros((0, 2))
        self.counts = np.zeros((4, 0))
        # (absent or present, label, bin)
        self.bins = np.zeros((2, 0, 3 * _BINS)) if with_areas else None

    def add(self, block: _Block) -> None:
        b, q = block.outcomes.shape
        weights = self.factor ** np.arange(b - 1, -1, -1)
        past = self.factor**b
        terms = np.einsum("i,ijk->jk", weights, block.terms)
        self.terms = self.terms * past + terms if self.n_rows else terms
        self.counts = _widened(self.counts, q) * past
        for count, outcome in zip(self.counts, (TN, FP, FN, TP)):
            count += weights @ (block.outcomes == outcome)
        if self.bins is not None:
            self.bins = _widened(self.bins, q)
            self.bins *= past
            row, label = np.nonzero(~np.isnan(block.scores))
            present = _IS_PRESENT[block.outcomes[row, label]].astype(np.intp)
            at = (present, label, _bin(block.scores[row, label]))
            np.add.at(self.bins, at, weights[row])
        self.n_rows += b

    def areas(self) -> tuple[Areas, Areas]:
        """Areas of each label, and of all together, by the binned scores."""
        assert self.bins is not None
        return _binned_areas(self.bins), _binned_areas(self.bins.sum(axis=1, keepdims=True))


def _bin(scores: Array) -> NDArray[np.intp]:
    """Number of the bin of each score: equal ones from 0 to 1, then wider and wider."""
    beyond = np.abs(scores - np.clip(scores, 0, 1))
    place = np.clip(scores, 0, 1) + np.sign(scores) * beyond / (1 + beyond)
    found: NDArray[np.intp] = np.floor((1 + place) * _BINS).astype(np.intp)
    return np.clip(found, 0, 3 * _BINS - 1)


def _binned_areas(bins: Array) -> Areas:
    absent, present = bins  # (q, bins)
    below = np.cumsum(absent, axis=1) - absent / 2
    positives = present.sum(axis=1)
    auc = ratio((present * below).sum(axis=1), absent.sum(axis=1) * positives, np.nan)
    found, above = (np.cumsum(of[:, ::-1], axis=1)[:, ::-1] for of in (present, absent + present))
    precision = (present * ratio(found, above)).sum(axis=1)
    return Areas(auc, ratio(precision, positives, np.nan), positives)


class _Window:
    """Sums over the last rows, which are kept in a ring."""

    def __init__(self, size: int, with_areas: bool) -> None:
        self.size, self.with_areas, self.n_rows = size, with_areas, 0
        self.terms: Array = np.zeros((0, 2))
        self.counts = np.zeros((4, 0), dtype=np.int64)
        self.ring = _Block(np.zeros((0, 0, 2)), np.zeros((size, 0), np.uint8), np.zeros((size, 0)))

    def add(self, block: _Block) -> None:
        b, q = block.outcomes.shape
        if q > self.ring.outcomes.shape[1]:
            memory = self.size * float(q * (9 if self.with_areas else 1) + block.terms[0].nbytes)
            sizes = f"{self.size:,} rows of {q:,} labels"
            check_size("the window", sizes, memory=memory, instead="a smaller window")
            outcomes, scores = _widened(self.ring.outcomes, q), self.ring.scores
            if self.with_areas:
                scores = _widened(scores, q, fill=np.nan)
            self.ring = self.ring._replace(outcomes=outcomes, scores=scores)
            self.counts = _widened(self.counts, q)
        if not self.n_rows:
            self.ring = self.ring._replace(terms=np.zeros((self.size, *block.terms.shape[1:])))
            self.terms = np.zeros(block.terms.shape[1:])
        new = block if b <= self.size else _Block(*(part[-self.size :] for part in block))
        at = np.arange(self.n_rows + b - len(new.outcomes), self.n_rows + b) % self.size
        self.terms = self.terms + new.terms.sum(axis=0) - self.ring.terms[at].sum(axis=0)
        for count, outcome in zip(self.counts, (TN, FP, FN, TP)):
            old = self.ring.outcomes[at] == outcome
            count += (new.outcomes == outcome).sum(axis=0) - old.sum(axis=0)
        self.ring.terms[at], self.ring.outcomes[at] = new.terms, new.outcomes
        if self.with_areas:
            self.ring.scores[at] = new.scores
        if (self.n_rows + b) // self.size > self.n_rows // self.size:
            # once a round, so that rounding errors cannot add up
            self.terms = self.ring.terms.sum(axis=0)
        self.terms[self.terms[:, 1] < 1e-9] = 0
        self.n_rows += b

    def areas(self) -> tuple[Areas, Areas]:
        """Areas of each label, and of all together, for the rows in the window."""
        n = min(self.n_rows, self.size)
        S = self.ring.scores[:n]
        Y, known = _IS_PRESENT[self.ring.outcomes[:n]].astype(np.int8), ~np.isnan(S)
        if not known.any():
            none = Areas(*np.full((3, 1), np.nan))
            return none, none
        if known.all():
            return label_areas(Y, S), pooled_areas(Y, S)
        columns = [label_areas(Y[k, j, None], S[k, j, None]) for j, k in enumerate(known.T)]
        by_label = Areas(*map(np.concatenate, zip(*columns)))
        return by_label, pooled_areas(Y[known][:, None], S[known][:, None])
