"""Boosting: a sum of simple rules, each of which scores all labels at once."""

from plurilabel._core.roster import EQUIVALENCE, Learner, publish
from plurilabel.learners.boosting._adaboost_mh import AdaBoostMH
from plurilabel.learners.boosting._adaboost_mr import AdaBoostMR
from plurilabel.learners.boosting._adtboost_mh import ADTBoostMH
from plurilabel.learners.boosting._gradient_boosting import MLGradientBoosting
from plurilabel.learners.boosting._rules import Condition, DecisionNode, WeakRule

__all__ = [
    "ADTBoostMH",
    "AdaBoostMH",
    "AdaBoostMR",
    "Condition",
    "DecisionNode",
    "MLGradientBoosting",
    "WeakRule",
]

_OTHER_SAMPLES = dict.fromkeys(
    EQUIVALENCE,
    "other instances are drawn or held out when they are repeated instead of weighted",
)

ROSTER = {
    "AdaBoostMH": Learner(
        {
            "AdaBoostMH(n_estimators=6)": {},
            "AdaBoostMH(n_estimators=4, weak='tree', max_depth=2)": {},
            "AdaBoostMH(n_estimators=6, algorithm='discrete')": {},
            "AdaBoostMH(n_estimators=6, algorithm='abstain')": {},
            "AdaBoostMH(n_estimators=6, validation_fraction=0.2, calibration_folds=3, "
            "random_state=0)": dict.fromkeys(
                EQUIVALENCE,
                "what is held out, and the folds, are drawn by row number: repeated instances "
                "are drawn one by one",
            ),
        },
        exact=True,
    ),
    "AdaBoostMR": Learner(
        {
            "AdaBoostMR(n_estimators=6)": {},
            "AdaBoostMR(n_estimators=6, algorithm='discrete')": {},
        },
        exact=True,
    ),
    "ADTBoostMH": Learner({"ADTBoostMH(n_estimators=6)": {}}, exact=True),
    "MLGradientBoosting": Learner(
        {
            "MLGradientBoosting(n_estimators=6)": {},
            "MLGradientBoosting(n_estimators=8, weak='rule', heads=1, max_features=None)": {},
            "MLGradientBoosting(n_estimators=6, loss='joint', heads=2)": {},
            "MLGradientBoosting(n_estimators=6, loss='hinge', subsample=0.7, "
            "random_state=0)": _OTHER_SAMPLES,
            "MLGradientBoosting(n_estimators=6, loss='squared', validation_fraction=0.2, "
            "random_state=0)": _OTHER_SAMPLES,
        }
    ),
}

publish(globals())
