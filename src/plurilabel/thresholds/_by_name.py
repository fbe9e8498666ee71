"""The strategies by name."""

from __future__ import annotations

from typing import Any

from plurilabel.thresholds._constant import CardinalityThreshold, ConstantThreshold
from plurilabel.thresholds._expected_f import ExpectedF
from plurilabel.thresholds._global import GlobalThreshold
from plurilabel.thresholds._linear import LinearThreshold
from plurilabel.thresholds._per_instance import MCut, MetaLabeler, RCut
from plurilabel.thresholds._per_label import PCut, SCut
from plurilabel.thresholds._seen_sets import SeenSets
from plurilabel.thresholds._strategy import ThresholdStrategy

STRATEGIES: dict[str, type[ThresholdStrategy]] = {
    "constant": ConstantThreshold,
    "cardinality": CardinalityThreshold,
    "linear": LinearThreshold,
    "scut": SCut,
    "global": GlobalThreshold,
    "rcut": RCut,
    "pcut": PCut,
    "mcut": MCut,
    "expected_f": ExpectedF,
    "metalabeler": MetaLabeler,
    "seen_sets": SeenSets,
}


def strategy_names() -> list[str]:
    """Names of the strategies, for ``ThresholdClassifier(strategy=...)`` and :func:`get_strategy`.

    Examples
    --------
    >>> from plurilabel.thresholds import strategy_names
    >>> strategy_names()[:4]
    ['constant', 'cardinality', 'linear', 'scut']
    """
    return list(STRATEGIES)


def get_strategy(name: str, *, probabilities: bool = True) -> ThresholdStrategy:
    """Get a strategy by its name, with its default parameters.

    Parameters
    ----------
    name : str
        One of :func:`strategy_names`.
    probabilities : bool, default=True
        Whether the scores are probabilities, cut at 0.5, or a decision function, cut at 0.

    Examples
    --------
    >>> from plurilabel.thresholds import get_strategy
    >>> get_strategy("constant", probabilities=False)
    ConstantThreshold(cut=0.0)
    """
    if name not in STRATEGIES:
        raise ValueError(f"name must be one of {strategy_names()}, got {name!r}")
    unlike: dict[str, dict[str, Any]] = {
        "constant": {"cut": 0.0},
        "mcut": {"floor": -1.0},
        "seen_sets": {"distance": "hamming", "cut": 0.0},
    }
    return STRATEGIES[name](**({} if probabilities else unlike.get(name, {})))
