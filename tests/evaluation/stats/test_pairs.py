"""Tests of pairs of learners, against published examples and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plurilabel.evaluation import corrected_resampled_t, holm, wilcoxon
from plurilabel.evaluation._pairs import exact_signed_rank, holm_adjusted, signed_rank
from tests.evaluation.stats.demsar import DEMSAR, NAMES


def test_demsar_holm():
    found = holm(DEMSAR, greater_is_better=True, control="C4.5", names=NAMES)
    assert found.pairs == ((0, 1), (0, 2), (0, 3))
    np.testing.assert_allclose(found.statistics, [2.342, 0.512, 2.416], atol=0.001)
    np.testing.assert_allclose(found.pvalues, [0.019, 0.607, 0.016], atol=0.0015)
    # step-down: 0.016 against 0.05 / 3, 0.019 against 0.05 / 2, 0.607 against 0.05
    assert (found.adjusted <= 0.05).tolist() == [True, False, True]
    assert found.better.tolist() == [1, 2, 3]


def test_demsar_wilcoxon():
    found = wilcoxon(DEMSAR[:, :2], greater_is_better=True)
    assert found.statistics.tolist() == [12.0]  # R+ = 93, R- = 12, zeros split
    assert found.pvalues[0] < 0.05  # the critical value for 14 datasets is 21
    assert found.better.tolist() == [1]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_holm_adjusted_is_the_step_down_rule(p, alpha):
    p = np.array(p)
    rejected = set()
    for step, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] * (len(p) - step) > alpha:
            break
        rejected.add(int(i))
    adjusted = holm_adjusted(p)
    assert set(np.flatnonzero(adjusted <= alpha).tolist()) == rejected
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()


def test_holm_all_pairs():
    found = holm(DEMSAR, greater_is_better=True)
    assert len(found.pairs) == 6
    control = holm(DEMSAR, greater_is_better=True, control=0)
    np.testing.assert_allclose(found.pvalues[:3], control.pvalues)
    assert found.adjusted[2] == pytest.approx(6 * found.pvalues[2])  # the smallest of six


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_like_all_signs(differences):
    d = np.array(differences) / 8
    values = np.column_stack([d, np.zeros(len(d))])
    found = wilcoxon(values, greater_is_better=True)
    ranks = stats.rankdata(np.abs(d))
    halves = ranks[d == 0].sum() / 2
    plus, minus = ranks[d > 0].sum() + halves, ranks[d < 0].sum() + halves
    assert found.statistics[0] == min(plus, minus)
    signs = itertools.product([-1, 1], repeat=int((d != 0).sum()))
    sums = np.array([np.dot(s, ranks[d != 0]) for s in signs])
    share = np.mean(np.abs(sums) >= abs(plus - minus) - 1e-9)
    assert found.pvalues[0] == pytest.approx(share)


def test_wilcoxon_like_scipy_without_ties():
    values = np.random.default_rng(1).random((15, 3))
    found = wilcoxon(values, greater_is_better=False)
    for (i, j), p, statistic in zip(found.pairs, found.pvalues, found.statistics):
        known = stats.wilcoxon(values[:, i], values[:, j], method="exact")
        assert (statistic, p) == pytest.approx((known.statistic, known.pvalue))
    np.testing.assert_allclose(found.adjusted, holm_adjusted(found.pvalues))


def test_wilcoxon_of_many_datasets_is_normal():
    d = np.random.default_rng(0).normal(0.1, 1, 300)
    plus, _, p = signed_rank(d)
    assert p == pytest.approx(exact_signed_rank(stats.rankdata(np.abs(d)), plus), rel=0.01)
    assert signed_rank(np.zeros(300))[2] == 1


def test_wilcoxon_is_not_fooled_by_rounding():
    # 0.1 + 0.2 - 0.3 is no difference, and both others are the same one
    values = [[0.1 + 0.2, 0.3], [0.35, 0.3], [0.75, 0.7]]
    assert wilcoxon(values, greater_is_better=True).statistics.tolist() == [0.5]


@given(st.integers(2, 8), st.integers(0, 1000), st.sampled_from([0.1, 0.5, 1.0]))
def test_corrected_t(folds, seed, ratio):
    a, b = np.random.default_rng(seed).random((2, folds))
    found = corrected_resampled_t(a, b, test_to_train=ratio)
    d = a - b
    t = d.mean() / np.sqrt((1 / folds + ratio) * d.var(ddof=1))
    assert found.statistic == pytest.approx(t)
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(t), folds - 1))
    # without the correction it is the ordinary paired test
    plain = corrected_resampled_t(a, b, test_to_train=1e-15)
    assert plain.pvalue == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert plain.pvalue < found.pvalue


def test_corrected_t_without_spread():
    same = corrected_resampled_t([0.1, 0.2, 0.7], [0.1, 0.2, 0.7], test_to_train=0.5)
    assert (same.difference, same.statistic, same.pvalue) == (0, 0, 1)
    apart = corrected_resampled_t([0.3, 0.4, 0.5], [0.1, 0.2, 0.3], test_to_train=0.5)
    assert apart.statistic == np.inf
    assert apart.pvalue == 0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: holm(DEMSAR, greater_is_better=True, control="x"), "control must be one of"),
        (lambda: holm(DEMSAR, greater_is_better=True, control=4), "an index below 4, got 4"),
        (lambda: corrected_resampled_t([1.0], [2.0], test_to_train=1), "two or more folds"),
        (lambda: corrected_resampled_t([1, np.nan], [1, 2], test_to_train=1), "finite"),
        (lambda: corrected_resampled_t([1, 2], [1, 2], test_to_train=0), "must be positive"),
    ],
)
def test_invalid_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()
