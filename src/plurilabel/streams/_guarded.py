"""One of river's classifiers, watched by a drift detector."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from plurilabel.streams._river import import_river


class Guarded:
    """A classifier that starts anew where a detector finds that its errors have become more.

    Parameters
    ----------
    classifier : river classifier
        It is cloned.
    detector : river drift detector
        It is cloned.
    """

    def __init__(self, classifier: Any, detector: Any) -> None:
        self.classifier, self.detector = classifier, detector
        self.model, self.watch = classifier.clone(), detector.clone()
        self.classes: set[Any] = set()  # those that the model has learned
        self.n_drifts = 0
        self.errors = 0.0  # a faded mean, to tell more errors from fewer
        self.usual = 0.0

    def probabilities(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class; all for the predicted one if the model has none."""
        if len(self.classes) < 2:  # nothing to tell apart yet
            return dict.fromkeys(self.classes, 1.0)
        try:
            return self.model.predict_proba_one(x)
        except NotImplementedError:
            return {self.model.predict_one(x): 1.0}

    def learn(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Learn from a row, after a look at what would have been said of it."""
        said = self.probabilities(x)
        error = float(not said or max(said, key=said.__getitem__) != y)
        self.errors += (error - self.errors) / 30
        self.usual += (error - self.usual) / 300
        self.watch.update(error)
        if self.watch.drift_detected and self.errors > self.usual:
            self.model, self.watch = self.classifier.clone(), self.detector.clone()
            self.classes, self.n_drifts = set(), self.n_drifts + 1
        self.classes.add(y)
        try:
            self.model.learn_one(x, y)
        except OverflowError:  # of a power of a plain float
            name = type(self.model).__name__
            raise ValueError(
                f"the values of a row are too large for {name}, got up to "
                f"{max(abs(value) for value in x.values()):g}: scale the features first"
            ) from None


def parts(classifier: Any, detector: Any, user: str, *, multiclass: bool) -> tuple[Any, Any]:
    """The classifier and the detector that were asked for, or those of the default."""
    if detector is None:
        detector = import_river("drift", user).ADWIN()
    if classifier is not None:
        return classifier, detector
    linear, optim = import_river("linear_model", user), import_river("optim", user)
    if multiclass:
        return linear.SoftmaxRegression(optim.AdaGrad(1.0)), detector
    return linear.LogisticRegression(optim.AdaGrad(1.0)), detector
