import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel import BinaryRelevance, MLkNN
from plurilabel.checks import MULTILABEL_CHECKS
from plurilabel.resampling import MLROS, MLSMOTE, REMEDIAL, MLeNN, ResampledClassifier
from tests.resampling.test_resampling import problem

FORMS = [
    ResampledClassifier(MLkNN(3), MLROS(random_state=0)),
    ResampledClassifier(BinaryRelevance(LogisticRegression()), REMEDIAL()),
]


@parametrize_with_checks(FORMS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", MULTILABEL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", FORMS, ids=["random", "split"])
def test_multilabel_checks(estimator, check):
    # REMEDIAL takes a label that all rows have away from the copies
    splits = isinstance(estimator.resampler, REMEDIAL)
    if splits and check.__name__ == "check_constant_labels":
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


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
    from plurilabel.persistence import load_model, save_model

    X, Y = problem()
    learner = ResampledClassifier(MLkNN(3), MLSMOTE(random_state=0)).fit(X, Y)
    save_model(tmp_path / "model.skops", learner)
    loaded = load_model(tmp_path / "model.skops").estimator
    np.testing.assert_array_equal(loaded.predict_proba(X), learner.predict_proba(X))
    assert loaded.n_resampled_ == learner.n_resampled_
