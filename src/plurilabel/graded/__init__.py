"""Labels with grades: how much of each label an instance has.

There are two kinds of targets: a grade on an ordinal scale for each label
(:class:`GradedClassifier`), and degrees of all labels that sum to one
(:class:`DistributionLearner`), each with its measures.
"""

# ruff: noqa: F403
from plurilabel._core.roster import publish
from plurilabel.graded import _measures
from plurilabel.graded._aa_knn import AAkNN
from plurilabel.graded._distribution_learner import DistributionLearner
from plurilabel.graded._distribution_network import DistributionNetwork
from plurilabel.graded._graded_classifier import GradedClassifier
from plurilabel.graded._graded_mlknn import GradedMLkNN
from plurilabel.graded._measures import *
from plurilabel.graded._reductions import (
    CombinedReduction,
    HorizontalReduction,
    Reduction,
    VerticalReduction,
)
from plurilabel.graded._scale import consistent

__all__ = [
    "AAkNN", "CombinedReduction", "DistributionLearner", "DistributionNetwork", "GradedClassifier",
    "GradedMLkNN", "HorizontalReduction", "Reduction", "VerticalReduction", "consistent",
]  # fmt: skip
__all__ += _measures.__all__

publish(globals())
