"""Label powerset against its twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import RidgeClassifier

from plurilabel.transformation import LabelPowerset
from plurilabel.transformation._label_powerset import distinct_sets
from tests.transformation import twins
from tests.transformation.data import BASE, made, problems


@settings(max_examples=20, deadline=None)
@given(problems())
def test_label_powerset(problem):
    X, Y, queries, _ = problem
    labels = list(range(Y.shape[1]))
    learner = LabelPowerset(BASE).fit(X, Y)
    for x, p, found in zip(queries, learner.predict_proba(queries), learner.predict(queries)):
        sets = twins.powerset(BASE, X, Y, labels, x)
        assert tuple(found.tolist()) == max(sets, key=sets.get)
        assert_allclose(p, [sum(v for s, v in sets.items() if s[l]) for l in labels], atol=1e-9)
    marginal = LabelPowerset(BASE, decide="marginal").fit(X, Y)
    assert_array_equal(marginal.predict(queries), learner.predict_proba(queries) > 0.5)


def test_label_powerset_margins_belong_to_the_best_set():
    X, Y = made(80, 3, 4)
    learner = LabelPowerset(RidgeClassifier()).fit(X, Y)
    values = learner._set_scores(X)
    sets = learner.sets_.toarray()
    for row, margins in zip(values, learner.decision_function(X)):
        for l in range(4):
            wanted = row[sets[:, l] == 1].max() - row[sets[:, l] == 0].max()
            assert_allclose(margins[l], wanted)
    assert_array_equal(learner.predict(X), sets[values.argmax(axis=1)])


@pytest.mark.parametrize("q", [5, 70])
def test_distinct_sets_are_the_sorted_rows(q):
    rng = np.random.default_rng(q)
    Y = (rng.random((80, q)) < 0.03).astype(np.int8)
    wanted, classes = np.unique(Y, axis=0, return_inverse=True)
    for form in (Y, sparse.csr_array(Y)):
        sets, found = distinct_sets(form)
        assert_array_equal(sets.toarray(), wanted)
        assert_array_equal(found, classes.ravel())
