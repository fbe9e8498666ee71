"""Resampling for rare labels: rows added, removed or split before a learner sees them."""

from plurilabel._public import publish
from plurilabel.resampling._base import Resampler
from plurilabel.resampling._classifier import ResampledClassifier
from plurilabel.resampling._cleaning import MLTL, MLeNN
from plurilabel.resampling._mlsmote import MLSMOTE
from plurilabel.resampling._random import LPROS, LPRUS, MLROS, MLRUS
from plurilabel.resampling._remedial import REMEDIAL

__all__ = [
    "LPROS",
    "LPRUS",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "MLTL",
    "REMEDIAL",
    "MLeNN",
    "ResampledClassifier",
    "Resampler",
]

publish(globals())
