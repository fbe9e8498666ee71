"""Measures of multi-label predictions."""

from plurilabel._public import publish
from plurilabel.metrics._at_k import (
    ndcg_at_k,
    precision_at_k,
    ps_ndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from plurilabel.metrics._auc import macro_auc, micro_auc
from plurilabel.metrics._counts import (
    CountMeasure,
    accuracy_from_counts,
    f_beta_from_counts,
    jaccard_from_counts,
    precision_from_counts,
    recall_from_counts,
)
from plurilabel.metrics._evaluate import Evaluation, evaluate
from plurilabel.metrics._example_based import (
    accuracy,
    f1,
    f_beta,
    hamming_loss,
    precision,
    recall,
    subset_accuracy,
)
from plurilabel.metrics._label_based import (
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
from plurilabel.metrics._per_label import PerLabel, per_label
from plurilabel.metrics._ranking import (
    average_precision,
    coverage,
    coverage_normalized,
    is_error,
    one_error,
    ranking_loss,
)
from plurilabel.metrics._scorers import (
    MEASURES,
    Measure,
    _Scorer,  # noqa: F401 - kept in model files
    get_measure,
    get_scorer,
    measure_names,
)
from plurilabel.metrics._scores import label_scores, score_matrix, score_method
from plurilabel.metrics._top import propensities

__all__ = [
    "MEASURES",
    "CountMeasure",
    "Evaluation",
    "Measure",
    "PerLabel",
    "accuracy",
    "accuracy_from_counts",
    "average_precision",
    "coverage",
    "coverage_normalized",
    "evaluate",
    "f1",
    "f_beta",
    "f_beta_from_counts",
    "get_measure",
    "get_scorer",
    "hamming_loss",
    "is_error",
    "jaccard_from_counts",
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
    "precision_from_counts",
    "propensities",
    "ps_ndcg_at_k",
    "psp_at_k",
    "ranking_loss",
    "recall",
    "recall_at_k",
    "recall_from_counts",
    "score_matrix",
    "score_method",
    "subset_accuracy",
]

publish(globals())
