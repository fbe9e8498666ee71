import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import RCut
from tests.thresholds.cases import matrices


@given(matrices(), st.data())
@settings(deadline=None)
def test_the_r_highest(scores, data):
    q = scores.shape[1]
    r = data.draw(st.integers(0, q))
    for f, row in zip(scores, RCut(r).fit(None, np.ones((1, q))).predict(scores)):
        ranked = sorted(range(q), key=lambda l: (-f[l], l))
        assert np.flatnonzero(row).tolist() == sorted(ranked[:r])


def test_rcut_learns_the_cardinality():
    Y = [[1, 1, 0], [1, 0, 0]]  # 1.5, halves up
    assert RCut().fit(None, Y).r_ == 2
    assert RCut().fit(None, np.zeros((2, 3))).r_ == 1
    assert RCut(0).fit(None, Y).predict([[0.1, 0.2, 0.3]]).sum() == 0
    with pytest.raises(ValueError, match="r must be at most 3, the number of labels, got 4"):
        RCut(4).fit(None, Y)
    for bad in (-1, 1.5):
        with pytest.raises(ValueError, match=f"'r' parameter of RCut must be .* Got {bad}"):
            RCut(bad).fit(None, Y)
