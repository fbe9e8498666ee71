"""scikit-learn's own checks of an estimator, on several wrapped classifiers and strategies."""

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel.thresholds import SCut, ThresholdClassifier


def expected_failures(estimator):
    reasons = {}
    if isinstance(estimator.strategy, SCut):
        reasons["check_classifiers_train"] = (
            "another cut than 0.5 is the purpose: predict differs from the highest "
            "predict_proba, as it does for FixedThresholdClassifier"
        )
    if isinstance(estimator.estimator, KNeighborsClassifier):
        reasons["check_classifier_multioutput"] = (
            "another cut than 0.5 is the purpose: predict differs from the rounded predict_proba"
        )
        reasons["check_classifiers_multilabel_output_format_predict_proba"] = (
            "the check wants probabilities strictly between 0 and 1 in an array (n, q); the "
            "neighbours' shares of KNeighborsClassifier, which returns a list, may be 0 or 1"
        )
    return reasons


@parametrize_with_checks(
    [
        ThresholdClassifier(LogisticRegression(C=1), cv=3),
        ThresholdClassifier(GaussianNB(), SCut(), cv=3),
        ThresholdClassifier(KNeighborsClassifier(3), "linear", cv=3, nonempty=True),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
