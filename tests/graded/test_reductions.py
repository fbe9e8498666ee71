"""The reductions against loops, their agreement, and the bar on the water quality data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import (
    AAkNN,
    BinaryRelevance,
    ClassifierChain,
    CombinedReduction,
    GradedMLkNN,
    HorizontalReduction,
    MLkNN,
    ThresholdClassifier,
    VerticalReduction,
    datasets,
)
from plurilabel.graded import mean_absolute_error

REDUCTIONS = [VerticalReduction, HorizontalReduction, CombinedReduction]


def problem(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = X @ rng.normal(size=(3, 4)) + 0.7 * rng.normal(size=(n, 4))
    return X, np.array([0, 1, 3, 5])[np.digitize(latent, [-1, 0.3, 1.5])]


def frank_and_hall(X, Y, Q, scale):
    """P(grade) of each query and label, a binary model at a time."""
    result = np.empty((len(Q), Y.shape[1], len(scale)))
    places = np.arange(len(scale) - 1)
    for l in range(Y.shape[1]):
        above = np.zeros((len(Q), len(scale) - 1))
        for c, g in enumerate(scale[1:]):
            y = Y[:, l] >= g
            if y.all() or not y.any():
                above[:, c] = y[0]
            else:
                above[:, c] = LogisticRegression().fit(X, y).predict_proba(Q)[:, 1]
        for i, row in enumerate(above):
            fixed = IsotonicRegression(increasing=False).fit(places, row).predict(places)
            ends = [1.0, *fixed, 0.0]
            result[i, l] = [ends[r] - ends[r + 1] for r in range(len(scale))]
    return result


def test_vertical_is_frank_and_hall():
    X, Y = problem()
    Y[:, 3] = 5  # always the highest grade
    Q = np.random.default_rng(1).normal(size=(15, 3)) * 2
    learner = VerticalReduction(LogisticRegression()).fit(X, Y)
    twin = frank_and_hall(X, Y, Q, [0, 1, 3, 5])
    assert_allclose(learner.predict_proba(Q), twin, atol=1e-8)
    assert_allclose(learner.predict_proba(Q).sum(axis=2), 1)
    assert_allclose(learner.expected_rank(Q), twin @ [0, 1, 2, 3], atol=1e-8)
    above = learner.predict_at_least(Q)
    assert above.shape == (15, 4, 3) and (np.diff(above, axis=2) <= 0).all()
    assert (learner.predict(Q)[:, 3] == 5).all()
    # the median: the first grade that at most half of the probability lies above
    medians = [[np.searchsorted(p.cumsum(), 0.5 - 1e-12) for p in row] for row in twin]
    assert_array_equal(learner.predict(Q), np.array([0, 1, 3, 5])[np.array(medians)])
    mode = clone(learner).set_params(decision="mode").fit(X, Y)
    assert_array_equal(mode.predict(Q), np.array([0, 1, 3, 5])[twin.argmax(axis=2)])


def test_all_agree_where_each_question_is_learned_alone():
    X, Y = problem()
    one = VerticalReduction(LogisticRegression()).fit(X, Y).predict_proba(X)
    for reduction in REDUCTIONS:
        learner = reduction(BinaryRelevance(LogisticRegression()), n_jobs=2).fit(X, Y)
        assert_allclose(learner.predict_proba(X), one, atol=1e-8)
    for reduction in REDUCTIONS:
        around = reduction(MLkNN(6)).fit(X, Y)
        assert_array_equal(around.predict_proba(X), GradedMLkNN(6).fit(X, Y).predict_proba(X))


def test_graded_mlknn_with_two_grades_is_mlknn():
    X, Y = problem()
    Y = (Y > 1).astype(int)
    assert_array_equal(
        GradedMLkNN(6).fit(X, Y).expected_rank(X), MLkNN(6).fit(X, Y).predict_proba(X)
    )
    assert_array_equal(GradedMLkNN(6).fit(X, Y).predict(X), MLkNN(6).fit(X, Y).predict(X))


def test_horizontal_learns_labels_together():
    X, Y = problem()
    learner = HorizontalReduction(ClassifierChain(LogisticRegression())).fit(X, Y)
    assert len(learner.estimators_) == 3
    for g, model in zip((1, 3, 5), learner.estimators_):
        twin = ClassifierChain(LogisticRegression()).fit(X, (g <= Y).astype(int))
        assert_array_equal(model.predict_proba(X), twin.predict_proba(X))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(),
        BinaryRelevance(RidgeClassifier()),
        ThresholdClassifier(MLkNN(3), "scut"),
        make_pipeline(StandardScaler(), MLkNN(3)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_estimator(reduction, estimator):
    X, Y = problem(40)
    learner = reduction(estimator).fit(X, Y)
    predicted = learner.predict(X)
    assert np.isin(predicted, [0, 1, 3, 5]).all()
    assert mean_absolute_error(Y, predicted) < mean_absolute_error(Y, np.roll(Y, 7, axis=0))
    assert_allclose(learner.predict_proba(X).sum(axis=2), 1)


def test_data_frames_and_scikit_learn():
    X, Y = problem()
    words = ["none", "some", "much", "most"]
    kind = pd.CategoricalDtype(words, ordered=True)
    labels = pd.DataFrame(np.array(words)[np.digitize(Y, [1, 3, 5])], columns=list("abcd"))
    labels = labels.astype(kind)
    features = pd.DataFrame(X, columns=["x", "y", "z"])
    learner = GradedMLkNN(5).fit(features, labels)
    plain = GradedMLkNN(5).fit(X, Y)
    assert_array_equal(learner.predict_proba(features), plain.predict_proba(X))
    assert_array_equal(
        learner.predict(features), np.array(words)[np.digitize(plain.predict(X), [1, 3, 5])]
    )
    assert list(learner.label_names_) == list("abcd") and list(learner.grades_) == words
    assert learner.score(features, labels) == pytest.approx(plain.score(X, Y))
    search = GridSearchCV(GradedMLkNN(grades=[0, 1, 3, 5]), {"n_neighbors": [3, 9]}, cv=3)
    assert 0.5 < search.fit(X, Y).best_score_ <= 1
    found = cross_val_predict(VerticalReduction(LogisticRegression(), grades=[0, 1, 3, 5]), X, Y)
    assert found.shape == Y.shape


def test_sparse_features_read_only_and_pickles():
    X, Y = problem()
    X.flags.writeable = Y.flags.writeable = False
    for learner in (CombinedReduction(LogisticRegression()), GradedMLkNN(5)):
        fitted = learner.fit(X, Y)
        again = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        thin = clone(learner).fit(sparse.csr_matrix(X), Y)
        assert_allclose(
            thin.predict_proba(sparse.csc_array(X)), fitted.predict_proba(X), atol=1e-5
        )


def test_one_grade_one_label_one_row():
    X, Y = problem(8)
    learner = GradedMLkNN(3).fit(X, np.full((8, 2), 3))
    assert_array_equal(learner.predict(X[:1]), [[3, 3]])
    assert learner.predict_proba(X[:1]).shape == (1, 2, 1) and learner.score(X, [[3, 3]] * 8) == 1
    column = VerticalReduction(LogisticRegression()).fit(X, Y[:, :1])
    flat = VerticalReduction(LogisticRegression()).fit(X, Y[:, 0])
    assert_array_equal(column.predict(X)[:, 0], flat.predict(X))
    assert flat.predict_at_least(X).shape == (8, len(flat.grades_) - 1)
    assert flat.expected_rank(X).shape == (8,)


def test_a_grade_that_never_occurs():
    X, Y = problem()
    learner = GradedMLkNN(5, grades=[0, 1, 2, 3, 4, 5], smoothing=0).fit(X, Y)
    assert_allclose(learner.predict_proba(X)[:, :, [2, 4]], 0, atol=1e-12)


@pytest.mark.parametrize("routing", [False, True])
def test_weights(routing):
    X, Y = problem()
    w = np.repeat([1, 2], 30)
    twice = np.arange(60).repeat(w)
    with config_context(enable_metadata_routing=routing):
        base = LogisticRegression(tol=1e-8)
        if routing:
            base = base.set_fit_request(sample_weight=True)
        learner = VerticalReduction(base)
        found = learner.fit(X, Y, sample_weight=w).predict_proba(X)
        assert_allclose(found, learner.fit(X[twice], Y[twice]).predict_proba(X), atol=1e-4)
        combined = CombinedReduction(base).fit(X, Y, sample_weight=w)
        assert (
            combined.predict_proba(X) != CombinedReduction(base).fit(X, Y).predict_proba(X)
        ).any()
    if not routing:
        with pytest.raises(ValueError, match="fit of MLkNN does not accept it"):
            HorizontalReduction(MLkNN(3)).fit(X, Y, sample_weight=w)
        with pytest.raises(ValueError, match=r"passing \['groups'\] to fit"):
            learner.fit(X, Y, groups=w)


def test_bad_parameters():
    X, Y = problem(10)
    with pytest.raises(ValueError, match="The 'decision' parameter"):
        GradedMLkNN(3, decision="mean").fit(X, Y)
    with pytest.raises(ValueError, match="n_neighbors must be smaller than the 10"):
        GradedMLkNN(10).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GradedMLkNN(3).fit(X, Y[:9])
    with pytest.raises(ValueError, match="requires y to be passed"):
        GradedMLkNN(3).fit(X, None)


def test_water_quality(data_folder):
    """Combined is better than either reduction, and all are better than the median grade."""
    data = datasets.load("wq")
    train, test = next(KFold(3, shuffle=True, random_state=0).split(data.X))
    X, Y = StandardScaler().fit(data.X[train]).transform(data.X), data.Y
    learners = [reduction(LogisticRegression(), grades=[0, 1, 3, 5]) for reduction in REDUCTIONS]
    found = [learner.fit(X[train], Y[train]).predict(X[test]) for learner in learners]
    vertical, horizontal, combined = (mean_absolute_error(Y[test], Z) for Z in found)
    median = np.tile(np.median(Y[train], axis=0), (len(test), 1)).astype(Y.dtype)
    assert combined < horizontal < vertical < mean_absolute_error(Y[test], median) - 0.04


@pytest.mark.parametrize(
    "learner", [VerticalReduction(RidgeClassifier()), GradedMLkNN(1), AAkNN(1)]
)
def test_masked_values_are_refused(learner):
    X = np.ma.masked_equal([[1.0], [2.0], [9.0]], 9)
    with pytest.raises(ValueError, match="X must not have masked values, got 1"):
        learner.fit(X, np.eye(3, dtype=int))
