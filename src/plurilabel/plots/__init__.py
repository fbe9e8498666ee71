"""Plots of labels, scores and errors: displays as scikit-learn has them."""

from plurilabel._public import publish
from plurilabel.plots._confusion import LabelConfusionDisplay
from plurilabel.plots._cooccurrence import CooccurrenceDisplay
from plurilabel.plots._cuts import PrecisionRecallCutDisplay
from plurilabel.plots._instance import InstanceScoresDisplay
from plurilabel.plots._label_scores import LabelScoresDisplay
from plurilabel.plots._reliability import ReliabilityDisplay

__all__ = [
    "CooccurrenceDisplay",
    "InstanceScoresDisplay",
    "LabelConfusionDisplay",
    "LabelScoresDisplay",
    "PrecisionRecallCutDisplay",
    "ReliabilityDisplay",
]

publish(globals())
