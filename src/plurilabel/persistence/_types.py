"""The types that may stand in a model file, beside those that skops trusts by itself.

skops knows the plain ones of Python, numpy, scipy and scikit-learn. These are ours, by their
public names, and the few of scikit-learn and scipy that the usual classifiers keep. Classes only:
no function may be named in a file.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from plurilabel._roster import PACKAGES

_OTHERS = (
    "numpy.dtype",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)


@cache
def trusted_types() -> frozenset[str]:
    """Names of all types that may stand in a model file."""
    ours = (
        f"{value.__module__}.{value.__qualname__}"
        for package in (*PACKAGES, "thresholds", "neighbors", "model_selection", "metrics")
        for value in vars(import_module(f"plurilabel.{package}")).values()
        if isinstance(value, type) and value.__module__ == f"plurilabel.{package}"
    )
    return frozenset([*ours, *_OTHERS])
