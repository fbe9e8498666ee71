"""Labels with grades: how much of each label an instance has, not only whether.

Two kinds of targets: a grade on an ordinal scale for each label (:class:`GradedClassifier`), and
degrees of all labels that sum to one (:class:`DistributionLearner`). Their targets are not 0/1
matrices, so these learners are not on the roster of multi-label learners; measures for both are
here, too.
"""

from plurilabel._core.roster import publish
from plurilabel.graded._base import GradedClassifier
from plurilabel.graded._combined import CombinedReduction
from plurilabel.graded._distributions._aa_knn import AAkNN
from plurilabel.graded._distributions._base import DistributionLearner
from plurilabel.graded._distributions._measures import (
    canberra_distance,
    chebyshev_distance,
    clark_distance,
    cosine_similarity,
    evaluate_distributions,
    intersection_similarity,
    kullback_leibler_divergence,
)
from plurilabel.graded._distributions._network import DistributionNetwork
from plurilabel.graded._horizontal import HorizontalReduction
from plurilabel.graded._losses import (
    c_index_loss,
    evaluate_grades,
    horizontal_loss,
    mean_absolute_error,
    vertical_loss,
)
from plurilabel.graded._mlknn import GradedMLkNN
from plurilabel.graded._reduction import Reduction
from plurilabel.graded._scale import consistent
from plurilabel.graded._vertical import VerticalReduction

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
