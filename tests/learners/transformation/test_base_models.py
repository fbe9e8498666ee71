"""Where base estimators are trained and asked: linear models, shared models, constant labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel.learners.transformation import _base_models
from plurilabel.learners.transformation._base_models import (
    fit_binary,
    fit_each,
    is_linear,
    score_each,
)

BASES = {
    "LogisticRegression": (LogisticRegression(), "predict_proba"),
    "LogisticRegression, liblinear": (LogisticRegression(solver="liblinear"), "predict_proba"),
    "LogisticRegression, values": (LogisticRegression(), "decision_function"),
    "LinearSVC": (LinearSVC(random_state=0), "decision_function"),
    "LinearSVC, no intercept": (LinearSVC(fit_intercept=False), "decision_function"),
    "Perceptron": (Perceptron(random_state=0), "decision_function"),
    "SGDClassifier": (SGDClassifier(random_state=0), "decision_function"),
    "RidgeClassifier": (RidgeClassifier(class_weight="balanced"), "decision_function"),
}


def data(form, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12)) * (rng.random((80, 12)) < 0.5)
    Y = (X @ rng.normal(size=(12, 7)) + rng.normal(size=(80, 7)) > 0.3).astype(np.int8)
    Y[:, 2], Y[:, 5] = 0, 1  # no model for these
    return form(X.astype(dtype)), Y


def one_by_one(models, X, method):
    columns = []
    for model in models:
        if isinstance(model, DummyClassifier) and method == "decision_function":
            sign = 1 if model.predict(X).all() else -1
            columns.append(np.full(X.shape[0], sign * np.log(161)))
        else:
            scores = getattr(model, method)(X)
            columns.append(scores[:, 1] if method == "predict_proba" else scores)
    return np.column_stack(columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", BASES)
def test_linear_models_answer_as_each_would_to_the_last_bit(name, form, dtype):
    base, method = BASES[name]
    X, Y = data(form, dtype)
    models = fit_each(base, X, Y, {})
    known = [is_linear(model, method) for model in models]
    assert known == [True, True, False, True, True, False, True]
    found, wanted = score_each(models, X, method), one_by_one(models, X, method)
    assert_array_equal(found[:, known], wanted[:, known])
    assert_allclose(found, wanted, rtol=1e-12)


def test_weights_in_batches(monkeypatch):
    base, method = BASES["LinearSVC"]
    X, Y = data(sparse.csr_array)
    models = fit_each(base, X, Y, {})
    whole = score_each(models, X, method)
    assert _base_models._scored_together(models, X, method) == [[0, 1, 3, 4, 6], [2], [5]]
    monkeypatch.setattr(_base_models, "ENTRIES", 25)  # two labels of twelve features
    assert _base_models._scored_together(models, X, method) == [[0, 1], [2], [3, 4], [5], [6]]
    assert_array_equal(score_each(models, X, method), whole)


def test_only_what_is_known_to_be_linear():
    class Own(LogisticRegression):
        """May override anything."""

    X, Y = data(np.asarray)
    assert not is_linear(Own().fit(X, Y[:, 0]), "predict_proba")
    assert not is_linear(DecisionTreeClassifier().fit(X, Y[:, 0]), "predict_proba")
    # its probabilities depend on the loss
    assert not is_linear(SGDClassifier(loss="log_loss").fit(X, Y[:, 0]), "predict_proba")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("base", "method"),
    [(KNeighborsClassifier(3), "predict_proba"), (RidgeClassifier(), "decision_function")],
    ids=["neighbours", "ridge"],
)
def test_labels_share_a_model_where_that_is_the_same(base, method, form):
    X, Y = data(form)
    models = fit_each(base, X, Y, {})
    vary = [0, 1, 3, 4, 6]
    assert len({id(models[l]) for l in vary}) == 1
    separate = fit_each(base, X, sparse.csr_array(Y), {})
    assert len({id(model) for model in separate}) == 7
    assert_allclose(
        score_each(models, X, method), score_each(separate, X, method), rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("present", [0, 1])
def test_a_constant_label_has_a_stand_in(present, form, n):
    X = form(np.ones((n, 3)))
    model = fit_binary(LogisticRegression(), X, np.full(n, present), {})
    assert_array_equal(model.predict(X), [present] * n)
    assert_array_equal(_base_models.binary_scores(model, X, "predict_proba"), [present] * n)
    margin = _base_models.binary_scores(model, X, "decision_function")
    assert_allclose(margin, (1 if present else -1) * np.log(2 * n + 1))
    for method, scores in (("predict_proba", present), ("decision_function", margin[0])):
        assert_allclose(_base_models.constant_score(bool(present), n, method), scores)


def test_a_base_that_is_a_dummy_is_asked_itself():
    X, Y = data(np.asarray)
    models = fit_each(DummyClassifier(strategy="prior"), X, Y, {})
    assert_allclose(score_each(models, X, "predict_proba")[0], Y.mean(axis=0))
