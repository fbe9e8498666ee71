import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from plurilabel import MLROS, MLRUS, MLSMOTE, MLeNN, MLkNN, ResampledClassifier
from plurilabel.datasets import UnknownLabels
from tests.wrappers.test_resamplers import problem


def test_the_learner_is_that_of_the_resampled_data():
    X, Y = problem()
    learner = ResampledClassifier(MLkNN(3), MLSMOTE(random_state=0)).fit(X, Y)
    new_X, new_Y = MLSMOTE(random_state=0).fit_resample(X, Y)
    assert learner.n_resampled_ == len(new_X) > len(X)
    plain = MLkNN(3).fit(new_X, new_Y)
    np.testing.assert_array_equal(learner.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(learner.predict(X), plain.predict(X))


def test_in_a_pipeline_and_a_search():
    X, Y = problem()
    pipeline = make_pipeline(
        StandardScaler(), ResampledClassifier(MLkNN(3), MLROS(random_state=0))
    )
    search = GridSearchCV(
        pipeline, {"resampledclassifier__resampler": [MLROS(random_state=0), MLeNN()]}, cv=2
    )
    assert search.fit(X, Y).predict(X).shape == Y.shape


def test_scikit_learn_classifiers_and_texts():
    texts = ["red sea", "red sun", "blue sea", "blue sun"] * 5
    Y = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]] * 5)
    inner = make_pipeline(CountVectorizer(), OneVsRestClassifier(LinearSVC()))
    learner = ResampledClassifier(inner, MLROS(random_state=0)).fit(texts, Y)
    np.testing.assert_array_equal(learner.predict(texts), Y)
    assert not hasattr(learner, "predict_proba")
    assert learner.decision_function(texts).shape == Y.shape
    X, Y = problem()
    lists = ResampledClassifier(KNeighborsClassifier(), MLROS(random_state=0)).fit(X, Y)
    assert lists.predict_proba(X).shape == Y.shape


def test_sparse_labels_and_a_failed_fit():
    X, Y = problem()
    learner = ResampledClassifier(MLkNN(3), MLROS(random_state=0)).fit(X, sparse.csr_array(Y))
    assert sparse.issparse(learner.predict(X))
    before = learner.predict(X).toarray()
    with pytest.raises(ValueError, match="y must hold only 0 and 1"):
        learner.fit(X, 3 * Y)
    np.testing.assert_array_equal(learner.predict(X).toarray(), before)


def test_bad_parameters():
    with pytest.raises(ValueError, match="'resampler' parameter"):
        ResampledClassifier(DummyClassifier(), "mlros").fit(*problem())


def test_model_file(tmp_path):
    pytest.importorskip("skops")
    from plurilabel.models import load_model, save_model

    X, Y = problem()
    learner = ResampledClassifier(MLkNN(3), MLSMOTE(random_state=0)).fit(X, Y)
    save_model(learner, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").estimator
    np.testing.assert_array_equal(loaded.predict_proba(X), learner.predict_proba(X))
    assert loaded.n_resampled_ == learner.n_resampled_


@pytest.mark.parametrize("resampler", [MLROS(random_state=0), MLSMOTE(random_state=0), MLeNN()])
def test_names_reach_the_classifier(resampler):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, Y = problem()
    names, labels = [f"f{j}" for j in range(X.shape[1])], [f"l{j}" for j in range(Y.shape[1])]
    plain = ResampledClassifier(MLkNN(3), resampler).fit(X, Y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        learner = ResampledClassifier(MLkNN(3), resampler)
        learner.fit(frame, pd.DataFrame(Y, columns=labels))
        assert learner.feature_names_in_.tolist() == names
        assert learner.label_names_.tolist() == learner.estimator_.label_names_.tolist() == labels
        np.testing.assert_array_equal(learner.predict_proba(frame), plain.predict_proba(X))
        assert learner.explain(frame[:1])[0].label_names == tuple(labels)


@pytest.mark.parametrize("resampler", [MLROS(random_state=0), MLRUS(random_state=0)])
def test_unknown_labels_go_along_with_their_rows(resampler):
    X, Y = problem()
    hidden = np.random.default_rng(1).uniform(size=Y.shape) < 0.3
    partial = UnknownLabels(Y, hidden)
    rows, labels = resampler.fit_resample(np.arange(len(X)), partial)
    absent = resampler.fit_resample(np.arange(len(X)), np.where(hidden, 0, Y))[0]
    np.testing.assert_array_equal(rows, absent)
    np.testing.assert_array_equal(labels.toarray(), partial.toarray()[rows])

    learner = ResampledClassifier(MLkNN(3), resampler)
    assert learner.accepts_unknown_labels
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(partial.toarray(), columns=[f"l{j}" for j in range(Y.shape[1])])
    learner.fit(X, frame)
    alone = MLkNN(3).fit(X[rows], labels)
    np.testing.assert_array_equal(learner.predict_proba(X), alone.predict_proba(X))
    assert learner.estimator_.label_names_[0] == "l0"
    many = ResampledClassifier(MLkNN(3), resampler)
    many.fit(X, UnknownLabels(sparse.csr_array(Y), hidden))
    np.testing.assert_array_equal(many.predict_proba(X), alone.predict_proba(X))


def test_resamplers_of_whole_label_sets_refuse_unknown_labels():
    X, Y = problem()
    Y = Y.astype(float)
    Y[4, 1] = np.nan
    with pytest.raises(ValueError, match="for MLSMOTE, got NaN in row 4, column 1; MLROS"):
        MLSMOTE().fit_resample(X, Y)
    for learner in (
        ResampledClassifier(MLkNN(3), MLSMOTE()),
        ResampledClassifier(DummyClassifier(), MLROS()),
    ):
        assert not learner.accepts_unknown_labels
        with pytest.raises(ValueError, match="ImputedLabels"):
            learner.fit(X, Y)


class Own(BaseEstimator):
    """A resampler that returns what a function makes of X and Y."""

    def __init__(self, function):
        self.function = function

    def fit_resample(self, X, Y):
        return self.function(X, Y)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _X, _Y: None, "resampler must return X and Y as a pair, got NoneType"),
        (lambda X, _Y: X, "resampler must return X and Y as a pair, got ndarray"),
        (lambda X, Y: (X, Y[:, :2]), r"all 5 labels, got 2"),
        (lambda X, Y: (X, Y[:, 0]), "Y of the resampler must be a 0/1 matrix"),
        (lambda X, Y: (X[:5], Y), "inconsistent numbers of samples"),
    ],
)
def test_own_resamplers_that_return_something_else(function, message):
    X, Y = problem()
    with pytest.raises((TypeError, ValueError), match=message):
        ResampledClassifier(MLkNN(3), Own(function)).fit(X, Y[:, :5])


def test_own_resamplers_may_return_lists():
    X, Y = problem()
    found = ResampledClassifier(MLkNN(3), Own(lambda X, Y: (X.tolist(), Y.tolist()))).fit(X, Y)
    np.testing.assert_array_equal(found.predict(X), MLkNN(3).fit(X, Y).predict(X))


@pytest.mark.parametrize("resampler", [MLROS(), MLRUS(), MLeNN()], ids=repr)
def test_no_rows(resampler):
    with pytest.raises(ValueError, match="requires rows X, got None"):
        ResampledClassifier(MLkNN(3), resampler).fit(None, [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="requires rows X, got None"):
        resampler.fit_resample(None, [[1, 0], [0, 1]])
