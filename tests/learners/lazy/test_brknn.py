"""BRkNN against its twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from scipy import sparse

from plurilabel import BRkNN, ExactIndex
from plurilabel._core.blocks import dense
from tests.learners.lazy import twins
from tests.learners.lazy.problems import made, problems


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("variant", [None, "a", "b"])
@settings(max_examples=20)
@given(problem=problems())
def test_against_the_twin(variant, form, problem):
    X, Y, queries, k = problem
    wanted = [twins.br_knn(X, Y, x, k, variant) for x in queries.tolist()]
    found = BRkNN(k, variant=variant).fit(X, form(Y)).predict(queries)
    assert_array_equal(dense(found), wanted)


def test_nothing_is_searched_in_fit(monkeypatch):
    def search(*_, **__):
        raise AssertionError("searched")

    X, Y, _ = made(30, 2, 3)
    monkeypatch.setattr(ExactIndex, "kneighbors", search)
    learner = BRkNN(3).fit(X, Y).partial_fit(X[:5], Y[:5]).forget([0, 1])
    assert not hasattr(learner, "graph_")
    with pytest.raises(AssertionError, match="searched"):
        learner.predict(X)


def test_half_a_label_on_average_is_one():
    """Two neighbours with 1, 3 and 5 labels in all: 0.5, 1.5 and 2.5 are 1, 2 and 3."""
    X = np.array([[0.0], [0.1], [10.0], [10.1], [20.0], [20.1]])
    Y = [[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]]
    learner = BRkNN(2, variant="b").fit(X, Y)
    assert learner.predict([[0.0], [10.0], [20.0]]).sum(axis=1).tolist() == [1, 2, 3]


@pytest.mark.parametrize("variant", [None, "a", "b"])
def test_training_labels_are_predicted_without_the_instance(variant):
    rng = np.random.default_rng(0)
    # ties go to frequent labels, whose order does not depend on a row
    X, Y = rng.normal(size=(40, 3)), (rng.random((40, 4)) < [0.9, 0.6, 0.4, 0.1]).astype(int)
    assert (np.diff(Y.sum(axis=0)) < -2).all()
    learner = BRkNN(3, variant=variant).fit(X, Y)
    for i, labels in enumerate(learner.training_labels()):
        rest = np.arange(40) != i
        without = BRkNN(3, variant=variant).fit(X[rest], Y[rest])
        assert labels.astype(int).tolist() == without.predict(X[[i]])[0].tolist()
    assert (learner.training_labels([7]) == learner.training_labels()[[7]]).all()
