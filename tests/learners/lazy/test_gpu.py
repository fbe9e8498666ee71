"""Counts on a GPU are those of the CPU; here torch counts on the CPU, and on a GPU if there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from plurilabel import IBLRML, BRkNN, DMLkNN, DWMLkNN, ExactIndex, MLkNN, MLkNNCV, MLWkNN
from plurilabel.learners.lazy._leave_one_out import leave_one_out

torch = pytest.importorskip("torch", reason="counts on a GPU need torch")

from plurilabel.learners.lazy import _gpu  # noqa: E402
from plurilabel.learners.lazy._gpu import GpuNeighborLabels  # noqa: E402

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
            there = GpuNeighborLabels(learner.Y_, None, k, device=device, at_once=at_once)
            expected = learner._labels.tally(distances[rows], near[rows], rows)
            found = there.tally(distances[rows], near[rows], rows)
            np.testing.assert_array_equal(found, expected)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([1, 7, 1000]), st.booleans())
def test_answers_are_those_of_the_cpu(seed, at_once, is_sparse):
    rng = np.random.default_rng(seed)
    n, k, q = rng.integers(4, 40), rng.integers(1, 4), rng.integers(1, 8)
    X, Y = rng.normal(size=(n, 2)), (rng.random((n, q)) < rng.random(q)).astype(np.int8)
    learner = BRkNN(k) if rng.random() < 0.3 else MLkNN(k)  # equal scores by the dozen
    learner.fit(X, sparse.csr_array(Y) if is_sparse else Y)
    args, how_many = (*learner._neighbors(X), learner.table_), int(rng.integers(1, q + 1))
    expected = learner.predict_proba(X), learner.predict(X), learner.predict_top(X, how_many)
    for device in WHERE:
        there = GpuNeighborLabels(learner.Y_, None, k, device=device, at_once=at_once)
        np.testing.assert_array_equal(there.scores(*args), expected[0])
        found = there.above(*args, 0.5)
        assert found.dtype == np.int64 and found.has_sorted_indices
        np.testing.assert_array_equal(found.toarray(), sparse.csr_array(expected[1]).toarray())
        labels, scores = there.top(*args, how_many)
        order = np.argsort(labels, axis=1)
        labels, scores = (np.take_along_axis(a, order, axis=1) for a in (labels, scores))
        np.testing.assert_array_equal(labels.ravel(), expected[2].indices)
        np.testing.assert_array_equal(scores.ravel(), expected[2].data)


LEARNERS = [MLkNN(4), MLWkNN(4), BRkNN(4), DWMLkNN(4), DMLkNN(4), IBLRML(4), MLkNNCV([2, 4])]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_learner_answers_on_a_gpu_as_on_the_cpu(learner, form):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(60, 3)), form((rng.random((60, 4)) < 0.4).astype(np.int8))
    expected = clone(learner).fit(X, Y)
    for device in ("cpu:0", *WHERE[1:]):
        found = clone(learner).set_params(device=device).fit(X, Y)
        assert found.index_.device_ == device
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        assert abs(found.predict(X) - expected.predict(X)).sum() == 0
        assert (found.predict_top(X, 2) != expected.predict_top(X, 2)).nnz == 0


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from([1, 50, 10_000]), st.booleans())
def test_leaving_out_is_that_of_the_cpu(seed, at_once, replace):
    rng = np.random.default_rng(seed)
    n, q = rng.integers(6, 40), rng.integers(1, 5)
    X, Y = rng.normal(size=(n, 2)), (rng.random((n, q)) < rng.random(q)).astype(np.int8)
    near, s = MLkNN(5).fit(X, Y).graph_[1], float(rng.choice([0.0, 0.3, 1.0]))
    for device in WHERE:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_gpu, "AT_ONCE", at_once)
            found = _gpu.leave_one_out(near, Y, {1, 4}, replace=replace, device=device)
            for (a, there), (b, here) in zip(
                found, leave_one_out(near, Y, {1, 4}, replace=replace)
            ):
                assert a == b
                assert there.hamming_loss(s, 0.5) == here.hamming_loss(s, 0.5)
                for cut in (None, 0.4):
                    np.testing.assert_array_equal(there.scores(s, cut), here.scores(s, cut))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_learner_counts_where_its_index_searched(monkeypatch, form):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), form((rng.random((60, 4)) < 0.4).astype(np.int8))
    expected = MLkNN(5).fit(X, Y)
    monkeypatch.setattr(ExactIndex, "device_", "cpu:0")
    found = MLkNN(5).fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    np.testing.assert_array_equal(found.counts_, expected.counts_)
    np.testing.assert_array_equal(found.table_, expected.table_)
