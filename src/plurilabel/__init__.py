"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plurilabel._roster import PACKAGES, learners

if TYPE_CHECKING:
    from plurilabel import (
        base as base,
    )
    from plurilabel import (
        checks as checks,
    )
    from plurilabel import (
        compare as compare,
    )
    from plurilabel import (
        datasets as datasets,
    )
    from plurilabel import (
        explanation as explanation,
    )
    from plurilabel import (
        export as export,
    )
    from plurilabel import (
        graded as graded,
    )
    from plurilabel import (
        hierarchy as hierarchy,
    )
    from plurilabel import (
        io as io,
    )
    from plurilabel import (
        issues as issues,
    )
    from plurilabel import (
        label_studio as label_studio,
    )
    from plurilabel import (
        metrics as metrics,
    )
    from plurilabel import (
        missing as missing,
    )
    from plurilabel import (
        mlflow as mlflow,
    )
    from plurilabel import (
        model_selection as model_selection,
    )
    from plurilabel import (
        neighbors as neighbors,
    )
    from plurilabel import (
        papers as papers,
    )
    from plurilabel import (
        persistence as persistence,
    )
    from plurilabel import (
        plots as plots,
    )
    from plurilabel import (
        report as report,
    )
    from plurilabel import (
        resampling as resampling,
    )
    from plurilabel import (
        serve as serve,
    )
    from plurilabel import (
        stats as stats,
    )
    from plurilabel import (
        thresholds as thresholds,
    )
    from plurilabel.adaptation import *  # noqa: F403
    from plurilabel.automatic import AutoClassifier as AutoClassifier
    from plurilabel.bags import *  # noqa: F403
    from plurilabel.boosting import *  # noqa: F403
    from plurilabel.extreme import *  # noqa: F403
    from plurilabel.io import label_matrix as label_matrix
    from plurilabel.lazy import *  # noqa: F403
    from plurilabel.missing import ImputedLabels as ImputedLabels
    from plurilabel.missing import PositiveUnlabeled as PositiveUnlabeled
    from plurilabel.mixtures import *  # noqa: F403
    from plurilabel.neural import *  # noqa: F403
    from plurilabel.persistence import load_model as load  # noqa: F401
    from plurilabel.persistence import save_model as save  # noqa: F401
    from plurilabel.resampling import ResampledClassifier as ResampledClassifier
    from plurilabel.rules import *  # noqa: F403
    from plurilabel.streams import *  # noqa: F403
    from plurilabel.thresholds import ThresholdClassifier as ThresholdClassifier
    from plurilabel.transformation import *  # noqa: F403
    from plurilabel.uncertainty import CalibratedClassifier as CalibratedClassifier

__version__ = "0.1.0.dev0"

_PARTS = {
    *PACKAGES,
    "base",
    "checks",
    "compare",
    "datasets",
    "distributed",
    "explanation",
    "export",
    "graded",
    "hierarchy",
    "io",
    "issues",
    "label_studio",
    "metrics",
    "mlflow",
    "model_selection",
    "neighbors",
    "papers",
    "persistence",
    "plots",
    "report",
    "serve",
    "stats",
    "thresholds",
}

_FUNCTIONS = {
    "ThresholdClassifier": ("thresholds", "ThresholdClassifier"),
    "label_matrix": ("io", "label_matrix"),
    "load": ("persistence", "load_model"),
    "save": ("persistence", "save_model"),
}
"""Other names at the top: the package that has it, and its name there."""


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is: the command line starts without scikit-learn."""
    if name in _PARTS:
        return import_module(f"plurilabel.{name}")
    if name in _FUNCTIONS:
        package, there = _FUNCTIONS[name]
        return getattr(import_module(f"plurilabel.{package}"), there)
    if name == "__all__":
        return sorted({*_PARTS, *learners(), *_FUNCTIONS, "__version__"})
    if name[:1].isupper() and name in learners():
        return learners()[name].find()
    raise AttributeError(f"module 'plurilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
