"""AdaBoost.MR: every round against the paper's loop over crucial pairs, the bound, the cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from plurilabel import AdaBoostMH, AdaBoostMR, datasets
from plurilabel.metrics import hamming_loss, ranking_loss
from tests.learners.boosting import twins
from tests.learners.boosting.problems import assert_rounds, data, figures, problems


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete"]), st.booleans())
def test_rounds_of_the_paper(problem, algorithm, presence):
    X, Y, queries = problem
    history = twins.adaboost_mr(
        X.tolist(), Y.tolist(), queries.tolist(), 5, algorithm=algorithm, presence=presence
    )
    learner = AdaBoostMR(5, algorithm=algorithm, rules="presence" if presence else "threshold")
    assert_rounds(learner, X, Y, queries, history)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["real", "discrete", "abstain"]))
def test_the_bound_dominates_the_training_ranking_loss(problem, algorithm):
    X, Y, _ = problem
    learner = AdaBoostMR(8, algorithm=algorithm).fit(X, Y)
    for f, bound in zip(learner.staged_scores(X), learner.bound_):
        assert bound >= ranking_loss(Y, f) - 1e-12


@pytest.mark.parametrize("eps", [0.01, None])
@pytest.mark.parametrize("learner", [AdaBoostMH, AdaBoostMR])
def test_the_weight_of_a_rule_without_error_is_finite(learner, eps):
    X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    rule = learner(1, algorithm="discrete", smoothing=eps).fit(X, Y)
    r, eps = 1.0, 1 / 8 if eps is None else eps
    alpha = np.log((1 + r + 2 * eps) / (1 - r + 2 * eps)) / 2
    (f,) = rule.staged_scores(X)
    assert_allclose(f, alpha * (2.0 * np.array(Y) - 1))


def test_the_cut_shifts_rows_only():
    X, Y = data()
    learner = AdaBoostMR(10).fit(X, Y)
    shift = learner.ranking_function(X) - learner.decision_function(X)
    assert_allclose(shift, np.repeat(shift[:, :1], 4, axis=1), atol=1e-12)
    assert_allclose(learner.threshold_.cuts(learner.ranking_function(X)), shift[:, 0], atol=1e-12)
    assert hamming_loss(Y, learner.predict(X)) < 0.2


def test_early_stopping_needs_a_measure_of_rankings():
    X, Y = data(n=200)
    learner = AdaBoostMR(
        60, validation_fraction=0.3, scoring="average_precision", random_state=0
    ).fit(X, Y)
    assert learner.n_estimators_ == 1 + learner.validation_scores_.argmax()
    message = "scoring must be a measure of rankings for AdaBoostMR.*got 'hamming_loss'"
    with pytest.raises(ValueError, match=message):
        AdaBoostMR(scoring="hamming_loss", validation_fraction=0.2).fit(X, Y)


def test_medical_as_words(data_folder):
    assert sparse.issparse(datasets.load("medical").X)
    found = figures(AdaBoostMR(200), "medical")
    assert_allclose(found["average_precision"], 0.8704, atol=0.0005)
