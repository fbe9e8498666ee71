import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurilabel import PCut, SCut
from plurilabel.thresholds import _per_label as pool_module
from plurilabel.thresholds._per_label import Pool
from plurilabel.thresholds._sweep import count_measure
from tests.thresholds.cases import (
    MEASURES,
    Counts,
    counts,
    every_cut,
    labels_like,
    matrices,
    problems,
)


@given(problems(), st.sampled_from(sorted(MEASURES)))
@settings(deadline=None)
def test_best_of_all_cuts(problem, name):
    scores, Y = problem
    strategy = SCut(name, shrink=0).fit(scores, Y)
    predicted = strategy.predict(scores)
    for j in range(scores.shape[1]):
        f, y = scores[:, j], Y[:, j]
        values = {cut: MEASURES[name](counts(y, f > cut)) for cut in every_cut(f)}
        best = max(values.values())
        assert strategy.values_[j] == pytest.approx(best, abs=1e-15)
        assert MEASURES[name](counts(y, predicted[:, j] == 1)) == pytest.approx(best, abs=1e-15)
        tied = {cut: value for cut, value in values.items() if value >= best - 1e-15}
        if len({*tied.values()}) == 1:  # else rounding may break the tie
            np.testing.assert_array_equal(predicted[:, j], f > max(tied))


@given(problems(max_n=12))
@settings(deadline=None)
def test_any_function_of_the_counts(problem):
    scores, Y = problem

    def odd(tp, fp, fn, tn):
        return np.sin(3.0 * tp - fp + 0.5 * fn) + 0.1 * np.cos(tn)

    predicted = SCut(odd, shrink=0).fit(scores, Y).predict(scores)
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


def mean_counts(scores, Y, cut):
    """Counts at a cut of a label with one positive: the mean of all labels that vary."""
    vary = [j for j in range(Y.shape[1]) if 0 < Y[:, j].sum() < len(Y)]
    each = [np.array(counts(Y[:, j], scores[:, j] > cut)) / Y[:, j].sum() for j in vary]
    return np.average(each, axis=0, weights=np.sqrt(Y[:, vary].sum(axis=0)))


@given(
    problems(largest=1e4), st.sampled_from([0.5, 3.0, 100.0]), st.sampled_from(["f1", "jaccard"])
)
@settings(deadline=None)
def test_shrinking_adds_positives_of_a_mean_label(problem, shrink, name):
    scores, Y = problem

    def value(j, cut, weight=1):
        own = weight * np.array(counts(Y[:, j], scores[:, j] > cut))
        return MEASURES[name](Counts(*(own + shrink * mean_counts(scores, Y, cut))))

    found = SCut(name, shrink=shrink).fit(scores, Y)
    pool = Pool.of(scores, Y, count_measure(name))
    if pool is not None:
        best = max(value(0, cut, 0) for cut in every_cut(scores))
        assert value(0, pool.at, 0) == pytest.approx(best)
        assert ((scores > pool.best) == (scores > pool.at)).all()
    for j, p in enumerate(Y.sum(axis=0)):
        f = scores[:, j]
        if p in (0, len(Y)):
            assert found.cuts_[j] == (-np.inf if p else np.inf)
            continue
        # cuts with the same prediction differ in the counts of the mean label only
        reached = max(
            value(j, cut)
            for cut in (pool.at, *every_cut(f))
            if ((f > cut) == (f > found.cuts_[j])).all()
        )
        for cut in (*every_cut(f), pool.at):
            assert reached >= value(j, cut) - 1e-9
        own = MEASURES[name](counts(Y[:, j], f > found.cuts_[j]))
        assert found.values_[j] == pytest.approx(own)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_the_strength_is_chosen_by_folds(hidden):
    chosen = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        Y = (rng.random((150, 5)) < rng.choice([0.03, 0.1, 0.4], size=5)).astype(float)
        scores = (Y + rng.normal(size=Y.shape)) * rng.choice([1, 3], size=5)
        Y[rng.random(Y.shape) < hidden] = np.nan
        found = SCut().fit(scores, Y)
        averages = {}
        for shrink in (1, 10, 100, 300):
            sets = np.empty(Y.shape)
            for fold in range(3):
                part = np.arange(150) % 3 == fold
                strategy = SCut(shrink=shrink).fit(scores[~part], Y[~part])
                sets[part] = strategy.predict(scores[part])
            each = [
                MEASURES["f1"](counts(y[~np.isnan(y)], s[~np.isnan(y)] == 1))
                for y, s in zip(Y.T, sets.T)
            ]
            known = ~np.isnan(Y)
            averages[shrink] = MEASURES["f1"](counts(Y[known], sets[known] == 1)), np.mean(each)
        best = max(micro for micro, _ in averages.values())
        good = [shrink for shrink, (micro, _) in averages.items() if micro >= 0.99 * best]
        assert found.shrink_ == max(good, key=lambda shrink: averages[shrink][1])
        same = SCut(shrink=found.shrink_).fit(scores, Y)
        np.testing.assert_array_equal(found.cuts_, same.cuts_)
        chosen.add(found.shrink_)
    assert len(chosen) > 1
    assert SCut().fit(scores[:5], Y[:5]).shrink_ == 300


def test_frequent_labels_keep_their_own_cuts():
    """Scores on other scales: 2000 positives outweigh the 100 that are added."""
    rng = np.random.default_rng(0)
    Y = (rng.random((4000, 3)) < 0.5).astype(int)
    scores = (Y + rng.normal(size=Y.shape)) * [1, 2, 4]
    alone, found = SCut(shrink=0).fit(scores, Y), SCut(shrink=100).fit(scores, Y)
    np.testing.assert_allclose(found.values_, alone.values_, atol=0.005)
    assert abs(found.cuts_ - alone.cuts_).max() < 0.3


def test_a_pool_of_some_scores_is_close_to_one_of_all(monkeypatch):
    rng = np.random.default_rng(0)
    Y = (rng.random((2000, 6)) < [0.5, 0.3, 0.1, 0.05, 0.01, 0.002]).astype(int)
    scores = Y + rng.normal(size=Y.shape)
    found = SCut(shrink=100).fit(scores, Y)
    monkeypatch.setattr(pool_module, "POINTS", 2**20)
    exact = SCut(shrink=100).fit(scores, Y)
    np.testing.assert_allclose(found.values_, exact.values_, atol=0.01)


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
