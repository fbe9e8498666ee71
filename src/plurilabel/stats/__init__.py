"""Statistics of comparisons: do learners differ, and which ones?"""

from plurilabel._public import publish
from plurilabel.stats._critical_difference import (
    CriticalDifferenceDiagram,
    critical_difference_diagram,
    plot_critical_difference,
)
from plurilabel.stats._friedman import Friedman, average_ranks, friedman, rank_rows
from plurilabel.stats._nemenyi import Nemenyi, nemenyi
from plurilabel.stats._pairs import (
    Comparisons,
    ResampledT,
    corrected_resampled_t,
    holm,
    holm_adjusted,
    wilcoxon,
)

__all__ = [
    "Comparisons",
    "CriticalDifferenceDiagram",
    "Friedman",
    "Nemenyi",
    "ResampledT",
    "average_ranks",
    "corrected_resampled_t",
    "critical_difference_diagram",
    "friedman",
    "holm",
    "holm_adjusted",
    "nemenyi",
    "plot_critical_difference",
    "rank_rows",
    "wilcoxon",
]

publish(globals())
