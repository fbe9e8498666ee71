"""Linear models asked together answer as each of them would, to the last bit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from plurilabel.transformation import _linear
from plurilabel.transformation._models import fit_each, score_each
from plurilabel.transformation._together import Always

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
        if isinstance(model, Always):
            columns.append(np.full(X.shape[0], model.score(method)))
        else:
            scores = getattr(model, method)(X)
            columns.append(scores[:, 1] if method == "predict_proba" else scores)
    return np.column_stack(columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", BASES)
def test_scores_are_those_of_the_models(name, form, dtype):
    base, method = BASES[name]
    X, Y = data(form, dtype)
    models = fit_each(base, X, Y)
    assert all(_linear.is_linear(m, method) for m in models if not isinstance(m, Always))
    np.testing.assert_array_equal(score_each(models, X, method), one_by_one(models, X, method))


def test_weights_in_batches(monkeypatch):
    base, method = BASES["LinearSVC"]
    X, Y = data(sparse.csr_array)
    models = fit_each(base, X, Y)
    whole = score_each(models, X, method)
    monkeypatch.setattr(_linear, "ENTRIES", 25)  # two labels of twelve features
    assert [list(b) for b in _linear.in_batches([0, 1, 3, 4, 6], 12)] == [[0, 1], [3, 4], [6]]
    np.testing.assert_array_equal(score_each(models, X, method), whole)


def test_only_what_is_known_to_be_linear():
    class Own(LogisticRegression):
        """May override anything."""

    X, Y = data(np.asarray)
    assert not _linear.is_linear(Own().fit(X, Y[:, 0]), "predict_proba")
    assert not _linear.is_linear(DecisionTreeClassifier().fit(X, Y[:, 0]), "predict_proba")
    # its probabilities depend on the loss
    assert not _linear.is_linear(SGDClassifier(loss="log_loss"), "predict_proba")
