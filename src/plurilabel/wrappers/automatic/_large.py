"""The choice for very many labels or rows: sparse scores, and a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel._core.blocks import entries_above, row_blocks, stack_rows, top_entries
from plurilabel.learners.extreme import LabelEmbedding, LabelForest, LabelTree, OneVsAllLinear
from plurilabel.learners.lazy import MLkNN
from plurilabel.learners.neural import MLFastText
from plurilabel.metrics import Measure, label_scores
from plurilabel.model_selection.shared import Split
from plurilabel.thresholds import ConstantThreshold, ScoreCalibrator
from plurilabel.wrappers.automatic._ensemble import (
    FORMS,
    Choice,
    Cut,
    HeldOut,
    forms_of,
    greedy,
    signed,
)
from plurilabel.wrappers.automatic._portfolio import Candidate

FEW_LABELS = 200  # with fewer, dense scores take little memory
MOST_DENSE = 2e6  # rows times labels up to which scores are dense
MANY_ROWS = 100_000  # with more, learners are compared on a sample
TRAINED, TESTED = 20_000, 5000  # the most rows of a split of that sample
LONGEST = 400.0  # seconds of the fits on all rows together, without a time limit
TOP = 50  # labels of a row for which a learner's scores are kept
CELLS = 2**22  # scores that are dense at a time
ENTRIES = 2**24  # sparse scores that are averaged at a time
SIZES = np.geomspace(0.3, 3.0, 21)  # predicted labels per true label: cuts to compare
FEW_TREES = 40.0  # seconds for a label tree: one that takes longer is grown alone
TREES = (
    ("logistic regressions", "logistic", 10.0),
    ("support vectors", "squared_hinge", 0.5),
)
COMPONENTS, NEIGHBORS, EPOCHS = 100, 50, 10


def has_many_labels(n: int, q: int) -> bool:
    """Whether scores of all labels would take too much memory or time."""
    return q >= FEW_LABELS and n * q > MOST_DENSE


def sampled(splits: Sequence[Split], seed: int) -> list[Split]:
    """The same splits with a sample of the rows of each part."""
    rng = np.random.default_rng(seed)

    def some(rows: NDArray[Any], most: int) -> NDArray[Any]:
        return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

    return [(some(train, TRAINED), some(test, TESTED)) for train, test in splits]


def large_candidates(X: Any, Y: sparse.csr_array, portfolio: str, seed: int) -> list[Candidate]:
    """Learners of very many labels, with the costs of a fit on all rows."""
    (n, q), is_sparse = Y.shape, sparse.issparse(X)
    stored = float(X.nnz if is_sparse else X.size)
    linear = 0.01 + 1.5e-8 * stored * q
    search = 0.1 + 2.5e-10 * n * stored + 1e-8 * n * q  # the scores of all labels are dense
    tree = 0.1 + 5e-6 * stored * Y.nnz / n
    forest = 0.1 + 1.7e-7 * n * np.log2(n) * X.shape[1]
    n_trees = 3 if tree < FEW_TREES else 1
    embedding = LabelEmbedding(COMPONENTS, n_neighbors=min(NEIGHBORS, n // 4), random_state=seed)
    vectors = MLFastText(COMPONENTS, max_iter=EPOCHS, random_state=seed)
    found = [
        Candidate("neighbours of embedded labels", embedding, 1.0 + 1.5e-8 * n**2),
        Candidate("extra trees", LabelForest(random_state=seed), forest),
        Candidate("fastText", vectors, 1.5e-10 * EPOCHS * COMPONENTS * n * q),
        Candidate("logistic regression", OneVsAllLinear(loss="logistic", C=3.0), linear),
        Candidate("linear support vectors", OneVsAllLinear(C=0.3), 2 * linear),
        Candidate("ML-kNN, cosine", MLkNN(min(20, n // 4), metric="cosine"), search),
        *(
            Candidate(
                f"label trees of {what}",
                LabelTree(n_trees, loss=loss, C=C, random_state=seed),
                n_trees * tree,
            )
            for what, loss, C in TREES
        ),
    ]
    if not is_sparse:
        found = [
            replace(one, estimator=make_pipeline(StandardScaler(), one.estimator)) for one in found
        ]
    found = sorted(found, key=lambda one: one.seconds)
    return found[:3] if portfolio == "quick" else found


def affordable(found: Sequence[Candidate], share: float, limit: float | None) -> list[Candidate]:
    """Candidates that may be fitted on all rows, with the costs on a share of these.

    The cheapest, as long as they take ``LONGEST`` together. With a time limit all of them: the
    clock decides.
    """
    kept = sorted(found, key=lambda one: one.seconds)
    if limit is None:
        total = np.cumsum([one.seconds for one in kept])
        kept = kept[: max(1, int(np.searchsorted(total, LONGEST, side="right")))]
    return [replace(one, seconds=one.seconds * share**1.2) for one in kept]


# sparse scores --------------------------------------------------------------------------------


def top_scores(fitted: Any, X: Any, q: int, k: int) -> sparse.csr_array:
    """The k highest scores of each row by any fitted classifier."""
    if isinstance(fitted, Pipeline):
        X, fitted = fitted[:-1].transform(X), fitted[-1]
    if hasattr(fitted, "predict_top"):
        return sparse.csr_array(fitted.predict_top(X, k=min(k, q)))

    def of_rows(rows: slice) -> sparse.csr_array:
        S: Any = label_scores(fitted, X[rows], n_labels=q)
        if not sparse.issparse(S) and q > k:  # most are not among the best: they are not stored
            S = np.where(np.partition(S, -k, axis=1)[:, [-k]] <= S, S, 0.0)
        return top_entries(sparse.csr_array(S), k)

    return stack_rows([of_rows(rows) for rows in row_blocks(X.shape[0], q, CELLS)])


def sparse_form(member: HeldOut, form: str, calibrator: ScoreCalibrator) -> sparse.csr_array:
    """Sparse scores of a member as probabilities."""
    S: Any = member.scores
    values = np.clip(S.data, 0.0, 1.0)
    if form == "calibrated":
        values = calibrator.transform(S.data[:, np.newaxis])[:, 0]
    return sparse.csr_array((values, S.indices, S.indptr), shape=S.shape)


def sparse_mean(
    weights: NDArray[Any], calibrators: Sequence[ScoreCalibrator], members: Sequence[HeldOut]
) -> sparse.csr_array:
    """Weighted mean of sparse scores; a score that is not stored is 0."""
    return sum(
        weight * sparse_form(member, form, calibrator)
        for row, calibrator, member in zip(weights, calibrators, members)
        for form, weight in zip(FORMS, row)
        if weight > 0
    )


def sparse_sets(scores: sparse.csr_array, cut: float, nonempty: bool) -> sparse.csr_array:
    """Label sets of sparse scores above a cut; if ``nonempty``, at least the best label."""
    sets = entries_above(scores, cut)
    if not nonempty:
        return sets
    empty = (np.diff(sets.indptr) == 0) & (np.diff(scores.indptr) > 0)
    best = top_entries(scores[empty], 1)
    more = sparse.csr_array(
        (np.ones(best.nnz, dtype=np.int8), (np.flatnonzero(empty), best.indices)), scores.shape
    )
    return sparse.csr_array(sets + more)


class SparseSelection:
    """Chooses among learners by their sparse scores for held-out rows.

    It has the methods of :class:`Selection`. Weights and cut are chosen on all held-out rows; for
    the estimate, on each half, and measured on the other one.
    """

    def __init__(
        self, Y: sparse.csr_array, measure: Measure, cut: Cut | None, limits: Any
    ) -> None:
        self.Y, self.measure, self.cut, self.limits = Y, measure, cut, limits

    def calibrate(self, one: Any) -> None:
        """Fit one sigmoid to the scores of all labels."""
        S = one.held.scores
        numbers = sparse.csr_array((np.arange(1, S.nnz + 1), S.indices, S.indptr), S.shape)
        has = np.zeros(S.nnz + 1, dtype=np.int8)
        has[numbers.multiply(self.Y).tocsr().data] = 1
        values = S.data[:, np.newaxis].astype(np.float64)
        one.calibrator = ScoreCalibrator("sigmoid").fit(values, has[1:, np.newaxis])

    def seconds(self, members: Sequence[Any]) -> float:
        """Seconds to reserve for the choice and the estimate, roughly."""
        return 1e-6 * len(members) * self.Y.shape[0] * TOP

    def choose(self, members: Sequence[Any], reserved: float = 0.0) -> Choice:
        """Weights and cut."""
        del reserved
        return self._choose(members, slice(None))

    def estimate(self, members: Sequence[Any]) -> tuple[float, int]:
        """The measure to expect; the value of each learner by itself is set."""
        n = self.Y.shape[0]
        halves = np.arange(n) % 2 == 0, np.arange(n) % 2 == 1
        found: list[list[float]] = []
        for seen, new in (halves, halves[::-1]):
            chosen = self._choose(members, seen)
            mean = sparse_mean(chosen.weights, chosen.calibrators, _rows(members, new))
            alone = []
            for one, form in zip(members, chosen.best_forms):
                scores = sparse_form(one.held, FORMS[form], one.calibrator)
                cut = self._best_cut(scores[seen], self.Y[seen])
                alone.append(self._value(scores[new], self.Y[new], cut))
            found.append([self._value(mean, self.Y[new], chosen.cut), *alone])
        value, *alone = np.mean(found, axis=0)
        for one, its in zip(members, alone):
            one.value = float(its)
        return float(value), 2

    def _choose(self, members: Sequence[Any], rows: Any) -> Choice:
        Y, held = self.Y[rows], _rows(members, rows)
        forms = [
            (j, i, sparse_form(member, FORMS[i], members[j].calibrator))
            for j, member in enumerate(held)
            for i in forms_of(member)
        ]
        value_of = self._value_function(Y)
        alone = [value_of(scores) for _, _, scores in forms]
        order = np.argsort([-value for value in alone], kind="stable")
        best_forms = {forms[i][0]: forms[i][1] for i in order[::-1]}
        forms = [forms[i] for i in order]
        weights = np.zeros((len(members), len(FORMS)))
        for (j, form, _), count in zip(forms, greedy(forms, value_of, self.limits.room(members))):
            weights[j, form] = count
        weights /= weights.sum()
        calibrators = [one.calibrator for one in members]
        mean = sparse_mean(weights, calibrators, held)
        if value_of(mean) < alone[order[0]]:
            weights[:] = 0.0
            weights[forms[0][:2]] = 1.0
            mean = forms[0][2]
        cut = self._best_cut(mean, Y)
        return Choice(weights, calibrators, cut, [best_forms[j] for j in range(len(members))])

    def _value_function(self, Y: sparse.csr_array) -> Callable[[sparse.csr_array], float]:
        """The measure of scores, or of as many of the highest as there are labels."""

        def value(scores: sparse.csr_array) -> float:
            answer = scores
            if self.measure.kind != "scores":
                answer = entries_above(scores, _cut_for(scores, Y.nnz))
            return signed(self.measure, self.measure.function(Y, answer))

        return value

    def _value(self, scores: sparse.csr_array, Y: sparse.csr_array, cut: Cut) -> float:
        answer = scores
        if self.measure.kind != "scores":
            answer = sparse_sets(scores, cut.strategy.cut_, cut.nonempty)
        return float(self.measure.function(Y, answer))

    def _best_cut(self, scores: sparse.csr_array, Y: sparse.csr_array) -> Cut:
        """The best of some cuts for the measure; for rankings, for micro F1."""
        if self.cut is not None:
            return _constant(self.cut.strategy.cut, False, self.cut.words)
        measure = self.measure
        has_some = bool((np.diff(Y.indptr) > 0).all())
        found = []
        for cut in dict.fromkeys(_cut_for(scores, size * Y.nnz) for size in SIZES):
            for nonempty in (False, True)[: 1 + has_some]:
                sets = sparse_sets(scores, cut, nonempty)
                if measure.kind == "scores":
                    value = 2 * sets.multiply(Y).nnz / max(1, sets.nnz + Y.nnz)
                else:
                    value = signed(measure, measure.function(Y, sets))
                found.append((value, cut, nonempty))
        _, cut, nonempty = max(found, key=lambda one: one[0])
        more = ", at least one label per row" if nonempty else ""
        return _constant(cut, nonempty, f"scores above one threshold for all labels{more}")


def _rows(members: Sequence[Any], rows: Any) -> list[HeldOut]:
    return [one.held[rows] for one in members]


def _constant(cut: float, nonempty: bool, words: str) -> Cut:
    strategy = ConstantThreshold(cut).fit(None, np.zeros((1, 1), dtype=np.int8))
    return Cut(strategy, nonempty, words)


def _cut_for(scores: sparse.csr_array, total: float) -> float:
    """The cut with about ``total`` scores above it."""
    if not scores.nnz:
        return 0.0
    k = min(int(total), scores.nnz - 1)
    return float(np.partition(scores.data, scores.nnz - 1 - k)[scores.nnz - 1 - k])
