"""PMM2: the shares of pairs."""

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose

from plurilabel import PMM1, PMM2
from tests.learners.mixtures import twins


@settings(max_examples=10)
@given(twins.corpora())
def test_shares_of_a_pair_sum_to_one(corpus):
    X, Y = corpus
    gamma = PMM2().fit(X, Y).pair_shares_
    assert_allclose(gamma + gamma.T, 1.0)
    meet = Y.T @ Y > 0
    assert_allclose(gamma[~meet], 0.5)


def test_pairs_are_found():
    """Documents of two labels with a quarter of their words from the first."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(50), size=3)
    Y = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]], 40, axis=0)
    share = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.25, 0.75, 0], [0, 0.5, 0.5]], 40, 0)
    X = np.array([rng.multinomial(60, w @ theta) for w in share])
    learner = PMM2().fit(X, Y)
    # w_l = (1 + 2 gamma_lm) / 4, so that a share of 1/4 is gamma = 0
    assert learner.pair_shares_[0, 1] < 0.1
    assert 0.35 < learner.pair_shares_[1, 2] < 0.65
    assert learner.pair_shares_[0, 2] == 0.5
    equal = PMM1().fit(X, Y).log_likelihood(X, Y).sum()
    assert learner.log_likelihood(X, Y).sum() > equal + 50


def test_without_pairs_it_is_pmm1():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.0, (30, 6)), np.eye(3, dtype=int)[rng.integers(0, 3, 30)]
    one, two = PMM1().fit(X, Y), PMM2().fit(X, Y)
    assert_allclose(two.decision_function(X), one.decision_function(X))
