"""MIMLBoost against MIBoosting by loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from plurilabel import MIMLBoost
from tests.bags.problems import concept_bags


def twin(X, Y, X_new, rounds, make):
    """The paper's steps, with a list of (bag, label) pairs."""
    pairs = [(u, v) for u in range(len(X)) for v in range(Y.shape[1])]
    W = {pair: 1 / len(pairs) for pair in pairs}
    hypotheses = []
    for _ in range(rounds):
        h = {}
        for v in range(Y.shape[1]):
            instances, signs, weights = [], [], []
            for u, bag in enumerate(X):
                for x in bag:
                    instances.append(x)
                    signs.append(Y[u, v])
                    weights.append(W[u, v] / len(bag))
            scale = len(weights) / sum(weights)
            h[v] = make().fit(instances, signs, sample_weight=np.array(weights) * scale)
        e = {(u, v): np.mean(h[v].predict(X[u]) != Y[u, v]) for u, v in pairs}
        if all(error < 0.5 for error in e.values()):
            break
        c = minimize_scalar(
            lambda c, W=W, e=e: sum(W[p] * np.exp((2 * e[p] - 1) * c) for p in pairs),
            bounds=(0, 20),
            method="bounded",
            options={"xatol": 1e-12},
        ).x
        W = {p: W[p] * np.exp((2 * e[p] - 1) * c) for p in pairs}
        total = sum(W.values())
        W = {p: w / total for p, w in W.items()}
        hypotheses.append((c, h))
    scores = np.zeros((len(X_new), Y.shape[1]))
    for u, bag in enumerate(X_new):
        for v in range(Y.shape[1]):
            for c, h in hypotheses:
                scores[u, v] += c * np.mean(2.0 * h[v].predict(bag) - 1)
    return scores / sum(c for c, _ in hypotheses)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
        lambda: LogisticRegression(C=0.1),
    ],
    ids=["stump", "logistic regression"],
)
def test_against_the_paper(make):
    (X, Y), (X_new, _) = concept_bags(0, n=25), concept_bags(1, n=10)
    learner = MIMLBoost(make(), n_estimators=4, random_state=0).fit(X, Y)
    assert len(learner.estimators_) == 4
    wanted = twin(X, Y, X_new, 4, make)
    assert_allclose(learner.decision_function(X_new), wanted, atol=1e-3)


def test_it_learns_and_shares_add_up():
    (X, Y), (X_new, Y_new) = concept_bags(2, n=200), concept_bags(3, n=100)
    learner = MIMLBoost(n_estimators=10, random_state=0).fit(X, Y)
    scores = learner.decision_function(X_new)
    assert ((scores > 0) == Y_new).mean() > 0.8
    for score, why in zip(scores, learner.explain(X_new)):
        assert_allclose(why.shares.sum(axis=0), score, atol=1e-12)
        assert np.abs(why.alone).max() <= 1 + 1e-12


def test_a_perfect_first_round_is_kept():
    X = np.arange(8.0).reshape(8, 1, 1)
    Y = np.column_stack([X.ravel() > 3, X.ravel() > 5]).astype(int)
    learner = MIMLBoost(random_state=0).fit(X, Y)
    assert learner.estimator_weights_.tolist() == [1.0]
    assert (learner.predict(X) == Y).all()


def test_instances_that_say_nothing():
    X, Y = np.zeros((4, 2, 1)), [[1, 0], [0, 0], [1, 0], [0, 0]]
    learner = MIMLBoost(random_state=0).fit(X, Y)
    assert np.isfinite(learner.decision_function(X)).all()
    assert not learner.predict(X)[:, 1].any()


def test_an_estimator_without_fit_is_refused():
    X, Y = concept_bags(0)
    with pytest.raises(ValueError, match="'estimator' parameter of MIMLBoost"):
        MIMLBoost("tree").fit(X, Y)
