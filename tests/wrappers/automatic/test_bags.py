"""AutoClassifier on bags."""

import numpy as np
import pytest

from plurilabel import AutoClassifier, metrics
from plurilabel.bags import MIMLNN, Bags, BagsToRows

RNG = np.random.default_rng(0)
SIZES = RNG.integers(2, 5, 90)
INSTANCES = [RNG.normal(size=(m, 3)) for m in SIZES]
BAGS = Bags(INSTANCES)
# a bag has a label if one of its instances is far out in a direction
Y = np.array([(bag > 0.9).any(axis=0) for bag in INSTANCES]).astype(int)


@pytest.fixture(scope="module")
def model():
    return AutoClassifier(portfolio="quick", cv=3, random_state=0).fit(BAGS[:70], Y[:70])


def test_learners_of_bags_and_of_rows_are_tried(model):
    tried = {one["name"] for one in model.report_["tried"]} | set(model.report_["dropped"])
    assert {"MIMLNN", "MIMLSVM", "MIMLkNN", "ML-kNN"} <= tried
    assert metrics.micro_f1(Y[70:], model.predict(BAGS[70:])) > 0.75
    assert model.predict_proba(BAGS[70:]).shape == (20, 3)
    (why,) = model.explain(BAGS[70:71])
    assert why.shares.shape == (SIZES[70], 3)
    assert model.refit(BAGS, Y).n_features_in_ == 3


def test_lists_few_bags_and_errors(model):
    few = AutoClassifier(random_state=0).fit(BAGS[:20], Y[:20])
    assert isinstance(few.estimators_[0][0], BagsToRows)
    given = AutoClassifier(portfolio=[MIMLNN(random_state=0)], cv=3).fit(BAGS, Y)
    assert given.names_ == ["MIMLNN(random_state=0)"]
    with pytest.raises(ValueError, match="X must be Bags, as in fit, got ndarray"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="X must be rows, as in fit, got Bags"):
        AutoClassifier(random_state=0).fit(np.zeros((9, 3)), Y[:9]).predict(BAGS)
    with pytest.raises(ValueError, match="encoder must be None for bags"):
        AutoClassifier(encoder=BagsToRows()).fit(BAGS, Y)
