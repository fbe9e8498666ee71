"""Cut-offs: strategies that turn scores into label sets, for any classifier."""

from plurilabel._public import publish
from plurilabel.thresholds._base import ThresholdStrategy, as_labels
from plurilabel.thresholds._cardinality import CardinalityCut, cardinality_cut
from plurilabel.thresholds._classifier import ThresholdClassifier
from plurilabel.thresholds._constant import ConstantCut, apply_cut
from plurilabel.thresholds._expected_f import ExpectedF, expected_f_labels
from plurilabel.thresholds._global import GlobalCut, global_cut
from plurilabel.thresholds._linear import LinearCut, instance_cuts
from plurilabel.thresholds._mcut import MCut, gap_cuts
from plurilabel.thresholds._metalabeler import MetaLabeler
from plurilabel.thresholds._nonempty import never_empty
from plurilabel.thresholds._pcut import PCut, top_share
from plurilabel.thresholds._plot import plot_threshold_curves
from plurilabel.thresholds._rcut import RCut, top_labels
from plurilabel.thresholds._scut import SCut, label_cuts
from plurilabel.thresholds._seen_sets import SeenSets, nearest_seen_sets
from plurilabel.thresholds._strategies import get_strategy, strategy_names

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
    "apply_cut",
    "as_labels",
    "cardinality_cut",
    "expected_f_labels",
    "gap_cuts",
    "get_strategy",
    "global_cut",
    "instance_cuts",
    "label_cuts",
    "nearest_seen_sets",
    "never_empty",
    "plot_threshold_curves",
    "strategy_names",
    "top_labels",
    "top_share",
]

publish(globals())
