"""DW-ML-kNN against its twin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from plurilabel import DWMLkNN
from tests.learners.lazy import twins
from tests.learners.lazy.problems import problems


@pytest.mark.parametrize(("reading", "blend"), [("table", 0.5), ("figure", 0.2)])
@settings(max_examples=20)
@given(problem=problems(), s=st.sampled_from([0.5, 1.0, 2.0]))
def test_against_the_twin(reading, blend, problem, s):
    X, Y, queries, k = problem
    literal = reading == "figure"
    wanted = [twins.dw_ml_knn(X, Y, x, k, s, blend, literal) for x in queries.tolist()]
    learner = DWMLkNN(k, smoothing=s, blend=blend, reading=reading).fit(X, Y)
    assert_allclose(learner.predict_proba(queries), wanted, rtol=1e-9, atol=1e-12)
