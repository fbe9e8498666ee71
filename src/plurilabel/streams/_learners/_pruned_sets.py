"""Pruned label sets for streams: the classes are the frequent label sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from plurilabel._core.compat import AtLeastOne
from plurilabel.streams._learners._relevance import StreamBinaryRelevance
from plurilabel.streams._river import Guarded, parts
from plurilabel.streams._stream_classifier import UNKNOWN, Floats, Labels

LabelSet: TypeAlias = tuple[int, ...]
SPARE = 10  # label sets that are counted, for each one that is learned


class SetCounts:
    """Counts of label sets, and which of them are classes."""

    def __init__(self, min_count: int, max_sets: int) -> None:
        self.min_count, self.max_sets = min_count, max_sets
        self.counts: dict[LabelSet, int] = {}
        self.classes: set[LabelSet] = set()

    def copy(self) -> SetCounts:
        other = SetCounts(self.min_count, self.max_sets)
        other.counts, other.classes = self.counts.copy(), self.classes.copy()
        return other

    def add(self, labels: LabelSet) -> list[LabelSet]:
        """Count a set; return the classes to learn it as: itself, or its largest subset."""
        if labels not in self.counts and len(self.counts) >= SPARE * self.max_sets:
            # replace the rarest; its count is an upper bound for the new set
            spare = (known for known in self.counts if known not in self.classes)
            self.counts[labels] = self.counts.pop(min(spare, key=self.counts.__getitem__))
        self.counts[labels] = self.counts.get(labels, 0) + 1
        if labels in self.classes:
            return [labels]
        if len(self.classes) < self.max_sets and (
            self.counts[labels] >= self.min_count or len(labels) <= 1
        ):
            self.classes.add(labels)
            return [labels]
        inside = [known for known in self.classes if known and set(known) < set(labels)]
        inside.sort(key=lambda known: (-len(known), -self.counts.get(known, 0), known))
        return inside[:1]


class PrunedSets:
    """A classifier of label sets."""

    def __init__(self, classifier: Any, detector: Any, min_count: int, max_sets: int) -> None:
        self.model = Guarded(classifier, detector)
        self.sets = SetCounts(min_count, max_sets)
        self.n_labels = 0

    def learn(self, x: Mapping[Hashable, Any], y: Labels) -> None:
        """Learn the label set of a row, if all labels are known."""
        self.n_labels = max(self.n_labels, len(y))
        if not (y == UNKNOWN).any():
            for labels in self.sets.add(tuple(np.flatnonzero(y).tolist())):
                self.model.learn(x, labels)

    def score(self, x: Mapping[Hashable, Any]) -> Floats:
        """Sum of the probabilities of the sets that have the label."""
        scores = np.zeros(self.n_labels)
        for labels, p in self.model.probabilities(x).items():
            if labels:  # None from a model that has not learned
                scores[list(labels)] += p
        return np.clip(scores, 0.0, 1.0)


@dataclass(eq=False, repr=False)
class StreamPrunedSets(StreamBinaryRelevance):
    """Pruned label sets around one of river's multi-class classifiers.

    Each frequent label set is a class. A row with a rare set is learned as the largest class that
    is a subset of it. The score of a label is the sum of the probabilities of the sets with this
    label. A drift detector monitors the errors of the classifier and resets it when they rise.

    Parameters
    ----------
    classifier : river classifier, default=None
        Classifies the sets; None for ``SoftmaxRegression(AdaGrad(1.0))``.
    drift_detector : as in :class:`StreamBinaryRelevance`
    min_count : int, default=2
        Number of times a set of two or more labels must occur to become a class.
    max_sets : int, default=200
        Maximum number of classes.

    Attributes
    ----------
    core_ : object
        ``core_.sets.classes`` has the classes, as tuples of label indices.

    Notes
    -----
    The paper (Read et al., see :class:`StreamBinaryRelevance`) uses the frequent sets of the first
    1,000 rows until there is a drift; here a set can become a class at any time. Rows with an
    unknown label are skipped.

    Examples
    --------
    >>> from river import naive_bayes
    >>> from plurilabel import StreamPrunedSets
    >>> learner = StreamPrunedSets(naive_bayes.GaussianNB())
    >>> for i in range(60):
    ...     low = i % 6 < 3
    ...     learner.learn_one({"x": i % 6}, {"sea": low, "beach": low, "city": not low})
    >>> learner.predict_one({"x": 1})
    {'sea': True, 'beach': True, 'city': False}
    """

    _: KW_ONLY
    min_count: AtLeastOne = 2
    max_sets: AtLeastOne = 200

    def _new_core(self) -> Any:
        chosen = parts(self.classifier, self.drift_detector, type(self).__name__, multiclass=True)
        return PrunedSets(*chosen, self.min_count, self.max_sets)
