"""What AdaBoost.MH and AdaBoost.MR share: a new weak rule in every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from plurilabel._compat import Interval, StrOptions
from plurilabel.boosting._base import BoostedClassifier
from plurilabel.boosting._bins import Bins
from plurilabel.boosting._conditions import Columns
from plurilabel.boosting._text import rule_text
from plurilabel.boosting._weak import WeakRule, constant_rule, grow_rule


class AdaBoost(BoostedClassifier):
    """A sum of stumps or small trees; the loss makes it AdaBoost.MH or AdaBoost.MR."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedClassifier._parameter_constraints,
        "weak": [StrOptions({"stump", "tree"})],
        "variant": [StrOptions({"real", "discrete", "abstain"})],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
    }

    weak: str
    variant: str
    max_depth: int

    rules_: list[WeakRule]

    def _grower(
        self, bins: Bins, columns: Columns, smoothing: float
    ) -> Callable[[NDArray[np.float64]], WeakRule]:
        if self.variant == "abstain" and self.weak == "tree":
            raise ValueError("weak must be 'stump' where variant is 'abstain', got 'tree'")
        depth = 1 if self.weak == "stump" else self.max_depth

        def grow(V: NDArray[np.float64]) -> WeakRule:
            if self.variant == "abstain" and not self.rules_:
                # else an instance of which every rule is silent would have no score at all
                return constant_rule(V, smoothing)
            return grow_rule(
                bins, columns, V, variant=self.variant, max_depth=depth, smoothing=smoothing
            )

        return grow

    def _walk(self, columns: Columns) -> Iterator[NDArray[np.float64]]:
        f = np.zeros((columns.n, self.n_labels_))
        for rule in self.rules_:
            rule.add_to(f, columns)
            yield f

    def _features_of(self, rule: WeakRule) -> list[tuple[int, float]]:
        return [(s.condition.feature, gain) for s, gain in zip(rule.splits, rule.gains)]

    def to_text(self, *, feature_names: Sequence[str] | None = None, max_labels: int = 5) -> str:
        """The rules in words, one after the other.

        Parameters
        ----------
        feature_names : sequence of str, optional
            One name per feature, such as the vocabulary of a vectoriser; by default the columns
            of the data frame given to ``fit``, else x0, x1, ...
        max_labels : int, default=5
            Labels named in each leaf: those with the largest scores, positive or negative.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        names, labels = self._names(feature_names), list(self.label_names_)
        return "\n".join(
            rule_text(rule, t + 1, names, labels, max_labels) for t, rule in enumerate(self.rules_)
        )
