"""ML-WkNN against its twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import MLWkNN
from plurilabel.learners.lazy._neighbor_labels import label_counts
from tests.learners.lazy import twins
from tests.learners.lazy.problems import problems


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twin(problem, s):
    X, Y, queries, k = problem
    wanted = [twins.ml_wknn(X, Y, x, k, s) for x in queries.tolist()]
    found = MLWkNN(k, smoothing=s).fit(X, Y).predict_proba(queries)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_best_labels_are_the_same_for_sparse_labels(k):
    """A label whose neighbours are far has the event 0, as one that no neighbour has."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 2)), (rng.random((80, 6)) < 0.3).astype(np.int8)
    dense_labels = MLWkNN(7).fit(X[:60], Y[:60])
    sparse_labels = MLWkNN(7).fit(X[:60], sparse.csr_array(Y[:60]))
    weights = sparse_labels._labels.events(*sparse_labels._neighbors(X[60:])).count
    votes = label_counts(sparse_labels._neighbors(X[60:])[1], sparse_labels.Y_)
    assert weights.nnz < votes.nnz  # some are rounded to zero
    best = sparse_labels.predict_top(X[60:], k)
    assert best.has_canonical_format  # no label twice
    assert_array_equal(best.toarray(), dense_labels.predict_top(X[60:], k).toarray())
    assert_array_equal(sparse_labels.predict(X[60:]).toarray(), dense_labels.predict(X[60:]))
