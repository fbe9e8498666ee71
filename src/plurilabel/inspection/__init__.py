"""Inspection: explanations, labels that are probably wrong, plots."""

from plurilabel._core.explanation.contributions import Contributions, Explained
from plurilabel._core.explanation.explain import explain
from plurilabel._core.roster import publish
from plurilabel.inspection._issues._find import LabelIssues, find_label_issues
from plurilabel.inspection._issues._quality import label_quality
from plurilabel.inspection._plots._confusion import LabelConfusionDisplay
from plurilabel.inspection._plots._cooccurrence import CooccurrenceDisplay
from plurilabel.inspection._plots._cuts import PrecisionRecallCutDisplay
from plurilabel.inspection._plots._instance import InstanceScoresDisplay
from plurilabel.inspection._plots._label_scores import LabelScoresDisplay
from plurilabel.inspection._plots._reliability import ReliabilityDisplay
from plurilabel.inspection._plots._threshold_curves import plot_threshold_curves

__all__ = [
    "Contributions",
    "CooccurrenceDisplay",
    "Explained",
    "InstanceScoresDisplay",
    "LabelConfusionDisplay",
    "LabelIssues",
    "LabelScoresDisplay",
    "PrecisionRecallCutDisplay",
    "ReliabilityDisplay",
    "explain",
    "find_label_issues",
    "label_quality",
    "plot_threshold_curves",
]

publish(globals())
