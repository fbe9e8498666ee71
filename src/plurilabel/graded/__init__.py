"""Labels with grades: how much of each label an instance has.

There are two kinds of targets: a grade on an ordinal scale for each label
(:class:`GradedClassifier`), and degrees of all labels that sum to one
(:class:`DistributionLearner`), each with its measures.
"""

from plurilabel._core.roster import publish
from plurilabel.graded._aa_knn import AAkNN
from plurilabel.graded._distribution_learner import DistributionLearner
from plurilabel.graded._distribution_network import DistributionNetwork
from plurilabel.graded._graded_classifier import GradedClassifier
from plurilabel.graded._graded_mlknn import GradedMLkNN
from plurilabel.graded._measures import (
    c_index_loss,
    canberra_distance,
    chebyshev_distance,
    clark_distance,
    cosine_similarity,
    evaluate_distributions,
    evaluate_grades,
    horizontal_loss,
    intersection_similarity,
    kullback_leibler_divergence,
    mean_absolute_error,
    vertical_loss,
)
from plurilabel.graded._reductions import (
    CombinedReduction,
    HorizontalReduction,
    Reduction,
    VerticalReduction,
)
from plurilabel.graded._scale import consistent

__all__ = [
    "AAkNN",
    "CombinedReduction",
    "DistributionLearner",
    "DistributionNetwork",
    "GradedClassifier",
    "GradedMLkNN",
    "HorizontalReduction",
    "Reduction",
    "VerticalReduction",
    "c_index_loss",
    "canberra_distance",
    "chebyshev_distance",
    "clark_distance",
    "consistent",
    "cosine_similarity",
    "evaluate_distributions",
    "evaluate_grades",
    "horizontal_loss",
    "intersection_similarity",
    "kullback_leibler_divergence",
    "mean_absolute_error",
    "vertical_loss",
]

publish(globals())
