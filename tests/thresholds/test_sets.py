"""Strategies that choose sets: ranks, shares, gaps, expected F, sizes, seen sets."""

import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from plurilabel.thresholds import (
    ExpectedF,
    MCut,
    MetaLabeler,
    PCut,
    RCut,
    SeenSets,
    expected_f_labels,
    gap_cuts,
    get_strategy,
    nearest_seen_sets,
    never_empty,
    strategy_names,
    top_labels,
    top_share,
)
from plurilabel.thresholds._expected_f import _expected_f, _largest_sizes, _terms

COARSE = st.integers(0, 4).map(lambda i: i / 4)


@st.composite
def matrices(draw, elements=COARSE, max_n=6, max_q=5, min_q=1):
    shape = draw(st.integers(1, max_n)), draw(st.integers(min_q, max_q))
    return draw(hnp.arrays(np.float64, shape, elements=elements))


def labels_like(scores):
    return hnp.arrays(np.int8, scores.shape, elements=st.integers(0, 1))


# ranks, shares, gaps --------------------------------------------------------------------------


@given(matrices(), st.data())
@settings(deadline=None)
def test_top_labels(scores, data):
    n, q = scores.shape
    sizes = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, q)))
    got = top_labels(scores, sizes)
    for f, r, row in zip(scores, sizes, got):
        ranked = sorted(range(q), key=lambda l: (-f[l], l))
        assert np.flatnonzero(row).tolist() == sorted(ranked[:r])


def test_rcut_learns_the_cardinality():
    Y = [[1, 1, 0], [1, 0, 0]]  # 1.5, halves up
    assert RCut().fit(None, Y).r_ == 2
    assert RCut().fit(None, np.zeros((2, 3))).r_ == 1
    assert RCut(0).fit(None, Y).predict([[0.1, 0.2, 0.3]]).sum() == 0
    with pytest.raises(ValueError, match="r must be at most 3, the number of labels, got 4"):
        RCut(4).fit(None, Y)
    with pytest.raises(ValueError, match="r must be between 0 and 2, .* got 3"):
        top_labels([[0.1, 0.2]], 3)
    with pytest.raises(ValueError, match="r must be an integer, or 1 of them"):
        top_labels([[0.1, 0.2]], 1.5)


@given(matrices(), st.data())
@settings(deadline=None)
def test_pcut_meets_the_shares_of_the_batch(scores, data):
    Y = data.draw(labels_like(scores))
    n, q = scores.shape
    strategy = PCut().fit(None, Y)
    batch = np.vstack([scores, scores[::-1]])
    got = strategy.predict(batch)
    for l in range(q):
        wanted = int(np.floor(Y[:, l].sum() / n * (2 * n) + 0.5))
        ranked = sorted(range(2 * n), key=lambda i: (-batch[i, l], i))
        assert np.flatnonzero(got[:, l]).tolist() == sorted(ranked[:wanted])


def test_pcut_factor_and_batch():
    scores = np.arange(8.0).reshape(8, 1)
    Y = (scores >= 6).astype(int)  # a share of 1/4
    assert PCut(factor=2).fit(None, Y).predict(scores).sum() == 4
    assert PCut(factor=9).fit(None, Y).predict(scores).sum() == 8
    assert PCut().fit(None, Y).predict(scores[-1:]).sum() == 0  # a quarter of one instance
    single = PCut(batch=False).fit(scores, Y)
    assert single.cuts_.tolist() == [5.5]
    assert single.predict(scores[-1:]).sum() == 1
    assert PCut(factor=9, batch=False).fit(scores, Y).predict(scores).sum() == 8
    with pytest.raises(ValueError, match="scores must be given: PCut learns from them"):
        PCut(batch=False).fit(None, Y)
    with pytest.raises(ValueError, match="shares must be between 0 and 1"):
        top_share(scores, 1.5)
    with pytest.raises(ValueError, match="shares must be a number, or 1 of them"):
        top_share(scores, [0.1, 0.2])


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


def test_gap_cuts_are_midpoints():
    assert gap_cuts([[1.0, 8.0, 2.0], [0.0, 1.0, 2.0]]).tolist() == [5.0, 1.5]
    with pytest.raises(ValueError, match="MCut needs at least two labels"):
        gap_cuts([[1.0], [2.0]])
    with pytest.raises(ValueError, match="MCut needs at least two labels"):
        MCut().fit(None, [[1], [0]])


# expected F -----------------------------------------------------------------------------------


def expected_f_of(chosen, p, beta, empty):
    """Sum over all 2^q outcomes of independent labels."""
    total = 0.0
    for y in product((0, 1), repeat=len(p)):
        probability = np.prod([pi if yi else 1 - pi for pi, yi in zip(p, y)])
        tp = sum(a and b for a, b in zip(chosen, y))
        bottom = sum(chosen) + beta**2 * sum(y)
        total += probability * ((1 + beta**2) * tp / bottom if bottom else empty)
    return total


@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 6),
        elements=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, 1e-9, 1 - 1e-9])),
    ),
    st.sampled_from([1.0, 0.5, 2.0, 1.7]),
    st.sampled_from([0.0, 1.0, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_expected_f_is_the_best_of_all_sets(p, beta, empty):
    chosen = expected_f_labels([p], beta=beta, empty=empty)[0]
    best = max(expected_f_of(c, p, beta, empty) for c in product((0, 1), repeat=len(p)))
    assert expected_f_of(chosen.tolist(), p, beta, empty) == pytest.approx(best, abs=1e-13)


@pytest.mark.parametrize("level", [0.005, 0.2, 0.5, 0.8, 0.999])
def test_expected_f_stays_accurate_with_many_labels(level):
    """Against the cubic recursion, which only adds and multiplies positive numbers."""
    q = 60
    rng = np.random.default_rng(0)
    p = np.sort(np.clip(rng.normal(level, 0.1, q), 0, 1))[::-1]

    def distribution(probabilities):
        size = np.array([1.0])
        for pi in probabilities:
            size = np.convolve(size, [1 - pi, pi])
        return size

    slow = [0.0]
    for k in range(1, q + 1):
        hit, miss = distribution(p[:k]), distribution(p[k:])
        a, b = np.arange(k + 1)[:, None], np.arange(q - k + 1)
        slow.append(float((hit[:, None] * miss * 2 * a / (k + a + b)).sum()))
    fast = _expected_f(p[None], q, _terms(p.sum(), q), 1.0, 0.0)[0]
    np.testing.assert_allclose(fast, slow, atol=1e-13)


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)))
@settings(deadline=None)
def test_left_out_terms_are_negligible(p):
    size = np.array([1.0])
    for pi in p:
        size = np.convolve(size, [1 - pi, pi])
    assert size[_terms(p.sum(), len(p)) + 1 :].sum() < 1e-16


@given(
    hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)),
    st.sampled_from([0.3, 1.0, 3.0]),
)
@settings(deadline=None)
def test_sizes_beyond_the_bound_are_worse(p, beta):
    p = np.sort(p)[::-1]
    most = int(_largest_sizes(p[None], p[None].sum(axis=1), beta)[0])
    values = _expected_f(p[None], len(p), len(p), beta, 0.0)[0]
    assert values[most + 1 :].max(initial=0.0) <= values[: most + 1].max() + 1e-14


def test_expected_f_memory_is_bounded_for_unlikely_labels():
    p = np.full((3000, 400), 1e-6)
    p[:1500] = 0.0
    tracemalloc.start()
    assert expected_f_labels(p).sum(axis=1).tolist() == [0] * 1500 + [400] * 1500
    assert tracemalloc.get_traced_memory()[1] < 10 * p.nbytes
    tracemalloc.stop()


def test_expected_f_in_blocks_and_bad_input():
    rng = np.random.default_rng(0)
    p = rng.random((3000, 30)) * rng.random((3000, 1))
    together = expected_f_labels(p)
    alone = [expected_f_labels(p[i : i + 1])[0] for i in range(0, 3000, 100)]
    np.testing.assert_array_equal(together[::100], alone)
    assert ExpectedF().fit(None, [[1, 0]]).predict([[0.0, 0.0]]).sum() == 0
    with pytest.raises(ValueError, match=r"scores must be probabilities in \[0, 1\].* got 1.5"):
        expected_f_labels([[0.2, 1.5]])
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\] for ExpectedF, got -0.5"):
        ExpectedF().fit([[-0.5]], [[1]])
    with pytest.raises(ValueError, match="beta must be positive, got 0"):
        expected_f_labels([[0.2]], beta=0)


# set sizes ------------------------------------------------------------------------------------


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


# seen sets ------------------------------------------------------------------------------------


@given(matrices(max_n=5, max_q=4), st.data())
@settings(deadline=None)
def test_nearest_seen_set_by_log_loss(scores, data):
    Y = data.draw(labels_like(scores))
    got = nearest_seen_sets(scores, Y)
    p = np.clip(scores, 2**-52, 1 - 2**-52)
    for f, row in zip(p, got):
        log_p = [np.where(z == 1, np.log(f), np.log1p(-f)).sum() for z in Y]
        assert row.tolist() in Y.tolist()
        assert np.where(row == 1, np.log(f), np.log1p(-f)).sum() == pytest.approx(max(log_p))


@given(matrices(max_n=5, max_q=4), st.data())
@settings(deadline=None)
def test_nearest_seen_set_by_hamming(scores, data):
    Y = data.draw(labels_like(scores))
    got = nearest_seen_sets(scores, Y, distance="hamming", cut=0.5)
    count = {tuple(z): Y.tolist().count(z) for z in Y.tolist()}
    first = {z: Y.tolist().index(list(z)) for z in count}
    for f, row in zip(scores, got):
        differ = {z: int((np.array(z) != (f > 0.5)).sum()) for z in count}
        ranked = sorted(
            count, key=lambda z: (differ[z], -float((f - 0.5) @ np.array(z)), -count[z], first[z])
        )
        assert tuple(row.tolist()) == ranked[0]


def test_seen_sets_prefer_frequent_ones():
    Y = [[1, 0], [0, 1], [0, 1]]
    strategy = SeenSets().fit(None, Y)
    assert strategy.sets_.toarray().tolist() == [[0, 1], [1, 0]]
    assert strategy.predict([[0.3, 0.3]]).tolist() == [[0, 1]]
    assert strategy.predict([[1.0, 0.0], [0.0, 0.0]]).tolist() == [[1, 0], [0, 1]]


def test_seen_sets_bad_input():
    with pytest.raises(ValueError, match=r"SeenSets\(distance=\"log_loss\"\), got 2"):
        SeenSets().fit([[2.0]], [[1]])
    with pytest.raises(ValueError, match="distance must be 'log_loss' or 'hamming', got 'l1'"):
        nearest_seen_sets([[0.2]], [[1]], distance="l1")
    with pytest.raises(ValueError, match=r"Y_train must have rows, and 1 columns .* \(1, 2\)"):
        nearest_seen_sets([[0.2]], [[1, 0]])


# never empty ----------------------------------------------------------------------------------


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
    assert isinstance(as_csr, sparse.csr_array)
    np.testing.assert_array_equal(as_csr.toarray(), got)


def test_never_empty_shapes():
    with pytest.raises(ValueError, match=r"scores must have the shape of labels, \(1, 2\)"):
        never_empty([[0, 1]], [[0.1]])


# the door -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", [n for n in strategy_names() if n != "mcut"])
def test_every_strategy_with_one_row_and_one_label(name):
    for y in (0, 1):
        predicted = get_strategy(name).fit([[0.6]], [[y]]).predict([[0.6]])
        assert predicted.shape == (1, 1)
        if name in ("cardinality", "global", "scut", "metalabeler", "seen_sets", "pcut"):
            assert predicted[0, 0] == y


def test_names():
    with pytest.raises(ValueError, match="name must be one of .* got 'zcut'"):
        get_strategy("zcut")
    assert get_strategy("seen_sets", probabilities=False).distance == "hamming"
    assert get_strategy("constant").cut == 0.5
