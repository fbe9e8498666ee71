"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_LEARNERS = ("lazy", "transformation", "adaptation", "boosting", "neural", "thresholds")


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is: the command line starts without scikit-learn."""
    if name in __all__:
        if name.islower():
            return import_module(f"plurilabel.{name}")
        for package in _LEARNERS:
            module = import_module(f"plurilabel.{package}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'plurilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
