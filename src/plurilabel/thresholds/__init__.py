"""Thresholds: scores to label sets, to probabilities, and to sets with a guarantee."""

from plurilabel._core.roster import publish
from plurilabel.thresholds._by_name import get_strategy, strategy_names
from plurilabel.thresholds._calibrator import ScoreCalibrator
from plurilabel.thresholds._constant import CardinalityThreshold, ConstantThreshold
from plurilabel.thresholds._expected_f import ExpectedF
from plurilabel.thresholds._global import GlobalThreshold
from plurilabel.thresholds._guarantees import FalseDiscoveryControl, LabelCoverage, RiskControl
from plurilabel.thresholds._linear import LinearThreshold
from plurilabel.thresholds._per_instance import MCut, MetaLabeler, RCut
from plurilabel.thresholds._per_label import PCut, SCut
from plurilabel.thresholds._seen_sets import SeenSets
from plurilabel.thresholds._strategy import ThresholdStrategy, never_empty

__all__ = [
    "CardinalityThreshold", "ConstantThreshold", "ExpectedF", "FalseDiscoveryControl",
    "GlobalThreshold", "LabelCoverage", "LinearThreshold", "MCut", "MetaLabeler", "PCut", "RCut",
    "RiskControl", "SCut", "ScoreCalibrator", "SeenSets", "ThresholdStrategy", "get_strategy",
    "never_empty", "strategy_names",
]  # fmt: skip

publish(globals())
