"""Probabilities that mean what they say, and label sets with a guarantee, for any classifier."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.uncertainty._calibrated import CalibratedClassifier
from plurilabel.uncertainty._calibrator import ScoreCalibrator
from plurilabel.uncertainty._false_discovery import FalseDiscoveryControl
from plurilabel.uncertainty._label_coverage import LabelCoverage
from plurilabel.uncertainty._risk_control import RiskControl

__all__ = [
    "CalibratedClassifier",
    "FalseDiscoveryControl",
    "LabelCoverage",
    "RiskControl",
    "ScoreCalibrator",
]

ROSTER = {
    "CalibratedClassifier": Learner(
        {
            "CalibratedClassifier(MLkNN(n_neighbors=5), cv=3)": {
                "check_row_order": "folds are filled in the order of the rows",
            },
            "CalibratedClassifier(BinaryRelevance(RidgeClassifier()), 'isotonic', cv=3)": {
                "check_classifiers_multilabel_output_format_predict_proba": (
                    "the check wants probabilities strictly between 0 and 1; the steps of "
                    "isotonic regression may be 0 or 1"
                ),
            },
        }
    ),
}

publish(globals())
