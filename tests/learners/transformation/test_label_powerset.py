"""Label powerset against its twin."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from plurilabel import LabelPowerset, PrunedSets
from plurilabel.learners.transformation._label_powerset import distinct_sets
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made, problems


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
    marginal = LabelPowerset(BASE, decision="marginal").fit(X, Y)
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


class Fixed(ClassifierMixin, BaseEstimator):
    """Decision values that were written down: a feature for each class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 1] - X[:, 0] if len(self.classes_) == 2 else X


@pytest.mark.parametrize("learner", [LabelPowerset, PrunedSets])
@pytest.mark.parametrize("sets", [[[0, 1], [1, 0]], [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]])
def test_labels_of_the_first_best_set_are_above_the_cut(learner, sets):
    queries = np.array(list(product([-1.0, 0.0, 2.0], repeat=len(sets))))  # with all kinds of ties
    fitted = learner(Fixed()).fit(np.zeros((2 * len(sets), len(sets))), sets * 2)
    wanted = np.array(sets)[queries.argmax(axis=1)]
    assert_array_equal(fitted.predict(queries), wanted)
    assert_array_equal(fitted.decision_function(queries) > 0, wanted)


@pytest.mark.parametrize("base", [SVC(), SVC(kernel="linear"), LinearSVC(random_state=0)])
def test_the_highest_score_decides(base):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(150, 3)), rng.integers(0, 2, size=(150, 3))
    learner = LabelPowerset(base).fit(X, Y)
    predicted = learner.predict(X)
    assert_array_equal(learner.decision_function(X) > 0, predicted)
    own = learner.estimator_.predict(X)
    if isinstance(base, SVC):
        assert (learner.sets_[own].toarray() != predicted).any()  # else the data shows nothing
        own = learner.estimator_.set_params(break_ties=True).predict(X)
    assert_array_equal(learner.sets_[own].toarray(), predicted)


def test_as_many_sets_as_instances_are_no_reason_to_warn():
    X, Y = made(30, 5, 9)
    assert len(distinct_sets(Y)[0].indptr) > 20
    assert LabelPowerset(KNeighborsClassifier(1)).fit(X, Y).score(X, Y) == 1


@pytest.mark.parametrize("q", [5, 70])
def test_distinct_sets_are_the_sorted_rows(q):
    rng = np.random.default_rng(q)
    Y = (rng.random((80, q)) < 0.03).astype(np.int8)
    wanted, classes = np.unique(Y, axis=0, return_inverse=True)
    for form in (Y, sparse.csr_array(Y)):
        sets, found = distinct_sets(form)
        assert_array_equal(sets.toarray(), wanted)
        assert_array_equal(found, classes.ravel())
