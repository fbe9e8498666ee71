"""Wrappers: thresholds, calibration, resampling, hierarchies, unknown labels, automatic choice."""

from plurilabel._core.roster import publish
from plurilabel.wrappers._calibrated import CalibratedClassifier
from plurilabel.wrappers._hierarchical import HierarchicalClassifier
from plurilabel.wrappers._imputed import ImputedLabels
from plurilabel.wrappers._label_resampling import LPROS, LPRUS, MLROS, MLRUS, REMEDIAL
from plurilabel.wrappers._neighbor_resampling import MLSMOTE, MLTL, MLeNN
from plurilabel.wrappers._positive_unlabeled import PositiveUnlabeled
from plurilabel.wrappers._resampling import ResampledClassifier, Resampler
from plurilabel.wrappers._threshold import ThresholdClassifier
from plurilabel.wrappers.automatic._auto import AutoClassifier

__all__ = [
    "LPROS",
    "LPRUS",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "MLTL",
    "REMEDIAL",
    "AutoClassifier",
    "CalibratedClassifier",
    "HierarchicalClassifier",
    "ImputedLabels",
    "MLeNN",
    "PositiveUnlabeled",
    "ResampledClassifier",
    "Resampler",
    "ThresholdClassifier",
]

publish(globals())
