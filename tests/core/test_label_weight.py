"""``label_weight``: weights of labels, one mechanism for the learners that take it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import BPMLL, BinaryRelevance, MLGradientBoosting, MLRandomForest
from plurilabel._core.unknown import cell_weights


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = (X[:, :3] + rng.normal(size=(300, 3)) > np.array([0.0, 1.8, 2.2])).astype(int)
    return X, Y


def test_balanced_as_scikit_learn_has_it(data):
    X, Y = data
    found = BinaryRelevance(LogisticRegression(), label_weight="balanced").fit(X, Y)
    expected = BinaryRelevance(LogisticRegression(class_weight="balanced")).fit(X, Y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-5)
    scaled = BinaryRelevance(
        make_pipeline(StandardScaler(with_std=False), LogisticRegression()),
        label_weight="balanced",
    ).fit(X, Y)
    np.testing.assert_array_equal(scaled.predict(X), expected.predict(X))


def test_known_labels_are_balanced(data):
    X, Y = data
    hidden = np.random.default_rng(1).random(Y.shape) < 0.4
    found = BinaryRelevance(GaussianNB(), label_weight="balanced")
    found.fit(X, np.where(hidden, np.nan, Y), sample_weight=np.linspace(1, 2, len(X)))
    for j in range(3):
        rows = ~hidden[:, j]
        y, w = Y[rows, j], np.linspace(1, 2, len(X))[rows]
        w = w * np.where(y == 1, w.sum() / w[y == 1].sum(), w.sum() / w[y == 0].sum())
        alone = GaussianNB().fit(X[rows], y, sample_weight=w)
        np.testing.assert_allclose(found.predict_proba(X)[:, j], alone.predict_proba(X)[:, 1])


def test_both_sides_weigh_the_same():
    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    unknown = np.zeros(Y.shape, dtype=bool)
    unknown[3, 0] = True
    W = cell_weights("balanced", Y, unknown, np.array([1.0, 2.0, 1.0, 5.0]))
    weighted = W[:3, 0] * [1, 2, 1]
    assert weighted[0] == pytest.approx(weighted[1:].sum()) == pytest.approx(2.0)
    np.testing.assert_array_equal(W[:, 1:], 1)  # nothing to balance


@pytest.mark.parametrize(
    "learner",
    [
        MLGradientBoosting(20, random_state=0),
        MLRandomForest(20, max_depth=4, random_state=0),
        MLRandomForest(20, max_depth=4, criterion="gini", random_state=0),
        BPMLL(
            (8,), loss="cross-entropy", batch_size=8, max_iter=40, threshold=None, random_state=0
        ),
    ],
    ids=repr,
)
def test_more_rare_labels_are_predicted(learner, data):
    if isinstance(learner, BPMLL):
        pytest.importorskip("torch")
    X, Y = data
    plain = learner.fit(X, Y).predict_proba(X)
    balanced = learner.set_params(label_weight="balanced").fit(X, Y).predict_proba(X)
    assert (balanced[:, 1:] > 0.5).sum() > 1.3 * (plain[:, 1:] > 0.5).sum()
    assert balanced[:, 1:].mean() > 1.3 * plain[:, 1:].mean()


def test_forest_leaves_are_weighted(data):
    X, Y = data
    forest = MLRandomForest(1, bootstrap=False, max_depth=3, random_state=0)
    p = forest.fit(X, Y).predict_proba(X)
    n1 = Y.sum(axis=0)
    own, other = p / n1, (1 - p) / (len(Y) - n1)
    forest.set_params(label_weight="balanced").fit(X, Y)
    np.testing.assert_allclose(forest.predict_proba(X), own / (own + other))


def test_bad_values(data):
    X, Y = data
    with pytest.raises(ValueError, match="needs a base estimator that takes sample_weight"):
        BinaryRelevance(KNeighborsClassifier(), label_weight="balanced").fit(X, Y)
    with pytest.raises(ValueError, match="'label_weight' parameter"):
        BinaryRelevance(LogisticRegression(), label_weight="equal").fit(X, Y)
    with pytest.raises(ValueError, match="label_weight must be 3 finite numbers"):
        MLGradientBoosting(label_weight=[1, 2]).fit(X, Y)


def test_balanced_weights():
    found = cell_weights("balanced", np.array([[1], [0], [0], [0]])).ravel().round(2)
    assert found.tolist() == [2.0, 0.67, 0.67, 0.67]
