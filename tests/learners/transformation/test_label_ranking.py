"""Calibrated label ranking against its twin, and quick voting against all votes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from plurilabel import BinaryRelevance, CalibratedLabelRanking
from plurilabel.learners.transformation._label_ranking import quick_sets
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made, problems


@settings(max_examples=15, deadline=None)
@given(problems())
def test_calibrated_label_ranking(problem):
    X, Y, queries, _ = problem
    for form in (Y, sparse.csr_array(Y)):
        learner = CalibratedLabelRanking(BASE).fit(X, form)
        votes = np.array([twins.label_ranking(BASE, X, Y, x) for x in queries])
        assert_array_equal(learner.votes(queries), votes)
        found = learner.predict(queries)
        found = found.toarray() if sparse.issparse(found) else found
        assert_array_equal(found, votes[:, :-1] > votes[:, -1:])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_quick_voting_equals_all_votes(q, halves, seed):
    rng = np.random.default_rng(seed)
    n = 20
    relevance = (rng.random((n, q)) < rng.random()).astype(float)
    beats = (rng.random((n, q, q)) < rng.random(q)[:, None]).astype(float)
    beats[rng.random(beats.shape) < halves * 0.2] = 0.5
    times = np.zeros((n, q, q), dtype=int)

    def ask(j, k, rows):
        assert j < k and len(rows) == len(set(rows))
        times[rows, j, k] += 1
        return beats[rows, j, k]

    sets, asked = quick_sets(relevance, ask, at_once=seed % 7 * q * q)
    assert times.max() <= 1
    assert_array_equal(asked, times.sum(axis=(1, 2)))
    for i in range(n):
        votes = relevance[i].copy()
        for j in range(q):
            for k in range(j + 1, q):
                votes[j] += beats[i, j, k]
                votes[k] += 1 - beats[i, j, k]
        assert_array_equal(sets[i], votes > (1 - relevance[i]).sum())


def test_quick_voting_asks_little_where_little_is_open():
    X, Y = made(200, 3, 6)
    learner = CalibratedLabelRanking(BASE).fit(X, Y)
    asked = learner.count_asked(X)
    relevant = BinaryRelevance(BASE).fit(X, Y).predict(X).sum(axis=1)
    assert (asked[relevant == 0] == 6).all()  # only the virtual label's models
    assert (asked <= 21).all() and asked.mean() < 19
    assert_array_equal(learner.predict(X), learner.set_params(quick=False).fit(X, Y).predict(X))
