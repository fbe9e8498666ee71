"""ML-kNN against its twin."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import MLkNN
from tests.learners.lazy import twins
from tests.learners.lazy.problems import made, problems


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twin(problem, s):
    X, Y, queries, k = problem
    wanted = [twins.ml_knn(X, Y, x, k, s) for x in queries.tolist()]
    found = MLkNN(k, smoothing=s).fit(X, Y).predict_proba(queries)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_attributes_are_probabilities():
    X, Y, _ = made(60, 3, 4)
    learner = MLkNN(6).fit(X, Y)
    assert learner.likelihood_.shape == (2, 4, 7)
    assert_allclose(learner.likelihood_.sum(axis=2), 1)
    assert_allclose(learner.prior_, (1 + Y.sum(axis=0)) / (2 + 60))
    assert learner.counts_.sum() == 60 * 4
    assert learner.counts_.dtype.kind == "i"


def test_no_smoothing_falls_back_to_the_prior():
    X = np.arange(6.0)[:, None]
    Y = np.array([[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]])
    scores = MLkNN(2, smoothing=0.0).fit(X, Y).predict_proba(X)
    assert_array_equal(scores, Y)


def test_precomputed_distances():
    X, Y, _ = made(60, 3, 4)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    mine = MLkNN(5, metric="precomputed").fit(D[:40, :40], Y[:40])
    wanted = MLkNN(5).fit(X[:40], Y[:40]).predict_proba(X[40:])
    assert_array_equal(mine.predict_proba(D[40:, :40]), wanted)
