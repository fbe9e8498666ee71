from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from plurilabel import MCut, MetaLabeler, RCut
from tests.thresholds.cases import COARSE, matrices


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


def test_mcut_does_not_look_below_the_floor():
    scores = [[0.9, -0.8, -9.0, -30.0], [-2.0, -3.0, -30.0, -2.5], [0.1, 0.05, -0.9, -30.0]]
    Y = np.zeros((3, 4))
    assert MCut().fit(None, Y).predict(scores).sum(axis=1).tolist() == [3, 3, 3]
    found = MCut(floor=-1).fit(None, Y).predict(scores)
    assert found.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("model", "features"),
    [
        (None, "sorted"),
        (None, "scores"),
        (DecisionTreeClassifier(random_state=0), "sorted"),
        (Ridge(), "sorted"),
        (Ridge(), "scores"),
    ],
)
def test_metalabeler_learns_the_size(model, features):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, 300)
    # labels of an instance score high, and the scores say how many there are
    scores = rng.random((300, 6)) * 0.1
    Y = np.zeros((300, 6), dtype=int)
    for i, r in enumerate(sizes):
        Y[i, rng.permutation(6)[:r]] = 1
    scores += Y * 0.5
    strategy = MetaLabeler(model, features=features).fit(scores[:200], Y[:200])
    predicted = strategy.predict(scores[200:])
    np.testing.assert_array_equal(predicted.sum(axis=1), sizes[200:])
    np.testing.assert_array_equal(predicted, Y[200:])


def test_metalabeler_with_one_size():
    strategy = MetaLabeler().fit([[0.1, 0.2], [0.2, 0.1]], [[1, 0], [0, 1]])
    assert strategy.estimator_ is None
    assert strategy.predict([[0.5, 0.4]]).tolist() == [[1, 0]]


def test_metalabeler_clips_a_regressor():
    scores, Y = np.array([[1.0, 1.0], [0.0, 0.0]]), [[1, 1], [0, 0]]
    strategy = MetaLabeler(Ridge(alpha=1e-6)).fit(scores, Y)
    assert strategy.predict([[9.0, 9.0], [-9.0, -9.0]]).tolist() == [[1, 1], [0, 0]]
