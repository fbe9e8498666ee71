"""Strategies that turn scores into label sets, for any classifier."""

from plurilabel._public import publish
from plurilabel.thresholds._base import (
    Scores,  # noqa: F401 - for plurilabel.uncertainty, as are those below
    Sets,  # noqa: F401
    ThresholdStrategy,
    above,  # noqa: F401
    check_dense_scores,  # noqa: F401
    check_scores_and_labels,  # noqa: F401
    complete_rows,  # noqa: F401
    never_empty,
)
from plurilabel.thresholds._cardinality import CardinalityCut
from plurilabel.thresholds._classifier import ThresholdClassifier
from plurilabel.thresholds._constant import ConstantCut
from plurilabel.thresholds._expected_f import ExpectedF
from plurilabel.thresholds._global import GlobalCut
from plurilabel.thresholds._linear import LinearCut
from plurilabel.thresholds._mcut import MCut
from plurilabel.thresholds._metalabeler import MetaLabeler
from plurilabel.thresholds._pcut import PCut
from plurilabel.thresholds._plot import plot_threshold_curves
from plurilabel.thresholds._rcut import RCut
from plurilabel.thresholds._scut import SCut
from plurilabel.thresholds._seen_sets import SeenSets
from plurilabel.thresholds._strategies import get_strategy, strategy_names
from plurilabel.thresholds._wrapper import ScoreWrapper  # noqa: F401 - for plurilabel.uncertainty

__all__ = [
    "CardinalityCut",
    "ConstantCut",
    "ExpectedF",
    "GlobalCut",
    "LinearCut",
    "MCut",
    "MetaLabeler",
    "PCut",
    "RCut",
    "SCut",
    "SeenSets",
    "ThresholdClassifier",
    "ThresholdStrategy",
    "get_strategy",
    "never_empty",
    "plot_threshold_curves",
    "strategy_names",
]

publish(globals())
