"""Strategies and calibration with soft labels: the best cut by trying all, and weighted copies."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from plurilabel import (
    BinaryRelevance,
    CalibratedClassifier,
    CardinalityThreshold,
    FalseDiscoveryControl,
    GlobalThreshold,
    LabelCoverage,
    LinearThreshold,
    MetaLabeler,
    PCut,
    RCut,
    RiskControl,
    ScoreCalibrator,
    SCut,
    SeenSets,
    ThresholdClassifier,
)
from plurilabel.metrics import COUNT_MEASURES, get_measure
from plurilabel.thresholds import get_strategy, strategy_names
from tests.thresholds.cases import every_cut


def problem(seed=0, n=12, q=3):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, size=(n, q)) / 8  # with ties
    P = np.clip(np.round(scores + rng.normal(0, 0.3, (n, q)), 1), 0, 1)
    P[0, 0] = 0.5
    return scores, P


@pytest.mark.parametrize("measure", ["micro_f1", "macro_f1", "f1", "accuracy", "subset_accuracy"])
def test_global_threshold_is_the_best_of_all_cuts(measure):
    for seed in range(3):
        scores, P = problem(seed)
        of = get_measure(measure).function
        best = max(of(P, scores > cut) for cut in every_cut(scores))
        found = GlobalThreshold(measure).fit(scores, P)
        assert found.value_ == pytest.approx(best)
        assert of(P, scores > found.cut_) == pytest.approx(best)
        assert GlobalThreshold(measure).fit(scores, sparse.csr_array(P)).cut_ == found.cut_


def test_scut_is_the_best_of_all_cuts():
    scores, P = problem()
    found, measure = SCut("f1", shrink=0).fit(scores, P), COUNT_MEASURES["f1"]
    for s, p, cut, value in zip(scores.T, P.T, found.cuts_, found.values_):

        def f1(cut, s=s, p=p):
            z = s > cut
            return measure(p @ z, (1 - p) @ z, p @ ~z, (1 - p) @ ~z)

        best = max(f1(c) for c in every_cut(s))
        assert f1(cut) == pytest.approx(best) and value == pytest.approx(best)
    # halves of all labels: as good as each row once with and once without
    scores, P = problem(1, n=60)
    P = np.round(P)
    P[:20] = 0.5
    twice = np.vstack([np.ones((20, 3)), np.zeros((20, 3)), P[20:], P[20:]]).astype(int)
    again = np.vstack([scores[:20], scores[:20], scores[20:], scores[20:]])
    one = SCut("f1", shrink=5).fit(scores, P)
    two = SCut("f1", shrink=10).fit(again, twice)
    assert_allclose(one.cuts_, two.cuts_)


def test_what_is_counted():
    scores, P = problem(2)
    assert CardinalityThreshold().fit(scores, P).cardinality_ == pytest.approx(P.sum() / len(P))
    assert_allclose(PCut().fit(scores, P).shares_, P.mean(axis=0))
    assert RCut().fit(scores, P).r_ == max(1, int(np.floor(P.sum() / len(P) + 0.5)))
    assert set(MetaLabeler().fit(scores, P).sizes_) <= {0, 1, 2, 3}
    seen = {tuple(row) for row in (P > 0.5).astype(int)}
    assert {tuple(row) for row in SeenSets().fit(scores, P).predict(scores)} <= seen
    P[0, 1] = np.nan
    known = np.nanmean(P, axis=0)
    assert_allclose(PCut().fit(scores, P).shares_, known)


def test_linear_threshold_makes_the_fewest_expected_mistakes():
    from plurilabel.thresholds._linear import best_cuts

    scores, P = np.random.default_rng(0).random((20, 4)), problem(3, n=20, q=4)[1]

    def mistakes(f, p, cut):
        return p[f <= cut].sum() + (1 - p)[f >= cut].sum()

    for f, p, cut in zip(scores, P, best_cuts(scores, P, 0.1)):
        ends = np.concatenate([[f.min() - 0.1], np.sort(f)[:-1] + np.diff(np.sort(f)) / 2])
        best = min(mistakes(f, p, c) for c in [*ends, f.max() + 0.1])
        assert mistakes(f, p, cut) == pytest.approx(best)
    LinearThreshold().fit(scores, P)


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy(name):
    scores, P = problem(4, n=40)
    forms = (P, sparse.csr_array(P), pd.DataFrame(P), P.astype(object))
    first, *others = (get_strategy(name).fit(scores, form).predict(scores) for form in forms)
    for other in others:
        assert_array_equal(first, other.toarray() if sparse.issparse(other) else other)
    # labels of 0 and 1 give the same as integers, bit for bit
    Y = (P > 0.5).astype(int)
    one, two = (get_strategy(name).fit(scores, y) for y in (Y, Y.astype(float)))
    assert str(vars(one)) == str(vars(two))
    get_strategy(name).fit(scores, np.full(P.shape, 0.5)).predict(scores)


@pytest.mark.parametrize("strategy", [RiskControl(), LabelCoverage(), FalseDiscoveryControl()])
def test_a_guarantee_needs_certain_labels(strategy):
    with pytest.raises(ValueError, match="a guarantee needs labels that are certain"):
        strategy.fit(*problem())


@pytest.mark.parametrize("method", ["sigmoid", "beta", "temperature", "isotonic"])
def test_calibration_by_weighted_copies(method):
    """Two copies of each instance, with weights p and 1 - p, are the same as its soft label."""
    scores, P = problem(5, n=200, q=1)
    halves = np.where(P > 0.5, 0.5, P > 0.3)
    calibrated = ScoreCalibrator(method, min_count=0).fit(scores, halves)
    copies = np.vstack([np.ceil(halves), np.floor(halves)]).astype(int)
    again = ScoreCalibrator(method, min_count=0).fit(np.vstack([scores, scores]), copies)
    # Platt's targets depend a little on the number of instances
    assert_allclose(calibrated.transform(scores), again.transform(scores), atol=0.05)
    hard = (P > 0.5).astype(int)
    one, two = (ScoreCalibrator(method).fit(scores, y) for y in (hard, hard.astype(float)))
    assert_array_equal(one.transform(scores), two.transform(scores))


def test_wrappers():
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    P = pd.DataFrame(np.round(X, 1), columns=["a", "b", "c"])
    base = BinaryRelevance(LogisticRegression())
    for wrapper in (
        ThresholdClassifier(base, "scut", cv=3),
        CalibratedClassifier(base, "auto", cv=3),
    ):
        assert wrapper.accepts_soft_labels
        model = wrapper.fit(X, P)
        assert list(model.label_names_) == ["a", "b", "c"] and model.predict(X).any()
    assert_allclose(model.predict_proba(X), P, atol=0.25)
    with pytest.raises(ValueError, match="ThresholdClassifier, got numbers between them"):
        from sklearn.neighbors import KNeighborsClassifier

        ThresholdClassifier(KNeighborsClassifier(3)).fit(X, P)
