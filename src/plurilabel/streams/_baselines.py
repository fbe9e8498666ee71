"""What any learner has to beat."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any


class NoChange:
    """Predicts for every row the labels of the row that was learned last.

    On a stream whose neighbouring rows are alike, such as scenes of a film, this is hard to beat.

    Examples
    --------
    >>> from plurilabel.streams import NoChange
    >>> learner = NoChange()
    >>> learner.learn_one({"a": 1.0}, {"red": True, "blue": False})
    >>> learner.predict_one({"a": 2.0})
    {'red': True, 'blue': False}
    """

    def __init__(self) -> None:
        self.last_: dict[Hashable, bool] = {}

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:  # noqa: ARG002
        """Take note of the labels; those that are missing stay as they were."""
        self.last_.update({label: bool(present) for label, present in y.items()})

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:  # noqa: ARG002
        """The labels of the last row."""
        return dict(self.last_)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Hashable, dict[bool, float]]:  # noqa: ARG002
        """The same as certainties."""
        return {l: {True: float(y), False: 1.0 - y} for l, y in self.last_.items()}

    def __repr__(self) -> str:
        return "NoChange()"


class LabelShares:
    """Predicts for every row how frequent each label is, whatever the features.

    Parameters
    ----------
    fading : float, default=1.0
        Factor by which the weight of a row shrinks with each further row that has the label's
        value; 1 for no fading.

    Examples
    --------
    >>> from plurilabel.streams import LabelShares
    >>> learner = LabelShares()
    >>> for red in (True, True, False):
    ...     learner.learn_one({}, {"red": red})
    >>> learner.predict_one({}), round(learner.predict_proba_one({})["red"][True], 3)
    ({'red': True}, 0.667)
    """

    def __init__(self, fading: float = 1.0) -> None:
        if not 0 < fading <= 1:
            raise ValueError(f"fading must lie between 0 and 1, 0 excluded, got {fading!r}")
        self.fading = fading
        self.sums_: dict[Hashable, tuple[float, float]] = {}

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, bool]) -> None:  # noqa: ARG002
        """Count the labels."""
        for label, present in y.items():
            total, weight = self.sums_.get(label, (0.0, 0.0))
            self.sums_[label] = self.fading * total + bool(present), self.fading * weight + 1

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, bool]:  # noqa: ARG002
        """The labels of more than half of the rows."""
        return {label: total > weight / 2 for label, (total, weight) in self.sums_.items()}

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Hashable, dict[bool, float]]:  # noqa: ARG002
        """The share of each label."""
        shares = {label: total / weight for label, (total, weight) in self.sums_.items()}
        return {label: {True: share, False: 1 - share} for label, share in shares.items()}

    def __repr__(self) -> str:
        return f"LabelShares(fading={self.fading})"
