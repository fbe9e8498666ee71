"""The approximate index, measured against the exact one."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from plurilabel import ApproximateIndex, ExactIndex
from plurilabel.neighbors import recall, training_neighbors

X = np.random.default_rng(0).normal(size=(300, 6))


def test_a_missing_pynndescent_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[ann\]'"):
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
    distances, indices = training_neighbors(index, points, 10)
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
