"""Inspection: explanations, labels that are probably wrong, plots."""

from plurilabel._core.explanation.contributions import Contributions, Explained, Explanations
from plurilabel._core.explanation.explain import explain
from plurilabel._core.explanation.marks import MarkedText
from plurilabel._core.roster import publish
from plurilabel.inspection._confusion import LabelConfusionDisplay
from plurilabel.inspection._cooccurrence import CooccurrenceDisplay
from plurilabel.inspection._instance_scores import InstanceScoresDisplay
from plurilabel.inspection._label_issues import LabelIssues, find_label_issues, label_quality
from plurilabel.inspection._label_scores import LabelScoresDisplay
from plurilabel.inspection._members import MembersDisplay
from plurilabel.inspection._reliability import ReliabilityDisplay
from plurilabel.inspection._threshold_curves import (
    PrecisionRecallThresholdDisplay,
    plot_threshold_curves,
)

__all__ = [
    "Contributions", "CooccurrenceDisplay", "Explained", "Explanations", "InstanceScoresDisplay",
    "LabelConfusionDisplay", "LabelIssues", "LabelScoresDisplay", "MarkedText", "MembersDisplay",
    "PrecisionRecallThresholdDisplay", "ReliabilityDisplay", "explain", "find_label_issues",
    "label_quality", "plot_threshold_curves",
]  # fmt: skip

publish(globals())
