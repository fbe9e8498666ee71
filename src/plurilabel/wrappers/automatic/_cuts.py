"""From scores to label sets: the cuts that suit a measure, and which of them is best."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from plurilabel._core.unknown import PartialLabels
from plurilabel.metrics import Measure
from plurilabel.thresholds import (
    ConstantCut,
    ExpectedF,
    GlobalCut,
    MetaLabeler,
    SCut,
    SeenSets,
    ThresholdStrategy,
    never_empty,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Cut:
    """A strategy, whether it never predicts an empty set, and what it is in words."""

    strategy: ThresholdStrategy
    nonempty: bool
    words: str

    def fitted(self, scores: Array, Y: Any) -> Cut:
        """The same, learned from these scores and labels."""
        Y = _suited(self.strategy, scores, Y)
        return Cut(clone(self.strategy).fit(scores, Y), self.nonempty, self.words)

    def sets_inside(self, scores: Array, Y: Any) -> Array:
        """Label sets of the scores that the cut is learned from; nothing is checked."""
        strategy = copy(self.strategy)
        strategy._fit(scores, _suited(strategy, scores, Y))
        sets = strategy._sets(scores)
        if self.nonempty:
            empty = ~sets.any(axis=1)
            sets[empty, scores[empty].argmax(axis=1)] = True
        return sets.astype(np.int8)

    def sets(self, scores: Array) -> Array:
        """Label sets of these scores."""
        return cut_sets(self.strategy, self.nonempty, scores)


def _suited(strategy: ThresholdStrategy, scores: Array, Y: Any) -> Any:
    """Labels as a strategy can use them.

    Of strategies that learn whole label sets, labels that are not known are those above 0.5:
    rows of which all labels are known may be few.
    """
    if isinstance(Y, PartialLabels) and isinstance(strategy, SeenSets | MetaLabeler):
        return np.where(Y.unknown, scores > 0.5, Y.Y)
    return Y


def cut_sets(strategy: ThresholdStrategy, nonempty: bool, scores: Array) -> Array:
    """Label sets (n, q) by a fitted strategy, never empty if so asked."""
    sets = strategy.predict(scores)
    return np.asarray(never_empty(sets, scores) if nonempty else sets)


def cuts_for(measure: Measure, *, labelled: bool) -> list[Cut]:
    """The cuts that may be best for a measure; the first also guides the choice of learners.

    ``labelled`` says whether every instance has a label: then cuts that never leave one without
    are tried, too. For rankings it is one cut for all labels, the best for micro F1.
    """
    half = (ConstantCut(0.5), "at 0.5")
    expected = (ExpectedF(), "where the expected F1 is highest")
    seen = (SeenSets(lift=0.25), "to the likeliest label set that was seen")
    name = measure.name
    found: list[tuple[ThresholdStrategy, str]]
    if name in ("hamming_loss", "micro_accuracy", "macro_accuracy"):
        return [Cut(half[0], False, half[1])]
    if name == "subset_accuracy":
        found = [seen, (SeenSets(), seen[1]), half]
    elif name in ("f1", "f_beta"):
        found = [expected, _one("f1")]
    elif name == "accuracy":
        found = [_one(name), expected, seen]
    elif name in ("micro_f1", "micro_f_beta"):
        found = [_one("micro_f1"), expected]
    elif name in ("macro_f1", "macro_f_beta"):
        found = [_each("f1"), _one("macro_f1")]
    elif name.startswith("macro_") and measure.kind == "labels":
        found = [_each(name.removeprefix("macro_")), _one(name)]
    elif measure.kind == "labels":
        found = [_one(name)]
    else:
        found = [_one("micro_f1")]
    cuts = [Cut(strategy, False, words) for strategy, words in found]
    if labelled:
        cuts += [
            Cut(cut.strategy, True, f"{cut.words}, at least one label")
            for cut in cuts
            if not isinstance(cut.strategy, ExpectedF | SeenSets)
        ]
    return cuts


def _one(measure: str) -> tuple[ThresholdStrategy, str]:
    return GlobalCut(measure), "at one cut for all labels"


def _each(measure: str) -> tuple[ThresholdStrategy, str]:
    return SCut(measure, shrink=10), "at a cut for each label"
