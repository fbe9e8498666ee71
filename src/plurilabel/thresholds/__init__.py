"""Thresholds: scores to label sets, to probabilities, and to sets with a guarantee."""

from plurilabel._core.roster import publish
from plurilabel.thresholds._base import ThresholdStrategy, never_empty
from plurilabel.thresholds._cardinality import CardinalityCut
from plurilabel.thresholds._constant import ConstantCut
from plurilabel.thresholds._expected_f import ExpectedF
from plurilabel.thresholds._global import GlobalCut
from plurilabel.thresholds._linear import LinearCut
from plurilabel.thresholds._mcut import MCut
from plurilabel.thresholds._metalabeler import MetaLabeler
from plurilabel.thresholds._pcut import PCut
from plurilabel.thresholds._rcut import RCut
from plurilabel.thresholds._scut import SCut
from plurilabel.thresholds._seen_sets import SeenSets
from plurilabel.thresholds._strategies import get_strategy, strategy_names
from plurilabel.thresholds.uncertainty._calibrator import ScoreCalibrator
from plurilabel.thresholds.uncertainty._false_discovery import FalseDiscoveryControl
from plurilabel.thresholds.uncertainty._label_coverage import LabelCoverage
from plurilabel.thresholds.uncertainty._risk_control import RiskControl

__all__ = [
    "CardinalityCut",
    "ConstantCut",
    "ExpectedF",
    "FalseDiscoveryControl",
    "GlobalCut",
    "LabelCoverage",
    "LinearCut",
    "MCut",
    "MetaLabeler",
    "PCut",
    "RCut",
    "RiskControl",
    "SCut",
    "ScoreCalibrator",
    "SeenSets",
    "ThresholdStrategy",
    "get_strategy",
    "never_empty",
    "strategy_names",
]

publish(globals())
