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
        graded as graded,
    )
    from plurilabel import (
        io as io,
    )
    from plurilabel import (
        metrics as metrics,
    )
    from plurilabel import (
        missing as missing,
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
        report as report,
    )
    from plurilabel import (
        stats as stats,
    )
    from plurilabel import (
        thresholds as thresholds,
    )
    from plurilabel.adaptation import *  # noqa: F403
    from plurilabel.bags import *  # noqa: F403
    from plurilabel.boosting import *  # noqa: F403
    from plurilabel.lazy import *  # noqa: F403
    from plurilabel.mixtures import *  # noqa: F403
    from plurilabel.neural import *  # noqa: F403
    from plurilabel.rules import *  # noqa: F403
    from plurilabel.thresholds import ThresholdClassifier as ThresholdClassifier
    from plurilabel.transformation import *  # noqa: F403

__version__ = "0.1.0.dev0"

_PARTS = {
    *PACKAGES,
    "base",
    "checks",
    "compare",
    "datasets",
    "graded",
    "io",
    "metrics",
    "missing",
    "model_selection",
    "neighbors",
    "papers",
    "persistence",
    "report",
    "stats",
    "thresholds",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is: the command line starts without scikit-learn."""
    if name in _PARTS:
        return import_module(f"plurilabel.{name}")
    if name == "ThresholdClassifier":
        return import_module("plurilabel.thresholds").ThresholdClassifier
    if name == "__all__":
        return sorted({*_PARTS, *learners(), "ThresholdClassifier", "__version__"})
    if name[:1].isupper() and name in learners():
        return learners()[name].find()
    raise AttributeError(f"module 'plurilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
