"""Boosting: weak rules that speak of all labels at once, added up."""

from plurilabel._public import publish
from plurilabel._roster import Learner
from plurilabel.boosting._adaboost_mh import AdaBoostMH
from plurilabel.boosting._adaboost_mr import AdaBoostMR
from plurilabel.boosting._adtboost_mh import ADTBoostMH
from plurilabel.boosting._adtree import ADTRule  # noqa: F401 - kept in model files
from plurilabel.boosting._conditions import Condition  # noqa: F401 - kept in model files
from plurilabel.boosting._weak import Split, WeakRule  # noqa: F401 - kept in model files

__all__ = ["ADTBoostMH", "AdaBoostMH", "AdaBoostMR"]

ROSTER = {
    "AdaBoostMH": Learner(
        {
            "AdaBoostMH(n_estimators=20)": {},
            "AdaBoostMH(n_estimators=8, weak='tree', max_depth=2)": {},
            "AdaBoostMH(n_estimators=20, variant='discrete')": {},
            "AdaBoostMH(n_estimators=20, variant='abstain')": {},
            "AdaBoostMH(n_estimators=20, validation_fraction=0.2, calibration_folds=3, "
            "random_state=0)": {},
        }
    ),
    "AdaBoostMR": Learner(
        {
            "AdaBoostMR(n_estimators=20)": {},
            "AdaBoostMR(n_estimators=20, variant='discrete')": {},
        }
    ),
    "ADTBoostMH": Learner({"ADTBoostMH(n_estimators=8)": {}}),
}

publish(globals())
