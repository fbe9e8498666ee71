"""Any index that answers the call can be used, and its answer is checked."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from plurilabel import ApproximateIndex, ExactIndex
from plurilabel.neighbors import NeighborsIndex, query_neighbors, recall, training_neighbors

X = np.random.default_rng(0).normal(size=(300, 6))


class HalfRight:
    """Of four true neighbours it knows the first two, and then the last points of all."""

    def fit(self, X, y=None):
        self.exact = ExactIndex().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        distances, indices = self.exact.kneighbors(X, n_neighbors=self.exact.n_samples_fit_ - 1)
        half = n_neighbors // 2
        return (
            np.hstack([distances[:, :half], distances[:, -half:]]),
            np.hstack([indices[:, :half], indices[:, -half:]]),
        )


class Answers:
    """An index that always gives the same answer."""

    def __init__(self, *answer):
        self.answer = answer

    def fit(self, X, y=None):
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        return self.answer


@pytest.mark.parametrize(
    "index",
    [
        ExactIndex(),
        NearestNeighbors(),
        NearestNeighbors(algorithm="brute", metric="manhattan"),
        KNeighborsTransformer(),
        ApproximateIndex(),
    ],
)
def test_indexes_are_recognised(index):
    assert isinstance(index, NeighborsIndex)


@pytest.mark.parametrize("wrong", ["faiss", None, object()])
def test_other_things_are_not(wrong):
    assert not isinstance(wrong, NeighborsIndex)


@pytest.mark.parametrize("rows", [None, np.array([0, 7, 299])])
def test_training_neighbors_of_any_index(rows):
    exact = training_neighbors(ExactIndex().fit(X), X, 7, rows)
    theirs = training_neighbors(NearestNeighbors().fit(X), X, 7, rows)
    np.testing.assert_array_equal(exact[1], theirs[1])
    np.testing.assert_allclose(exact[0], theirs[0])
    assert exact[1].dtype == theirs[1].dtype == np.int64


def test_some_training_points_are_those_of_the_whole_graph():
    points = np.repeat(X[:30], 4, axis=0)  # more duplicates than neighbours
    index = ExactIndex().fit(points)
    rows = np.array([5, 0, 119, 64])
    for k in (2, 3, 6):
        whole = training_neighbors(index, points, k)
        some = training_neighbors(index, points, k, rows)
        np.testing.assert_array_equal(some[0], whole[0][rows])
        np.testing.assert_array_equal(some[1], whole[1][rows])


def test_other_types_of_numbers_are_converted():
    answer = np.ones((3, 1), dtype=np.float32), np.array([[1], [2], [0]], dtype=np.uint16)
    distances, indices = training_neighbors(Answers(*answer), X[:3], 1)
    assert distances.dtype == np.float64
    assert indices.dtype == np.int64


# tests/lazy/test_base.py has every wrong answer; here is what differs between the two functions


def test_a_training_point_may_be_a_query_but_not_its_own_neighbour():
    own = np.zeros((3, 1)), np.arange(3)[:, None]
    query_neighbors(Answers(*own), X[:3], 1, n_points=3)
    with pytest.raises(ValueError, match="Answers returned a training point as its own neighbour"):
        training_neighbors(Answers(*own), X[:3], 1)


def test_the_number_of_points_bounds_the_indices():
    answer = np.zeros((2, 1)), np.array([[0], [4]])
    query_neighbors(Answers(*answer), X[:2], 1, n_points=5)
    with pytest.raises(ValueError, match="an index that is not below 4, first in row 1"):
        query_neighbors(Answers(*answer), X[:2], 1, n_points=4)


def test_recall_checks_the_answer():
    exact = ExactIndex().fit(X)
    near = exact.kneighbors(None, 4)
    with pytest.raises(ValueError, match="its own neighbour"):
        recall(
            Answers(near[0], np.hstack([np.arange(300)[:, None], near[1][:, 1:]])),
            exact,
            n_neighbors=4,
        )
    with pytest.raises(ValueError, match="index -1"):
        recall(Answers(near[0], np.where(near[1] == 3, -1, near[1])), exact, n_neighbors=4)


def test_recall_is_the_share_of_true_neighbours():
    exact = ExactIndex().fit(X)
    assert recall(exact, exact, n_neighbors=4) == 1.0
    assert recall(HalfRight().fit(X), exact, n_neighbors=4) == 0.5
    assert recall(HalfRight().fit(X), exact, X[:10] + 0.1, n_neighbors=4) == 0.5


def test_recall_takes_ties_for_right():
    grid = np.repeat(np.eye(3), 5, axis=0)
    upside_down = NearestNeighbors(algorithm="kd_tree").fit(grid)
    assert recall(upside_down, ExactIndex().fit(grid), n_neighbors=2) == 1.0
