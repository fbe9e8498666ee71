"""LabelSetMixture: shares of sets, and the background."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import LabelSetMixture


def corpus():
    """Half of the words from a background; where labels 0 and 1 meet, more from 0."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(60, 0.1), size=7)  # six labels, background
    alone = np.hstack([0.5 * np.eye(6), np.full((6, 1), 0.5)])
    w = np.repeat(np.vstack([alone, [[0.4, 0.1, 0, 0, 0, 0, 0.5]]]), 40, axis=0)
    X = np.array([rng.multinomial(100, p) for p in w @ theta])
    return X, (w[:, :-1] > 0).astype(int), theta


def test_the_background_and_the_shares_are_found():
    X, Y, theta = corpus()
    learner = LabelSetMixture(tol=1e-8, max_iter=5000).fit(X, Y)
    assert_array_equal(learner.label_sets_.toarray()[:2], [[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]])
    assert_array_equal(learner.set_counts_, [40] * 7)
    assert_allclose(learner.shares_.sum(axis=1), 1.0)
    both = learner.shares_.toarray()[1]
    assert both[0] > 2 * both[1] > 0
    assert 0.25 < learner.background_share_ < 0.75
    found = np.exp(learner.feature_log_prob_)
    for z in range(7):
        distance = np.abs(found - theta[z]).sum(axis=1)
        assert distance.argmin() == z
        assert distance[z] < 0.6


def test_sets_that_were_not_seen():
    X, Y, _ = corpus()
    learner = LabelSetMixture().fit(X[:240], Y[:240])  # never two labels
    b = learner.background_share_
    theta = np.exp(learner.feature_log_prob_)
    phi = b * theta[6] + (1 - b) / 2 * (theta[0] + theta[1])
    assert_allclose(learner.log_likelihood(X[240:], Y[240:]), X[240:] @ np.log(phi))
    uniform = LabelSetMixture(set_prior="uniform").fit(X[:240], Y[:240])
    assert uniform.predict(X[240:])[:, :2].all(axis=1).mean() > 0.5
