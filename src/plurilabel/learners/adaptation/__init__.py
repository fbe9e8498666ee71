"""Adapted learners: algorithms that take several labels as they are."""

from plurilabel._core.roster import EQUIVALENCE, PROBABILITIES, Learner, publish
from plurilabel.learners.adaptation._cml import CML
from plurilabel.learners.adaptation._decision_tree import MLDecisionTree
from plurilabel.learners.adaptation._insdif import INSDIF
from plurilabel.learners.adaptation._kernel_regressions import KernelRegressions
from plurilabel.learners.adaptation._random_forest import MLRandomForest
from plurilabel.learners.adaptation._ranksvm import RankSVM

__all__ = ["CML", "INSDIF", "KernelRegressions", "MLDecisionTree", "MLRandomForest", "RankSVM"]

_EXACTLY_0_OR_1 = {
    PROBABILITIES: "the check wants probabilities "
    "strictly between 0 and 1; label frequencies in leaves may be exactly 0 or 1"
}
_OTHER_BOOTSTRAPS = dict.fromkeys(
    EQUIVALENCE,
    "bootstrap samples differ when instances are repeated instead of weighted, as in "
    "scikit-learn's forests",
)
_WITHIN_TOLERANCE = dict.fromkeys(
    _OTHER_BOOTSTRAPS,
    "the solver ends at a duality gap of tol, by another way if instances are repeated; with "
    "tol=1e-9 the scores agree to three digits (tests/test_sample_weight.py)",
)
_NOT_THE_CUT = {
    "check_cut": "predict gives the most probable label set, which need not be the set of the "
    "labels whose marginal probability is above 0.5"
}

ROSTER = {
    "MLDecisionTree": Learner(
        {
            "MLDecisionTree()": _EXACTLY_0_OR_1,
            "MLDecisionTree(criterion='gini', max_depth=5)": _EXACTLY_0_OR_1,
        },
        exact=True,
    ),
    "MLRandomForest": Learner(
        {
            "MLRandomForest(n_estimators=5)": _EXACTLY_0_OR_1 | _OTHER_BOOTSTRAPS,
            "MLRandomForest(5, criterion='entropy', extra_trees=True)": _EXACTLY_0_OR_1,
            "MLRandomForest(n_estimators=3, splits='label')": _EXACTLY_0_OR_1 | _OTHER_BOOTSTRAPS,
        },
        exact=True,
    ),
    "RankSVM": Learner({"RankSVM(tol=1e-4)": _WITHIN_TOLERANCE}, exact=True),
    "INSDIF": Learner(
        {"INSDIF()": {}, "INSDIF(n_medoids=10)": {}},
        unweighted="medoids are drawn from the rows",
        exact=True,
    ),
    "KernelRegressions": Learner(
        {
            "KernelRegressions()": {},
            "KernelRegressions(kernels=('linear', 'ranked_laplacian'), n_components=20)": {},
        },
        unweighted="an instance of weight 2 would be left out once, and a copy of it would stay",
    ),
    "CML": Learner({"CML()": _NOT_THE_CUT, "CML(label_sets='seen')": _NOT_THE_CUT}),
}

publish(globals())
