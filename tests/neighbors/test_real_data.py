"""Real data, with many ties: the neighbours of the slow twin."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import ExactIndex
from plurilabel.datasets import load
from tests.neighbors import twin


def test_yeast(data_folder):
    X = load("yeast").X
    rows = np.arange(0, len(X), 12)
    D = twin.table(X[rows], X)
    D[np.arange(len(rows)), rows] = np.inf
    expected = twin.nearest(D, 10, without_self=False)
    for stored in (X, sparse.csr_array(X)):
        distances, indices = ExactIndex().fit(stored).kneighbors(n_neighbors=10)
        twin.same((distances[rows], indices[rows]), expected)


@pytest.mark.parametrize("name", ["medical", "bibtex"])
def test_words_counted_exactly(name, data_folder):
    """0/1 data: squared distances are whole numbers, so a key of both gives the order."""
    X = sparse.csr_array(load(name).X)
    n, k = X.shape[0], 10
    rows = np.arange(0, n, max(1, n // 500))
    bits = X.astype(np.int64)
    lengths = bits.sum(axis=1)
    squared = lengths[rows][:, None] + lengths - 2 * (bits[rows] @ bits.T).toarray()
    key = squared * n + np.arange(n)
    key[np.arange(len(rows)), rows] = np.iinfo(np.int64).max
    key = np.sort(np.partition(key, k, axis=1)[:, :k], axis=1)
    expected = np.sqrt(key // n), key % n
    ties = np.mean(key[:, -1] // n == key[:, -2] // n)
    assert ties > 0.3  # that is what these data are here for
    stored = [X, X.astype(np.float32)]
    if name == "medical":
        stored.append(X.toarray())
    for points in stored:
        distances, indices = ExactIndex().fit(points).kneighbors(n_neighbors=k)
        twin.same((distances[rows], indices[rows]), expected)


def test_cosine_on_medical(data_folder):
    X = load("medical").X
    points = X.toarray()[:60]
    D = np.array([[twin.cosine(x, y) for y in points] for x in points[:15]])
    D[np.arange(15), np.arange(15)] = np.inf
    expected = twin.nearest(D, 10, without_self=False)
    for stored in (points, sparse.csr_array(points)):
        distances, indices = ExactIndex("cosine").fit(stored).kneighbors(n_neighbors=10)
        twin.same((distances[:15], indices[:15]), expected)
