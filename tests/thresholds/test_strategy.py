"""What all strategies share: the checks at the door, sets of a given size, never an empty one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import NotFittedError

from plurilabel import (
    CardinalityThreshold,
    ConstantThreshold,
    GlobalThreshold,
    LinearThreshold,
    SCut,
)
from plurilabel.thresholds import get_strategy, never_empty, strategy_names
from plurilabel.thresholds._strategy import highest
from tests.thresholds.cases import labels_like, matrices


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_at_the_door(name):
    rng = np.random.default_rng(0)
    scores, Y = rng.random((30, 4)), rng.integers(0, 2, (30, 4))
    strategy = get_strategy(name)
    with pytest.raises(NotFittedError):
        strategy.predict(scores)
    for bad, message in [
        (np.where(scores > 0.9, np.nan, scores), "scores contains NaN"),
        (np.where(scores > 0.9, np.inf, scores), "scores contains infinity"),
        (scores[:, :3], r"scores must have the shape of Y, \(30, 4\), got \(30, 3\)"),
        (scores[:, 0], r"scores must be a matrix \(instances, labels\), got 1 dimension"),
    ]:
        with pytest.raises(ValueError, match=message):
            strategy.fit(bad, Y)
    with pytest.raises(TypeError, match="scores must be a dense array, got a sparse matrix"):
        strategy.fit(sparse.csr_array(scores), Y)
    with pytest.raises(ValueError, match="Y must hold only 0 and 1"):
        strategy.fit(scores, Y + 1)
    with pytest.raises(ValueError, match="Y must have at least one row and one label"):
        strategy.fit(None if not strategy.learns_from_scores() else scores, Y[:0])
    strategy.fit(scores, Y)
    with pytest.raises(ValueError, match="scores must have 4 columns, .* got 3"):
        strategy.predict(scores[:, :3])
    with pytest.raises(ValueError, match="scores contains NaN"):
        strategy.predict(scores * np.nan)
    predicted = strategy.predict(scores)
    assert predicted.dtype == np.int64 and predicted.shape == (30, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    as_csr = strategy.fit(scores, sparse.csr_matrix(Y)).predict(scores)
    assert isinstance(as_csr, sparse.csr_array)
    np.testing.assert_array_equal(as_csr.toarray(), predicted)


WITH_UNIT = ("constant", "expected_f", "seen_sets")  # a given cut, or probabilities


@pytest.mark.parametrize("name", [n for n in strategy_names() if n not in WITH_UNIT])
def test_scores_up_to_the_largest_double(name):
    """Sums and squares overflow, but a power of two changes no prediction."""
    rng = np.random.default_rng(0)
    scores, Y = rng.integers(-8, 9, (30, 4)) / 8 * 0.99, rng.integers(0, 2, (30, 4))
    strategy = LinearThreshold(margin=0) if name == "linear" else get_strategy(name)
    wanted = strategy.fit(scores, Y).predict(scores)
    huge = np.ldexp(scores, 1024)
    np.testing.assert_array_equal(strategy.fit(huge, Y).predict(huge), wanted)


@pytest.mark.parametrize("name", [n for n in strategy_names() if n != "mcut"])
def test_every_strategy_with_one_row_and_one_label(name):
    for y in (0, 1):
        predicted = get_strategy(name).fit([[0.6]], [[y]]).predict([[0.6]])
        assert predicted.shape == (1, 1)
        if name in ("cardinality", "global", "scut", "metalabeler", "seen_sets", "pcut"):
            assert predicted[0, 0] == y


@pytest.mark.parametrize(
    "strategy",
    [
        CardinalityThreshold(),
        LinearThreshold(),
        SCut(),
        GlobalThreshold("f1"),
        GlobalThreshold("macro_f1"),
    ],
)
def test_sparse_labels_and_float32_scores_give_the_same(strategy):
    rng = np.random.default_rng(1)
    scores = rng.random((40, 6)).astype(np.float32)
    Y = (rng.random((40, 6)) < 0.3).astype(int)
    before = scores.copy()
    dense = strategy.fit(scores, Y).predict(scores)
    wide = strategy.fit(np.asfortranarray(scores, dtype=np.float64), Y).predict(scores)
    np.testing.assert_array_equal(dense, wide)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        got = strategy.fit(scores, kind(Y)).predict(scores)
        assert isinstance(got, sparse.csr_array) and got.dtype == np.int64
        np.testing.assert_array_equal(got.toarray(), dense)
    np.testing.assert_array_equal(scores, before)


@given(matrices(), st.data())
@settings(deadline=None)
def test_highest_of_each_row(scores, data):
    n, q = scores.shape
    sizes = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, q)))
    for f, r, row in zip(scores, sizes, highest(scores, sizes)):
        ranked = sorted(range(q), key=lambda l: (-f[l], l))
        assert np.flatnonzero(row).tolist() == sorted(ranked[:r])


@given(matrices(), st.data())
@settings(deadline=None)
def test_never_empty(scores, data):
    labels = data.draw(labels_like(scores))
    before = labels.copy()
    got = never_empty(labels, scores)
    for f, y, row in zip(scores, labels, got):
        expected = y.tolist()
        if not any(expected):
            expected[f.tolist().index(max(f))] = 1
        assert row.tolist() == expected
    np.testing.assert_array_equal(labels, before)
    as_csr = never_empty(sparse.csr_array(labels), scores)
    assert isinstance(as_csr, sparse.csr_array) and as_csr.dtype == got.dtype == np.int64
    np.testing.assert_array_equal(as_csr.toarray(), got)


def test_never_empty_shapes():
    with pytest.raises(ValueError, match=r"scores must have the shape of labels, \(1, 2\)"):
        never_empty([[0, 1]], [[0.1]])


def test_masked_scores_are_refused():
    masked = np.ma.array([[0.2, 0.9]], mask=[[True, False]])
    cut = ConstantThreshold()
    with pytest.raises(ValueError, match="scores must not have masked values, got 1"):
        cut.fit(masked, [[1, 0]])
    with pytest.raises(ValueError, match="scores must not have masked values, got 1"):
        cut.fit(None, [[1, 0]]).predict(masked)
