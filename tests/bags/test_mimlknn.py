"""MIML-kNN against the paper by loops."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import MIMLkNN
from plurilabel.bags import Bags, _mimlknn
from tests.bags.problems import concept_bags, random_bags
from tests.bags.test_hausdorff import slow


def twin(X, Y, X_new, r, c, kind):
    """Scores of new bags: references and citers by sorting, weights by the pseudo-inverse."""

    def nearest(others, distance_of, k):
        return sorted(others, key=lambda j: (distance_of[j], j))[:k]

    n = len(X)
    # to nine digits: what differs by rounding only is as far
    D, D_new = slow(X, X, kind).round(9), slow(X_new, X, kind).round(9)
    ranked = [nearest([j for j in range(n) if j != i], D[i], max(r, c)) for i in range(n)]
    delta = np.zeros(Y.shape)
    for i in range(n):
        for j in ranked[i][:r]:
            delta[i] += Y[j]
        for j in range(n):
            if i in ranked[j][:c]:
                delta[i] += Y[j]
    W = np.linalg.pinv(delta) @ (2 * Y - 1)
    found = np.zeros((len(X_new), Y.shape[1]))
    for i in range(len(X_new)):
        counts = np.zeros(Y.shape[1])
        for j in nearest(range(n), D_new[i], r):
            counts += Y[j]
        for j in range(n):
            nearer = sum(D[j, other] <= D_new[i, j] for other in range(n) if other != j)
            if nearer < c:
                counts += Y[j]
        found[i] = counts @ W
    return found


@settings(max_examples=12)
@given(st.integers(0, 999), st.integers(1, 6), st.integers(1, 6))
@example(2, 1, 2)  # a tie that rounding breaks
def test_against_the_paper(seed, r, c):
    (X, Y), X_new = concept_bags(seed, n=25), random_bags(seed, n=8, d=4)
    Y[0], Y[1] = 1, 0  # no constant labels, which have scores of their own
    learner = MIMLkNN(r, n_citers=c).fit(X, Y)
    wanted = twin(X, Y, X_new, r, c, "average")
    assert_allclose(learner.decision_function(X_new), wanted, atol=1e-8)


def test_blocks_do_not_matter(monkeypatch):
    X, Y = concept_bags(1)
    wanted = MIMLkNN(distance="max").fit(X, Y).decision_function(X)
    monkeypatch.setattr(_mimlknn, "_AT_ONCE", 500)
    assert_allclose(MIMLkNN(distance="max").fit(X, Y).decision_function(X), wanted, atol=1e-12)


def test_ties_go_to_the_first():
    D = np.array([[1.0, 0.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    assert _mimlknn._nearest(D, 2).tolist() == [[1, 0], [0, 1]]
    assert _mimlknn._nearest(D, 4).tolist() == [[1, 0, 2, 3], [0, 1, 2, 3]]


def test_too_few_bags():
    X, Y = concept_bags(0, n=10)
    with pytest.raises(ValueError, match="n_neighbors must be smaller than .* = 10, got 10"):
        MIMLkNN(10, n_citers=3).fit(X, Y)
    with pytest.raises(ValueError, match="n_citers must be smaller than .* = 10, got 20"):
        MIMLkNN(3).fit(X, Y)
    learner = MIMLkNN(3, n_citers=3).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but MIMLkNN is expecting 4"):
        learner.predict(Bags([[[1.0, 2.0]]]))


def test_equal_distances_do_not_depend_on_rounding():
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(1.5, (40, 4)).astype(float), rng.integers(0, 2, (40, 3))
    plain = MIMLkNN(5, n_citers=5).fit(X, Y).predict(X)
    for other in (sparse.csr_array(X), 3 * X):
        assert_array_equal(MIMLkNN(5, n_citers=5).fit(other, Y).predict(other), plain)
