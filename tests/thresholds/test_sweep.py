"""Cuts between neighbours, and the sweep in blocks."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plurilabel.metrics import COUNT_MEASURES
from plurilabel.thresholds._sweep import Chosen, best_size, cut_between, cut_keeping
from tests.thresholds.cases import problems

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
@settings(deadline=None)
def test_cut_between_separates(a, b):
    assume(a != b)
    low, high = min(a, b), max(a, b)
    assert low <= cut_between(low, high) < high


def test_adjacent_floats_are_separated():
    high = np.nextafter(1.0, 2.0)
    assert cut_between(1.0, high) == 1.0
    assert cut_keeping(np.array([high, 1.0]), 1) == 1.0


@given(problems(max_n=30, max_q=1), st.integers(1, 7))
@settings(deadline=None)
def test_best_size_in_blocks(problem, block):
    scores, Y = problem
    ordered, chosen = np.sort(scores[:, 0])[::-1], Chosen(scores[Y[:, 0] == 1, 0])
    measure = COUNT_MEASURES["f1"]
    assert best_size(ordered, chosen, measure, block=block) == best_size(ordered, chosen, measure)
