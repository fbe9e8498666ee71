import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import GlobalThreshold, PCut, SCut
from tests.thresholds.cases import MEASURES, counts, every_cut, labels_like, matrices, problems


@given(problems(), st.sampled_from(sorted(MEASURES)))
@settings(deadline=None)
def test_best_of_all_cuts(problem, name):
    scores, Y = problem
    strategy = SCut(name).fit(scores, Y)
    predicted = strategy.predict(scores)
    for j in range(scores.shape[1]):
        f, y = scores[:, j], Y[:, j]
        values = {cut: MEASURES[name](counts(y, f > cut)) for cut in every_cut(f)}
        best = max(values.values())
        assert strategy.values_[j] == pytest.approx(best, abs=1e-15)
        assert MEASURES[name](counts(y, predicted[:, j] == 1)) == pytest.approx(best, abs=1e-15)
        highest = max(cut for cut, value in values.items() if value >= best - 1e-15)
        np.testing.assert_array_equal(predicted[:, j], f > highest)


@given(problems(max_n=12))
@settings(deadline=None)
def test_any_function_of_the_counts(problem):
    scores, Y = problem

    def odd(tp, fp, fn, tn):
        return np.sin(3.0 * tp - fp + 0.5 * fn) + 0.1 * np.cos(tn)

    predicted = SCut(odd).fit(scores, Y).predict(scores)
    for j in range(scores.shape[1]):
        f, y = scores[:, j], Y[:, j]
        best = max(float(odd(*counts(y, f > cut))) for cut in every_cut(f))
        assert float(odd(*counts(y, predicted[:, j] == 1))) == pytest.approx(best, abs=1e-12)


def test_never_and_always_present():
    scores = np.array([[0.3, 0.3, 0.3], [0.6, 0.6, 0.6]])
    Y = np.array([[0, 1, 0], [0, 1, 1]])
    assert SCut().fit(scores, Y).cuts_.tolist() == [np.inf, -np.inf, (0.3 + 0.6) / 2]


def test_fbr():
    scores = np.array([[0.9], [0.8], [0.7], [0.2]])
    Y = np.array([[0], [0], [0], [1]])
    assert SCut().fit(scores, Y).cuts_[0] < 0.2  # F1 0.4 by predicting everything
    assert SCut(fbr=0.4).fit(scores, Y).cuts_[0] < 0.2
    assert SCut(fbr=0.41).fit(scores, Y).cuts_[0] == 0.9


def test_bad_measures():
    scores, Y = [[0.1], [0.2]], [[0], [1]]
    with pytest.raises(ValueError, match=r"'measure' parameter of SCut must be .* Got 'f3'"):
        SCut("f3").fit(scores, Y)
    with pytest.raises(ValueError, match="measure must return one value for each entry of tp"):
        SCut(lambda *_: 1.0).fit(scores, Y)
    with pytest.raises(ValueError, match="measure must return numbers, got NaN"):
        SCut(lambda *counts: counts[0] * np.nan).fit(scores, Y)


def test_shrinking_pulls_rare_labels_to_a_cut_that_all_share():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 4)) < [0.5, 0.2, 0.05, 0.0]).astype(int)
    scores = 0.3 * Y + rng.random(Y.shape)
    alone, shared = SCut().fit(scores, Y), GlobalThreshold("macro_f1").fit(scores, Y)
    found = SCut(shrink=10).fit(scores, Y)
    for j, k in enumerate(Y.sum(axis=0)):
        if k == 0:  # never there
            assert found.cuts_[j] == np.inf
        else:
            expected = (k * alone.cuts_[j] + 10 * shared.cut_) / (k + 10)
            assert abs(found.cuts_[j] - expected) < 1e-12
    np.testing.assert_array_equal(found.values_, alone.values_)


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
    with pytest.raises(ValueError, match="'factor' parameter of PCut must be .* Got -1"):
        PCut(factor=-1).fit(None, Y)
