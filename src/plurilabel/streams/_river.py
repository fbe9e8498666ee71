"""River's base class, if installed, and its classifiers and drift detectors inside learners."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from plurilabel._core.compat import import_extra
from plurilabel.streams._adwin import ADWIN

HAS_RIVER = find_spec("river") is not None

if TYPE_CHECKING or not HAS_RIVER:

    class RiverClassifier:
        """Stands in for river's base class of multi-label classifiers."""
else:
    RiverClassifier = import_module("river.base").MultiLabelClassifier


class Watch:
    """A clone of a drift detector that only reports drifts with rising errors."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector.clone()
        self.errors = self.usual = 0.0  # faded means over a short and a long time

    def sees(self, error: float) -> bool:
        """Add an error between 0 and 1; return whether there is a drift."""
        self.errors += (error - self.errors) / 30
        self.usual += (error - self.usual) / 300
        self.detector.update(error)
        return bool(self.detector.drift_detected) and self.rise > 0

    @property
    def rise(self) -> float:
        """Recent errors minus usual errors."""
        return self.errors - self.usual


class Guarded:
    """A classifier of river that is reset when a detector finds that its errors have risen."""

    def __init__(self, classifier: Any, detector: Any) -> None:
        self.classifier, self.detector = classifier, detector
        self.model, self.watch = classifier.clone(), Watch(detector)
        self.classes: set[Any] = set()  # learned so far
        self.n_drifts = 0

    def probabilities(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """Class probabilities; 1 for the predicted class if the model has none."""
        if len(self.classes) < 2:  # nothing to tell apart yet
            return dict.fromkeys(self.classes, 1.0)
        try:
            return self.model.predict_proba_one(x)
        except NotImplementedError:
            return {self.model.predict_one(x): 1.0}

    def learn(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Test the prediction for a row, then learn it."""
        predicted = self.probabilities(x)
        if self.watch.sees(float(not predicted or max(predicted, key=predicted.__getitem__) != y)):
            self.model, self.watch.detector = self.classifier.clone(), self.detector.clone()
            self.classes, self.n_drifts = set(), self.n_drifts + 1
        self.classes.add(y)
        try:
            self.model.learn_one(x, y)
        except OverflowError:  # of a power of a plain float
            name, largest = type(self.model).__name__, max(map(abs, x.values()))
            raise ValueError(
                f"the values of a row are too large for {name}, got up to {largest:g}: scale the "
                "features first"
            ) from None


def parts(classifier: Any, detector: Any, user: str, *, multiclass: bool) -> tuple[Any, Any]:
    """The classifier and the detector, or their defaults."""
    detector = ADWIN() if detector is None else detector
    if classifier is not None:
        return classifier, detector
    names = ("linear_model", "optim")
    linear, optim = (import_extra(f"river.{name}", user, "streams") for name in names)
    default = linear.SoftmaxRegression if multiclass else linear.LogisticRegression
    return default(optim.AdaGrad(1.0)), detector
