"""ExpectedF, against the sum over all outcomes of independent labels."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from plurilabel import ExpectedF
from plurilabel.thresholds._expected_f import _expected_f, _largest_sizes, _terms


def expected_f(p, **params):
    """Predicted sets; nothing is learned from the labels."""
    return ExpectedF(**params).fit(None, np.zeros((1, np.shape(p)[1]))).predict(p)


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
    chosen = expected_f([p], beta=beta, empty=empty)[0]
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
    assert expected_f(p).sum(axis=1).tolist() == [0] * 1500 + [400] * 1500
    assert tracemalloc.get_traced_memory()[1] < 10 * p.nbytes
    tracemalloc.stop()


def test_a_huge_beta_wants_the_recall():
    p = np.random.default_rng(0).random((20, 6))
    for beta in (1e15, 1e200, 1.7e308):
        assert ExpectedF(beta).fit(None, np.ones((1, 6))).predict(p).all()


def test_expected_f_in_blocks_and_bad_input():
    rng = np.random.default_rng(0)
    p = rng.random((3000, 30)) * rng.random((3000, 1))
    together = expected_f(p)
    alone = [expected_f(p[i : i + 1])[0] for i in range(0, 3000, 100)]
    np.testing.assert_array_equal(together[::100], alone)
    assert ExpectedF().fit(None, [[1, 0]]).predict([[0.0, 0.0]]).sum() == 0
    with pytest.raises(ValueError, match=r"scores must be probabilities in \[0, 1\].* got 1.5"):
        expected_f([[0.2, 1.5]])
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\] for ExpectedF, got -0.5"):
        ExpectedF().fit([[-0.5]], [[1]])
    with pytest.raises(ValueError, match="'beta' parameter of ExpectedF must be .* Got 0"):
        ExpectedF(beta=0).fit(None, [[1]])
