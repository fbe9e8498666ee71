"""A chain of classifiers for streams."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from plurilabel.streams._learners._relevance import Relevance, StreamBinaryRelevance
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels


class Chain(Relevance):
    """A classifier for each label that takes the previous labels as features."""

    def learn(self, x: Mapping[Hashable, Any], y: Labels) -> None:
        """Teach each known label to its model; unknown ones are replaced by predictions."""
        x = dict(x)
        for l, (model, value) in enumerate(zip(self._models_of(y), y.tolist())):
            if value == UNKNOWN:
                value = float(model.probabilities(x).get(True, 0.0) > 0.5)
            else:
                model.learn(x, bool(value))
            x[f"[label {l}]"] = float(value)

    def score(self, x: Mapping[Hashable, Any]) -> Floats:
        """Probability of each label, given the predictions for the labels before it."""
        x, scores = dict(x), np.zeros(len(self.models))
        for l, model in enumerate(self.models):
            scores[l] = model.probabilities(x).get(True, 0.0)
            x[f"[label {l}]"] = float(scores[l] > 0.5)
        return scores


class StreamClassifierChain(StreamBinaryRelevance):
    """A chain of river's classifiers (paper: Read et al., see :class:`StreamBinaryRelevance`).

    Each has a drift detector. The classifier of a label takes all previous labels as features,
    true ones for learning and predicted ones for prediction. Labels are in the order of their
    first appearance.

    Parameters
    ----------
    classifier, drift_detector : as in :class:`StreamBinaryRelevance`

    Attributes
    ----------
    core_ : as in :class:`StreamBinaryRelevance`

    See Also
    --------
    plurilabel.ClassifierChain : The batch learner.

    Examples
    --------
    >>> from river import tree
    >>> from plurilabel import StreamClassifierChain
    >>> learner = StreamClassifierChain(tree.HoeffdingTreeClassifier(grace_period=20))
    >>> for i in range(100):
    ...     learner.learn_one({"x": i % 5}, {"low": i % 5 < 2, "high": i % 5 >= 2})
    >>> learner.predict_one({"x": 4})
    {'low': False, 'high': True}
    """

    _models = Chain
