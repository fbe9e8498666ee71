"""Tests of learners over datasets, against published examples and brute force."""

import itertools
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from plurilabel.stats import (
    average_ranks,
    corrected_resampled_t,
    friedman,
    holm,
    holm_adjusted,
    nemenyi,
    plot_critical_difference,
    wilcoxon,
)
from plurilabel.stats._critical_difference import cd_layout
from plurilabel.stats._exact import exact_friedman, exact_signed_rank
from plurilabel.stats._friedman import rank_rows
from plurilabel.stats._nemenyi import cliques
from plurilabel.stats._pairs import _signed_rank

mpl.use("Agg")
from matplotlib import pyplot as plt

# Demsar 2006, table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 datasets. The published
# average ranks need the two 0.975 of "voting", equal as printed, to be ranks 2 and 3.
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

tables = st.builds(
    lambda n, k, values: np.array(values[: n * k]).reshape(n, k) / 4,
    st.integers(2, 4),
    st.integers(2, 4),
    st.lists(st.integers(0, 4), min_size=16, max_size=16),
)


# published -----------------------------------------------------------------------------------


def test_demsar_ranks():
    ranks = average_ranks(DEMSAR, greater_is_better=True)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=0.0005)


def test_demsar_friedman():
    found = friedman(DEMSAR, greater_is_better=True, correct_ties=False)
    assert found.chi2 == pytest.approx(9.28, abs=0.005)
    assert found.f == pytest.approx(3.69, abs=0.005)
    assert found.f_pvalue < 0.05  # F(3, 39) has the critical value 2.85


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


# against definitions -------------------------------------------------------------------------


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
    plus, _, p = _signed_rank(d)
    assert p == pytest.approx(exact_signed_rank(stats.rankdata(np.abs(d)), plus), rel=0.01)
    assert _signed_rank(np.zeros(300))[2] == 1


def test_ranks_are_not_fooled_by_rounding():
    values = [[0.1 + 0.2, 0.3, 0.1], [1e-9, 2e-9, np.inf], [0.0, 0.0, 1.0]]
    found = rank_rows(np.array(values), False)
    assert found.tolist() == [[2.5, 2.5, 1], [1, 2, 3], [1.5, 1.5, 3]]


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


# what is refused, what is left out --------------------------------------------------------------


def test_missing_values():
    values = DEMSAR.copy()
    values[3, 2] = np.nan
    for test in (average_ranks, friedman, nemenyi, holm, wilcoxon):
        with pytest.raises(ValueError, match="got NaN for learner2 in row 3; missing='drop'"):
            test(values, greater_is_better=True)
    kept = average_ranks(np.delete(DEMSAR, 3, axis=0), greater_is_better=True)
    dropped = average_ranks(values, greater_is_better=True, missing="drop")
    np.testing.assert_array_equal(dropped, kept)
    with pytest.raises(ValueError, match="a dataset with a value of every learner, got none"):
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
        (lambda: nemenyi(DEMSAR, greater_is_better=True, alpha=1.5), "alpha must be between"),
        (lambda: holm(DEMSAR, greater_is_better=True, control="x"), "control must be one of"),
        (lambda: holm(DEMSAR, greater_is_better=True, control=4), "an index below 4, got 4"),
        (lambda: holm_adjusted([0.5, 1.5]), "numbers from 0 to 1"),
        (lambda: corrected_resampled_t([1.0], [2.0], test_to_train=1), "at least two"),
        (lambda: corrected_resampled_t([1, np.nan], [1, 2], test_to_train=1), "finite"),
        (lambda: corrected_resampled_t([1, 2], [1, 2], test_to_train=0), "must be positive"),
        (lambda: plot_critical_difference([1.0], ["a"], 1), "at least two finite"),
        (lambda: plot_critical_difference([1.0, 2.0], ["a"], 1), "names must have 2"),
        (lambda: plot_critical_difference([1.0, 2.0], ["a", "b"], -1), "cd must be"),
    ],
)
def test_refusals(call, match):
    with pytest.raises(ValueError, match=match):
        call()


# the diagram ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 15])
def test_texts_of_the_diagram_do_not_overlap(k, tmp_path):
    rng = np.random.default_rng(k)
    values = rng.random((14, k)) + np.linspace(0, 1.5, k)
    names = [f"Learner{'Long' * (j % 4)}({j}) $x" for j in range(k)]
    found = nemenyi(values, greater_is_better=True)
    path = tmp_path / "cd.png"
    ax = plot_critical_difference(found.average_ranks, names, found.critical_difference, path)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for a, b in itertools.combinations(boxes, 2):
        assert not a.padded(-1).overlaps(b.padded(-1))
    shown = [t.get_text().replace(r"\$", "$") for t in ax.texts if t.get_text().startswith("L")]
    assert sorted(shown) == sorted(names)
    best = int(np.argmin(found.average_ranks))
    assert shown[0] == names[best]
    assert path.read_bytes().startswith(b"\x89PNG")
    plt.close(ax.figure)


def test_bars_of_the_diagram_join_the_groups():
    _, ax = plt.subplots()
    assert plot_critical_difference([3.143, 2.0, 2.893, 1.964], NAMES, 1.12, ax=ax) is ax
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() > 3]
    np.testing.assert_allclose(bars, [[1.964, 2.893], [2.893, 3.143]], atol=0.05)
    plt.close(ax.figure)
    layout = cd_layout([1.0, 2.0, 5.0, 6.0], 1.0)
    assert layout.rows == 1  # bars that do not touch share a row
    assert [label[0] for label in layout.labels] == [0, 1, 3, 2]


def test_the_diagram_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install plurilabel\[cli\]"):
        plot_critical_difference([1.0, 2.0], ["a", "b"], 1.0)
