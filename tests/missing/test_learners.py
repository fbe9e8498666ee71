"""Learners that learn from known labels, against what they do by definition."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import plurilabel
from plurilabel import (
    BinaryRelevance,
    BRkNN,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
    MLDecisionTree,
    MLkNN,
    MLRandomForest,
)
from plurilabel._roster import learners
from plurilabel.checks import check_multilabel
from plurilabel.metrics import average_precision, get_scorer
from plurilabel.missing import ImputedLabels, PartialLabels
from plurilabel.persistence import Model, load_model, save_model

LOGISTIC = LogisticRegression()
PARTIAL = [
    MLkNN(3),
    BRkNN(3),
    BRkNN(3, variant="a"),
    BinaryRelevance(LOGISTIC),
    ClassifierChain(LOGISTIC),
    ClassifierChain(LOGISTIC, cv=2, chain_method="predict_proba"),
    EnsembleOfChains(LOGISTIC, n_estimators=2, random_state=0),
    MLDecisionTree(random_state=0),
    MLRandomForest(5, oob_score=False, random_state=0),
    ImputedLabels(LabelPowerset(LOGISTIC)),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0).astype(float)
    hidden = rng.random(Y.shape) < 0.4
    return X, Y, np.where(hidden, np.nan, Y)


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_all_forms_of_not_known_are_the_same(learner, data):
    pd = pytest.importorskip("pandas")
    X, _, Y = data
    assert learner.accepts_missing_labels
    expected = learner.fit(X, Y).predict_proba(X)
    assert np.isfinite(expected).all()
    assert expected.min() >= 0 and expected.max() <= 1
    with_none = np.where(np.isnan(Y), None, np.nan_to_num(Y).astype(int).astype(object))
    frame = pd.DataFrame(with_none, columns=list("abc")).astype("Int8")
    partial = PartialLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    for form in (with_none, with_none.tolist(), frame, partial):
        np.testing.assert_array_equal(learner.fit(X, form).predict_proba(X), expected)
        assert learner.predict(X).shape == Y.shape
    assert learner.fit(X, frame).label_names_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_extremes(learner, data):
    X, _, Y = data
    Y = Y.copy()
    Y[:, 0] = np.nan  # never known
    Y[:, 1] = np.where(np.isnan(Y[:, 1]), np.nan, 1)  # always present where known
    Y[0] = np.nan
    scores = learner.fit(X, Y).predict_proba(X)
    assert (scores[:, 0] <= 0.5).all() and (scores[:, 1] > 0.5).all()
    everything = learner.fit(X, np.full(Y.shape, np.nan)).predict(X)
    assert everything.any() == (getattr(learner, "variant", None) == "a")
    one = learner.fit(X, np.where(np.arange(60)[:, None] == 5, np.nan, X[:, :1] > 0))
    assert one.predict(X).shape == (60, 1)


@pytest.mark.parametrize("name", [n for n, e in learners().items() if e.package != "bags"])
def test_others_refuse_and_name_the_wrapper(name, data):
    X, _, Y = data
    entry = learners()[name]
    if entry.needs and find_spec(entry.needs) is None:
        pytest.skip(f"needs {entry.needs}")
    for form in entry.checked:
        learner = plurilabel.compare.make_learner(form)
        if learner.accepts_missing_labels:
            learner.fit(X, np.where(np.isnan(Y), np.nan, Y))
            continue
        with pytest.raises(ValueError, match=rf"got NaN in row .*ImputedLabels\({name}"):
            learner.fit(np.abs(X), Y)


def test_binary_relevance_is_each_label_on_its_own_rows(data):
    X, _, Y = data
    weight = np.linspace(1, 2, len(X))
    found = BinaryRelevance(LOGISTIC).fit(X, Y, sample_weight=weight).predict_proba(X)
    for j in range(3):
        rows = ~np.isnan(Y[:, j])
        alone = LogisticRegression().fit(X[rows], Y[rows, j], sample_weight=weight[rows])
        np.testing.assert_allclose(found[:, j], alone.predict_proba(X)[:, 1])


def test_binary_relevance_with_a_sparse_mask(data):
    X, _, Y = data
    present = sparse.csr_array(np.nan_to_num(Y).astype(int))
    mask = sparse.csr_array(np.isnan(Y))
    learner = BinaryRelevance(LOGISTIC)
    expected = learner.fit(X, Y).predict_proba(X)
    found = learner.fit(X, PartialLabels(present, mask))
    np.testing.assert_array_equal(found.predict_proba(X), expected)
    assert sparse.issparse(found.predict(X))
    with pytest.raises(ValueError, match="as a dense matrix"):
        MLkNN(3).fit(X, PartialLabels(present, mask))


def test_mlknn_counts_the_nearest_neighbours_that_know(data):
    """Written from the definition, by loops."""
    X, _, Y = data
    k, s = 3, 1.0
    learner = MLkNN(k).fit(X, Y)
    n, reach = len(X), learner.n_searched_

    def event(x, label, leave_out=None):
        order = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")
        near = [i for i in order if i != leave_out][:reach]
        known = [Y[i, label] for i in near if not np.isnan(Y[i, label])][:k]
        return round(k * sum(known) / len(known))

    x = np.array([0.2, -0.1, 0.4, 0.0])
    for label in range(3):
        c = np.zeros((2, k + 1))
        for i in range(n):
            if not np.isnan(Y[i, label]):
                c[int(Y[i, label]), event(X[i], label, leave_out=i)] += 1
        prior = (s + c[1].sum()) / (2 * s + c.sum())
        j = event(x, label)
        no, yes = ((s + c[b, j]) / (s * (k + 1) + c[b].sum()) for b in (0, 1))
        expected = prior * yes / (prior * yes + (1 - prior) * no)
        np.testing.assert_allclose(learner.predict_proba([x])[0, label], expected)


def test_leaves_count_known_labels(data):
    X, _, Y = data
    tree = MLDecisionTree(max_depth=2, random_state=0).fit(X, Y)
    leaf = tree.estimator_.apply(X.astype(np.float32))
    found = tree.predict_proba(X)
    for i in range(len(X)):
        known = Y[leaf == leaf[i]]
        np.testing.assert_allclose(found[i], np.nanmean(known, axis=0))


def test_a_leaf_that_knows_nothing_has_the_frequency_of_its_parent():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[0, np.nan], [0, np.nan], [1, 1], [1, 0]])
    scores = MLDecisionTree(max_depth=1, random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(scores, [[0, 0.5], [0, 0.5], [1, 0.5], [1, 0.5]])


def test_chain_sees_its_own_predictions(data):
    X, _, Y = data
    chain = ClassifierChain(LOGISTIC).fit(X, Y[:, :2])
    rows = ~np.isnan(Y[:, 0])
    first = LogisticRegression().fit(X[rows], Y[rows, 0])
    told = np.where(rows, np.nan_to_num(Y[:, 0]), first.predict(X))
    rows = ~np.isnan(Y[:, 1])
    second = LogisticRegression().fit(np.column_stack([X, told])[rows], Y[rows, 1])
    np.testing.assert_allclose(chain.estimators_[1].coef_, second.coef_)


def test_imputed_labels(data):
    X, truth, Y = data
    learner = ImputedLabels(LabelPowerset(LOGISTIC), imputer=BinaryRelevance(LOGISTIC))
    learner.fit(X, Y)
    guess = BinaryRelevance(LOGISTIC).fit(X, Y).predict(X)
    full = np.where(np.isnan(Y), guess, Y).astype(int)
    expected = LabelPowerset(LOGISTIC).fit(X, full)
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))
    assert learner.n_imputed_ == np.isnan(Y).sum()
    complete = learner.fit(X, truth)
    assert complete.imputer_ is None and complete.n_imputed_ == 0
    with pytest.raises(ValueError, match="imputer must be a learner that accepts missing"):
        ImputedLabels(LabelPowerset(LOGISTIC), imputer=LabelPowerset(LOGISTIC)).fit(X, Y)


def test_growing_and_explaining_need_all_labels(data):
    X, _, Y = data
    learner = MLkNN(3).fit(X, Y)
    for call in (
        lambda: learner.explain(X[:1]),
        lambda: learner.forget([0]),
        lambda: learner.partial_fit(X, np.nan_to_num(Y)),
    ):
        with pytest.raises(ValueError, match="needs all labels"):
            call()


def test_cross_validation_and_model_files(data, tmp_path):
    pytest.importorskip("skops")
    X, _, Y = data
    scorer = get_scorer("hamming_loss")
    partial = PartialLabels(np.nan_to_num(Y).astype(int), np.isnan(Y))
    folds = KFold(3)
    a, b = (cross_val_score(MLkNN(3), X, y, cv=folds, scoring=scorer) for y in (Y, partial))
    np.testing.assert_array_equal(a, b)
    for learner in PARTIAL:
        path = tmp_path / "model.skops"
        save_model(path, Model(learner.fit(X, Y), tuple("abc"), tuple("stuv")))
        again = load_model(path).estimator
        np.testing.assert_array_equal(again.predict_proba(X), learner.predict_proba(X))


def test_forest_out_of_bag(data):
    X, truth, Y = data
    forest = MLRandomForest(60, oob_score=True, random_state=0).fit(X, Y)
    assert ((forest.oob_decision_ > 0.5) == truth).mean() > 0.8
    assert 0 <= forest.oob_score_ <= 1


@parametrize_with_checks(
    [ImputedLabels(BinaryRelevance(LOGISTIC)), ImputedLabels(BinaryRelevance(LinearSVC()))]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "learner",
    [
        ImputedLabels(BinaryRelevance(LOGISTIC)),
        ImputedLabels(BinaryRelevance(LinearSVC())),
    ],
    ids=repr,
)
def test_checks(learner):
    check_multilabel(learner)


@pytest.mark.parametrize("learner", PARTIAL, ids=repr)
def test_nothing_changes_if_all_labels_are_known(learner, data):
    X, Y, _ = data
    expected = learner.fit(X, Y.astype(int)).predict_proba(X)
    for form in (Y, Y.astype(object), PartialLabels(Y, np.zeros(Y.shape))):
        np.testing.assert_array_equal(learner.fit(X, form).predict_proba(X), expected)


@pytest.mark.usefixtures("data_folder")
def test_yeast_with_hidden_labels():
    """Half of what docs/measure_missing.py measures, and what it found."""
    data = plurilabel.datasets.load("yeast")
    X, X_test, Y, Y_test = data.holdout()
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    for learner in (MLkNN(10), BinaryRelevance(LogisticRegression(C=0.1, max_iter=200))):

        def ap(y):
            return average_precision(Y_test, learner.fit(X, y).predict_proba(X_test))  # noqa: B023

        for share, loss, gain in ((0.3, 0.01, 0.003), (0.7, 0.03, 0.008)):
            hidden = [np.random.default_rng(seed).random(Y.shape) < share for seed in range(3)]
            known = np.mean([ap(np.where(some, np.nan, Y)) for some in hidden])
            as_zero = np.mean([ap(np.where(some, 0, Y)) for some in hidden])
            assert known > ap(Y) - loss
            assert known > as_zero + gain
