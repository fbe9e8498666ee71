"""One linear model for each label: against liblinear, and what is kept of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from plurilabel import OneVsAllLinear, datasets, metrics
from tests.learners.extreme.twins import fit_linear

DATA = datasets.make_sparse_multilabel(150, 40, 6, nnz_per_row=6, random_state=0)
X, Y = DATA.X, DATA.Y
EXACT = {"prune": 0, "tol": 1e-10, "max_iter": 200, "normalize": False}


@pytest.mark.parametrize(
    ("loss", "model"),
    [
        ("squared_hinge", LinearSVC(C=0.5, tol=1e-10, max_iter=100_000, random_state=0)),
        ("logistic", LogisticRegression(C=0.5, solver="liblinear", tol=1e-10, max_iter=1000)),
    ],
)
def test_weights_are_those_of_liblinear(loss, model):
    learner = OneVsAllLinear(loss=loss, C=0.5, **EXACT).fit(X, Y)
    for l in range(6):
        model.fit(sparse.csr_matrix(X), Y[:, [l]].toarray().ravel())
        assert_allclose(learner.coef_[:, [l]].toarray().ravel(), model.coef_[0], atol=2e-6)
        assert_allclose(learner.intercept_[l], model.intercept_[0], atol=2e-6)


def test_rows_of_length_one_are_close_in_single_precision():
    learner = OneVsAllLinear(prune=0, tol=1e-5).fit(X, Y)
    exact = OneVsAllLinear(**EXACT).fit(normalize(X), Y)
    assert learner.coef_.dtype == np.float32
    assert_allclose(learner.coef_.toarray(), exact.coef_.toarray(), atol=2e-4)


def test_few_rows_that_are_nearly_equal():
    rng = np.random.default_rng(0)
    A = rng.random(4000) + 1e-3 * rng.random((60, 4000))
    learner = OneVsAllLinear().fit(sparse.csr_array(A), rng.integers(0, 2, (60, 3)))
    assert np.isfinite(learner.coef_.toarray()).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_few_rows_of_many_features_have_the_same_weights(loss):
    wide = datasets.make_sparse_multilabel(40, 400, 4, nnz_per_row=30, random_state=0)
    rows = np.r_[np.arange(40), 0, 0]  # equal ones, too
    A, B = wide.X[rows], wide.Y[rows]
    learner = OneVsAllLinear(loss=loss, C=0.3, prune=0, tol=1e-5, warm_start=True).fit(A, B)
    learner.set_params(C=2.0).fit(A, B)
    exact = OneVsAllLinear(loss=loss, C=2.0, **EXACT).fit(normalize(A), B)
    assert_allclose(learner.coef_.toarray(), exact.coef_.toarray(), atol=5e-4)
    assert_allclose(learner.intercept_, exact.intercept_, atol=5e-4)


def test_propensities_weigh_the_instances_of_a_label():
    learner = OneVsAllLinear(propensities=True, **EXACT).fit(X, Y)
    worth = 2 / metrics.propensities(Y) - 1
    y = Y[:, [2]].toarray().ravel() > 0
    w, b = fit_linear(X.toarray(), y, "squared_hinge", 1.0, np.where(y, worth[2], 1.0))
    assert_allclose(learner.coef_[:, [2]].toarray().ravel(), w, atol=1e-5)
    assert_allclose(learner.intercept_[2], b, atol=1e-5)


def test_small_weights_are_dropped_and_the_others_kept():
    full, pruned = (OneVsAllLinear(prune=prune).fit(X, Y) for prune in (0, 0.3))
    wanted = full.coef_.toarray()
    assert_array_equal(pruned.coef_.toarray(), np.where(abs(wanted) > 0.3, wanted, 0))
    assert 0 < pruned.coef_.nnz < full.coef_.nnz


def test_blocks_and_threads_change_nothing(monkeypatch):
    wanted = OneVsAllLinear(**EXACT).fit(X, Y)
    monkeypatch.setattr("plurilabel.learners.extreme._one_vs_all.CELLS", 300)
    found = OneVsAllLinear(n_jobs=2, **EXACT).fit(X, Y)
    assert_allclose(found.coef_.toarray(), wanted.coef_.toarray(), atol=1e-8)
    assert_allclose(found.decision_function(X), wanted.decision_function(X), atol=1e-8)
    top = found.predict_top(X, 2)
    assert_array_equal(np.diff(top.indptr), 2)
    assert_array_equal(top.max(axis=1).toarray().ravel(), found.decision_function(X).max(axis=1))


def test_labels_without_a_choice():
    learner = OneVsAllLinear().fit([[1.0], [2.0], [3.0]], [[0, 1, 1], [0, 1, 0], [0, 1, 0]])
    assert_array_equal(learner.intercept_[:2], [-30, 30])
    assert_array_equal(learner.coef_.toarray()[:, :2], [[0, 0]])


def test_too_many_labels_name_the_tree(monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MODELS", "5")
    with pytest.raises(ValueError, match="would train 6 models for 6 labels.*use LabelTree"):
        OneVsAllLinear().fit(X, Y)


def test_an_explanation_adds_up():
    learner = OneVsAllLinear().fit(X, Y)
    (why,) = learner.explain(X[:1])
    assert why.exact.all()
    assert_allclose(why.total, learner.decision_function(X[:1])[0], rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_warm_start_takes_fewer_steps_to_the_same_weights(loss):
    cold = OneVsAllLinear(loss=loss, C=3, **EXACT).fit(X, Y)
    warm = OneVsAllLinear(loss=loss, C=2.5, warm_start=True, **EXACT).fit(X, Y)
    warm.set_params(C=3).fit(X, Y)
    assert warm.n_iter_ < cold.n_iter_
    assert_allclose(warm.coef_.toarray(), cold.coef_.toarray(), atol=1e-6)
    # weights of another shape are no start
    assert warm.fit(X[:, :20], Y).coef_.shape == (20, 6)


def test_unknown_labels_are_left_out_of_the_losses():
    rng = np.random.default_rng(0)
    unknown = rng.random(Y.shape) < 0.3
    unknown[:, 5] = Y.toarray()[:, 5] == 0  # of the last label only positives are known
    labels = np.where(unknown, np.nan, Y.toarray())
    learner = OneVsAllLinear(**EXACT).fit(X, labels)
    for l in range(5):
        some = np.flatnonzero(~unknown[:, l])
        one = OneVsAllLinear(**EXACT).fit(X[some], Y.toarray()[some][:, [l]])
        assert_allclose(learner.coef_[:, [l]].toarray(), one.coef_.toarray(), atol=1e-6)
    assert learner.coef_[:, [5]].nnz == 0
    assert learner.intercept_[5] == 30


def test_values_too_large_for_the_solver():
    X, Y = np.random.default_rng(0).normal(size=(40, 3)), [[0, 1], [1, 0]] * 20
    for learner in (OneVsAllLinear(normalize=False), OneVsAllLinear(normalize=False).fit(X, Y)):
        with pytest.raises(
            ValueError, match=r"values up to 1e\+70 with normalize=False, got 1.*e"
        ):
            learner.fit(X / abs(X).max() * 1e150, Y)
    assert np.isfinite(learner.fit(X * 1e69, Y).decision_function(X * 1e69)).all()
