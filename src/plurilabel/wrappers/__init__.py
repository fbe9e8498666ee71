"""Wrappers: thresholds, calibration, resampling, hierarchies, unknown labels, automatic choice."""

from plurilabel._core.roster import PROBABILITIES, Learner, publish
from plurilabel.wrappers._calibrated import CalibratedClassifier
from plurilabel.wrappers._descriptions import LabelDescriptions
from plurilabel.wrappers._hierarchical import HierarchicalClassifier
from plurilabel.wrappers._imputed import ImputedLabels
from plurilabel.wrappers._label_resampling import LPROS, LPRUS, MLROS, MLRUS, REMEDIAL
from plurilabel.wrappers._neighbor_resampling import MLSMOTE, MLTL, MLeNN
from plurilabel.wrappers._positive_unlabeled import PositiveUnlabeled
from plurilabel.wrappers._resampling import ResampledClassifier, Resampler
from plurilabel.wrappers._threshold import ThresholdClassifier
from plurilabel.wrappers.automatic._auto import AutoClassifier

__all__ = [
    "LPROS", "LPRUS", "MLROS", "MLRUS", "MLSMOTE", "MLTL", "REMEDIAL", "AutoClassifier",
    "CalibratedClassifier", "HierarchicalClassifier", "ImputedLabels", "LabelDescriptions",
    "MLeNN", "PositiveUnlabeled", "ResampledClassifier", "Resampler", "ThresholdClassifier",
]  # fmt: skip

_WRAPPED = "the wrapped classifier may not take them"
_ROUTED = "by metadata routing only"
_STRICT = "the check wants probabilities strictly between 0 and 1; "

ROSTER = {
    "CalibratedClassifier": Learner(
        {
            "CalibratedClassifier(MLkNN(n_neighbors=5), cv=3)": {
                "check_row_order": "folds are filled in the order of the rows",
            },
            "CalibratedClassifier(BinaryRelevance(RidgeClassifier()), 'isotonic', cv=3)": {
                PROBABILITIES: f"{_STRICT}the steps of isotonic regression may be 0 or 1",
            },
        },
        unweighted=_ROUTED,
    ),
    "ImputedLabels": Learner(
        {
            "ImputedLabels(BinaryRelevance(LogisticRegression()))": {},
            "ImputedLabels(BinaryRelevance(LinearSVC()))": {},
        },
        unweighted=_WRAPPED,
    ),
    "LabelDescriptions": Learner(
        {
            "LabelDescriptions(BinaryRelevance(LogisticRegression()), cv=3)": {},
            "LabelDescriptions(BinaryRelevance(RidgeClassifier()), cv=3)": {},
        },
        unweighted=_ROUTED,
    ),
    "PositiveUnlabeled": Learner(
        {
            "PositiveUnlabeled(BinaryRelevance(LogisticRegression()), cv=3)": {
                PROBABILITIES: f"{_STRICT}the quotient of two estimates is clipped at 1",
            },
        },
        unweighted=_WRAPPED,
    ),
    "ResampledClassifier": Learner(
        {
            "ResampledClassifier(MLkNN(n_neighbors=5), MLROS(random_state=0))": {},
            "ResampledClassifier(BinaryRelevance(LogisticRegression()), REMEDIAL())": {
                "check_constant_labels": "REMEDIAL removes constant labels from the copies",
            },
        },
        unweighted=_WRAPPED,
    ),
    "AutoClassifier": Learner(
        {
            "AutoClassifier('hamming_loss', cv=2, "
            "portfolio=(MLkNN(3), BinaryRelevance(RidgeClassifier())))": {},
        },
        unweighted="many of the learners that it tries do not take any",
    ),
}

publish(globals())
