"""Binary relevance for streams: a classifier with a drift detector for each label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from plurilabel._core.compat import HasMethods
from plurilabel.streams._river import Guarded, parts
from plurilabel.streams._stream_classifier import UNKNOWN, Core, Floats, Labels, StreamClassifier


class Relevance:
    """A classifier for each label."""

    def __init__(self, classifier: Any, detector: Any) -> None:
        self.classifier, self.detector = classifier, detector
        self.models: list[Guarded] = []

    def learn(self, x: Mapping[Hashable, Any], y: Labels) -> None:
        for model, value in zip(self._models_of(y), y.tolist()):
            if value != UNKNOWN:
                model.learn(x, bool(value))

    def _models_of(self, y: Labels) -> list[Guarded]:
        while len(self.models) < len(y):
            self.models.append(Guarded(self.classifier, self.detector))
        return self.models

    def score(self, x: Mapping[Hashable, Any]) -> Floats:
        return np.array([model.probabilities(x).get(True, 0.0) for model in self.models])


@dataclass(eq=False, repr=False)
class StreamBinaryRelevance(StreamClassifier):
    """Binary relevance around one of river's classifiers.

    Each label has its own classifier, and a drift detector that resets it when its errors rise.

    Parameters
    ----------
    classifier : river classifier, default=None
        Classifies a label; None for ``LogisticRegression(AdaGrad(1.0))``.
    drift_detector : river drift detector, default=None
        None for :class:`plurilabel.streams.ADWIN`; :class:`river.drift.NoDrift` for none.

    Attributes
    ----------
    core_ : object
        ``core_.models`` has the model of each label, in the order of ``label_names_``.

    See Also
    --------
    StreamClassifierChain : Models dependences between labels.
    plurilabel.BinaryRelevance : The batch learner.

    References
    ----------
    J. Read, A. Bifet, G. Holmes, B. Pfahringer. Scalable and efficient multi-label classification
    for evolving data streams. Machine Learning 88, 2012.

    A. Bifet, R. Gavaldà. Learning from time-changing data with adaptive windowing. SDM 2007.

    Examples
    --------
    >>> from river import naive_bayes
    >>> from plurilabel import StreamBinaryRelevance
    >>> learner = StreamBinaryRelevance(naive_bayes.GaussianNB())
    >>> for i in range(60):
    ...     learner.learn_one({"x": i % 6}, {"low": i % 6 < 2, "high": i % 6 > 2})
    >>> learner.predict_one({"x": 5})
    {'low': False, 'high': True}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [None, HasMethods(["learn_one", "predict_one", "clone"])],
    }
    _takes_dicts = True
    _models: ClassVar[type[Relevance]] = Relevance

    classifier: Any = None
    _: KW_ONLY
    drift_detector: Any = None

    def _new_core(self) -> Core:
        chosen = parts(self.classifier, self.drift_detector, type(self).__name__, multiclass=False)
        return self._models(*chosen)
