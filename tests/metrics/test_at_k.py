"""Measures on the first k labels, against their twins and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from plurilabel.datasets import UnknownLabels
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, near, random_problem, sparsely_scored

AT_K = ["precision_at_k", "recall_at_k", "ndcg_at_k"]
WITH_PROPENSITIES = ["psp_at_k", "ps_ndcg_at_k"]


@settings(**SETTINGS)
@given(problem=sparsely_scored(), k=st.integers(1, 5))
def test_at_k_equal_their_twins(problem, k):
    Y, S, F = problem
    k = min(k, Y.shape[1])
    finite = np.maximum(F, -9)
    for name in AT_K:
        twin, ours = getattr(twins, name), getattr(metrics, name)
        assert ours(Y, S, k) == near(twin(Y, F, k)), name
        assert ours(Y, finite, k) == near(twin(Y, finite, k)), name


@settings(**SETTINGS)
@given(
    problem=sparsely_scored(),
    k=st.integers(1, 5),
    p=st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=5, max_size=5),
)
def test_propensity_scored_equal_their_twins(problem, k, p):
    Y, S, F = problem
    k, p = min(k, Y.shape[1]), p[: Y.shape[1]]
    finite = np.maximum(F, -9)
    for name in WITH_PROPENSITIES:
        twin, ours = getattr(twins, name), getattr(metrics, name)
        assert ours(Y, S, k, propensities=p) == near(twin(Y, F, k, p)), name
        dense = ours(sparse.csr_array(Y), finite, k, propensities=p)
        assert dense == near(twin(Y, finite, k, p)), name


def test_ndcg_equals_scikit_learn_without_ties():
    Y, F, _ = random_problem()
    some = Y.sum(axis=1) > 0
    for k in (1, 3, 7):
        assert metrics.ndcg_at_k(Y, F, k) == pytest.approx(sk.ndcg_score(Y[some], F[some], k=k))


def test_one_error_is_one_minus_precision_at_1():
    Y, F, _ = random_problem(decimals=1)
    assert metrics.one_error(Y, F) == pytest.approx(1 - metrics.precision_at_k(Y, F, 1))


def test_propensities_follow_the_model():
    Y, _, _ = random_problem(n=50)
    n, frequency = 50, Y.sum(axis=0)
    c = (np.log(n) - 1) * 2.5**0.55
    expected = [1 / (1 + c * (f + 1.5) ** -0.55) for f in frequency]
    np.testing.assert_allclose(metrics.propensities(Y), expected)
    np.testing.assert_allclose(metrics.propensities(sparse.csr_array(Y)), expected)
    with pytest.raises(ValueError, match="at least 3 instances"):
        metrics.propensities(Y[:2])
    with pytest.raises(ValueError, match="a and b must be positive"):
        metrics.propensities(Y, a=0)


@settings(**SETTINGS)
@given(problem=sparsely_scored(), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_sparse_scores_of_labels_that_are_not_known_are_not_ranked(problem, k, seed):
    Y, S, F = problem
    k = min(k, Y.shape[1])
    hidden = np.random.default_rng(seed).uniform(size=Y.shape) < 0.3
    partial = UnknownLabels(sparse.csr_array(Y), hidden)
    seen = np.where(hidden, -np.inf, F)  # as if they were not stored
    for name in AT_K:
        found = getattr(metrics, name)(partial, S, k)
        assert found == near(getattr(twins, name)(np.where(hidden, 0, Y), seen, k)), name


def test_whole_rankings_need_dense_scores_where_labels_are_not_known():
    partial = UnknownLabels(sparse.csr_array([[1, 0]]), [[0, 1]])
    with pytest.raises(ValueError, match="only measures of the first k labels take sparse ones"):
        metrics.average_precision(partial, sparse.csr_array([[0.5, 0.2]]))
