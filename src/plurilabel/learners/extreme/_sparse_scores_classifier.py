"""The base class of learners for very many labels: scores that stay sparse."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.base import ProbabilisticClassifier, ScoringClassifier
from plurilabel._core.blocks import entries_above, stack_rows, top_entries
from plurilabel._core.limits import check_size
from plurilabel.metrics import propensities


class SparseScoresClassifier(ProbabilisticClassifier, ScoringClassifier):
    """A learner that scores a few labels of each instance, or all of them in blocks of rows.

    Its hook is ``_by_blocks(X, then)``: what ``then`` makes of the scores of these labels, CSR,
    block by block, so that those of all rows are never in memory at once. Labels that are not
    stored have the probability 0, or the decision value -1.
    """

    sparse_output_: bool

    @abstractmethod
    def _by_blocks(self, X: Any, then: Callable[[sparse.csr_array], Any]) -> list[Any]: ...

    def _score_method(self) -> str:
        """Probabilities by the logistic loss, with which the learner is or was fitted."""
        loss = getattr(self, "loss_", getattr(self, "loss", "logistic"))
        return "predict_proba" if loss == "logistic" else "decision_function"

    def predict_top(self, X: Any, k: int = 5) -> sparse.csr_array:
        """The k labels with the highest scores: the answer for large label spaces.

        Returns
        -------
        csr_array of shape (n, q)
            With up to k scores stored in each row; among equal scores the first labels. Fewer are
            stored where fewer labels were looked at.
        """
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"k must be a positive integer, got {k!r}")
        X = self._validate_predict(X)
        return stack_rows(self._by_blocks(X, lambda scores: top_entries(scores, int(k))))

    def _predict(self, X: Any) -> Any:
        sets = stack_rows(self._by_blocks(X, lambda scores: entries_above(scores, self._cut)))
        return sets if self.sparse_output_ else self._dense(sets, 0.0)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        rest = 0.0 if self._score_method() == "predict_proba" else -1.0
        return self._dense(stack_rows(self._by_blocks(X, lambda scores: scores)), rest)

    def _dense(self, found: sparse.csr_array, rest: float) -> NDArray[np.float64]:
        n, q = found.shape
        sizes = f"dense scores of {n:,} instances and {q:,} labels"
        instead = "predict_top, whose answer is sparse"
        check_size(self, sizes, memory=8.0 * n * q, instead=instead)
        scores = np.full((n, q), rest)
        scores[np.repeat(np.arange(n), np.diff(found.indptr)), found.indices] = found.data
        return scores


def worth_of_labels(Y: Any, weighted: bool) -> NDArray[np.float64] | None:
    """Weights of the instances with each label: 2 / p - 1, or None for 1."""
    return 2 / propensities(Y) - 1 if weighted else None
