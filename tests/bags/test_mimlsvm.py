"""MIMLSVM against scikit-learn's machines on distances by loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from plurilabel import MIMLSVM
from tests.bags.problems import concept_bags
from tests.bags.test_hausdorff import slow


@pytest.mark.parametrize("distance", ["max", "average"])
@pytest.mark.parametrize("gamma", ["scale", 0.2])
def test_against_one_machine_for_each_label(distance, gamma):
    (X, Y), (X_new, _) = concept_bags(0), concept_bags(1, n=20)
    learner = MIMLSVM(distance=distance, gamma=gamma, C=2.0, random_state=0).fit(X, Y)
    assert len(learner.medoids_) == 12
    Z, Z_new = (slow(bags, learner.medoids_, distance) for bags in (X, X_new))
    wanted = [SVC(C=2.0, gamma=gamma).fit(Z, y).decision_function(Z_new) for y in Y.T]
    scores = learner.decision_function(X_new)
    assert_allclose(scores, np.transpose(wanted), atol=1e-3)  # the tolerance of the solver
    chosen = learner.predict(X_new)
    for row, labels in zip(scores, chosen):
        positive = {l for l in range(3) if row[l] > 0}
        assert {l for l in range(3) if labels[l]} == (positive or {int(np.argmax(row))})


def test_the_t_criterion_does_not_invent_labels():
    X, Y = concept_bags(2)
    Y[:] = 0
    assert not MIMLSVM(random_state=0).fit(X, Y).predict(X).any()
    Y[:3, 1] = 1
    predicted = MIMLSVM(random_state=0).fit(X, Y).predict(X)
    assert_array_equal(predicted, [[0, 1, 0]] * len(X))
    plain = MIMLSVM(random_state=0, nonempty=False).fit(X, Y)
    assert_array_equal(plain.predict(X), plain.decision_function(X) > 0)


def test_units_do_not_matter():
    X, Y = concept_bags(3)
    scores = [
        MIMLSVM(random_state=0).fit(bags, Y).decision_function(bags)
        for bags in (X, X.with_instances(X.instances * 1000))
    ]
    assert_allclose(*scores, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160])
def test_features_of_any_magnitude(scale):
    bags, Y = concept_bags(0)[:2]
    plain = MIMLSVM(random_state=0).fit(bags, Y).decision_function(bags)
    far = bags.with_instances(bags.instances * scale)
    assert_allclose(MIMLSVM(random_state=0).fit(far, Y).decision_function(far), plain, atol=1e-6)
