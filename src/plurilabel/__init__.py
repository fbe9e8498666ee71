"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from plurilabel import datasets, metrics, neighbors
from plurilabel.adaptation import CML, MLDecisionTree, MLRandomForest, RankSVM
from plurilabel.boosting import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.lazy import IBLRML, BRkNN, DMLkNN, DWMLkNN, MLkNN, MLkNNCV, MLWkNN
from plurilabel.thresholds import ThresholdClassifier
from plurilabel.transformation import (
    HOMER,
    BinaryRelevance,
    CalibratedLabelRanking,
    ClassifierChain,
    EnsembleOfChains,
    EnsembleOfPrunedSets,
    LabelPowerset,
    OutputCodes,
    PrunedSets,
    RAkEL,
    StackedRelevance,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "CML",
    "HOMER",
    "IBLRML",
    "ADTBoostMH",
    "AdaBoostMH",
    "AdaBoostMR",
    "BRkNN",
    "BinaryRelevance",
    "CalibratedLabelRanking",
    "ClassifierChain",
    "DMLkNN",
    "DWMLkNN",
    "EnsembleOfChains",
    "EnsembleOfPrunedSets",
    "LabelPowerset",
    "MLDecisionTree",
    "MLRandomForest",
    "MLWkNN",
    "MLkNN",
    "MLkNNCV",
    "OutputCodes",
    "PrunedSets",
    "RAkEL",
    "RankSVM",
    "StackedRelevance",
    "ThresholdClassifier",
    "__version__",
    "datasets",
    "metrics",
    "neighbors",
]
