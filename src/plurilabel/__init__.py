"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from plurilabel import datasets, metrics, neighbors
from plurilabel.lazy import IBLRML, BRkNN, DMLkNN, DWMLkNN, MLkNN, MLkNNCV, MLWkNN
from plurilabel.thresholds import ThresholdClassifier

__version__ = "0.1.0.dev0"

__all__ = [
    "IBLRML",
    "BRkNN",
    "DMLkNN",
    "DWMLkNN",
    "MLWkNN",
    "MLkNN",
    "MLkNNCV",
    "ThresholdClassifier",
    "__version__",
    "datasets",
    "metrics",
    "neighbors",
]
