"""Bags of instances with several labels: the container, distances, learners, transformers."""

from plurilabel._bags import Bags
from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.bags._base import BagClassifier
from plurilabel.bags._explain import BagExplanation, explain_bags
from plurilabel.bags._hausdorff import hausdorff_distances
from plurilabel.bags._medoids import k_medoids
from plurilabel.bags._mimlboost import MIMLBoost
from plurilabel.bags._mimlknn import MIMLkNN
from plurilabel.bags._mimlnn import MIMLNN
from plurilabel.bags._mimlsvm import MIMLSVM
from plurilabel.bags._rows import BagsToRows, OnInstances

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

_T_CRITERION = {
    "check_cut": "by the T-criterion a bag without a positive score has its best label",
}

ROSTER = {
    "MIMLkNN": Learner({"MIMLkNN(n_neighbors=5, n_citers=5)": {}}),
    "MIMLSVM": Learner(
        {
            "MIMLSVM(random_state=0)": _T_CRITERION,
            "MIMLSVM(distance='average', t_criterion=False, random_state=0)": {},
        }
    ),
    "MIMLNN": Learner({"MIMLNN(random_state=0)": {}}),
    "MIMLBoost": Learner({"MIMLBoost(n_estimators=5, random_state=0)": {}}),
}

publish(globals())
