"""Evaluation: comparisons, statistics, reports, and the published tables again."""

from plurilabel._core.roster import publish
from plurilabel.evaluation._checks import MULTILABEL_CHECKS, check_multilabel
from plurilabel.evaluation._compare._compare import compare, compare_many
from plurilabel.evaluation._compare._results import Results
from plurilabel.evaluation._friedman import Friedman, average_ranks, friedman, rank_rows
from plurilabel.evaluation._nemenyi import (
    CriticalDifferenceDiagram,
    Nemenyi,
    critical_difference_diagram,
    nemenyi,
    plot_critical_difference,
)
from plurilabel.evaluation._pairs import (
    Comparisons,
    ResampledT,
    corrected_resampled_t,
    holm,
    holm_adjusted,
    wilcoxon,
)
from plurilabel.evaluation._papers._page import draw_figures, write_page
from plurilabel.evaluation._papers._paper import Paper, load_paper, paper_names
from plurilabel.evaluation._papers._reproduce import UnknownPart, reproduce
from plurilabel.evaluation._papers._reproduction import Reproduction
from plurilabel.evaluation._report._issues_report import write_issues_report
from plurilabel.evaluation._report._model_report import write_model_report
from plurilabel.evaluation._report._report import write_report
from plurilabel.evaluation._report._stream_report import write_stream_report
from plurilabel.evaluation._report._tables import MeasureTable, measure_tables

__all__ = [
    "MULTILABEL_CHECKS",
    "Comparisons",
    "CriticalDifferenceDiagram",
    "Friedman",
    "MeasureTable",
    "Nemenyi",
    "Paper",
    "Reproduction",
    "ResampledT",
    "Results",
    "UnknownPart",
    "average_ranks",
    "check_multilabel",
    "compare",
    "compare_many",
    "corrected_resampled_t",
    "critical_difference_diagram",
    "draw_figures",
    "friedman",
    "holm",
    "holm_adjusted",
    "load_paper",
    "measure_tables",
    "nemenyi",
    "paper_names",
    "plot_critical_difference",
    "rank_rows",
    "reproduce",
    "wilcoxon",
    "write_issues_report",
    "write_model_report",
    "write_page",
    "write_report",
    "write_stream_report",
]

publish(globals())
