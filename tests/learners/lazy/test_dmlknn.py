"""DML-kNN against its twin and against ML-kNN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from plurilabel import DMLkNN, MLkNN
from tests.learners.lazy import twins
from tests.learners.lazy.problems import made, problems


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twin(problem, s):
    X, Y, queries, k = problem
    wanted = [twins.dml_knn(X, Y, x, k, s, 1) for x in queries.tolist()]
    found = DMLkNN(k, smoothing=s, width=1).fit(X, Y).predict_proba(queries)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_without_dependence_it_is_mlknn():
    X, Y, _ = made(80, 3, 6)
    wide = DMLkNN(7, width=7).fit(X[:60], Y[:60])
    assert_allclose(wide.predict_proba(X[60:]), MLkNN(7).fit(X[:60], Y[:60]).predict_proba(X[60:]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [127, 128, 255, 256])
def test_counts_of_many_neighbours_do_not_wrap_around(k, form):
    """More neighbours than a byte can hold twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = (X[:, :1] + rng.normal(size=(300, 4)) > [-2, -1, 0, 1]).astype(np.int8)
    # of this width the other labels are ignored, and the scores are those of ML-kNN
    ours = DMLkNN(k, width=k).fit(X, form(Y)).predict_proba(X[:20])
    assert_allclose(ours, MLkNN(k).fit(X, Y).predict_proba(X[:20]), rtol=1e-12)
