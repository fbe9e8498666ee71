"""Binary relevance: its twin, its peer, labels that share a model."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from plurilabel import BinaryRelevance
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, positive, problems


@settings(max_examples=25, deadline=None)
@given(problems())
def test_binary_relevance(problem):
    X, Y, queries, _ = problem
    scores = BinaryRelevance(BASE).fit(X, Y).predict_proba(queries)
    models = [twins.train(BASE, X, y) for y in Y.T]
    assert_allclose(scores, [[twins.p_yes(m, x) for m in models] for x in queries], rtol=1e-9)
    sure = BinaryRelevance(BASE, nonempty=True).fit(X, Y).predict(queries)
    for row, found in zip(scores, sure):
        wanted = {l for l, p in enumerate(row) if p > 0.5} or {int(row.argmax())}
        assert set(np.flatnonzero(found)) == wanted


@pytest.mark.parametrize("q", [1, 4])
@pytest.mark.parametrize("base", [KNeighborsClassifier(3), RidgeClassifier()], ids=repr)
def test_labels_that_are_learned_together(base, q):
    X, Y = positive()
    Y[:, 1] = 0
    learner = BinaryRelevance(base).fit(X, Y[:, :q])
    one_by_one = BinaryRelevance(base).fit(X, sparse.csr_array(Y[:, :q]))
    several = {id(learner.estimators_[l]) for l in range(q) if l != 1}
    assert len(several) == 1 and len({id(model) for model in one_by_one.estimators_}) == q
    ask = "predict_proba" if hasattr(learner, "predict_proba") else "decision_function"
    assert_allclose(getattr(learner, ask)(X), getattr(one_by_one, ask)(X), rtol=1e-9, atol=1e-12)
    constant = BinaryRelevance(base).fit(X, np.zeros((40, 2), dtype=int))
    assert not constant.predict(X).any()


def test_a_kernel_matrix_is_an_X():
    X, Y = positive()
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    found = BinaryRelevance(SVC(kernel="precomputed")).fit(K, Y).predict(K)
    assert_array_equal(found, BinaryRelevance(SVC(gamma=1.0)).fit(X, Y).predict(X))


def test_pipelines_and_searches_are_base_estimators():
    X, Y = positive()
    base = make_pipeline(StandardScaler(), LogisticRegression())
    learner = BinaryRelevance(base).fit(X, Y)
    assert_array_equal(learner.predict(X)[:, 1], base.fit(X, Y[:, 1]).predict(X))


def test_constant_labels_as_decision_values():
    X, Y = positive()
    Y[:, 0], Y[:, 2] = 0, 1
    scores = BinaryRelevance(RidgeClassifier()).fit(X, Y).decision_function(X)
    assert_allclose(scores[:, 0], -np.log(81))
    assert_allclose(scores[:, 2], np.log(81))
    assert (scores.argmin(axis=1) == 0).all() and (scores.argmax(axis=1) == 2).all()


def test_progress(capsys):
    X, Y = positive()
    BinaryRelevance(GaussianNB(), verbose=11).fit(X, Y)
    assert "Done   4" in "".join(capsys.readouterr())  # joblib's words, which its versions vary
