"""River's regressors of several targets, behind the door for labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from plurilabel._core.blocks import is_missing


class RegressorLearner:
    """One of river's multi-target regressors, as a learner of labels.

    A label is a target of 0 and 1, and predicted above one half; scores are the values of the
    regressor, cut at 0 and 1. A row in which a label is missing that was there before is not
    learned, since a regressor has no notion of it.

    Parameters
    ----------
    regressor : river multi-target regressor
        Such as :class:`river.tree.ISOUPTreeRegressor` or a
        :class:`river.multioutput.RegressorChain`.

    Examples
    --------
    >>> from river import tree
    >>> from plurilabel.streams import RegressorLearner
    >>> learner = RegressorLearner(tree.ISOUPTreeRegressor(grace_period=20))
    >>> for i in range(200):
    ...     learner.learn_one({"a": i % 10}, {"low": i % 10 < 5, "high": i % 10 > 7})
    >>> learner.predict_one({"a": 1.0})
    {'low': True, 'high': False}
    """

    def __init__(self, regressor: Any) -> None:
        for method in ("learn_one", "predict_one"):
            if not hasattr(regressor, method):
                raise TypeError(
                    f"regressor must have {method} as river's have, but "
                    f"{type(regressor).__name__} has none"
                )
        self.regressor = regressor
        self.labels_: dict[Hashable, None] = {}

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, Any]) -> None:
        """Learn a row whose labels are all known."""
        known = {label: float(value) for label, value in y.items() if not is_missing(value)}
        if known and known.keys() >= self.labels_.keys():
            self.regressor.learn_one(dict(x), known)
            self.labels_.update(dict.fromkeys(known))

    def _values(self, x: Mapping[Any, Any]) -> dict[Hashable, float]:
        found = self.regressor.predict_one(dict(x)) if self.labels_ else {}
        return {label: float(found.get(label, 0.0)) for label in self.labels_}

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:
        """The labels with values above one half."""
        return {label: value > 0.5 for label, value in self._values(x).items()}

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Hashable, dict[bool, float]]:
        """The values, cut at 0 and 1."""
        cut = {label: min(max(value, 0.0), 1.0) for label, value in self._values(x).items()}
        return {label: {True: p, False: 1.0 - p} for label, p in cut.items()}

    def __repr__(self) -> str:
        return f"RegressorLearner({' '.join(repr(self.regressor).split())})"
