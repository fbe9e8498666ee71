"""The measures by name, and scorers for scikit-learn's own classifiers in all their shapes."""

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
from plurilabel.metrics import (
    MeasureSums,
    RunningMeasures,
    _registry,
    evaluate,
    get_measure,
    get_scorer,
    label_scores,
    measure_names,
)
from plurilabel.metrics._label_sets import value_of_sets
from plurilabel.metrics._ranking import value_of_ranking
from plurilabel.metrics._registry import measure
from plurilabel.metrics.shared import check_measures

X, Y = make_multilabel_classification(120, n_classes=4, random_state=0)
HALVES = slice(60), slice(60, None)


def test_families_say_what_a_measure_looks_at():
    for name in measure_names():
        measure = get_measure(name.replace("@k", "@3"))
        averaged = "label" if name.startswith(("macro_", "micro_")) else "instance"
        expected = "rankings" if measure.kind == "scores" else f"label sets, by {averaged}"
        assert measure.family == expected, name
    assert get_measure("macro_auc").family == get_measure("ndcg@k").family == "rankings"
    assert measure_names("labels")[:7] == [
        name for name in measure_names() if get_measure(name).family == "label sets, by instance"
    ]


@pytest.fixture
def toys():
    """Measures that exist for one test, each added up in another way."""

    @measure("labels", lambda counts: (counts.pred, counts.some_known), loss=True)
    def size(Y_true, Y_pred):
        return value_of_sets(size, Y_true, Y_pred)

    @measure("labels", lambda tp, fp, fn, tn: (tp + fn) / (tp + fp + fn + tn), average="macro")
    def macro_share(Y_true, Y_pred):
        return value_of_sets(macro_share, Y_true, Y_pred)

    @measure("labels", lambda tp, fp, _fn, _tn: tp - fp, average="micro")
    def micro_gain(Y_true, Y_pred):
        return value_of_sets(micro_gain, Y_true, Y_pred)

    @measure("scores", lambda ranking, k: (ranking.hits(k) > 0, ranking.labelled))
    def success_at_k(Y_true, scores, k=5):
        return value_of_ranking(success_at_k, Y_true, scores, k=k)

    names = ["size", "macro_share", "micro_gain", "success@k"]
    yield names
    for name in names:
        del _registry._MEASURES[name]


def test_a_new_measure_is_found_everywhere(toys):
    assert set(toys) <= set(measure_names())
    assert measure_names().index("size") == measure_names().index("f1") + 1
    assert {"size", "macro_share", "micro_gain", "success@3"} <= set(check_measures(None))
    learner = KNeighborsClassifier(7).fit(X, Y)
    S, Z = label_scores(learner, X), learner.predict(X)
    # of equal scores, that of an irrelevant label first
    first = np.argsort(-(S - 1e-6 * Y), axis=1)[:, :2]
    hit = np.take_along_axis(Y, first, axis=1).any(axis=1)
    expected = {
        "size": Z.sum() / len(Z),
        "macro_share": Y.mean(),
        "micro_gain": (Z * (2 * Y - 1)).sum(),
        "success@2": hit[Y.any(axis=1)].mean(),
    }
    found = evaluate(Y, S, Z, top=(2,), bootstrap=50, random_state=0)
    running = RunningMeasures([*expected], window=120, fading=None)
    for y, s, z in zip(Y, S, Z):
        running.update(*(dict(enumerate(row)) for row in (y, s, z)))
    read = pickle.loads(pickle.dumps(running)).read()
    halves = [MeasureSums.of(Y[half], S[half], Z[half], top=(2,)) for half in HALVES]
    sums = (halves[0] + halves[1]).evaluation()
    for name, value in expected.items():
        for values in (found, sums, read["overall"], read["window"]):
            assert values[name] == pytest.approx(value), name
        low, high = found.intervals[name]
        assert low < value < high
        sign = -1 if name == "size" else 1
        assert get_scorer(name)(learner, X, Y) == pytest.approx(sign * value)


def test_titles():
    titles = {
        "hamming_loss": "Hamming loss",
        "one_error": "one-error",
        "coverage_normalized": "normalized coverage",
        "macro_f_beta": "macro F-beta",
        "micro_auc": "micro AUC",
        "ps_ndcg@3": "ps nDCG@3",
    }
    assert {name: get_measure(name).title for name in titles} == titles


def test_measures_can_be_pickled():
    again = pickle.loads(pickle.dumps(get_measure("ndcg@2")))
    assert (again.name, again.family) == ("ndcg@2", "rankings")
    assert again.function([[1, 0, 1], [0, 1, 0]], [[0.9, 0.1, 0.5], [0.2, 0.4, 0.3]]) == 1


@pytest.mark.parametrize("name", ["nonsense", "precision@", "precision@0", "f1@3", "precision@x"])
def test_unknown_names(name):
    with pytest.raises(ValueError, match="name must be one of hamming_loss"):
        get_measure(name)


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
