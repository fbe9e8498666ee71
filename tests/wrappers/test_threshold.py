"""ThresholdClassifier: out-of-fold scores, any classifier, scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from plurilabel import (
    CardinalityThreshold,
    GlobalThreshold,
    SCut,
    ThresholdClassifier,
    datasets,
    metrics,
)
from plurilabel.metrics import get_scorer
from plurilabel.thresholds import strategy_names


@pytest.fixture(scope="module")
def data():
    return make_multilabel_classification(
        n_samples=120, n_features=8, n_classes=4, n_labels=2, random_state=0
    )


def one_vs_rest():
    return OneVsRestClassifier(GaussianNB())


class Memory(ClassifierMixin, BaseEstimator):
    """Scores 1 for the labels of instances that it has seen, 0 for all others."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = {float(x[0]): row for x, row in zip(np.asarray(X), np.asarray(y))}
        self.weight_ = None if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.arange(np.shape(y)[1])
        return self

    def predict_proba(self, X):
        nothing = np.zeros(len(self.classes_))
        return np.array([self.seen_.get(float(x[0]), nothing) for x in X], dtype=float)


class Recorder(BaseEstimator):
    """A strategy that keeps what it is given, and predicts everything."""

    def fit(self, scores, Y):
        self.scores_, self.Y_ = scores, Y
        return self

    def predict(self, scores):
        return np.ones(scores.shape, dtype=int)


# how the strategy is learned ------------------------------------------------------------------


def test_scores_are_out_of_fold():
    X, Y = np.arange(12.0).reshape(12, 1), np.eye(12, 3, dtype=int) + np.eye(12, 3, -5, dtype=int)
    learned = ThresholdClassifier(Memory(), Recorder(), cv=KFold(4)).fit(X, Y)
    assert learned.strategy_.scores_.max() == 0  # no instance was seen by the model that scored it
    np.testing.assert_array_equal(learned.strategy_.Y_, Y)
    assert len(learned.estimator_.seen_) == 12  # the final model has seen all
    assert learned.predict(X).all()


def test_cut_is_that_of_cross_val_predict(data):
    X, Y = data
    cv = KFold(5)
    wrapped = ThresholdClassifier(one_vs_rest(), SCut("f1"), cv=cv).fit(X, Y)
    scores = cross_val_predict(one_vs_rest(), X, Y, cv=cv, method="predict_proba")
    np.testing.assert_allclose(wrapped.strategy_.cuts_, SCut("f1").fit(scores, Y).cuts_)
    proba = one_vs_rest().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(wrapped.predict_proba(X), proba)
    np.testing.assert_array_equal(wrapped.predict(X), proba > wrapped.strategy_.cuts_)


def test_rows_keep_their_labels_when_folds_are_shuffled(data):
    X, Y = data
    plain = ThresholdClassifier(Memory(), Recorder(), cv=KFold(3, shuffle=True, random_state=0))
    recorded = plain.fit(X, Y).strategy_
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    np.testing.assert_array_equal(recorded.Y_, Y[np.concatenate([test for _, test in splits])])
    listed = ThresholdClassifier(one_vs_rest(), cv=splits).fit(X, Y)
    same = ThresholdClassifier(one_vs_rest(), cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y)
    assert listed.strategy_.cut_ == same.strategy_.cut_


def test_prefit_and_frozen(data):
    X, Y = data
    fitted = one_vs_rest().fit(X[:60], Y[:60])
    means = fitted.estimators_[0].theta_.copy()
    prefit = ThresholdClassifier(fitted, cv="prefit").fit(X[60:], Y[60:])
    frozen = ThresholdClassifier(FrozenEstimator(fitted), cv=3).fit(X[60:], Y[60:])
    expected = CardinalityThreshold().fit(fitted.predict_proba(X[60:]), Y[60:]).cut_
    assert prefit.strategy_.cut_ == frozen.strategy_.cut_ == expected
    assert prefit.estimator_ is fitted
    np.testing.assert_array_equal(fitted.estimators_[0].theta_, means)
    with pytest.raises(NotFittedError):
        ThresholdClassifier(one_vs_rest(), cv="prefit").fit(X, Y)


@pytest.mark.parametrize("name", strategy_names())
def test_folds_are_made_only_where_they_are_needed(name, data):
    X, Y = data
    fits = []

    class Counting(Memory):
        def fit(self, X, y):
            fits.append(len(X))
            return super().fit(X, y)

    ThresholdClassifier(Counting(), name, cv=3).fit(X, Y)
    learns = name in ("cardinality", "linear", "scut", "global", "metalabeler")
    assert len(fits) == (4 if learns else 1)


def test_default_folds_are_even_where_data_are_sorted():
    # the last third has a label of its own: unshuffled plain folds would train without it
    X = np.arange(30.0).reshape(30, 1)
    Y = np.zeros((30, 2), dtype=int)
    Y[:20, 0], Y[20:, 1] = 1, 1
    seen = []

    class Counting(Memory):
        def fit(self, X, y):
            seen.append(np.asarray(y).sum(axis=0).min())
            return super().fit(X, y)

    ThresholdClassifier(Counting(), cv=3).fit(X, Y)
    assert min(seen) >= 6


# any classifier -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        MultiOutputClassifier(LogisticRegression(solver="liblinear")),  # a list of (n, 2)
        KNeighborsClassifier(),  # a list too
        OneVsRestClassifier(LogisticRegression(solver="liblinear")),
        OneVsRestClassifier(LinearSVC(random_state=0)),  # decision_function
        make_pipeline(StandardScaler(), RidgeClassifier()),
        Memory(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("strategy", ["constant", "cardinality", "scut", "seen_sets"])
def test_any_classifier(estimator, strategy, data):
    X, Y = data
    wrapped = ThresholdClassifier(estimator, strategy, cv=3).fit(X, Y)
    predicted = wrapped.predict(X)
    assert predicted.shape == Y.shape and predicted.dtype == np.int64
    inner = clone(estimator).fit(X, Y)
    for method in ("predict_proba", "decision_function"):
        assert hasattr(wrapped, method) == hasattr(inner, method)
        if hasattr(inner, method):
            scores = getattr(inner, method)(X)
            if isinstance(scores, list):
                scores = np.column_stack([p[:, 1] for p in scores])
            np.testing.assert_allclose(getattr(wrapped, method)(X), scores)
            if strategy == "constant":
                np.testing.assert_array_equal(predicted, scores > 0.5 * (method[0] == "p"))
                break


def test_response_method(data):
    X, Y = data
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    wrapped = ThresholdClassifier(model, response_method="decision_function", cv=2).fit(X, Y)
    log_odds = model.fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(wrapped.predict(X), log_odds > wrapped.strategy_.cut_)
    with pytest.raises(
        ValueError, match="response_method .* RidgeClassifier has no predict_proba"
    ):
        ThresholdClassifier(RidgeClassifier(), response_method="predict_proba").fit(X, Y)


def test_sparse_labels_in_and_out(data):
    X, Y = data
    model = OneVsRestClassifier(MultinomialNB())
    dense = ThresholdClassifier(model, "scut", cv=3).fit(X, Y)
    wrapped = ThresholdClassifier(model, "scut", cv=3, nonempty=True)
    for kind in (sparse.csr_array, sparse.coo_matrix):
        predicted = wrapped.fit(sparse.csr_array(X), kind(Y)).predict(X)
        assert isinstance(predicted, sparse.csr_array)
    np.testing.assert_allclose(wrapped.strategy_.cuts_, dense.strategy_.cuts_)
    assert predicted.sum(axis=1).min() >= 1


def test_data_frames_give_names(data):
    X, Y = data
    X = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    Y = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    wrapped = ThresholdClassifier(KNeighborsClassifier(), cv=3).fit(X, Y)
    assert wrapped.label_names_.tolist() == ["a", "b", "c", "d"]
    assert wrapped.feature_names_in_.tolist() == X.columns.tolist()
    assert (wrapped.n_features_in_, wrapped.n_labels_) == (8, 4)
    assert wrapped.classes_.tolist() == [0, 1, 2, 3]


def test_lists_of_texts():
    texts = ["red sun", "blue sea", "red fire", "blue sky", "red rose", "blue ice"] * 3
    Y = [["red" in t, "blue" in t] for t in texts]
    model = make_pipeline(
        CountVectorizer(), OneVsRestClassifier(LogisticRegression(solver="liblinear"))
    )
    wrapped = ThresholdClassifier(model, cv=3).fit(texts, Y)
    assert wrapped.predict(["red", "blue"]).tolist() == [[1, 0], [0, 1]]
    assert not hasattr(wrapped, "n_features_in_")


def test_one_label_and_rare_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = (X[:, :1] > 0.8).astype(int)
    one = ThresholdClassifier(
        MultiOutputClassifier(LogisticRegression(solver="liblinear")), "scut"
    ).fit(X, Y)
    assert one.predict(X).shape == (60, 1)
    assert 0 < one.predict(X).sum() < 60
    Y = np.column_stack([Y[:, 0], np.zeros(60, dtype=int), np.ones(60, dtype=int)])
    wrapped = ThresholdClassifier(KNeighborsClassifier(), "scut").fit(X, Y)
    assert wrapped.predict(X)[:, 1:].tolist() == [[0, 1]] * 60


def test_classes_are_chosen_among_those_above_their_cut():
    X = np.arange(8.0).reshape(8, 1)
    y = np.array(["a", "b"] * 4)

    class OnlyB(Recorder):
        def predict(self, scores):
            return np.tile([0, 1], (len(scores), 1))

    wrapped = ThresholdClassifier(GaussianNB(), OnlyB(), cv=2).fit(X, y)
    assert set(wrapped.predict(X)) == {"b"}
    assert wrapped.classes_.tolist() == ["a", "b"]


def test_a_class_missing_from_a_fold():
    X = np.arange(12.0).reshape(12, 1)
    y = np.array([0, 1, 2] + [0, 1] * 4 + [1])
    for model in (GaussianNB(), RidgeClassifier()):
        wrapped = ThresholdClassifier(model, "global", cv=KFold(4)).fit(X, y)
        assert set(wrapped.predict(X)) <= {0, 1, 2}


def test_nonempty(data):
    X, Y = data
    strict = GlobalThreshold("micro_precision")
    plain = ThresholdClassifier(one_vs_rest(), strict).fit(X, Y)
    filled = ThresholdClassifier(one_vs_rest(), strict, nonempty=True).fit(X, Y)
    empty = plain.predict(X).sum(axis=1) == 0
    assert empty.any()
    expected = plain.predict(X)
    expected[empty, plain.predict_proba(X)[empty].argmax(axis=1)] = 1
    np.testing.assert_array_equal(filled.predict(X), expected)


# scikit-learn's tools -------------------------------------------------------------------------


def test_in_a_grid_search_and_jobs(data):
    X, Y = data
    search = GridSearchCV(
        ThresholdClassifier(KNeighborsClassifier(), SCut(), cv=2),
        {"strategy__measure": ["f1", "accuracy"], "estimator__n_neighbors": [3, 5]},
        scoring=get_scorer("macro_f1"),
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    serial = ThresholdClassifier(one_vs_rest(), "scut").fit(X, Y)
    with parallel_config(backend="threading"):
        parallel = ThresholdClassifier(one_vs_rest(), "scut", n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(serial.strategy_.cuts_, parallel.strategy_.cuts_)


def test_metadata_is_routed_and_split(data):
    X, Y = data
    weight = np.arange(120.0)
    groups = np.repeat(np.arange(6), 20)
    weights = []

    class Weighted(Memory):
        def fit(self, X, y, sample_weight=None):
            weights.append(sample_weight)
            return super().fit(X, y)

    with pytest.raises(ValueError, match=r"\['sample_weight'\] require sklearn.set_config"):
        ThresholdClassifier(Weighted()).fit(X, Y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Weighted().set_fit_request(sample_weight=True)
        wrapped = ThresholdClassifier(model, Recorder(), cv=GroupKFold(3))
        wrapped.fit(X, Y, sample_weight=weight, groups=groups)
        whole, *parts = weights
        np.testing.assert_array_equal(whole, weight)
        for (train, _), part in zip(GroupKFold(3).split(X, Y, groups), parts, strict=True):
            np.testing.assert_array_equal(part, weight[train])


def test_errors(data):
    X, Y = data
    with pytest.raises(ValueError, match="'strategy' parameter of ThresholdClassifier must be"):
        ThresholdClassifier(one_vs_rest(), "zcut").fit(X, Y)
    with pytest.raises(ValueError, match="'estimator' parameter of ThresholdClassifier must be"):
        ThresholdClassifier(StandardScaler()).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold only 0 and 1"):
        ThresholdClassifier(one_vs_rest()).fit(X, Y + 1)
    with pytest.raises(NotFittedError):
        ThresholdClassifier(one_vs_rest()).predict(X)
    with pytest.raises(ValueError, match="cv must be at most n_samples=4, .* got 5"):
        ThresholdClassifier(one_vs_rest()).fit(X[:4], Y[:4])
    prefit = ThresholdClassifier(GaussianNB().fit(X, Y.sum(axis=1)), cv="prefit")
    with pytest.raises(ValueError, match="y must have the classes of the fitted estimator"):
        prefit.fit(X[:3], Y[:3].sum(axis=1))
    with pytest.raises(ValueError, match="estimator must score all 3 labels"):
        ThresholdClassifier(one_vs_rest().fit(X, Y), cv="prefit").fit(X, Y[:, :3])


def expected_failures(estimator):
    reasons = {}
    if isinstance(estimator.strategy, SCut):
        reasons["check_classifiers_train"] = (
            "another cut than 0.5 is the purpose: predict differs from the highest "
            "predict_proba, as it does for FixedThresholdClassifier"
        )
    if isinstance(estimator.estimator, KNeighborsClassifier):
        reasons["check_classifier_multioutput"] = (
            "another cut than 0.5 is the purpose: predict differs from the rounded predict_proba"
        )
        reasons["check_classifiers_multilabel_output_format_predict_proba"] = (
            "the check wants probabilities strictly between 0 and 1 in an array (n, q); the "
            "neighbours' shares of KNeighborsClassifier, which returns a list, may be 0 or 1"
        )
    return reasons


@parametrize_with_checks(
    [
        ThresholdClassifier(LogisticRegression(C=1), cv=3),
        ThresholdClassifier(GaussianNB(), SCut(), cv=3),
        ThresholdClassifier(KNeighborsClassifier(3), "linear", cv=3, nonempty=True),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# real data ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("data_folder")
def test_each_strategy_gains_where_it_should():
    X_train, X_test, Y_train, Y_test = datasets.load("yeast").holdout()
    knn = KNeighborsClassifier(10).fit(X_train, Y_train)
    plain = knn.predict(X_test)

    def with_strategy(strategy):
        model = ThresholdClassifier(KNeighborsClassifier(10), strategy).fit(X_train, Y_train)
        return model.predict(X_test)

    def gain(measure, strategy):
        measure = getattr(metrics, measure)
        return measure(Y_test, with_strategy(strategy)) - measure(Y_test, plain)

    # measured: 0.116, 0.047, 0.074, 0.058, 0.067
    assert gain("macro_f1", SCut("f1")) > 0.08
    assert gain("micro_f1", "global") > 0.03
    assert gain("f1", "expected_f") > 0.04
    assert gain("f1", "metalabeler") > 0.04
    assert gain("subset_accuracy", "seen_sets") > 0.04
    # 4.23 labels in training; 3.12 predicted at 0.5, 4.00 at the cut learned: of the votes of ten
    # neighbours there are only eleven values to choose from
    cardinality = Y_train.sum() / len(Y_train)
    assert plain.sum() / len(Y_test) < cardinality - 0.5
    assert with_strategy("cardinality").sum() / len(Y_test) == pytest.approx(cardinality, abs=0.3)
    code = 2 ** np.arange(14)
    assert np.isin(with_strategy("seen_sets") @ code, Y_train @ code).all()
