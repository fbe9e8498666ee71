"""Boosting: a sum of simple rules, each of which scores all labels at once."""

from plurilabel._core.roster import publish
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


publish(globals())
