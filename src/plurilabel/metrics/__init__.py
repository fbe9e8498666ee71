"""Measures of multi-label predictions."""

from plurilabel._core.roster import publish
from plurilabel._core.scores import label_scores, score_matrix, score_method
from plurilabel.metrics._at_k import (
    ndcg_at_k,
    precision_at_k,
    propensities,
    ps_ndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from plurilabel.metrics._auc import macro_auc, micro_auc
from plurilabel.metrics._by_instance import (
    accuracy,
    f1,
    f_beta,
    hamming_loss,
    precision,
    recall,
    subset_accuracy,
)
from plurilabel.metrics._by_label import (
    macro_accuracy,
    macro_f1,
    macro_f_beta,
    macro_precision,
    macro_recall,
    micro_accuracy,
    micro_f1,
    micro_f_beta,
    micro_precision,
    micro_recall,
)
from plurilabel.metrics._calibration import expected_calibration_error
from plurilabel.metrics._counts import COUNT_MEASURES, CountMeasure
from plurilabel.metrics._evaluate import Evaluation, PerLabel, evaluate, per_label
from plurilabel.metrics._hierarchical import (
    hierarchical_f_beta,
    hierarchical_precision,
    hierarchical_recall,
)
from plurilabel.metrics._measures import (
    MEASURES,
    Measure,
    check_measures,
    get_measure,
    measure_names,
)
from plurilabel.metrics._ranking import (
    average_precision,
    coverage,
    coverage_normalized,
    is_error,
    one_error,
    ranking_loss,
)
from plurilabel.metrics._running import RunningMeasures
from plurilabel.metrics._scorers import Scorer, get_scorer
from plurilabel.metrics._sums import MeasureSums

__all__ = [
    "COUNT_MEASURES",
    "MEASURES",
    "CountMeasure",
    "Evaluation",
    "Measure",
    "MeasureSums",
    "PerLabel",
    "RunningMeasures",
    "Scorer",
    "accuracy",
    "average_precision",
    "check_measures",
    "coverage",
    "coverage_normalized",
    "evaluate",
    "expected_calibration_error",
    "f1",
    "f_beta",
    "get_measure",
    "get_scorer",
    "hamming_loss",
    "hierarchical_f_beta",
    "hierarchical_precision",
    "hierarchical_recall",
    "is_error",
    "label_scores",
    "macro_accuracy",
    "macro_auc",
    "macro_f1",
    "macro_f_beta",
    "macro_precision",
    "macro_recall",
    "measure_names",
    "micro_accuracy",
    "micro_auc",
    "micro_f1",
    "micro_f_beta",
    "micro_precision",
    "micro_recall",
    "ndcg_at_k",
    "one_error",
    "per_label",
    "precision",
    "precision_at_k",
    "propensities",
    "ps_ndcg_at_k",
    "psp_at_k",
    "ranking_loss",
    "recall",
    "recall_at_k",
    "score_matrix",
    "score_method",
    "subset_accuracy",
]

publish(globals())
