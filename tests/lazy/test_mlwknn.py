"""ML-WkNN against its twin."""

from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from plurilabel import MLWkNN
from tests.lazy import twins
from tests.lazy.problems import problems


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twin(problem, s):
    X, Y, queries, k = problem
    wanted = [twins.ml_wknn(X, Y, x, k, s) for x in queries.tolist()]
    found = MLWkNN(k, smoothing=s).fit(X, Y).predict_proba(queries)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
