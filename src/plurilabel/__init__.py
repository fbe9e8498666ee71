"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plurilabel._core.roster import estimators, find_estimator

if TYPE_CHECKING:
    from plurilabel._core.base import (
        MultiLabelClassifier,
        ProbabilisticClassifier,
        ScoringClassifier,
    )
    from plurilabel.bags import *
    from plurilabel.distributed import DaskIndex, DaskLazyClassifier
    from plurilabel.graded import *
    from plurilabel.io import DateEncoder, TableEncoder, label_matrix
    from plurilabel.learners.adaptation import *
    from plurilabel.learners.boosting import *
    from plurilabel.learners.extreme import *
    from plurilabel.learners.lazy import *
    from plurilabel.learners.mixtures import *
    from plurilabel.learners.neural import *
    from plurilabel.learners.rules import *
    from plurilabel.learners.transformation import *
    from plurilabel.models import load_model as load
    from plurilabel.models import save_model as save
    from plurilabel.neighbors import *
    from plurilabel.streams import *
    from plurilabel.text import *
    from plurilabel.thresholds import *
    from plurilabel.wrappers import *

__version__ = "0.1.0.dev0"

_PACKAGES = (
    "bags", "cli", "datasets", "distributed", "evaluation", "graded", "inspection", "io",
    "labeling", "learners", "metrics", "model_selection", "models", "neighbors", "serve",
    "streams", "text", "thresholds", "votes", "wrappers",
)  # fmt: skip

_FUNCTIONS = {
    "label_matrix": ("io", "label_matrix"),
    "load": ("models", "load_model"),
    "save": ("models", "save_model"),
}
"""Other names at the top: the package that has it, and its name there."""


def __getattr__(name: str) -> Any:
    """Load a package when it is first used: ``from plurilabel import MLkNN`` loads no other."""
    if name in _PACKAGES:
        return import_module(f"plurilabel.{name}")
    if name in _FUNCTIONS:
        package, there = _FUNCTIONS[name]
        return getattr(import_module(f"plurilabel.{package}"), there)
    if name[:1].isupper() and (found := find_estimator(name)) is not None:
        return found
    if name == "__all__":
        return sorted({*_PACKAGES, *estimators(), *_FUNCTIONS, "__version__"})
    raise AttributeError(f"module 'plurilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
