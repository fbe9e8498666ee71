"""Comparing learners on datasets, and saying what it means."""

from plurilabel.experiments._compare import compare
from plurilabel.experiments._critical_difference import plot_critical_difference
from plurilabel.experiments._model import Model, ModelRows
from plurilabel.experiments._model_file import ModelFileError, load_model, save_model
from plurilabel.experiments._report import write_report
from plurilabel.experiments._results import Results
from plurilabel.experiments._spec import make_learner, make_learners
from plurilabel.experiments._spec_names import learner_names
from plurilabel.experiments._statistics import Friedman, average_ranks, friedman
from plurilabel.experiments._statistics_folds import ResampledT, corrected_resampled_t
from plurilabel.experiments._statistics_nemenyi import Nemenyi, nemenyi
from plurilabel.experiments._statistics_pairs import Comparisons, holm, holm_adjusted, wilcoxon
from plurilabel.experiments._suggest import Suggestion, suggest_learner

__all__ = [
    "Comparisons",
    "Friedman",
    "Model",
    "ModelFileError",
    "ModelRows",
    "Nemenyi",
    "ResampledT",
    "Results",
    "Suggestion",
    "average_ranks",
    "compare",
    "corrected_resampled_t",
    "friedman",
    "holm",
    "holm_adjusted",
    "learner_names",
    "load_model",
    "make_learner",
    "make_learners",
    "nemenyi",
    "plot_critical_difference",
    "save_model",
    "suggest_learner",
    "wilcoxon",
    "write_report",
]
