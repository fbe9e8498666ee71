"""A chain of classifiers for streams."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from plurilabel.streams._base import UNKNOWN, Floats, Labels
from plurilabel.streams._guarded import Guarded, parts
from plurilabel.streams._relevance import Relevance, StreamBinaryRelevance


class Chain(Relevance):
    """A classifier for each label that also sees the labels before it."""

    def learn(self, x: Mapping[Hashable, Any], y: Labels) -> None:
        """Each label that is known teaches its model; one that is not is replaced by a guess."""
        while len(self.models) < len(y):
            self.models.append(Guarded(self.classifier, self.detector))
        x = dict(x)
        for l, (model, value) in enumerate(zip(self.models, y.tolist())):
            if value == UNKNOWN:
                value = float(model.probabilities(x).get(True, 0.0) > 0.5)
            else:
                model.learn(x, bool(value))
            x[f"[label {l}]"] = float(value)

    def score(self, x: Mapping[Hashable, Any]) -> Floats:
        """What each model says, given the answers before it."""
        x, scores = dict(x), np.zeros(len(self.models))
        for l, model in enumerate(self.models):
            scores[l] = model.probabilities(x).get(True, 0.0)
            x[f"[label {l}]"] = float(scores[l] > 0.5)
        return scores


class StreamClassifierChain(StreamBinaryRelevance):
    """A chain of river's classifiers, each with a drift detector.

    The classifier of a label sees the features and all labels before it: the true ones when it
    learns, the predicted ones when it is asked. The order is that in which the labels first
    appeared; a new label is added at the end.

    Parameters
    ----------
    classifier : river classifier, default=None
        What learns a label; None for ``LogisticRegression(AdaGrad(1.0))``.
    drift_detector : river drift detector, default=None
        None for ``ADWIN()``; :class:`river.drift.NoDrift` for none.

    Attributes
    ----------
    core_ : object
        ``core_.models`` has the models of the labels, in the order of ``label_names_``.
    label_names_ : ndarray of shape (q,)
        The labels seen so far.

    See Also
    --------
    plurilabel.ClassifierChain : The same for data that are all there.

    References
    ----------
    J. Read, A. Bifet, G. Holmes, B. Pfahringer. Scalable and efficient multi-label classification
    for evolving data streams. Machine Learning 88, 2012.

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

    def _new_core(self) -> Chain:
        chosen = parts(self.classifier, self.drift_detector, type(self).__name__, multiclass=False)
        return Chain(*chosen)
