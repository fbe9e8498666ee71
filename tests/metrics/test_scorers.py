"""Scorers and scores of scikit-learn's own classifiers, in all their shapes."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from plurilabel import metrics
from plurilabel._core.scores import score_matrix, score_method
from plurilabel.metrics import get_measure, get_scorer, label_scores, measure_names

X, Y = make_multilabel_classification(120, n_classes=4, random_state=0)


def expected_scores(estimator, X):
    """Column by column, from whatever the classifier returns."""
    output = estimator.predict_proba(X)
    if isinstance(output, list):
        return np.array([p[:, 1] for p in output]).T
    return output


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        RandomForestClassifier(5, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
        MLPClassifier((3,), tol=0.1, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3]}),
    ],
    ids=lambda e: type(e).__name__,
)
def test_scores_of_scikit_learn(estimator):
    estimator.fit(X, Y)
    scores = label_scores(estimator, X)
    assert scores.shape == Y.shape
    np.testing.assert_array_equal(scores, expected_scores(estimator, X))
    assert get_scorer("average_precision")(estimator, X, Y) == metrics.average_precision(Y, scores)
    assert get_scorer("coverage")(estimator, X, Y) == -metrics.coverage(Y, scores)


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(), RandomForestClassifier(3), DummyClassifier(strategy="prior")],
    ids=lambda e: type(e).__name__,
)
def test_labels_with_one_class(estimator):
    constant = Y.copy()
    constant[:, 0], constant[:, 2] = 0, 1
    scores = label_scores(estimator.fit(X, constant), X)
    assert (scores[:, 0] == 0).all()
    assert (scores[:, 2] == 1).all()
    assert 0 < scores[:, 1].mean() < 1


def test_decision_function_and_the_single_label():
    svc = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    np.testing.assert_array_equal(label_scores(svc, X), svc.decision_function(X))
    one = LogisticRegression().fit(X, Y[:, 0])
    assert score_method(one) == "predict_proba"
    np.testing.assert_array_equal(
        label_scores(one, X, n_labels=1)[:, 0], one.predict_proba(X)[:, 1]
    )
    binary = LinearSVC().fit(X, Y[:, 0])
    assert label_scores(binary, X).shape == (120, 1)
    value = get_scorer("macro_auc")(one, X, Y[:, :1])
    assert value == metrics.macro_auc(Y[:, :1], one.predict_proba(X)[:, 1:])


def test_score_matrix_says_what_it_cannot_read():
    with pytest.raises(ValueError, match="has 1 column.* for label 1, expected 2"):
        score_matrix([np.ones((2, 2)), np.ones((2, 1))])
    with pytest.raises(ValueError, match="label 0 must have the classes 0 and 1"):
        score_matrix([np.ones((2, 2))], classes=[["no", "yes"]])
    with pytest.raises(ValueError, match="scores must be a matrix"):
        score_matrix(np.ones((2, 2, 2)))
    with pytest.raises(TypeError, match="must have predict_proba or decision_function"):
        get_scorer("coverage")(MultiOutputClassifier(LinearSVC()).fit(X, Y), X, Y)
    assert isinstance(score_matrix(sparse.lil_matrix([[0.5, 0.0]])), sparse.csr_array)


def test_every_measure_is_a_scorer_with_the_right_sign():
    knn = KNeighborsClassifier().fit(X, Y)
    params = {"psp": {"propensities": metrics.propensities(Y)}}
    params["ps_ndcg"] = params["psp"]
    for name in measure_names():
        name = name.replace("@k", "@2")
        measure = get_measure(name)
        extra = params.get(name.partition("@")[0], {})
        given = knn.predict(X) if measure.kind == "labels" else label_scores(knn, X)
        value = measure.function(Y, given, **extra)
        sign = 1 if measure.greater_is_better else -1
        assert get_scorer(name, **extra)(knn, X, Y) == sign * value
        # perfect predictions are at least as good
        best = measure.function(Y, Y if measure.kind == "labels" else Y.astype(float), **extra)
        assert sign * best >= sign * value


def test_parameters_reach_the_measure():
    knn = KNeighborsClassifier().fit(X, Y)
    scorer = get_scorer("macro_f_beta", beta=2)
    assert scorer(knn, X, Y) == metrics.macro_f_beta(Y, knn.predict(X), beta=2)
    assert repr(scorer) == "get_scorer('macro_f_beta', beta=2)"
    assert get_scorer("recall@k", k=2)(knn, X, Y) == get_scorer("recall@2")(knn, X, Y)


def test_in_scikit_learn():
    scorer = get_scorer("ranking_loss")
    scores = cross_val_score(KNeighborsClassifier(), X, Y, scoring=scorer)
    assert (scores < 0).all()
    two = {name: get_scorer(name) for name in ("f1", "precision@1")}
    result = cross_validate(KNeighborsClassifier(), X, Y, scoring=two)
    assert (result["test_precision@1"] > 0.5).all()
    grid = {"n_neighbors": [1, 10]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(KNeighborsClassifier(), grid, scoring=scorer).fit(X, Y)
    assert search.best_params_ == {"n_neighbors": 10}
    assert pickle.loads(pickle.dumps(scorer))(search, X, Y) == scorer(search, X, Y)


def test_sparse_labels():
    forest = OneVsRestClassifier(LogisticRegression()).fit(X, sparse.csr_matrix(Y))
    assert get_scorer("f1")(forest, X, sparse.csr_array(Y)) == metrics.f1(Y, forest.predict(X))
    assert get_scorer("micro_auc")(forest, X, sparse.csr_array(Y)) > 0.5


def test_a_missing_k():
    with pytest.raises(ValueError, match="such as precision@5, got 'precision@k'"):
        get_scorer("precision@k")


def test_missing_propensities():
    with pytest.raises(ValueError, match="psp@1 needs propensities"):
        get_scorer("psp@1")
