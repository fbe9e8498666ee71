"""The contract: scikit-learn's checks and ours pass, and ours fail where they should."""

import numpy as np
import pytest
from scipy import sparse

from plurilabel import BRkNN
from plurilabel.evaluation import MULTILABEL_CHECKS, check_multilabel


class SwapsColumns(BRkNN):
    def _scores(self, X):
        return super()._scores(X)[:, ::-1]


class DensifiesPredictions(BRkNN):
    def predict(self, X):
        predicted = super().predict(X)
        return predicted.toarray() if sparse.issparse(predicted) else predicted


class CutsAtAQuarter(BRkNN):
    _cut = 0.25


class ForgetsNames(BRkNN):
    def _encode(self, y, classes=None):
        Y = super()._encode(y, classes)
        self.label_names_ = np.array(["?"] * Y.shape[1])
        return Y


class WritesIntoX(BRkNN):
    def _fit(self, X, Y):
        values = X.data if sparse.issparse(X) else X
        values *= 1.0
        super()._fit(X, Y)


class DependsOnTheBatch(BRkNN):
    def _scores(self, X):
        scores = super()._scores(X)
        return scores * len(scores) / (1 + len(scores))


class PredictsRareLabels(BRkNN):
    def _scores(self, X):
        return np.maximum(super()._scores(X), 0.51)


class TakesAnything(BRkNN):
    def _encode(self, y, classes=None):
        y = y.toarray() if sparse.issparse(y) else np.asarray(y)
        return super()._encode((np.nan_to_num(y) > 0).astype(int), classes)


class IsTooSure(BRkNN):
    def _scores(self, X):
        return super()._scores(X) * 1.1


class KeepsHalfOfAFit(BRkNN):
    """Without the protection that the door gives to every ``fit``."""


KeepsHalfOfAFit.fit = BRkNN.fit.__wrapped__


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (SwapsColumns, "check_column_order"),
        (DensifiesPredictions, "check_sparse_labels"),
        (CutsAtAQuarter, "check_cut"),
        (ForgetsNames, "check_label_names"),
        (WritesIntoX, "check_inputs_unchanged"),
        (DependsOnTheBatch, "check_row_order"),
        (PredictsRareLabels, "check_constant_labels"),
        (TakesAnything, "check_bad_labels"),
        (IsTooSure, "check_probability_range"),
        (KeepsHalfOfAFit, "check_failed_fit"),
    ],
)
def test_a_broken_learner_is_found(broken, check):
    (the_check,) = (c for c in MULTILABEL_CHECKS if c.__name__ == check)
    with pytest.raises((AssertionError, ValueError)):
        the_check(broken(n_neighbors=5))


def test_check_multilabel_names_the_check_that_failed():
    with pytest.raises(AssertionError, match="check_cut failed for CutsAtAQuarter"):
        check_multilabel(CutsAtAQuarter())


def test_an_expected_failure_must_fail():
    check_multilabel(CutsAtAQuarter(), expected_failed_checks={"check_cut": "cuts elsewhere"})
    with pytest.raises(AssertionError, match="check_cut passes for BRkNN.*cuts elsewhere"):
        check_multilabel(BRkNN(), expected_failed_checks={"check_cut": "cuts elsewhere"})
    with pytest.raises(ValueError, match="unknown checks: \\['check_everything'\\]"):
        check_multilabel(BRkNN(), expected_failed_checks={"check_everything": "?"})
