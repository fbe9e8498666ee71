"""Strategies learn from known labels: each against itself on these, or a loop over all cuts."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import (
    CardinalityThreshold,
    GlobalThreshold,
    LinearThreshold,
    MetaLabeler,
    PCut,
    RCut,
    SCut,
    SeenSets,
    ThresholdStrategy,
    metrics,
)
from plurilabel.datasets import UnknownLabels
from plurilabel.thresholds import get_strategy, strategy_names
from plurilabel.thresholds._linear import best_cuts
from plurilabel.thresholds._per_label import Pool
from plurilabel.thresholds._sweep import count_measure


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    S = rng.random((60, 4)).round(2)
    Y = (S + 0.3 * rng.normal(size=S.shape) > 0.6).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    Y[0] = np.nan
    return S, Y


@pytest.mark.parametrize("name", strategy_names())
def test_all_forms_are_the_same(name, data):
    S, Y = data
    expected = get_strategy(name, probabilities=True).fit(S, Y).predict(S)
    partial = UnknownLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    thin = UnknownLabels(sparse.csr_array(partial.Y), sparse.csr_array(partial.unknown))
    for form in (partial, thin):
        found = get_strategy(name, probabilities=True).fit(S, form).predict(S)
        assert sparse.issparse(found) == (form is thin)
        found = found.toarray() if form is thin else found
        np.testing.assert_array_equal(found, expected)


def test_scut_is_each_label_on_the_rows_that_know_it(data):
    S, Y = data
    Y = np.column_stack([Y, np.full(len(Y), np.nan)])
    S = np.column_stack([S, S[:, 0]])
    found = SCut(shrink=0).fit(S, Y)
    for j in range(4):
        rows = ~np.isnan(Y[:, j])
        alone = SCut(shrink=0).fit(S[rows, j : j + 1], Y[rows, j : j + 1])
        assert (found.cuts_[j], found.values_[j]) == (alone.cuts_[0], alone.values_[0])
    assert found.cuts_[4] == np.inf  # never known, never predicted
    shared = Pool.of(
        S, UnknownLabels(np.nan_to_num(Y).astype(int), np.isnan(Y)), count_measure("f1")
    )
    positives = (Y[:, :4] == 1).sum(axis=0)
    for cut, found in zip(shared.cuts, shared.counts.T):
        above = S[:, :4] > cut
        cases = (1, above), (0, above), (1, ~above), (0, ~above)
        known = [(Y[:, :4] == value).sum(axis=0, where=side) / positives for value, side in cases]
        expected = np.average(known, axis=1, weights=np.sqrt(positives))
        np.testing.assert_allclose(found, expected)
    assert SCut().fit(S, Y).cuts_[4] == np.inf


@pytest.mark.parametrize("measure", ["micro_f1", "macro_f1", "f1", "micro_accuracy"])
def test_global_cut_is_the_best_of_all(measure, data):
    S, Y = data
    function = metrics.get_measure(measure).function
    found = GlobalThreshold(measure).fit(S, Y)
    cuts = [0.0, *(np.unique(S) + 1e-6)]
    values = [function(Y, (cut < S).astype(int)) for cut in cuts]
    assert found.value_ == pytest.approx(np.nanmax(values))
    assert function(Y, found.predict(S)) == pytest.approx(found.value_)


def test_linear_cut_is_the_best_of_known_labels(data):
    S, Y = data
    partial = UnknownLabels(np.nan_to_num(Y).astype(np.int8), np.isnan(Y))
    s = best_cuts(S, partial, 0.1)
    assert np.isnan(s[0])
    rows = np.flatnonzero(~np.isnan(s))
    for i in rows:
        known = ~np.isnan(Y[i])
        alone = best_cuts(S[[i]][:, known], Y[[i]][:, known].astype(np.int8), 0.1)
        assert s[i] == alone[0]
    A = np.column_stack([S[rows], np.ones(len(rows))])
    found, solution = LinearThreshold().fit(S, Y), np.linalg.lstsq(A, s[rows])[0]
    np.testing.assert_allclose([*found.coef_, found.intercept_], solution)
    weights = np.arange(1.0, 61)
    root = np.sqrt(weights[rows])
    solution = np.linalg.lstsq(A * root[:, None], s[rows] * root)[0]
    weighted = LinearThreshold().fit(S, Y, sample_weight=weights)
    np.testing.assert_allclose([*weighted.coef_, weighted.intercept_], solution)


def test_shares_are_among_known_labels(data):
    S, Y = data
    shares = np.nanmean(Y, axis=0)
    np.testing.assert_allclose(PCut().fit(None, Y).shares_, shares)
    assert CardinalityThreshold().fit(S, Y).cardinality_ == pytest.approx(shares.sum())
    assert RCut().fit(None, Y).r_ == max(1, int(shares.sum() + 0.5))


def test_label_sets_are_of_complete_rows(data):
    S, Y = data
    complete = ~np.isnan(Y).any(axis=1)
    for kind in (MetaLabeler, SeenSets):
        expected = kind().fit(S[complete], Y[complete]).predict(S)
        np.testing.assert_array_equal(kind().fit(S, Y).predict(S), expected)
        with pytest.raises(ValueError, match="rows of which all labels are known"):
            kind().fit(S, np.where(np.arange(4) == 1, np.nan, Y))


def test_a_strategy_that_does_not_say_so_refuses(data):
    class Own(ThresholdStrategy):
        def _fit(self, scores, Y):
            pass

        def _sets(self, scores):
            return scores > 0.5

    S, Y = data
    with pytest.raises(ValueError, match="only 0 and 1 for Own, got NaN"):
        Own().fit(S, Y)
    Own().fit(S, np.nan_to_num(Y))
