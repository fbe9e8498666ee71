"""The contract: scikit-learn's checks and ours."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel.boosting import AdaBoostMH, AdaBoostMR, ADTBoostMH
from plurilabel.checks import MULTILABEL_CHECKS

LEARNERS = [
    AdaBoostMH(20),
    AdaBoostMH(8, weak="tree", max_depth=2),
    AdaBoostMH(20, variant="discrete"),
    AdaBoostMH(20, variant="abstain"),
    AdaBoostMH(20, validation_fraction=0.2, calibration_folds=3, random_state=0),
    AdaBoostMR(20),
    AdaBoostMR(20, variant="discrete"),
    ADTBoostMH(8),
]


@parametrize_with_checks(LEARNERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_multilabel_checks(learner, check):
    check(learner)
