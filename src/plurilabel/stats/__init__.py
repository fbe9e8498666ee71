"""Statistics of comparisons: do learners differ, and which ones?"""

from plurilabel._public import publish
from plurilabel.stats._critical_difference import cd_layout, plot_critical_difference
from plurilabel.stats._folds import ResampledT, corrected_resampled_t
from plurilabel.stats._friedman import Friedman, average_ranks, friedman, rank_rows
from plurilabel.stats._nemenyi import Nemenyi, nemenyi
from plurilabel.stats._pairs import Comparisons, holm, holm_adjusted, wilcoxon

__all__ = [
    "Comparisons",
    "Friedman",
    "Nemenyi",
    "ResampledT",
    "average_ranks",
    "cd_layout",
    "corrected_resampled_t",
    "friedman",
    "holm",
    "holm_adjusted",
    "nemenyi",
    "plot_critical_difference",
    "rank_rows",
    "wilcoxon",
]

publish(globals())
