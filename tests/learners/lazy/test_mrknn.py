"""Mr.KNN against loops over instances and labels."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import BRkNN, MrkNN
from plurilabel.learners.lazy._mrknn import soft_relevance


def made(n, d, q, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)), (rng.random((n, q)) < 0.5).astype(int)
    Y[0], Y[1] = 1, 0
    return X, Y


def memberships(X, Y, m, steps):
    """Fuzzy c-means where an instance may only belong to its labels, and the cost of each step."""
    n, q = Y.shape
    u = np.array([[Y[i, l] / max(Y[i].sum(), 1) for l in range(q)] for i in range(n)])
    costs = []
    for _ in range(steps):
        centers = [
            sum(u[i, l] ** m * X[i] for i in range(n)) / sum(u[i, l] ** m for i in range(n))
            for l in range(q)
        ]
        d = [[np.sum((X[i] - centers[l]) ** 2) for l in range(q)] for i in range(n)]
        costs.append(sum(u[i, l] ** m * d[i][l] for i in range(n) for l in range(q)))
        u = np.zeros((n, q))
        for i in range(n):
            has = np.flatnonzero(Y[i])
            for l in has:
                u[i, l] = 1 / sum((d[i][l] / d[i][j]) ** (1 / (m - 1)) for j in has)
        costs.append(sum(u[i, l] ** m * d[i][l] for i in range(n) for l in range(q)))
    return u, costs


@settings(max_examples=20, deadline=None)
@given(st.integers(10, 15), st.integers(2, 4), st.integers(2, 4), st.sampled_from([1.5, 2, 4]))
def test_relevance_equals_the_twin(n, d, q, m):
    X, Y = made(n, d, q, n + d)
    u, costs = memberships(X, Y, m, 6)
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(costs))
    wanted = u / np.maximum(u.max(axis=1, keepdims=True), 1e-300)
    for data in (X, sparse.csr_array(X)):
        found, _, _ = soft_relevance(data, Y, m, max_iter=6, tol=0)
        assert_allclose(found.toarray(), wanted, rtol=1e-9, atol=1e-12)


def test_scores_are_weighted_means_of_relevances():
    X, Y = made(30, 3, 4, 0)
    Q = np.random.default_rng(1).normal(size=(6, 3))
    learner = MrkNN(5, power=1.5).fit(X, Y)
    for x, scores in zip(Q, learner.predict_proba(Q)):
        d = np.linalg.norm(X - x, axis=1)
        near = np.argsort(d)[:5]
        w = d[near] ** -1.5
        assert_allclose(scores, w @ learner.relevance_[near] / w.sum(), rtol=1e-9)


def test_dense_and_sparse_labels_give_the_same():
    X, Y = made(40, 3, 5, 0)
    plain, thin = MrkNN(5).fit(X, Y), MrkNN(5).fit(X, sparse.csr_array(Y))
    assert sparse.issparse(thin.relevance_)
    assert_allclose(thin.predict_proba(X), plain.predict_proba(X))
    assert_array_equal(thin.predict(X).toarray(), plain.predict(X))
    assert_allclose(thin.predict_top(X, 2).toarray(), plain.predict_top(X, 2).toarray())


def test_very_fuzzy_is_voting():
    X, Y = made(40, 3, 5, 0)
    votes = BRkNN(5, smoothing=0).fit(X, Y).predict_proba(X + 0.1)
    assert_allclose(MrkNN(5, fuzziness=1e9, power=0).fit(X, Y).predict_proba(X + 0.1), votes, 1e-6)


def test_growing_and_forgetting_equal_a_fresh_fit():
    X, Y = made(40, 3, 4, 0)
    grown = MrkNN(5).fit(X[:25], Y[:25]).partial_fit(X[25:], Y[25:]).forget([3, 30])
    stay = np.delete(np.arange(40), [3, 30])
    fresh = MrkNN(5).fit(X[stay], Y[stay])
    assert_array_equal(grown.relevance_, fresh.relevance_)
    assert_array_equal(grown.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100])
def test_features_of_any_magnitude(scale):
    X, Y = made(30, 3, 3, 0)
    plain, scaled = MrkNN(5).fit(X, Y), MrkNN(5).fit(X * scale, Y)
    assert_allclose(scaled.relevance_, plain.relevance_, rtol=1e-9)


def test_instances_on_a_center_and_labels_of_all():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    Y = np.array([[1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 0, 1]])
    learner = MrkNN(2).fit(X, Y)
    assert np.isfinite(learner.relevance_).all()
    assert learner.relevance_[1, 0] == 1 and learner.relevance_[1, 1] < 1
    assert (learner.relevance_[:, 2] == 1).all() and learner.relevance_[3, 0] == 0


def test_no_features_no_centers():
    with pytest.raises(ValueError, match="fit needs features, but metric is 'precomputed'"):
        MrkNN(1, metric="precomputed").fit(np.zeros((3, 3)), [[1], [0], [1]])
