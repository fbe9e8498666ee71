"""Bags of instances with several labels: the container, distances, learners, transformers."""

from plurilabel._core.data.bags import Bags
from plurilabel._core.roster import publish
from plurilabel.bags._bag_classifier import BagClassifier, BagExplanation, explain_bags
from plurilabel.bags._hausdorff import hausdorff_distances, k_medoids
from plurilabel.bags._mimlboost import MIMLBoost
from plurilabel.bags._mimlknn import MIMLkNN
from plurilabel.bags._mimlnn import MIMLNN
from plurilabel.bags._mimlsvm import MIMLSVM
from plurilabel.bags._transformers import BagsToRows, OnInstances

__all__ = [
    "MIMLNN",
    "MIMLSVM",
    "BagClassifier",
    "BagExplanation",
    "Bags",
    "BagsToRows",
    "MIMLBoost",
    "MIMLkNN",
    "OnInstances",
    "explain_bags",
    "hausdorff_distances",
    "k_medoids",
]


publish(globals())
