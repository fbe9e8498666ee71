"""Measures of multi-label predictions."""

# Files of measures name what they offer, so that a new measure is named in its own file only.
# ruff: noqa: F403
from plurilabel._core.roster import publish
from plurilabel._core.scores import label_scores
from plurilabel.metrics import _auc, _label_sets, _ranking
from plurilabel.metrics._auc import *
from plurilabel.metrics._calibration import expected_calibration_error
from plurilabel.metrics._evaluate import Evaluation, MeasureSums, PerLabel, evaluate, per_label
from plurilabel.metrics._label_sets import *
from plurilabel.metrics._prediction_powered import prediction_powered
from plurilabel.metrics._ranking import *
from plurilabel.metrics._registry import (
    MEASURES,
    Measure,
    Scorer,
    get_measure,
    get_scorer,
    measure_names,
)
from plurilabel.metrics._running import RunningMeasures

__all__ = [
    "MEASURES", "Evaluation", "Measure", "MeasureSums", "PerLabel", "RunningMeasures", "Scorer",
    "evaluate",
    "expected_calibration_error", "get_measure", "get_scorer", "label_scores", "measure_names",
    "per_label", "prediction_powered",
]  # fmt: skip
__all__ += _auc.__all__
__all__ += _label_sets.__all__
__all__ += _ranking.__all__

publish(globals())
