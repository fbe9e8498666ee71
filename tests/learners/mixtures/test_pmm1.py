"""PMM1: one optimum, from any start."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from plurilabel import PMM1, datasets
from tests.learners.mixtures import twins


@settings(max_examples=15)
@given(twins.corpora(), st.sampled_from([0.05, 1.0, 5.0]))
@example((np.zeros((3, 2)), np.eye(3, 2, dtype=int)), 1.0)  # no word at all
def test_one_optimum_from_any_start(corpus, alpha):
    X, Y = corpus
    settings_of_em = {"alpha": alpha, "tol": 1e-14, "max_iter": 20_000}
    wanted = PMM1(**settings_of_em).fit(X, Y)
    for seed in range(3):
        found = PMM1(init_params="random", random_state=seed, **settings_of_em).fit(X, Y)
        assert_allclose(found.feature_log_prob_, wanted.feature_log_prob_, atol=1e-4)
        assert_allclose(found.objectives_[-1], wanted.objectives_[-1], rtol=1e-9)


def test_one_optimum_on_real_text(data_folder):
    X, X_test, Y, _ = datasets.load("medical").holdout()
    wanted = PMM1(tol=1e-12).fit(X, Y)
    for seed in range(2):
        found = PMM1(tol=1e-12, init_params="random", random_state=seed).fit(X, Y)
        assert abs(found.objectives_[0] - wanted.objectives_[0]) > 1000
        assert_allclose(found.feature_log_prob_, wanted.feature_log_prob_, atol=1e-3)
        assert (found.predict(X_test) != wanted.predict(X_test)).nnz == 0


def test_the_optimum_is_stationary():
    """No small move of theta within the simplex raises the objective."""
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(2.0, (12, 4)), (rng.random((12, 3)) < 0.5).astype(int)
    learner = PMM1(tol=1e-14, max_iter=20_000).fit(X, Y)
    theta = np.exp(learner.feature_log_prob_)
    best = twins.objective("pmm1", X, Y, 1.0, theta, {})
    assert_allclose(best, learner.objectives_[-1])
    for _ in range(50):
        moved = theta * np.exp(0.01 * rng.normal(size=theta.shape))
        moved /= moved.sum(axis=1, keepdims=True)
        assert twins.objective("pmm1", X, Y, 1.0, moved, {}) < best
