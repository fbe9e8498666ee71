"""Nemenyi's test, against published quantiles and the definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from plurilabel.evaluation import nemenyi
from plurilabel.evaluation._pairs import cliques
from tests.evaluation.stats.demsar import DEMSAR, NAMES


def test_demsar_nemenyi():
    at_5 = nemenyi(DEMSAR, greater_is_better=True)
    assert at_5.critical_difference == pytest.approx(1.25, abs=0.005)
    assert at_5.groups == [(3, 1, 2, 0)]
    at_10 = nemenyi(DEMSAR, greater_is_better=True, alpha=0.1, names=NAMES)
    assert at_10.critical_difference == pytest.approx(1.12, abs=0.005)
    assert [[NAMES[j] for j in g] for g in at_10.groups] == [
        ["C4.5+m+cf", "C4.5+m", "C4.5+cf"],
        ["C4.5+cf", "C4.5"],
    ]


@pytest.mark.parametrize(
    ("alpha", "published"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_nemenyi_quantiles_of_demsar(alpha, published):
    rng = np.random.default_rng(0)
    for k, q in enumerate(published, start=2):
        n = 6
        found = nemenyi(rng.random((n, k)), greater_is_better=True, alpha=alpha)
        quantile = found.critical_difference / np.sqrt(k * (k + 1) / (6 * n))
        assert quantile == pytest.approx(q, abs=0.001)


@pytest.mark.parametrize("k", [2, 3, 5, 12, 25])
def test_nemenyi_pvalues_are_tails_of_the_range(k):
    rng = np.random.default_rng(k)
    n = 9
    found = nemenyi(rng.random((n, k)) + np.arange(k) * 0.2, greater_is_better=True)
    R, error = found.average_ranks, np.sqrt(k * (k + 1) / (6 * n))
    for i, j in [(0, 1), (0, k - 1)]:
        # the range of k independent normal variables exceeds q
        q = abs(R[i] - R[j]) / error * np.sqrt(2)

        def below(x, q=q):
            inside = stats.norm.cdf(x) - stats.norm.cdf(x - q)
            return k * stats.norm.pdf(x) * inside ** (k - 1)

        expected = 1 - integrate.quad(below, -8, 8 + q)[0]
        assert found.pvalues[i, j] == pytest.approx(expected, abs=1e-6)
    apart = np.abs(R[:, None] - R) > found.critical_difference
    np.testing.assert_array_equal(found.pvalues < found.alpha, apart)
    assert (np.diag(found.pvalues) == 1).all()


@given(st.lists(st.integers(2, 30), min_size=2, max_size=7), st.integers(0, 20))
def test_cliques_are_the_largest_sets_within_the_difference(doubled, cd):
    ranks, cd = np.array(doubled) / 2, cd / 4
    k = len(ranks)
    alike = [
        set(group)
        for size in range(2, k + 1)
        for group in itertools.combinations(range(k), size)
        if np.ptp(ranks[list(group)]) <= cd
    ]
    largest = [group for group in alike if not any(group < other for other in alike)]
    found = [set(group) for group in cliques(ranks, cd)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))


def test_alpha_is_checked():
    with pytest.raises(ValueError, match="alpha must be between"):
        nemenyi(DEMSAR, greater_is_better=True, alpha=1.5)
