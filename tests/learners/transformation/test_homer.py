"""HOMER, walked down node by node."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeClassifier

from plurilabel import HOMER, LabelPowerset, MLkNN
from tests.learners.transformation import twins
from tests.learners.transformation.data import BASE, made


@pytest.mark.parametrize("clustering", ["co-occurrence", "random"])
def test_homer_goes_down_the_predicted_children(clustering):
    X, Y = made(150, 4, 9)
    Y[:, 8] = 0
    learner = HOMER(BASE, branching_factor=2, clustering=clustering, random_state=0).fit(X, Y)

    def walk(node, x, among):
        labels, children = learner.node_labels_[node], learner.node_children_[node]
        if not children:
            return {int(labels[0]): np.inf}
        rows = [i for i in among if Y[i, labels].any() or node == 0]
        found = {}
        for child in children:
            if rows:
                y = [int(Y[i, learner.node_labels_[child]].any()) for i in rows]
                p = twins.p_yes(twins.train(BASE, X[rows], y), x)
            else:
                p = 0.0
            found |= {l: min(p, below) for l, below in walk(child, x, rows).items()}
        return found

    queries = X[:6] + 0.2
    wanted = [walk(0, x, range(150)) for x in queries]
    wanted = np.array([[row[l] for l in range(9)] for row in wanted])
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-7)
    assert_array_equal(learner.predict(queries), wanted > 0.5)
    assert learner.predict(X).any()


def test_a_node_of_labels_never_seen_has_the_score_of_an_absent_label():
    X, Y = made(60, 3, 8)
    Y[:, :5] = 0
    learner = HOMER(RidgeClassifier(), branching_factor=2, clustering="random", random_state=1)
    learner.fit(X, Y)
    (node, *_) = (
        n
        for n, labels in enumerate(learner.node_labels_)
        if learner.node_children_[n] and not Y[:, labels].any()
    )
    scores = learner.decision_function(X)
    assert_allclose(scores[:, learner.node_labels_[node]], -np.log(121))  # after 60 instances
    assert_array_equal(learner.decision_function(X[:1]), scores[:1])


def test_nodes_may_be_learners_of_this_library():
    X, Y = made(90, 4, 6)
    for node in (MLkNN(5), LabelPowerset(BASE)):
        learner = HOMER(node, branching_factor=2, random_state=0).fit(X, Y)
        fitted = [model for model in learner.estimators_ if model is not None]
        assert {type(model) for model in fitted} == {type(node)}
        assert_array_equal(learner.predict(X), learner.predict_proba(X) > 0.5)
