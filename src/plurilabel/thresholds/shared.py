"""What wrappers and plots share with the threshold strategies."""

from plurilabel.thresholds._by_name import STRATEGIES
from plurilabel.thresholds._strategy import Scores, check_scores_and_labels
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
    "STRATEGIES", "Scores", "by_label", "check_scores_and_labels", "count_measure",
    "counts_by_size", "cut_keeping", "cuttable", "entry_sizes", "evaluate",
]  # fmt: skip
