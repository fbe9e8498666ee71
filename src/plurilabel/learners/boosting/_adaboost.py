"""The base class of AdaBoost.MH and AdaBoost.MR, and their weak learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import AtLeastOne
from plurilabel.learners.boosting._best_condition import TIE, best_condition, by_sign, log_ratio
from plurilabel.learners.boosting._bins import Bins
from plurilabel.learners.boosting._boosted_classifier import BoostedClassifier, fitted_names
from plurilabel.learners.boosting._rules import Columns, Condition, Floats, WeakRule, sum_of_rows


@dataclass(eq=False, repr=False)
class AdaBoost(BoostedClassifier):
    """A sum of stumps or small trees; the weights of ``_rounds`` make it AdaBoost.MH or .MR."""

    _: KW_ONLY
    weak: Literal["stump", "tree"] = "stump"
    algorithm: Literal["real", "discrete", "abstain"] = "real"
    max_depth: AtLeastOne = 3

    def _weak_learner(
        self, X: Any, columns: Columns, has: NDArray[np.bool_], weights: Any, unknown: Any
    ) -> WeakLearner:
        if self.algorithm == "abstain" and self.weak == "tree":
            raise ValueError("weak must be 'stump' where algorithm is 'abstain', got 'tree'")
        depth = 1 if self.weak == "stump" else self.max_depth
        bins = self._bins(X, has.shape[1])
        smoothing = self._epsilon(has.shape, weights, unknown)
        return WeakLearner(bins, columns, has, self.algorithm, depth, smoothing)

    def to_text(self, *, feature_names: Sequence[str] | None = None, max_labels: int = 5) -> str:
        """Describe the rules in order.

        Parameters
        ----------
        feature_names : sequence of str, optional
            One name per feature, such as the vocabulary of a vectorizer; by default the columns
            of the data frame given to ``fit``, or x0, x1, ...
        max_labels : int, default=5
            Number of labels to name in each leaf: those with the largest absolute scores.
        """
        names, labels = fitted_names(self, feature_names)
        texts = []
        for t, rule in enumerate(self.rules_, start=1):
            indent = "\n" + " " * len(f"{t}. ")
            texts.append(f"{t}. {rule.text(names, labels, max_labels)}".replace("\n", indent))
        return "\n".join(texts)


@dataclass(frozen=True)
class WeakLearner:
    """Finds a rule with a small Z: the best stump, or a tree of greedily chosen conditions."""

    bins: Bins
    columns: Columns
    has: NDArray[np.bool_]
    algorithm: str
    max_depth: int
    smoothing: float

    def rule(self, t: int, D: Floats) -> WeakRule:
        """The rule h_t of a round, for weights D (n, q)."""
        V = by_sign(D, self.has)
        if self.algorithm == "abstain" and t == 0:
            # otherwise an instance on which every rule abstains would have no score
            return WeakRule((), (), log_ratio(V.sum(axis=0, keepdims=True), self.smoothing), ())
        return self._best(V)

    def _best(self, V: Floats) -> WeakRule:
        """Split greedily by Z down to ``max_depth``; the leaves predict."""
        conditions: list[Condition] = []
        inner: list[int] = []
        gains: list[float] = []
        nodes = [np.arange(self.columns.n)]
        depth, predicts = [0], [True]
        for node, rows in enumerate(nodes):  # ``nodes`` grows
            if depth[node] == self.max_depth or len(rows) < 2:
                continue
            found = best_condition(self.bins, V, self.algorithm, None if node == 0 else rows)
            if found is None:
                continue
            gain = self._Z_without_split(sum_of_rows(V, rows)) - found.Z
            if node == 0 or gain > TIE:
                inner.append(node)
                conditions.append(found.condition)
                gains.append(max(gain, 0.0))
                nodes.extend(found.condition.split(rows, self.columns))
                depth.extend([depth[node] + 1] * 2)
                predicts.extend(found.predicts)
        leaf = np.array(predicts)
        leaf[inner] = False
        W = np.array([sum_of_rows(V, rows) for rows in nodes])  # (nodes, 2q)
        scores = np.where(leaf[:, np.newaxis], self._scores(W, leaf), 0.0)
        return WeakRule(tuple(conditions), tuple(inner), scores, tuple(gains))

    def _scores(self, W: Floats, leaf: NDArray[np.bool_]) -> Floats:
        if self.algorithm != "discrete":
            return log_ratio(W, self.smoothing)
        plus, minus = np.split(W, 2, axis=1)
        right = np.maximum(plus, minus)[leaf].sum()
        wrong = np.minimum(plus, minus)[leaf].sum()
        alpha = 0.5 * np.log((right + self.smoothing) / (wrong + self.smoothing))
        # equal weights up to rounding are equal
        return np.where(plus > minus * (1 + TIE), alpha, -alpha)

    def _Z_without_split(self, W: Floats) -> float:
        """Z of a node that predicts without a condition."""
        if self.algorithm == "abstain":
            return float(W.sum())
        plus, minus = np.split(W, 2)
        if self.algorithm == "real":
            return float(2 * np.sqrt(plus * minus).sum())
        wrong = np.minimum(plus, minus).sum()
        return float(2 * np.sqrt(wrong * (W.sum() - wrong)))
