"""Resampling for rare labels: rows added, removed or split before a learner sees them."""

from plurilabel._public import publish
from plurilabel._roster import Learner
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

ROSTER = {
    "ResampledClassifier": Learner(
        {
            "ResampledClassifier(MLkNN(n_neighbors=5), MLROS(random_state=0))": {},
            "ResampledClassifier(BinaryRelevance(LogisticRegression()), REMEDIAL())": {
                "check_constant_labels": (
                    "REMEDIAL takes a label that all rows have away from the copies"
                ),
            },
        }
    ),
}

publish(globals())
