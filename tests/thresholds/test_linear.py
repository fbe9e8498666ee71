"""LinearThreshold: the fewest mistakes for each instance, then least squares."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings

from plurilabel import LinearThreshold
from plurilabel.thresholds import _linear as linear_module
from plurilabel.thresholds._linear import best_cuts
from tests.thresholds.cases import problems


def mistakes(f, y, a):
    """|{l in Y: f_l <= a}| + |{l not in Y: f_l >= a}|, as in the review."""
    return sum((fl <= a) if yl else (fl >= a) for fl, yl in zip(f, y))


@given(problems())
@settings(deadline=None)
def test_best_cuts_make_the_fewest_mistakes(problem):
    scores, Y = problem
    for f, y, s in zip(scores, Y, best_cuts(scores, Y, 0.1)):
        distinct = sorted(set(f.tolist()))
        inside = [a / 2 + b / 2 for a, b in pairwise(distinct) if a < a / 2 + b / 2 < b]
        candidates = [-np.inf, *distinct, *inside, np.inf]
        fewest = min(mistakes(f, y, a) for a in candidates)
        room = all(b > np.nextafter(a, b) for a, b in pairwise(distinct))
        if room:  # else no number lies between two scores, and no cut is inside the interval
            assert mistakes(f, y, s) == fewest


def test_ends_midpoints_and_ties():
    f = [[0.8, 0.5, 0.2]]

    def cut(y, **params):
        """With one instance, t(x) is s(x)."""
        return float(LinearThreshold(**params).fit(f, [y]).cuts(np.array(f))[0])

    assert cut([1, 0, 0]) == pytest.approx(0.65)
    assert cut([1, 1, 0]) == pytest.approx(0.35)
    assert cut([1, 1, 1]) == pytest.approx(0.1)
    assert cut([0, 0, 0]) == pytest.approx(0.9)
    assert cut([0, 0, 0], margin=0.5) == pytest.approx(1.3)
    # above all: 1 mistake; between 0.5 and 0.2: 1 mistake. The lower cut is taken.
    assert cut([0, 1, 0]) == pytest.approx(0.35)
    with pytest.raises(
        ValueError, match="'margin' parameter of LinearThreshold must be .* Got -1"
    ):
        cut([0, 1, 0], margin=-1)


@given(problems(max_n=12, max_q=3, largest=1e4))
@settings(max_examples=50, deadline=None)
def test_linear_is_the_least_squares_fit(problem):
    scores, Y = problem
    strategy = LinearThreshold().fit(scores, Y)
    s = best_cuts(scores, Y, 0.1)
    size = np.linalg.norm(scores, 2)
    U, sizes, _ = np.linalg.svd(scores - scores.mean(axis=0), full_matrices=False)
    assume(not ((sizes > 1e-8 * size) & (sizes < 1e-4 * size)).any())  # rounding, or clearly not
    assume(not ((sizes > 1e-4 * sizes[0]) & (sizes < 1e-2 * sizes[0])).any())
    used = U[:, (sizes >= max(1e-2 * sizes[0], 1e-4 * size)) & (sizes > 0)]
    expected = s.mean() + used @ (used.T @ (s - s.mean()))
    scale = 1 + np.abs(s).max()
    t = scores @ strategy.coef_ + strategy.intercept_
    np.testing.assert_allclose(t, expected, atol=1e-6 * scale)
    clear = np.abs(scores - t[:, None]) > 1e-6 * scale  # of rounding
    np.testing.assert_array_equal(
        (strategy.predict(scores) == 1)[clear], (scores > t[:, None])[clear]
    )


def test_linear_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    scores, Y = rng.random((50, 4)), rng.integers(0, 2, (50, 4))
    whole = LinearThreshold().fit(scores, Y)
    monkeypatch.setattr(linear_module, "BLOCK", 8 * 28)  # 7 rows for QR
    parts = LinearThreshold().fit(scores, Y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert parts.intercept_ == pytest.approx(whole.intercept_)


def test_many_labels_give_the_same_cut(monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(80, 9))
    scores[:, 8] = scores[:, 0]  # of deficient rank: the solution of least norm
    Y = (scores + rng.normal(size=scores.shape) > 0.5).astype(int)
    wanted = LinearThreshold().fit(scores, Y)
    monkeypatch.setattr(linear_module, "MANY", 1)
    monkeypatch.setattr(linear_module, "BLOCK", 8)  # as many rows as labels at a time, not one
    found = LinearThreshold().fit(scores, Y)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, atol=1e-10)


@pytest.mark.parametrize("many", [1000, 1])
def test_rounding_errors_are_not_fitted(many, monkeypatch):
    """Scores that depend on each other: single precision or six digits decide nothing."""
    monkeypatch.setattr(linear_module, "MANY", many)
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(6), size=40)  # they sum to 1
    Y = (scores + 0.1 * rng.normal(size=scores.shape) > 0.2).astype(int)
    exact = LinearThreshold().fit(scores, Y)
    assert abs(exact.coef_).max() < 10 and exact.coef_.sum() == pytest.approx(0)
    for rounded in (scores.astype(np.float32), np.round(scores, 7)):
        found = LinearThreshold().fit(rounded, Y)
        np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-4)
        assert found.intercept_ == pytest.approx(exact.intercept_, abs=1e-4)
    for unit, origin in ((1e6, 0), (1e-6, 0), (1, 100)):  # of the scores; the margin goes along
        moved = LinearThreshold(margin=0.1 * unit).fit(unit * scores + origin, Y)
        np.testing.assert_allclose(moved.coef_, exact.coef_, atol=1e-6)


def test_digits_make_scores_equal_but_are_not_fitted():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 4, (50, 5)) * 20.0
    Y = (coarse + 10 * rng.normal(size=coarse.shape) > 40).astype(int)
    noisy = coarse + 1e-7 * rng.normal(size=coarse.shape)
    plain, found = LinearThreshold().fit(coarse, Y), LinearThreshold(digits=7).fit(noisy, Y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-6)
    split = LinearThreshold().fit(noisy, Y)  # cuts between scores that are equal
    assert abs(split.coef_ - plain.coef_).max() > 1e-3
    assert LinearThreshold(digits=3).fit(0 * coarse, Y).coef_.tolist() == [0.0] * 5
