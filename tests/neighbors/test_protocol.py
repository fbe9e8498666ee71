"""Any index that answers the call can be used; the approximate one is measured."""

import builtins

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from plurilabel.neighbors import (
    ApproximateIndex,
    ExactIndex,
    NeighborsIndex,
    check_index,
    check_neighbors,
    recall,
    training_graph,
)

X = np.random.default_rng(0).normal(size=(300, 6))


class HalfRight:
    """Of four true neighbours it knows the first two, and then the last points of all."""

    def fit(self, X, y=None):
        self.exact = ExactIndex().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        distances, indices = self.exact.kneighbors(X, n_neighbors=len(self.exact._points) - 1)
        half = n_neighbors // 2
        return (
            np.hstack([distances[:, :half], distances[:, -half:]]),
            np.hstack([indices[:, :half], indices[:, -half:]]),
        )


class Selfish:
    """The mistake of dropping nothing."""

    def fit(self, X, y=None):
        self.X = X
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        return NearestNeighbors().fit(self.X).kneighbors(self.X, n_neighbors)


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
    check_index(index)
    assert isinstance(index, NeighborsIndex)


@pytest.mark.parametrize("wrong", ["faiss", None, ExactIndex, object()])
def test_other_things_are_not(wrong):
    with pytest.raises(TypeError, match=r"index must have fit\(X\) and kneighbors"):
        check_index(wrong)


def test_training_graph_of_any_index():
    exact = training_graph(ExactIndex().fit(X), 7)
    theirs = training_graph(NearestNeighbors().fit(X), 7)
    np.testing.assert_array_equal(exact[1], theirs[1])
    np.testing.assert_allclose(exact[0], theirs[0])
    assert exact[1].dtype == theirs[1].dtype == np.int64


def test_an_index_that_counts_a_point_as_its_neighbour_is_refused():
    with pytest.raises(ValueError, match="Selfish counts a training point as its own neighbour"):
        training_graph(Selfish().fit(X), 3)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (3, TypeError, r"must return \(distances, indices\), got int"),
        ((np.ones((2, 3)), np.ones((2, 2), int)), ValueError, r"shape \(n, 2\), got \(2, 3\)"),
        ((np.ones((2, 2)), np.ones((2, 2))), TypeError, "must be integers, got float64"),
        ((np.ones((2, 2)), np.array([[0, 1], [0, -1]])), ValueError, "fewer than 2 .* for row 1"),
    ],
)
def test_wrong_answers_are_named(answer, error, message):
    with pytest.raises(error, match=message):
        check_neighbors(answer, 2)


def test_recall_is_the_share_of_true_neighbours():
    exact = ExactIndex().fit(X)
    assert recall(exact, exact, n_neighbors=4) == 1.0
    assert recall(HalfRight().fit(X), exact, n_neighbors=4) == 0.5
    assert recall(HalfRight().fit(X), exact, X[:10] + 0.1, n_neighbors=4) == 0.5


def test_recall_takes_ties_for_right():
    grid = np.repeat(np.eye(3), 5, axis=0)
    upside_down = NearestNeighbors(algorithm="kd_tree").fit(grid)
    assert recall(upside_down, ExactIndex().fit(grid), n_neighbors=2) == 1.0


def test_a_missing_pynndescent_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pynndescent"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install plurilabel\[ann\]"):
        ApproximateIndex().fit(X)


def test_approximate_index_is_an_estimator():
    assert clone(ApproximateIndex(n_candidates=50)).n_candidates == 50
    with pytest.raises(ValueError, match="'n_candidates' parameter of ApproximateIndex"):
        ApproximateIndex(n_candidates=1).fit(X)


@pytest.fixture(scope="module")
def clusters():
    pytest.importorskip("pynndescent", reason="the extra 'ann' (pynndescent) is not installed")
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 10)) + 4 * rng.normal(size=(20, 10))[rng.integers(0, 20, 3000)]
    points[10:15] = points[10]  # duplicates stay, the point itself does not
    return points


@pytest.mark.filterwarnings("ignore")  # numba's
# pynndescent compiles for minutes if each metric meets each storage; a cosine is Euclidean there
@pytest.mark.parametrize(
    ("metric", "storage"),
    [("euclidean", np.asarray), ("cosine", np.asarray), ("cosine", sparse.csr_array)],
)
def test_approximate_index(clusters, metric, storage):
    points = storage(clusters)
    index = ApproximateIndex(metric, random_state=0).fit(points)
    exact = ExactIndex(metric).fit(points)
    assert recall(index, exact, n_neighbors=10) > 0.95
    assert recall(index, exact, points[:200], n_neighbors=10) > 0.9
    distances, indices = training_graph(index, 10)
    assert {11, 12, 13, 14} == set(indices[10, :4].tolist())
    # distances are those of the exact index, bit for bit
    true, found = exact.kneighbors(n_neighbors=10)
    same = indices == found
    assert same.mean() > 0.5
    np.testing.assert_array_equal(distances[same], true[same])
    with pytest.raises(ValueError, match="n_neighbors must be from 1 to n_candidates=30, got 31"):
        index.kneighbors(None, 31)
    with pytest.raises(ValueError, match="n_candidates must be smaller than the 20 training"):
        ApproximateIndex().fit(points[:20])
