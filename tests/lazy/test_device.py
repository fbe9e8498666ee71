"""Counts on a GPU are those of the CPU; here torch counts on the CPU, and on a GPU if there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel import MLkNN
from plurilabel.neighbors import ExactIndex

torch = pytest.importorskip("torch", reason="counts on a GPU need torch")

from plurilabel.lazy import _device  # noqa: E402

WHERE = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([1, 7, 1000]), st.booleans())
def test_counts_are_those_of_the_cpu(seed, at_once, is_sparse):
    rng = np.random.default_rng(seed)
    n, k, q = rng.integers(3, 40), rng.integers(1, 3), rng.integers(1, 6)
    X, Y = rng.normal(size=(n, 2)), (rng.random((n, q)) < rng.random(q)).astype(np.int8)
    learner = MLkNN(k).fit(X, sparse.csr_array(Y) if is_sparse else Y)
    some = rng.choice(n, rng.integers(1, n + 1), replace=False)
    distances, near = learner.graph_
    for device in WHERE:
        for rows in (np.arange(n), some):
            expected = learner._count(distances[rows], near[rows], learner.Y_[rows])
            found = _device.tally(near[rows], learner.Y_, learner.Y_[rows], device, at_once)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_learner_counts_where_its_index_searched(monkeypatch, form):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), form((rng.random((60, 4)) < 0.4).astype(np.int8))
    expected = MLkNN(5).fit(X, Y)
    monkeypatch.setattr(ExactIndex, "device_", "cpu:0")
    found = MLkNN(5).fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    np.testing.assert_array_equal(found.counts_, expected.counts_)
    np.testing.assert_array_equal(found.table_, expected.table_)
