"""IBLR-ML: its features, and regressions on them."""

import numpy as np
from numpy.testing import assert_array_equal

from plurilabel import IBLRML
from tests.learners.lazy.problems import made


def test_features_are_votes_for_minus_against():
    X, Y, _ = made(50, 3, 4)
    learner = IBLRML(5).fit(X, Y)
    _, near = learner.graph_
    votes = np.array([[sum(1 if Y[a, l] else -1 for a in row) for l in range(4)] for row in near])
    assert_array_equal(learner._features(near, X), votes)
    plus = IBLRML(5, own_features=True).fit(X, Y)
    assert plus.coef_.shape == (4, 4 + 3)
    assert len(plus.explain(X[:2])) == 2
