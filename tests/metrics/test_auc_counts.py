"""The exact counts behind the AUCs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import metrics
from plurilabel.metrics import _auc
from tests.metrics.cases import SETTINGS, random_problem

VALUES = st.sampled_from(
    [-3.0, -1e-300, -0.0, 0.0, 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), 2.5]
)


@pytest.mark.parametrize("size", [1, 2, 8192])
@settings(**SETTINGS)
@given(left=st.lists(VALUES, max_size=12), right=st.lists(VALUES, max_size=12))
def test_half_wins_are_those_of_the_pairs(size, left, right):
    expected = sum(2 * (a > b) + (a == b) for a in left for b in right)
    before = _auc._SLICE
    _auc._SLICE = size
    try:
        got = _auc.half_wins_over(np.sort(np.array(left)), np.sort(np.array(right)))
    finally:
        _auc._SLICE = before
    assert got == expected


def test_neighbouring_floats_are_told_apart():
    """They differ in the bit that the fast count uses for the label."""
    one = np.float64(1.0)
    above = np.nextafter(one, 2)
    F = np.array([[one], [above], [one], [above]])
    assert metrics.macro_auc([[0], [1], [0], [1]], F) == 1
    assert metrics.macro_auc([[1], [0], [1], [0]], F) == 0
    assert metrics.micro_auc([[1], [1], [0], [0]], F) == 0.5


@pytest.mark.parametrize("p", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("decimals", [None, 2])
def test_micro_in_parts_equals_all_pairs(monkeypatch, p, decimals):
    """Several parts, either class the smaller one."""
    Y, F, _ = random_problem(n=400, q=4, p=p, decimals=decimals)
    monkeypatch.setattr(_auc, "_PART", 100)
    positive, negative = F[Y == 1], F[Y == 0]
    expected = (positive[:, None] > negative).mean() + (positive[:, None] == negative).mean() / 2
    assert metrics.micro_auc(Y, F) == pytest.approx(expected)
    assert metrics.micro_auc(Y, F.astype(np.float32)) == pytest.approx(expected)
