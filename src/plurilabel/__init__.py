"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from importlib import import_module
from types import ModuleType

from plurilabel import datasets, metrics, neighbors, thresholds
from plurilabel.adaptation import CML, MLDecisionTree, MLRandomForest, RankSVM
from plurilabel.boosting import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.lazy import IBLRML, BRkNN, DMLkNN, DWMLkNN, MLkNN, MLkNNCV, MLWkNN
from plurilabel.neural import BPMLL
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
    "BPMLL",
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
    "checks",
    "datasets",
    "experiments",
    "metrics",
    "neighbors",
    "papers",
    "thresholds",
]


def __getattr__(name: str) -> ModuleType:
    """Load these when they are asked for: a learner alone does not need them."""
    if name in {"checks", "experiments", "papers"}:
        return import_module(f"plurilabel.{name}")
    raise AttributeError(f"module 'plurilabel' has no attribute {name!r}")
