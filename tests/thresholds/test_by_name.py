import pytest

from plurilabel import (
    FalseDiscoveryControl,
    LabelCoverage,
    RiskControl,
    ThresholdStrategy,
    thresholds,
)
from plurilabel.thresholds import get_strategy, strategy_names


def test_every_strategy_has_a_name():
    named = {type(get_strategy(name)) for name in strategy_names()}
    public = {getattr(thresholds, name) for name in thresholds.__all__}
    assert named == {
        found
        for found in public
        if isinstance(found, type) and issubclass(found, ThresholdStrategy)
    } - {ThresholdStrategy, FalseDiscoveryControl, LabelCoverage, RiskControl}


def test_names_and_defaults():
    with pytest.raises(ValueError, match="name must be one of .* got 'zcut'"):
        get_strategy("zcut")
    assert get_strategy("seen_sets", probabilities=False).distance == "hamming"
    assert get_strategy("constant").cut == 0.5
