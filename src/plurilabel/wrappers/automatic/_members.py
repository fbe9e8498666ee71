"""The weighted mean of fitted learners, and the cut that turns it into label sets."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from plurilabel._core.base import LabelMatrix
from plurilabel._core.blocks import row_blocks, stack_rows, top_entries
from plurilabel._core.fitted import Declared, count, flag, number, numbers, values
from plurilabel._core.limits import check_size
from plurilabel._core.scores import check_count
from plurilabel._core.unknown import UnknownLabels
from plurilabel.model_selection.shared import group_numbers
from plurilabel.wrappers.automatic._ensemble import FORMS, cut_sets, mean_scores
from plurilabel.wrappers.automatic._large import ENTRIES, sparse_mean, sparse_sets
from plurilabel.wrappers.automatic._pool import answers, fit_one
from plurilabel.wrappers.automatic._portfolio import Candidate, for_known_labels
from plurilabel.wrappers.automatic._report import told
from plurilabel.wrappers.automatic._tables import TableClassifier, known_rows
from plurilabel.wrappers.automatic._trials import Tried, none_left


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
