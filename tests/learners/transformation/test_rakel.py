"""RAkEL against its twin."""

from math import comb

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import RAkEL
from plurilabel.learners.transformation._rakel import draw_labelsets
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made, problems


@settings(max_examples=20, deadline=None)
@given(problems(), st.integers(1, 3))
def test_rakel(problem, k):
    X, Y, queries, _ = problem
    learner = RAkEL(BASE, labelset_size=k, random_state=0).fit(X, Y)
    wanted = [twins.rakel(BASE, X, Y, learner.labelsets_, x) for x in queries]
    assert_allclose(learner.predict_proba(queries), wanted)
    assert_array_equal(learner.predict(queries), np.array(wanted) > 0.5)


def test_rakel_predicts_only_combinations_that_its_estimators_have_seen():
    X, Y = made(100, 3, 6)
    Y[:, 5] = Y[:, 0] & Y[:, 1]
    learner = RAkEL(BASE, labelset_size=3, overlapping=False, random_state=0).fit(X, Y)
    found = learner.predict(X * 3)
    assert sorted(np.concatenate(learner.labelsets_)) == list(range(6))
    for labels in learner.labelsets_:
        assert {tuple(r) for r in found[:, labels]} <= {tuple(r) for r in Y[:, labels]}


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 60), st.integers(0, 99))
def test_labelsets_differ_and_cover_every_label(q, k, m, seed):
    k = min(k, q)
    drawn = draw_labelsets(q, k, m, np.random.RandomState(seed))
    as_tuples = [tuple(labels.tolist()) for labels in drawn]
    assert len(set(as_tuples)) == len(as_tuples)
    assert all(len(set(labels)) == k and list(labels) == sorted(labels) for labels in as_tuples)
    assert set().union(*as_tuples) == set(range(q))
    assert min(m, comb(q, k)) <= len(drawn) <= m + q
