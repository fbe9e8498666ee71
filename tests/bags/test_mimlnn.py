"""MIMLNN against ridge regression on distances by loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from plurilabel import MIMLNN
from tests.bags.problems import concept_bags
from tests.bags.test_hausdorff import slow


@pytest.mark.parametrize("alpha", [0.0, 0.5, 3.0])
def test_against_ridge_regression(alpha):
    (X, Y), (X_new, _) = concept_bags(0), concept_bags(1, n=20)
    learner = MIMLNN(alpha=alpha, distance="average", random_state=0).fit(X, Y)
    assert len(learner.medoids_) == 24
    Z, Z_new = (slow(bags, learner.medoids_, "average") for bags in (X, X_new))
    unit = Z.mean()
    ridge = Ridge(alpha=max(alpha, 1e-12), fit_intercept=False).fit(Z / unit, 2 * Y - 1)
    assert_allclose(learner.decision_function(X_new), ridge.predict(Z_new / unit), atol=1e-5)


def test_it_learns_and_units_do_not_matter():
    (X, Y), (X_new, Y_new) = concept_bags(2, n=200), concept_bags(3, n=200)
    learner = MIMLNN(random_state=0).fit(X, Y)
    assert (learner.predict(X_new) == Y_new).mean() > 0.85
    large = MIMLNN(random_state=0).fit(X.with_instances(X.instances * 1e6), Y)
    assert_allclose(large.coef_ * 1e6, learner.coef_, rtol=1e-6, atol=1e-8)


def test_equal_bags():
    learner = MIMLNN(random_state=0).fit(np.ones((6, 2, 3)), [[1, 0]] * 3 + [[0, 1]] * 3)
    assert np.isfinite(learner.decision_function(np.zeros((2, 4, 3)))).all()
