"""What wrappers and plots share with the threshold strategies."""

from plurilabel.thresholds._base import (
    Scores,
    Sets,
    above,
    check_dense_scores,
    check_scores_and_labels,
    complete_rows,
)
from plurilabel.thresholds._strategies import STRATEGIES
from plurilabel.thresholds._sweep import (
    by_label,
    count_measure,
    counts_by_size,
    cut_keeping,
    cuttable,
    entry_sizes,
    evaluate,
)

__all__ = [
    "STRATEGIES",
    "Scores",
    "Sets",
    "above",
    "by_label",
    "check_dense_scores",
    "check_scores_and_labels",
    "complete_rows",
    "count_measure",
    "counts_by_size",
    "cut_keeping",
    "cuttable",
    "entry_sizes",
    "evaluate",
]
