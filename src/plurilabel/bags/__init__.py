"""Bags of instances with several labels: the container, distances, learners, transformers."""

from plurilabel._core.data.bags import Bags
from plurilabel._core.roster import Learner, publish
from plurilabel.bags._bag_classifier import BagClassifier, BagExplanation, explain_bags
from plurilabel.bags._hausdorff import hausdorff_distances, k_medoids
from plurilabel.bags._mimlboost import MIMLBoost
from plurilabel.bags._mimlknn import MIMLkNN
from plurilabel.bags._mimlnn import MIMLNN
from plurilabel.bags._mimlsvm import MIMLSVM
from plurilabel.bags._transformers import BagsToRows, OnInstances

__all__ = [
    "MIMLNN", "MIMLSVM", "BagClassifier", "BagExplanation", "Bags", "BagsToRows", "MIMLBoost",
    "MIMLkNN", "OnInstances", "explain_bags", "hausdorff_distances", "k_medoids",
]  # fmt: skip

_T_CRITERION = {"check_cut": "by the T-criterion a bag without positive scores has its best label"}

_BAGS = "neighbours or medoids of bags"

ROSTER = {
    "MIMLkNN": Learner({"MIMLkNN(n_neighbors=5, n_citers=5)": {}}, unweighted=_BAGS),
    "MIMLSVM": Learner(
        {
            "MIMLSVM(random_state=0)": _T_CRITERION,
            "MIMLSVM(distance='average', nonempty=False, random_state=0)": {},
        },
        unweighted=_BAGS,
    ),
    "MIMLNN": Learner({"MIMLNN(random_state=0)": {}}, unweighted=_BAGS),
    "MIMLBoost": Learner(
        {"MIMLBoost(n_estimators=5, random_state=0)": {}}, unweighted=_BAGS, exact=True
    ),
}

publish(globals())
