"""Wrappers: thresholds, calibration, resampling, hierarchies, unknown labels, automatic choice."""

from plurilabel._core.roster import publish
from plurilabel.wrappers._calibrated import CalibratedClassifier
from plurilabel.wrappers._hierarchical import HierarchicalClassifier
from plurilabel.wrappers._imputed import ImputedLabels
from plurilabel.wrappers._positive_unlabeled import PositiveUnlabeled
from plurilabel.wrappers._resampled import ResampledClassifier
from plurilabel.wrappers._threshold import ThresholdClassifier
from plurilabel.wrappers.automatic._auto import AutoClassifier
from plurilabel.wrappers.resampling._base import Resampler
from plurilabel.wrappers.resampling._cleaning import MLTL, MLeNN
from plurilabel.wrappers.resampling._mlsmote import MLSMOTE
from plurilabel.wrappers.resampling._random import LPROS, LPRUS, MLROS, MLRUS
from plurilabel.wrappers.resampling._remedial import REMEDIAL

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
