from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import MCut
from tests.thresholds.cases import COARSE, matrices


@given(
    matrices(
        st.one_of(COARSE, st.floats(-1e3, 1e3), st.floats(-1.7e308, 1.7e308)), min_q=2, max_q=6
    )
)
@settings(deadline=None)
def test_mcut_cuts_in_the_largest_gap(scores):
    predicted = MCut().fit(None, np.zeros(scores.shape)).predict(scores)
    for f, row in zip(scores, predicted):
        ranked = sorted(f.tolist(), reverse=True)
        gaps = [a / 2 - b / 2 for a, b in pairwise(ranked)]
        size = gaps.index(max(gaps)) + 1 if max(gaps) > 0 else 0
        assert sorted(f[row == 1].tolist(), reverse=True) == ranked[:size]


def test_of_equal_gaps_the_highest():
    strategy = MCut().fit(None, np.zeros((2, 3)))
    predicted = strategy.predict([[1.0, 8.0, 2.0], [0.0, 1.0, 2.0]])
    assert predicted.tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match="MCut needs at least two labels"):
        MCut().fit(None, [[1], [0]])
