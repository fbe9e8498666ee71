"""Binary relevance: its twin, its peer, labels that share a model."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from plurilabel import BinaryRelevance
from plurilabel.datasets import soft_copies
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


def test_partial_fit_is_that_of_each_label():
    X, Y = positive()
    base = SGDClassifier(random_state=0)
    learner, alone = BinaryRelevance(base), [clone(base) for _ in range(Y.shape[1])]
    for rows in (slice(0, 15), slice(15, 40)):
        learner.partial_fit(X[rows], Y[rows], sample_weight=np.arange(1, 41)[rows])
        for model, y in zip(alone, Y.T):
            model.partial_fit(X[rows], y[rows], [0, 1], sample_weight=np.arange(1, 41)[rows])
    expected = np.column_stack([model.decision_function(X) for model in alone])
    assert_allclose(learner.decision_function(X), expected)


def test_partial_fit_after_fit_and_with_unknown_labels():
    X, Y = positive()
    Y[:, 2] = 1
    learner = BinaryRelevance(SGDClassifier(random_state=0)).fit(X, Y)
    before = [model for model in learner.estimators_]
    more = Y.astype(float)
    more[:, 0], more[::2, 1], more[::2, 2] = np.nan, np.nan, 0
    learner.partial_fit(X, more)
    assert learner.estimators_[0] is before[0]
    expected = clone(before[1]).fit(X, Y[:, 1]).partial_fit(X[1::2], Y[1::2, 1])
    assert_allclose(learner.estimators_[1].coef_, expected.coef_)
    expected = SGDClassifier(random_state=0).partial_fit(X, more[:, 2], [0, 1])
    assert_allclose(learner.estimators_[2].coef_, expected.coef_)
    new = BinaryRelevance(SGDClassifier(random_state=0)).partial_fit(X, more)
    assert (new.decision_function(X)[:, 0] <= 0).all()


def test_partial_fit_of_classes_and_errors():
    X, Y = positive()
    learner = BinaryRelevance(GaussianNB())
    y = np.where(Y[:, 0] == 1, "a", "b")
    assert learner.partial_fit(X, y, classes=["a", "b", "c"]).n_labels_ == 3
    assert not hasattr(BinaryRelevance(LogisticRegression()), "partial_fit")
    with pytest.raises(ValueError, match="label_weight must be None for partial_fit"):
        BinaryRelevance(GaussianNB(), label_weight="balanced").partial_fit(X, Y)
    fitted = BinaryRelevance(SGDClassifier(random_state=0)).partial_fit(X, Y)
    scores = fitted.decision_function(X)
    with pytest.raises(ValueError, match="4 labels"):
        fitted.partial_fit(X, Y[:, :2])
    assert_array_equal(fitted.decision_function(X), scores)


def test_partial_fit_with_soft_labels_and_weights_of_cells():
    rng = np.random.default_rng(0)
    X, P, W = rng.normal(size=(30, 2)), rng.random((30, 2)).round(1), rng.random((30, 2))
    learner = BinaryRelevance(SGDClassifier(random_state=0))
    copies, Y, weights = soft_copies(X, P)
    assert_allclose(
        learner.partial_fit(X, P).decision_function(X),
        clone(learner).partial_fit(copies, Y, sample_weight=weights).decision_function(X),
    )
    hard = (P > 0.5).astype(int)
    found = learner.partial_fit(X, P).partial_fit(X, hard, sample_weight=W)
    copies, Y, weights = soft_copies(X, hard, W)
    assert np.isnan(Y).any() and np.isfinite(found.decision_function(X)).all()
    once = clone(learner).partial_fit(X, hard, sample_weight=W)
    twin = clone(learner).partial_fit(copies, Y, sample_weight=weights)
    assert_allclose(once.decision_function(X), twin.decision_function(X))
