"""River, if installed: its base class, and its classifiers and drift detectors in learners."""

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
        """River's base class of multi-label classifiers; an empty one without river."""
else:
    RiverClassifier = import_module("river.base").MultiLabelClassifier


def import_river(module: str, user: str) -> Any:
    """Import a module of river such as "drift"; the error names its user and the extra."""
    return import_extra(f"river.{module}", user, "streams")


class Watch:
    """A clone of a drift detector, and whether errors have risen: fewer are no drift to act on."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector.clone()
        self.errors = self.usual = 0.0  # faded means over a short and a long time

    def sees(self, error: float) -> bool:
        """Take an error between 0 and 1; return whether there is a drift."""
        self.errors += (error - self.errors) / 30
        self.usual += (error - self.usual) / 300
        self.detector.update(error)
        return bool(self.detector.drift_detected) and self.rise > 0

    @property
    def rise(self) -> float:
        """How much the recent errors exceed the usual ones."""
        return self.errors - self.usual


class Guarded:
    """A classifier of river that starts anew when a detector finds that its errors have risen."""

    def __init__(self, classifier: Any, detector: Any) -> None:
        self.classifier, self.detector = classifier, detector
        self.model, self.watch = classifier.clone(), Watch(detector)
        self.classes: set[Any] = set()  # those that the model has learned
        self.n_drifts = 0

    def probabilities(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class; all for the predicted one if the model has none."""
        if len(self.classes) < 2:  # nothing to tell apart yet
            return dict.fromkeys(self.classes, 1.0)
        try:
            return self.model.predict_proba_one(x)
        except NotImplementedError:
            return {self.model.predict_one(x): 1.0}

    def learn(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Learn from a row, after testing the prediction for it."""
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


def drift_detector(given: Any) -> Any:
    """The detector given, or by default ADWIN."""
    return ADWIN() if given is None else given


def parts(classifier: Any, detector: Any, user: str, *, multiclass: bool) -> tuple[Any, Any]:
    """The classifier and the detector given, or the defaults."""
    detector = drift_detector(detector)
    if classifier is not None:
        return classifier, detector
    linear, optim = import_river("linear_model", user), import_river("optim", user)
    default = linear.SoftmaxRegression if multiclass else linear.LogisticRegression
    return default(optim.AdaGrad(1.0)), detector
