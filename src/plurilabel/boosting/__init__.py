"""Boosting: weak rules that speak of all labels at once, added up."""

from plurilabel.boosting._adaboost_mh import AdaBoostMH
from plurilabel.boosting._adaboost_mr import AdaBoostMR
from plurilabel.boosting._adtboost_mh import ADTBoostMH

__all__ = ["ADTBoostMH", "AdaBoostMH", "AdaBoostMR"]
