"""scikit-learn's estimator checks for learners of grades and of label distributions."""

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel import (
    AAkNN,
    BinaryRelevance,
    CombinedReduction,
    DistributionNetwork,
    GradedMLkNN,
    HorizontalReduction,
    MLkNN,
    VerticalReduction,
)

GRADED = [
    VerticalReduction(RidgeClassifier(), decision="mode"),
    HorizontalReduction(MLkNN(5), decision="mode", n_jobs=2),
    CombinedReduction(BinaryRelevance(LogisticRegression()), decision="mode"),
    GradedMLkNN(5),
]
DISTRIBUTIONS = [
    AAkNN(3, weights="distance"),
    DistributionNetwork((8,), max_iter=100, random_state=0),
]
NO_ORDER = "strings have no order: they need the parameter grades"


def expected(estimator):
    """The checks that an estimator must fail, and why."""
    if type(estimator) in {type(learner) for learner in DISTRIBUTIONS}:
        return {"check_classifier_multioutput": "0/1 rows do not sum to one"}
    median = {"check_classifiers_train": "predict is the median, not the argmax of predict_proba"}
    return {
        "check_classifier_multioutput": "predict_proba has a third axis, the grades",
        "check_classifiers_classes": NO_ORDER,
        **(median if estimator.decision == "median" else {}),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*GRADED, *DISTRIBUTIONS], expected_failed_checks=expected)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
