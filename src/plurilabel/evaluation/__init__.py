"""Evaluation: comparisons, statistics and reports."""

from plurilabel._core.roster import publish
from plurilabel.evaluation._checks import MULTILABEL_CHECKS, check_multilabel
from plurilabel.evaluation._compare._compare import compare
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._critical_difference import (
    CriticalDifferenceDiagram,
    critical_difference_diagram,
    plot_critical_difference,
)
from plurilabel.evaluation._friedman import Friedman, average_ranks, friedman, rank_rows
from plurilabel.evaluation._pairs import (
    Comparisons,
    Nemenyi,
    ResampledT,
    corrected_resampled_t,
    holm,
    holm_adjusted,
    nemenyi,
    wilcoxon,
)
from plurilabel.evaluation._report._issues_report import write_issues_report
from plurilabel.evaluation._report._model_report import write_model_report
from plurilabel.evaluation._report._report import write_report
from plurilabel.evaluation._report._stream_report import write_stream_report
from plurilabel.evaluation._report._tables import MeasureTable, measure_tables

__all__ = [
    "MULTILABEL_CHECKS", "Comparisons", "CriticalDifferenceDiagram", "Friedman", "MeasureTable",
    "Nemenyi", "ResampledT", "Results", "average_ranks", "check_multilabel", "compare",
    "corrected_resampled_t", "critical_difference_diagram", "friedman", "holm", "holm_adjusted",
    "measure_tables", "nemenyi", "plot_critical_difference", "rank_rows", "wilcoxon",
    "write_issues_report", "write_model_report", "write_report", "write_stream_report",
]  # fmt: skip

publish(globals())
