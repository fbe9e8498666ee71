"""The weighted mean of fitted learners, and the cut that turns it into label sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks, stack_rows, top_entries
from plurilabel._core.explanation.contributions import (
    LOG_ODDS,
    OCCLUSION,
    OCCLUSION_LOG_ODDS,
    SCORE,
    Contributions,
    Given,
    Parts,
    added,
    log_odds,
    occlusion,
)
from plurilabel._core.explanation.explain import explain
from plurilabel._core.fitted import Declared, count, flag, number, numbers, values
from plurilabel._core.limits import check_size
from plurilabel._core.scores import check_count, label_scores, score_method
from plurilabel._core.unknown import UnknownLabels
from plurilabel.model_selection.shared import group_numbers
from plurilabel.wrappers.automatic._ensemble import FORMS, HeldOut, cut_sets, in_form, mean_scores
from plurilabel.wrappers.automatic._large import ENTRIES, sparse_mean, sparse_sets
from plurilabel.wrappers.automatic._pool import answers, fit_one
from plurilabel.wrappers.automatic._portfolio import Candidate, for_known_labels
from plurilabel.wrappers.automatic._report import told
from plurilabel.wrappers.automatic._tables import TableClassifier, known_rows
from plurilabel.wrappers.automatic._trials import Tried, none_left

SCALES = {SCORE, LOG_ODDS, OCCLUSION, OCCLUSION_LOG_ODDS}  # scales with sums that are known
LEAST = 1e-6  # probabilities closer to 0 or 1 are explained as this close


class MeanOfLearners(TableClassifier):
    """Predictions and refits of learners that have been chosen and weighted.

    With ``top_``, the scores of a learner are sparse: those of its so many best labels.
    """

    _fitted: ClassVar[Declared] = {
        "names_": values("m"),
        "estimators_": values("m"),
        "calibrators_": values("m"),
        "decides_": values("m"),
        "weights_": numbers("m", len(FORMS)),
        "nonempty_": flag(),
        "top_": count(optional=True),
        "estimate_": number(finite=False),
    }

    names_: list[str]
    estimators_: list[Any]
    calibrators_: list[Any]
    decides_: list[bool]
    weights_: NDArray[np.float64]
    cut_: Any
    nonempty_: bool
    top_: int | None
    report_: dict[str, Any]
    seconds_: dict[str, Any]

    def _labels(self, Y: LabelMatrix) -> tuple[Any, NDArray[np.intp]]:
        """Labels as the learners get them, of the rows with a known one, and these rows."""
        if self.top_ is None:
            return known_rows(Y)
        return sparse.csr_array(Y), np.arange(Y.shape[0])

    def refit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Train the chosen learners on other rows, without a new choice.

        Weights, calibration and cut stay as they are: after a model has been measured on rows
        that were held out, it can learn from all of them in the time of one fit of each learner.
        A learner that fails is left out; the weights of the others grow.

        Parameters
        ----------
        X, y, groups : as for ``fit``, with the same labels

        Returns
        -------
        self
        """
        check_is_fitted(self)
        before = self.__dict__.copy()
        try:
            self._refit(X, y, groups)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _refit(self, X: Any, y: Any, groups: Any) -> None:
        X, Y = self._validate_X(X, reset=True), self._encode_more(y)
        check_consistent_length(X, Y)
        B, some = self._labels(Y)
        A = self._fit_encoder(self.encoder_, X)
        A = A if len(some) == A.shape[0] else A[some]
        inside = None if groups is None else group_numbers(groups)[some]
        tried = list(map(Tried, map(Candidate, self.names_, self.estimators_)))
        for one in tried:
            member = one.candidate.estimator
            try:
                if isinstance(B, UnknownLabels):
                    member = for_known_labels(member)
                one.fitted = fit_one(member, A, B, inside)
            except Exception as error:  # whatever a learner raises
                one.fails(error)
        self._keep([j for j, one in enumerate(tried) if one.fitted is not None], tried)

    def _keep(self, kept: list[int], tried: list[Tried]) -> None:
        """Take the learners that were fitted again; those that failed lose their weight."""
        if not kept:
            raise none_left(tried) from tried[0].error
        self.estimators_ = [tried[j].fitted for j in kept]
        failed = {one.candidate.name: one.why_not for one in tried if one.why_not}
        if not failed:
            return
        for name in ("names_", "decides_", "calibrators_"):
            setattr(self, name, [getattr(self, name)[j] for j in kept])
        total = self.weights_[kept].sum()
        self.weights_ = self.weights_[kept] / total
        rest = [one for one in self.report_["tried"] if one["name"] not in failed]
        self.report_ = {
            **self.report_,
            "tried": [{**one, "weight": one["weight"] / total} for one in rest],
            "left_out": {**self.report_["left_out"], **failed},
        }

    # predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores_of_encoded(self._encoded(X))

    def _scores_of_encoded(self, A: Any) -> NDArray[np.float64]:
        if self.top_ is not None:
            n, q = A.shape[0], self.n_labels_
            sizes, instead = f"dense scores of {n:,} instances and {q:,} labels", "predict_top"
            check_size(self, sizes, memory=8.0 * n * q, instead=instead)
            return self._sparse_scores(A).toarray()
        parts = [
            answers(member, A, self.n_labels_, decides=bool(weights[-1]))
            for member, weights in zip(self.estimators_, self.weights_)
        ]
        return mean_scores(self.weights_, self.calibrators_, parts)

    def _parts_of_encoded(self, a: Any, given: Given) -> Parts:
        """The members' parts, each multiplied by the slopes between base and score.

        The difference of a member's probability from that of its base is divided among its parts
        in proportion; so is that of the mean's log-odds from those of its base.
        """
        if self.top_ is not None:
            return super()._parts_of_encoded(a, given)
        q, before, placed = self.n_labels_, np.zeros(self.n_labels_), []
        for member, weights, calibrator in zip(self.estimators_, self.weights_, self.calibrators_):
            found = _member_parts(member, a, given, q)
            held = answers(member, a, q, decides=bool(weights[-1]))
            total = found.base + found.values.sum(axis=0)
            is_odds = np.isin(found.scales, (LOG_ODDS, OCCLUSION_LOG_ODDS))
            base = np.where(is_odds, expit(found.base), found.base)[np.newaxis]
            start = HeldOut(base, held.probabilities)  # a base decides nothing: no sets
            now, first = (
                sum(w * in_form(at, form, calibrator)[0] for form, w in zip(FORMS, weights) if w)
                for at in (held, start)
            )
            slope = _slope(now - first, total - found.base, 0.0)
            placed.append(replace(found, values=found.values * np.maximum(slope, 0.0)))
            before += first
        score = self._scores_of_encoded(a)[0]
        odds = log_odds(score, LEAST)
        slope = _slope(odds - log_odds(before, LEAST), score - before, 4.0)
        parts = added(placed, (LOG_ODDS,) * q)
        values = parts.values * slope
        return replace(parts, values=values, base=odds - values.sum(axis=0))

    def _sparse_scores(self, A: Any) -> sparse.csr_array:
        """Weighted mean of the sparse scores of the members, or of all scores if they are few."""
        if self.top_ is None:
            return sparse.csr_array(self._scores_of_encoded(A))
        q, width = self.n_labels_, self.top_ * len(self.estimators_)
        return stack_rows([
            sparse_mean(self.weights_, self.calibrators_, [
                answers(member, A[rows], q, decides=False, top=self.top_)
                for member in self.estimators_
            ])
            for rows in row_blocks(A.shape[0], width, ENTRIES)
        ])  # fmt: skip

    def predict_top(self, X: Any, k: int = 5) -> sparse.csr_array:
        """Predict the k labels with the highest scores, also for very many labels.

        Returns
        -------
        csr_array of shape (n, q)
            With at most k scores in each row.
        """
        X = self._validate_predict(X)
        return top_entries(self._sparse_scores(self._encoded(X)), check_count(k, "k"))

    def _predict(self, X: Any) -> Any:
        if self.top_ is not None:
            scores = self._sparse_scores(self._encoded(X))
            sets = sparse_sets(scores, self.cut_.cut_, self.nonempty_)
            return sets if self.sparse_output_ else sets.toarray()
        return cut_sets(self.cut_, self.nonempty_, self._scores(X))

    def summary(self) -> str:
        """Describe what was tried, what was chosen, and why."""
        check_is_fitted(self)
        return told(self.report_, self.seconds_["comparison"])


def _member_parts(member: Any, a: Any, given: Given, q: int) -> Parts:
    """Parts that add up to the scores of a member or their log-odds, by occlusion if need be."""
    (why,) = explain(member, a, feature_names=given.names, reference=given.reference)
    if isinstance(why, Contributions) and set(why.scales) <= SCALES:
        return Parts(list(why.part_names), why.parts, why.base, why.scales)

    def scores(rows: Any) -> Any:
        return label_scores(member, rows, n_labels=q)

    return occlusion(scores, a, given, score_method(member))


def _slope(above: Any, below: Any, otherwise: float) -> NDArray[np.float64]:
    """A slope, or another one where both ends are the same."""
    same = np.abs(below) < 1e-12
    return np.where(same, otherwise, above / np.where(same, 1.0, below))
