"""Learners of label distributions against loops, and against published figures."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from plurilabel import AAkNN, DistributionNetwork, datasets
from plurilabel.graded import evaluate_distributions


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    D = softmax(X @ rng.normal(size=(3, 5)) + 0.3 * rng.normal(size=(n, 5)), axis=1)
    return X, D


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_aaknn(weights):
    X, D = problem()
    X[7] = X[3]  # the same place twice
    Q = np.vstack([np.random.default_rng(1).normal(size=(10, 3)), X[[3]]])
    found = AAkNN(4, weights=weights).fit(X, D).predict(Q)
    for x, degrees in zip(Q, found):
        distance = np.sqrt(((X - x) ** 2).sum(axis=1))
        nearest = np.argsort(distance, kind="stable")[:4]
        if weights == "uniform":
            w = np.ones(4)
        elif (distance[nearest] == 0).any():
            w = distance[nearest] == 0
        else:
            w = 1 / distance[nearest]
        assert_allclose(degrees, sum(w[j] * D[i] for j, i in enumerate(nearest)) / sum(w))
    tiny = AAkNN(4, weights=weights).fit(X * 1e-200, D).predict(Q * 1e-200)
    assert_allclose(tiny.sum(axis=1), 1)
    index = NearestNeighbors(algorithm="brute")
    assert_allclose(AAkNN(4, weights=weights, index=index).fit(X, D).predict(Q), found)


@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
def test_gradient_of_the_network(activation):
    X, D = problem(12)
    D[0] = [1, 0, 0, 0, 0]
    network = DistributionNetwork((4, 3), activation=activation, alpha=0.1)
    network.activation_ = activation  # as fit sets it
    shapes = [(3, 4), (4, 3), (3, 5)]
    flat = np.random.default_rng(0).normal(size=12 + 4 + 12 + 3 + 15 + 5)

    def value(w):
        return network._objective(w, shapes, X, D, 0.0)[0]

    _, gradient = network._objective(flat, shapes, X, D, 0.0)
    assert_allclose(gradient, approx_fprime(flat, value, 1e-7), atol=1e-5)


def test_objective_is_divergence_and_decay():
    X, D = problem()
    network = DistributionNetwork((3,), alpha=0.05, random_state=0).fit(X, D)
    P = network.predict(X)
    divergence = sum(d * np.log(d / p) for d, p in zip(D.ravel(), P.ravel())) / len(D)
    decay = 0.05 / 2 * sum((W**2).sum() for W in network.coefs_)
    assert network.loss_ == pytest.approx(divergence + decay)
    hidden = np.tanh(X @ network.coefs_[0] + network.intercepts_[0])
    assert_allclose(P, softmax(hidden @ network.coefs_[1] + network.intercepts_[1], axis=1))


def test_linear_network_on_classes_is_logistic_regression():
    X, D = problem(60)
    y = np.array(["a", "b", "c", "d", "e"])[D.argmax(axis=1)]
    C, n = 2.0, len(y)  # scikit-learn sums errors and weighs them with C
    twin = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(X, y)
    network = DistributionNetwork(alpha=1 / (C * n), tol=1e-7).fit(X, y)
    assert_allclose(network.predict_proba(X), twin.predict_proba(X), atol=1e-4)
    assert_array_equal(network.predict(X), twin.predict(X))
    assert network.score(X, y) == twin.score(X, y)


def test_what_can_be_learned_is_learned():
    X, _ = problem(200)
    D = softmax(np.sin(2 * X) @ np.random.default_rng(3).normal(size=(3, 4)), axis=1)
    linear = DistributionNetwork().fit(X[:150], D[:150])
    deep = DistributionNetwork((20,), alpha=1e-4, tol=1e-3, random_state=0).fit(X[:150], D[:150])
    assert deep.score(X[150:], D[150:]) > linear.score(X[150:], D[150:]) + 0.05
    assert linear.score(X[150:], D[150:]) > 0.6


@pytest.mark.parametrize("learner", [AAkNN(3), DistributionNetwork((4,), random_state=0)])
def test_forms(learner):
    X, D = problem()
    plain = learner.fit(X, D).predict(X)
    assert_allclose(plain.sum(axis=1), 1)
    again = pickle.loads(pickle.dumps(learner))
    assert_array_equal(again.predict(X), plain)
    frame = pd.DataFrame(D, columns=list("abcde"))
    D.flags.writeable = X.flags.writeable = False
    assert_allclose(learner.fit(X, D).predict(X), plain)
    assert list(learner.fit(X, frame).label_names_) == list("abcde")
    assert_allclose(
        # rounding sends the optimiser another way to the same optimum
        learner.fit(sparse.csr_array(X), D).predict(sparse.csc_matrix(X)),
        plain,
        atol=5e-3,
    )
    assert learner.fit(X, np.ones((len(X), 1))).predict(X[:1]) == [[1.0]]  # a single label
    assert learner.predict(X[:1]).shape == (1, 1)
    rounded = learner.fit(X, np.round(D, 4)).predict(X)
    assert_allclose(rounded.sum(axis=1), 1)


def test_search():
    X, D = problem()
    search = GridSearchCV(AAkNN(), {"n_neighbors": [1, 5]}, cv=3).fit(X, D)
    assert search.best_params_ == {"n_neighbors": 5}


def test_bad_input():
    X, D = problem(6)
    for y, message in (
        (D * 2, "y must have rows that sum to one, got 2 in row 0"),
        (D - 1, "y must hold degrees that are not negative, got -.* in row 0, column 0"),
        (np.where(D[1, 2] == D, np.nan, D), "Input y contains NaN"),
        (sparse.csr_array(D), "y must be dense"),
        (D[:5], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ):
        with pytest.raises(ValueError, match=message):
            AAkNN(2).fit(X, y)
    with pytest.raises(ValueError, match=r"n_neighbors must be at most .*n_samples=6, got 7"):
        AAkNN(7).fit(X, D)
    with pytest.raises(ValueError, match="hidden_layer_sizes must be positive integers"):
        DistributionNetwork((0,)).fit(X, D)
    with pytest.raises(ValueError, match="The 'alpha' parameter"):
        DistributionNetwork(alpha=-1).fit(X, D)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        DistributionNetwork((5,), max_iter=2, random_state=0).fit(X, D)
    with pytest.raises(ValueError, match="scale the features first"):
        DistributionNetwork().fit(X * 1e200, D)


def test_faces(data_folder):
    """At least as good as published: Geng 2016, ten folds, of AA-kNN and of SA-BFGS."""
    data = datasets.load("sjaffe")
    for learner, published in (
        (AAkNN(), [0.114, 0.410, 0.843, 0.071, 0.934, 0.855]),
        (DistributionNetwork(tol=1e-3), [0.107, 0.399, 0.820, 0.064, 0.940, 0.860]),
    ):
        predicted = np.empty_like(data.Y)
        for train, test in KFold(10, shuffle=True, random_state=0).split(data.X):
            model = make_pipeline(MinMaxScaler(), learner).fit(data.X[train], data.Y[train])
            predicted[test] = model.predict(data.X[test])
        found = list(evaluate_distributions(data.Y, predicted).values())
        assert (np.array(found[:4]) < published[:4]).all()
        assert (np.array(found[4:]) > published[4:]).all()
