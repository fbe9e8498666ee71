"""Ranks and Friedman's test, against published examples and brute force."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plurilabel.evaluation import average_ranks, friedman, holm, nemenyi, wilcoxon
from plurilabel.evaluation._friedman import exact_friedman, rank_rows
from tests.evaluation.stats.demsar import DEMSAR, NAMES

tables = st.builds(
    lambda n, k, values: np.array(values[: n * k]).reshape(n, k) / 4,
    st.integers(2, 4),
    st.integers(2, 4),
    st.lists(st.integers(0, 4), min_size=16, max_size=16),
)


def test_demsar_ranks():
    ranks = average_ranks(DEMSAR, greater_is_better=True)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=0.0005)


def test_demsar_friedman():
    found = friedman(DEMSAR, greater_is_better=True, correct_ties=False)
    assert found.chi2 == pytest.approx(9.28, abs=0.005)
    assert found.f == pytest.approx(3.69, abs=0.005)
    assert found.f_pvalue < 0.05  # F(3, 39) has the critical value 2.85


@pytest.mark.parametrize(
    ("sums", "n", "published"),
    [  # Friedman's own tables: k = 3, n = 3 and 4; k = 4, n = 2
        ((3, 6, 9), 3, 0.028),
        ((4, 8, 12), 4, 0.0046),
        ((2, 4, 6, 8), 2, 0.042),
    ],
)
def test_exact_friedman_as_tabled(sums, n, published):
    ranks = np.tile(np.arange(1.0, len(sums) + 1), (n, 1))
    assert ranks.sum(axis=0).tolist() == list(sums)
    assert exact_friedman(ranks) == pytest.approx(published, abs=0.0005)


def slow_ranks(values, greater):
    """1 + how many are better + half of how many others are equal."""
    signed = values if greater else -values
    return np.array(
        [
            [1 + sum(b > a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row]
            for row in signed
        ]
    )


@given(tables, st.booleans())
def test_average_ranks(values, greater):
    expected = slow_ranks(values, greater).mean(axis=0)
    np.testing.assert_allclose(average_ranks(values, greater_is_better=greater), expected)


@settings(max_examples=40)
@given(tables, st.booleans())
def test_friedman_like_scipy_and_permutations(values, greater):
    ranks = slow_ranks(values, greater)
    n, k = ranks.shape
    found = friedman(values, greater_is_better=greater)
    if k > 2 and not np.isclose(ranks, (k + 1) / 2).all():
        chi2, p = stats.friedmanchisquare(*ranks.T)
        assert found.chi2 == pytest.approx(chi2)
        assert found.chi2_pvalue == pytest.approx(p)
    if found.chi2 < n * (k - 1) - 1e-6:
        assert found.f == pytest.approx((n - 1) * found.chi2 / (n * (k - 1) - found.chi2))
    # every way to order the ranks within the rows, each as likely as the others
    target = np.sum(ranks.sum(axis=0) ** 2)
    rows = [list(itertools.permutations(row)) for row in ranks]
    if np.prod([len(row) for row in rows]) <= 5_000:
        sums = [np.sum(np.sum(pick, axis=0) ** 2) for pick in itertools.product(*rows)]
        share = np.mean(np.array(sums) >= target - 1e-9)
        assert found.exact_pvalue == pytest.approx(share)
        assert found.pvalue == found.exact_pvalue


def test_exact_friedman_knows_its_limits():
    rng = np.random.default_rng(0)
    assert exact_friedman(slow_ranks(rng.random((12, 6)), True)) is None
    assert exact_friedman(slow_ranks(rng.random((2, 9)), True)) is None
    assert exact_friedman(slow_ranks(rng.random((20, 4)), True)) is not None
    found = friedman(rng.random((12, 9)), greater_is_better=True)
    assert found.exact_pvalue is None
    assert found.pvalue == found.f_pvalue


def test_perfect_agreement_and_none():
    same_order = np.tile([0.9, 0.7, 0.5], (10, 1))
    found = friedman(same_order, greater_is_better=True)
    assert found.chi2 == pytest.approx(20)
    assert found.f == np.inf
    assert found.f_pvalue == 0
    assert found.exact_pvalue == pytest.approx(6 / 6**10)
    tied = friedman(np.ones((4, 3)), greater_is_better=True)
    assert (tied.chi2, tied.f, tied.pvalue) == (0, 0, 1)
    assert friedman([[1.0, 2.0, 3.0]], greater_is_better=True).pvalue == 1  # says nothing


def test_ranks_are_not_fooled_by_rounding():
    values = [[0.1 + 0.2, 0.3, 0.1], [1e-9, 2e-9, np.inf], [0.0, 0.0, 1.0]]
    found = rank_rows(np.array(values), False)
    assert found.tolist() == [[2.5, 2.5, 1], [1, 2, 3], [1.5, 1.5, 3]]


def test_missing_values():
    values = DEMSAR.copy()
    values[3, 2] = np.nan
    for test in (average_ranks, friedman, nemenyi, holm, wilcoxon):
        with pytest.raises(ValueError, match="got NaN for learner2 in row 3; use missing='drop'"):
            test(values, greater_is_better=True)
    kept = average_ranks(np.delete(DEMSAR, 3, axis=0), greater_is_better=True)
    dropped = average_ranks(values, greater_is_better=True, missing="drop")
    np.testing.assert_array_equal(dropped, kept)
    with pytest.raises(ValueError, match="a dataset on which no learner is missing"):
        friedman(np.full((2, 2), np.nan), greater_is_better=True, missing="drop")


def test_names_come_from_the_data_frame():
    frame = pd.DataFrame(DEMSAR, columns=NAMES)
    assert friedman(frame, greater_is_better=True).names == tuple(NAMES)
    text = str(nemenyi(frame, greater_is_better=True, alpha=0.1))
    assert "critical difference 1.118 at alpha = 0.1" in text
    assert "\n  1.964  C4.5+m+cf\n  2.000  C4.5+m\n" in text
    assert "C4.5+m > C4.5" in str(wilcoxon(frame, greater_is_better=True))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: friedman([1.0, 2.0], greater_is_better=True), r"got shape \(2,\)"),
        (lambda: friedman([[1.0], [2.0]], greater_is_better=True), r"got shape \(2, 1\)"),
        (lambda: friedman(np.empty((0, 3)), greater_is_better=True), r"got shape \(0, 3\)"),
        (lambda: friedman(DEMSAR, greater_is_better=True, names=["a"]), "names must have 4"),
        (lambda: friedman(DEMSAR, greater_is_better=True, missing="x"), "missing must be"),
    ],
)
def test_invalid_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()
