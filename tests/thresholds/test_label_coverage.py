"""LabelCoverage against a count for every cut, and its guarantee."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import LabelCoverage, RiskControl


def problem(seed, n=40, q=3, levels=20):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, size=(n, q)) / levels
    return scores, (rng.uniform(size=(n, q)) < scores).astype(int)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.33, 0.8])
def test_twin(seed, alpha):
    scores, Y = problem(seed)
    found = LabelCoverage(alpha).fit(scores, sparse.csr_array(Y)).predict(scores).toarray()
    for j in range(3):
        own = scores[Y[:, j] == 1, j]
        best = np.ones(len(scores), dtype=int)
        for s in [*np.unique(scores), np.inf]:
            missed = sum(own < s)
            if missed + 1 <= alpha * (len(own) + 1) + 1e-9:
                best = np.minimum(best, scores[:, j] >= s)
        np.testing.assert_array_equal(found[:, j], best)


def test_one_label_is_risk_control():
    scores, Y = problem(0, q=1)
    ours, recall = LabelCoverage(0.2).fit(scores, Y), RiskControl(0.2).fit(scores, Y)
    assert ours.cuts_[0] == recall.cut_


def test_the_guarantee_holds_for_each_label():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        p = rng.beta(0.5, 1, size=(400, 3)) * [0.2, 0.5, 1]
        Y = rng.uniform(size=p.shape) < p
        sets = LabelCoverage([0.2, 0.1, 0.05]).fit(p[:200], Y[:200]).predict(p[200:])
        found.append(1 - (sets * Y[200:]).sum(axis=0) / Y[200:].sum(axis=0))
    error = np.nanstd(found, axis=0) / np.sqrt(300)
    assert (np.nanmean(found, axis=0) <= [0.2, 0.1, 0.05] + 3 * error).all()


def test_labels_that_are_too_rare_are_always_predicted():
    scores, Y = problem(0)
    Y[:, 0] = 0
    assert LabelCoverage().fit(scores, Y).cuts_[0] == -np.inf


@pytest.mark.parametrize("alpha", [0, 1.5, [0.1, 0.1], [0.1, 0.1, 2], [[0.1, 0.2, 0.3]]])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha"):
        LabelCoverage(alpha).fit(*problem(0))


def test_unknown_labels_are_left_out():
    scores, Y = problem(1)
    hidden = np.random.default_rng(2).uniform(size=Y.shape) < 0.3
    found = LabelCoverage(0.2).fit(scores, np.where(hidden, np.nan, Y)).cuts_
    for j in range(3):
        known = ~hidden[:, j]
        alone = LabelCoverage(0.2).fit(scores[known][:, [j]], Y[known][:, [j]])
        assert alone.cuts_[0] == found[j]
