"""The part that decides comes first, also where the score is close to 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    AutoClassifier,
    BinaryRelevance,
    EnsembleOfChains,
    MLkNN,
    MLRandomForest,
    ThresholdClassifier,
)
from plurilabel.inspection import explain

RNG = np.random.default_rng(0)
NAMES = ["noise0", "cause", "noise1", "noise2", "other"]
X = RNG.normal(size=(400, 5))
X[:, 1] *= 3
Y = np.column_stack([X[:, 1] > 0, X[:, 4] > 0]).astype(int)
ROW = np.array([[0.1, 4.0, -0.2, 0.1, -0.3]])
LINEAR = BinaryRelevance(LogisticRegression(C=10.0))
FOREST = MLRandomForest(n_estimators=30, random_state=0)
LAZY = MLkNN(15)
SCALED = make_pipeline(StandardScaler(), LAZY)


@pytest.mark.parametrize(
    "learner",
    [
        LINEAR,
        FOREST,
        EnsembleOfChains(LogisticRegression(C=10.0), n_estimators=3, random_state=0),
        ThresholdClassifier(LINEAR),
        AutoClassifier(portfolio=[LINEAR], cv=2, random_state=0),
        AutoClassifier(portfolio=[LAZY], cv=2, random_state=0),
        AutoClassifier(portfolio=[LINEAR, FOREST, SCALED], cv=2, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_the_part_that_decides_comes_first(learner):
    learner.fit(X, Y)
    (why,) = explain(learner, ROW, feature_names=NAMES)
    assert why.scores[0] > 0.96
    (name, adds), *rest = why.top(0)
    assert name == "cause" and adds > 0
    assert all(adds > 2 * abs(other) for _, other in rest)


def test_neighbours_that_have_the_label_come_first():
    (why,) = explain(LAZY.fit(X, Y), ROW)
    assert why.scores[0] > 0.96
    row, votes = why.top(0)[0]
    assert votes > 0 and Y[int(row.rpartition(" ")[2]), 0] == 1


def test_a_single_linear_member_is_explained_exactly():
    auto = AutoClassifier(portfolio=[LINEAR], cv=2, random_state=0).fit(X, Y)
    row = ROW / 8
    (why,) = auto.explain(row)
    assert why.exact.all()
    assert_allclose(expit(why.total), why.scores, rtol=1e-6)
    if auto.weights_[0, 0] == 1:  # the member's scores as they are
        (alone,) = auto.estimators_[0].explain(row)
        assert_allclose(why.parts, alone.parts, rtol=1e-6)


def test_parts_of_a_mean_add_up_to_the_log_odds():
    auto = AutoClassifier(portfolio=[LINEAR, FOREST, SCALED], cv=2, random_state=0).fit(X, Y)
    for row, why in zip(X[:5], auto.explain(X[:5])):
        inside = (why.scores > 1e-5) & (why.scores < 1 - 1e-5)
        assert_allclose(expit(why.total)[inside], why.scores[inside], rtol=1e-6)
        assert_allclose(why.scores, auto.predict_proba(row[None])[0])
    several = auto.explain(X[:3])
    (one,) = auto.explain(X[1:2])
    assert_allclose(several[1].parts, one.parts)


def test_a_constant_row_has_no_parts():
    auto = AutoClassifier(portfolio=[LAZY], cv=2, random_state=0).fit(X, Y)
    (why,) = auto.explain(np.median(X, axis=0)[None])
    assert len(why.part_names) == 0 and np.isfinite(why.base).all()
