"""k-medoids: what a result must satisfy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from plurilabel import MIMLNN
from plurilabel.bags import k_medoids
from tests.bags.problems import concept_bags


def cost(D, medoids):
    return D[:, medoids].min(axis=1).sum()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 30), st.data())
def test_each_medoid_is_the_most_central_of_its_cluster(seed, n, data):
    k = data.draw(st.integers(1, n))
    x = np.random.default_rng(seed).normal(size=(n, 2))
    D = np.linalg.norm(x[:, None] - x, axis=2)
    medoids = k_medoids(D, k, seed)
    assert len(np.unique(medoids)) == k
    nearest = D[:, medoids].argmin(axis=1)
    for c, medoid in enumerate(medoids):
        inside = np.flatnonzero(nearest == c)
        sums = {i: sum(D[i, j] for j in inside) for i in inside}
        assert sums[medoid] == pytest.approx(min(sums.values()))
    start = np.random.RandomState(seed).permutation(n)[:k]
    assert cost(D, medoids) <= cost(D, start) + 1e-12


def test_equal_items_end():
    assert_array_equal(k_medoids(np.zeros((5, 5)), 5, 0), np.arange(5))
    assert len(np.unique(k_medoids(np.zeros((5, 5)), 3, 0))) == 3


def test_bad_numbers():
    with pytest.raises(ValueError, match="k must be between 1 and the 3 items, got 4"):
        k_medoids(np.zeros((3, 3)), 4)
    X, Y = concept_bags(0, n=10)
    with pytest.raises(ValueError, match="n_medoids must be at most the 10 training bags"):
        MIMLNN(n_medoids=11).fit(X, Y)
    assert len(MIMLNN(n_medoids=0.01).fit(X, Y).medoids_) == 1
    with pytest.raises(ValueError, match="'n_medoids' parameter of MIMLNN"):
        MIMLNN(n_medoids=0).fit(X, Y)


@pytest.mark.parametrize(
    ("D", "k", "message"),
    [
        (np.zeros((3, 2)), 1, r"as many columns as rows, got the shape \(3, 2\)"),
        (np.zeros(3), 1, "Expected 2D array"),
        (np.full((3, 3), np.nan), 1, "got NaN between items 0 and"),
        (np.ma.masked_equal(np.ones((3, 3)), 1), 1, "D must not have masked values"),
        (np.zeros((3, 3)), 4, "between 1 and the 3 items, got 4"),
        (np.zeros((3, 3)), 1.5, "between 1 and the 3 items, got 1.5"),
    ],
)
def test_bad_distances(D, k, message):
    with pytest.raises(ValueError, match=message):
        k_medoids(D, k, random_state=0)
