"""Answers looked up by counts: sparse labels are never made dense, and give the same."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from plurilabel import MLkNN
from plurilabel.learners.lazy._neighbor_labels import tally
from tests.learners.lazy.problems import made


@pytest.mark.parametrize("k", [1, 3, 12, 50])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_predict_top_is_the_head_of_the_sorted_scores(k, form):
    X, Y, _ = made(70, 2, 12)
    learner = MLkNN(4).fit(X, form(Y))
    scores, top = learner.predict_proba(X), learner.predict_top(X, k)
    for i, row in enumerate(scores):
        best = sorted(range(12), key=lambda l, row=row: (-row[l], l))[:k]
        entry = slice(*top.indptr[i : i + 2])
        assert top.indices[entry].tolist() == sorted(best)
        assert_array_equal(top.data[entry], row[sorted(best)])


def test_a_label_that_neighbours_speak_against_is_not_predicted():
    # a common label whose posterior without neighbours is above the cut, but below it with some
    X = np.arange(40.0)[:, None]
    Y = np.ones((40, 2), dtype=int)
    Y[20:, 0] = 0
    learner = MLkNN(3).fit(X, sparse.csr_array(Y))
    learner.table_ = np.array([[0.9, 0.2, 0.2, 0.2], [0.1, 0.8, 0.8, 0.8]])
    assert_array_equal(learner.predict([[5.0], [39.0]]).toarray(), [[0, 1], [1, 1]])


@pytest.mark.parametrize("weighted", [False, True])
def test_tally_of_dense_and_sparse_counts_is_the_plain_sum(weighted):
    rng = np.random.default_rng(0)
    n, q, size = 40, 5, 4
    delta = rng.integers(0, size, (n, q)) * (rng.random((n, q)) < 0.5)
    Y = (rng.random((n, q)) < 0.3).astype(np.int8)
    pair = rng.random((2, n, q)) if weighted else np.ones((2, n, q))
    pair[:, delta == 0] = 1.0  # what a sparse delta does not store weighs ``background``
    wanted = np.zeros((2, q, size))
    for i in range(n):
        for l in range(q):
            wanted[Y[i, l], l, delta[i, l]] += pair[Y[i, l], i, l]
    stored = sparse.csr_array(delta)
    places = delta[stored.nonzero()] > 0
    assert places.all()
    sparse_pair = [
        sparse.csr_array((w[stored.nonzero()], stored.indices, stored.indptr), stored.shape)
        for w in pair
    ]
    dense = tally(delta, Y, size, weights=pair if weighted else None)
    csr = tally(stored, sparse.csr_array(Y), size, weights=sparse_pair if weighted else None)
    for found in (dense, csr):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert found.dtype == (np.float64 if weighted else np.int64)
