"""Boosting: a sum of simple rules, each of which scores all labels at once."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.boosting._adaboost_mh import AdaBoostMH
from plurilabel.boosting._adaboost_mr import AdaBoostMR
from plurilabel.boosting._adtboost_mh import ADTBoostMH
from plurilabel.boosting._rules import Condition, DecisionNode, WeakRule

__all__ = ["ADTBoostMH", "AdaBoostMH", "AdaBoostMR", "Condition", "DecisionNode", "WeakRule"]

ROSTER = {
    "AdaBoostMH": Learner(
        {
            "AdaBoostMH(n_estimators=20)": {},
            "AdaBoostMH(n_estimators=8, weak='tree', max_depth=2)": {},
            "AdaBoostMH(n_estimators=20, algorithm='discrete')": {},
            "AdaBoostMH(n_estimators=20, algorithm='abstain')": {},
            "AdaBoostMH(n_estimators=20, validation_fraction=0.2, calibration_folds=3, "
            "random_state=0)": dict.fromkeys(
                (
                    "check_sample_weight_equivalence_on_dense_data",
                    "check_sample_weight_equivalence_on_sparse_data",
                ),
                "what is held out, and the folds, are drawn by row number: repeated instances are "
                "drawn one by one",
            ),
        }
    ),
    "AdaBoostMR": Learner(
        {
            "AdaBoostMR(n_estimators=20)": {},
            "AdaBoostMR(n_estimators=20, algorithm='discrete')": {},
        }
    ),
    "ADTBoostMH": Learner({"ADTBoostMH(n_estimators=8)": {}}),
}

publish(globals())
