"""Bins: where features are cut, and that no cut inside a bin is missed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from plurilabel import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.learners.boosting import _bins
from plurilabel.learners.boosting._bins import between, distinct_values, find_cuts


def test_cuts_lie_between_neighbours():
    low = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert between(low)[0] == 1.0  # no float between them: x > 1 parts them
    huge = np.array([-1.7e308, 1.7e308])
    assert np.isfinite(between(huge)).all()
    distinct, counts = distinct_values(np.array([3.0, 1.0, 1.0, -2.0]), zeros=5)
    assert distinct.tolist() == [-2, 0, 1, 3]
    assert counts.tolist() == [1, 0, 2, 1]
    assert find_cuts(distinct, counts, 10).tolist() == [-1, 0.5, 2]


def test_few_bins_hold_equally_many_values_and_leave_zero_alone():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=900), np.zeros(100)])
    cuts = find_cuts(*np.unique(values, return_counts=True), 12)
    assert len(cuts) <= 11
    sizes = np.bincount(np.searchsorted(cuts, values))
    assert 100 in sizes  # the zeros
    assert sizes.max() <= 120
    inside = cuts[np.searchsorted(cuts, 0.0) - 1], cuts[np.searchsorted(cuts, 0.0)]
    assert np.unique(values[(values > inside[0]) & (values <= inside[1])]).tolist() == [0.0]


@pytest.mark.parametrize("bins", [4, 9])
def test_few_bins_leave_sparse_and_dense_alike(bins):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 5)) < 0.4, rng.normal(size=(80, 5)), 0)
    Y = (X[:, :3] + 0.3 * rng.normal(size=(80, 3)) > 0.2).astype(int)
    dense = AdaBoostMH(8, max_bins=bins, rules="threshold").fit(X, Y)
    csr = AdaBoostMH(8, max_bins=bins, rules="threshold").fit(sparse.csr_array(X), Y)
    assert [r.conditions for r in dense.rules_] == [r.conditions for r in csr.rules_]
    assert_allclose(dense.decision_function(X), csr.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize(
    "learner",
    [
        AdaBoostMH(6),
        AdaBoostMH(6, algorithm="discrete"),
        AdaBoostMH(6, algorithm="abstain"),
        AdaBoostMH(3, weak="tree"),
        AdaBoostMR(6),
        ADTBoostMH(6, max_bins=None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("how", ["dense", "sparse", "missing", "ties"])
def test_searching_coarse_bins_finds_every_cut(learner, how, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 4))
    Y = (X[:, :3] + rng.normal(size=(70, 3)) > 0.4).astype(int)
    learner.set_params(rules="threshold")
    if how == "sparse":
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0))
    elif how == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    elif how == "ties":
        X = np.round(X, 1)
    every = learner.fit(X, Y).to_text(max_labels=3)
    for coarse in (4, 7):
        monkeypatch.setattr(_bins, "COARSE", coarse)
        assert any(chunk.values is not None for chunk in learner._bins(X, 3)._chunks)
        assert learner.fit(X, Y).to_text(max_labels=3) == every
