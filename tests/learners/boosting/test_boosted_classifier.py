"""What all boosted learners promise besides their rounds: stages, stopping, probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit

from plurilabel import AdaBoostMH, AdaBoostMR, ADTBoostMH, metrics, model_selection
from plurilabel.learners.boosting._boosted_classifier import fit_slope
from tests.learners.boosting.problems import EACH, data, f_of


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_features_without_a_cut(learner):
    X, Y = np.ones((6, 2)), np.array([[1, 0], [1, 0], [1, 0], [1, 0], [1, 1], [0, 0]])
    learner.fit(X, Y)
    assert_array_equal(learner.predict(X), np.tile([1, 0], (6, 1)))
    assert_array_equal(learner.feature_importances_, [0, 0])


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_the_order_of_the_rows_does_not_matter(learner):
    X, Y = data()
    X = np.round(X, 1)  # ties in the values, and rules that tie
    order = np.random.default_rng(5).permutation(len(X))
    want = learner.fit(X, Y).decision_function(X)
    assert_allclose(learner.fit(X[order], Y[order]).decision_function(X), want, atol=1e-7)


def test_sparse_features_are_never_made_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.random((60, 800)) < 0.01, rng.random((60, 800)), 0))
    Y = rng.random((60, 3)) < 0.3
    want = AdaBoostMH(5).fit(X, Y).decision_function(X)
    learner = AdaBoostMH(5, rules="presence").fit(X.toarray(), Y)
    assert_allclose(learner.decision_function(X.toarray()), want)

    def refuse(*args, **kwargs):
        raise AssertionError("X was made dense")

    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    for each in (AdaBoostMH(5), AdaBoostMH(5, rules="threshold"), AdaBoostMR(5), ADTBoostMH(3)):
        each.fit(X, Y).decision_function(X)


# stages and stopping -------------------------------------------------------------------------


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_stages_are_shorter_fits(learner):
    X, Y = data()
    stages = list(learner.fit(X, Y).staged_scores(X))
    assert len(stages) == len(learner.bound_)
    assert_array_equal(stages[-1], f_of(learner, X))
    extra = isinstance(learner, ADTBoostMH)  # the root
    short = type(learner)(**{**learner.get_params(), "n_estimators": 2}).fit(X, Y)
    assert_array_equal(stages[1 + extra], f_of(short, X))


def test_early_stopping_keeps_the_best_rounds():
    X, Y = data(n=200)
    Y[np.random.default_rng(3).random(Y.shape) < 0.2] ^= 1  # something to overfit
    learner = AdaBoostMH(150, validation_fraction=0.3, n_iter_no_change=12, random_state=0)
    learner.fit(X, Y)
    seen = learner.validation_scores_
    assert learner.n_estimators_ == 1 + seen.argmin() < 150
    assert len(seen) == learner.n_estimators_ + 12
    assert len(learner.rules_) == len(learner.bound_) == learner.n_estimators_
    n_held = int(np.ceil(0.3 * len(X)))
    X_train, X_held, Y_train, Y_held = model_selection.stratified_split(
        X, Y, sizes=(len(X) - n_held, n_held), random_state=0
    )
    plain = AdaBoostMH(learner.n_estimators_).fit(X_train, Y_train)
    assert_array_equal(learner.decision_function(X), plain.decision_function(X))
    assert_allclose(seen.min(), metrics.hamming_loss(Y_held, plain.predict(X_held)))


@pytest.mark.parametrize(
    ("learner", "measure"),
    [(AdaBoostMH, "hamming_loss"), (AdaBoostMR, "ranking_loss"), (ADTBoostMH, "hamming_loss")],
)
def test_the_held_out_measure_is_what_the_bound_is_of(learner, measure):
    X, Y = data()
    settings = {"n_estimators": 9, "validation_fraction": 0.3, "random_state": 0}
    wanted = learner(**settings, scoring=measure).fit(X, Y).validation_scores_
    assert_array_equal(learner(**settings).fit(X, Y).validation_scores_, wanted)


# probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_probabilities_are_the_link_of_the_scores(learner):
    X, Y = data()
    learner.fit(X, Y)
    assert learner.slope_ == (1.0 if isinstance(learner, AdaBoostMR) else 2.0)
    f = learner.decision_function(X)
    assert_allclose(learner.predict_proba(X), expit(learner.slope_ * f))
    assert_array_equal(learner.predict(X), f > 0)


def test_the_fitted_slope_is_calmer_and_better_on_new_data():
    X, Y = data(n=400)
    Y[np.random.default_rng(3).random(Y.shape) < 0.2] ^= 1
    plain = AdaBoostMH(60).fit(X[:200], Y[:200])
    fitted = AdaBoostMH(60, calibration_folds=3, random_state=0).fit(X[:200], Y[:200])
    assert_array_equal(plain.decision_function(X), fitted.decision_function(X))
    assert fitted.slope_ < plain.slope_

    def log_loss(learner):
        p = learner.predict_proba(X[200:])
        return -np.where(Y[200:] == 1, np.log(p), np.log1p(-p)).mean()

    assert log_loss(fitted) < log_loss(plain)


def test_the_slope_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(4000, 3))
    Y = (rng.random(f.shape) < expit(0.7 * f)).astype(np.int8)
    assert_allclose(fit_slope(f, Y, 2.0), 0.7, atol=0.06)
    assert fit_slope(f, (f > 0).astype(np.int8), 2.0) == 2.0  # nothing wrong: no maximum
    assert fit_slope(np.zeros((3, 1)), np.ones((3, 1), dtype=np.int8), 2.0) == 2.0


@pytest.mark.parametrize("learner", EACH, ids=repr)
def test_importances_find_the_features_that_matter(learner):
    X, Y = data(d=8)  # four of eight
    importances = learner.fit(X, Y).feature_importances_
    assert_allclose(importances.sum(), 1.0)
    assert importances[:4].min() > importances[4:].max()


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_storage_does_not_choose_the_rules(share):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 8)) < share, rng.integers(1, 5, (50, 8)), 0).astype(float)
    Y = (X[:, :3] > 2).astype(int)
    for learner in (AdaBoostMH(5), AdaBoostMR(5), ADTBoostMH(3)):
        wanted = learner.fit(X, Y).decision_function(X)
        assert learner.presence_ == (share < 0.1)
        thin = sparse.csr_array(X)
        assert_allclose(learner.fit(thin, Y).decision_function(thin), wanted, atol=1e-12)
    few = AdaBoostMH(5, calibration_folds=3, random_state=0).fit(X, Y)
    assert few.presence_ == (share < 0.1)
