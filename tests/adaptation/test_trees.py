"""Trees and forests: every split and leaf against the definition, and scikit-learn's engine."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from plurilabel import datasets
from plurilabel.adaptation import MLDecisionTree, MLRandomForest
from plurilabel.metrics import evaluate

LEARNERS = [
    MLDecisionTree(),
    MLDecisionTree(criterion="gini", max_depth=5),
    MLRandomForest(10),
    MLRandomForest(10, criterion="gini", extra_trees=True, n_jobs=2),
]


# one tree, from the definition ---------------------------------------------------------------


def label_impurities(Y, criterion):
    """Impurity of each label in some rows."""
    found = []
    for column in Y.T.tolist():
        p = sum(column) / len(column)
        if criterion == "gini":
            found.append(2 * p * (1 - p))
        else:
            found.append(-sum(x * math.log2(x) for x in (p, 1 - p) if x > 0))
    return np.array(found)


def gain(Y, goes_left, criterion):
    """Decrease of each label's impurity, times the number of rows."""
    total = len(Y) * label_impurities(Y, criterion)
    for side in (goes_left, ~goes_left):
        total = total - side.sum() * label_impurities(Y[side], criterion)
    return total


def best_gain(X, Y, criterion):
    gains = [0.0]
    for column in X.T:
        values = sorted(set(column.tolist()))
        for low, high in pairwise(values):
            gains.append(gain(Y, column <= (low + high) / 2, criterion).sum())
    return max(gains)


def walk(tree, X, node=0, rows=None):
    """The nodes of an engine's tree with their training rows, by following the splits."""
    rows = np.arange(len(X)) if rows is None else rows
    inner = tree.children_left[node] != -1
    left = X[rows, tree.feature[node]] <= tree.threshold[node] if inner else None
    yield node, rows, left
    if inner:
        yield from walk(tree, X, tree.children_left[node], rows[left])
        yield from walk(tree, X, tree.children_right[node], rows[~left])


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, q = draw(st.integers(2, 25)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    X = rng.integers(0, 6, size=(n, d)).astype(float)  # equal values and equal rows
    return X, (rng.random((n, q)) < rng.random(q)).astype(int)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["entropy", "gini"]))
def test_every_split_is_a_best_one_and_leaves_hold_frequencies(problem, criterion):
    X, Y = problem
    learner = MLDecisionTree(criterion=criterion, random_state=0).fit(X, Y)
    share = np.zeros((Y.shape[1], X.shape[1]))
    scores = learner.predict_proba(X)
    for node, rows, left in walk(learner.estimator_.tree_, X):
        if left is None:
            assert_allclose(scores[rows], np.tile(Y[rows].mean(axis=0), (len(rows), 1)))
            pure = len({tuple(y) for y in Y[rows].tolist()}) == 1
            alike = len({tuple(x) for x in X[rows].tolist()}) == 1
            assert pure or alike
        else:
            found = gain(Y[rows], left, criterion)
            assert_allclose(found.sum(), best_gain(X[rows], Y[rows], criterion), atol=1e-7)
            share[:, learner.estimator_.tree_.feature[node]] += found
    share /= share.sum() or 1
    assert_allclose(learner.label_feature_importances_, share, atol=1e-9)
    assert_allclose(learner.label_importances_, share.sum(axis=1), atol=1e-9)
    assert_allclose(learner.feature_importances_, share.sum(axis=0), atol=1e-9)


def test_equals_the_lists_of_scikit_learn():
    X, Y, rng = _data(120, 4, 5)
    new = rng.normal(size=(60, 4))
    params = {"max_depth": 4, "min_samples_leaf": 3, "random_state": 0}
    other = DecisionTreeClassifier(criterion="entropy", **params).fit(X, Y)
    mine = MLDecisionTree(**params).fit(X, Y)
    assert_array_equal(mine.predict_proba(new), _columns(other.predict_proba(new)))
    assert_array_equal(mine.predict(new), other.predict(new))


def test_one_split_is_enough_for_two_labels_at_once():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    Y = np.column_stack([X[:, 0], 1 - X[:, 0], X[:, 0]]).astype(int)
    tree = MLDecisionTree().fit(X, Y)
    assert tree.estimator_.get_n_leaves() == 2
    assert_allclose(tree.label_importances_, 1 / 3)
    assert_allclose(tree.feature_importances_, [1, 0])


def test_labels_that_never_vary():
    X, Y, _ = _data(50, 3, 4)
    Y[:, 0], Y[:, 2] = 0, 1
    for learner in (MLDecisionTree(), MLDecisionTree(criterion="gini"), MLRandomForest(9)):
        scores = learner.fit(X, Y).predict_proba(X)
        assert_array_equal(scores[:, [0, 2]], np.tile([0.0, 1.0], (50, 1)))
        assert_array_equal(learner.label_importances_[[0, 2]], 0)
        assert_array_equal(np.isnan(learner.constant_), [False, True, False, True])
        nothing = learner.fit(X, np.tile([0, 1], (50, 1)))
        assert_array_equal(nothing.predict(X), np.tile([0, 1], (50, 1)))
        assert_array_equal(nothing.label_feature_importances_, 0)


# pruning, weights, forms of X ----------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_pruning(criterion):
    X, Y, _ = _data(150, 4, 3)
    tree = MLDecisionTree(criterion=criterion, random_state=0)
    path = tree.cost_complexity_pruning_path(X, Y)
    assert not hasattr(tree, "estimator_")
    leaves = [
        tree.set_params(ccp_alpha=alpha).fit(X, Y).estimator_.get_n_leaves()
        for alpha in path.ccp_alphas[:: max(1, len(path.ccp_alphas) // 6)]
    ]
    assert leaves == sorted(leaves, reverse=True) and leaves[0] > 10
    stump = tree.set_params(ccp_alpha=path.ccp_alphas[-1] + 1e-9).fit(X, Y)
    assert_allclose(stump.predict_proba(X[:2]), np.tile(Y.mean(axis=0), (2, 1)))
    unit = label_impurities(Y, criterion).mean() / (1 if criterion == "entropy" else 2)
    assert_allclose(path.impurities[-1], unit)  # the mean over the labels, as the notes say


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_weights_are_repetitions(criterion):
    X, Y, rng = _data(60, 3, 3)
    times = rng.integers(1, 4, size=60)
    tree = MLDecisionTree(criterion=criterion, max_depth=3, random_state=0)
    weighted = tree.fit(X, Y, sample_weight=times).predict_proba(X)
    repeated = tree.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert_allclose(weighted, repeated.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_sparse_features_equal_dense_ones(learner):
    X, Y, rng = _data(80, 5, 3)
    X[rng.random(X.shape) < 0.6] = 0
    learner.set_params(random_state=0)
    dense = learner.fit(X, Y).predict_proba(X)
    for kind in (sparse.csr_matrix, sparse.csc_array):
        assert_allclose(learner.fit(kind(X), Y).predict_proba(kind(X)), dense)
        assert_array_equal(learner.predict_proba(X), learner.predict_proba(kind(X)))
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert_array_equal(learner.predict_proba(long), learner.predict_proba(X))
    assert_array_equal(learner.fit(long, Y).predict_proba(long), learner.predict_proba(X))


def test_missing_features():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan], [np.nan]])
    Y = np.array([[0, 1]] * 3 + [[1, 0]] * 3)
    for learner in LEARNERS[:2]:
        assert_array_equal(learner.fit(X, Y).predict(X), Y)
    for learner in LEARNERS[2:]:
        predicted = learner.set_params(random_state=0, n_estimators=50).fit(X, Y).predict(X)
        assert_array_equal(predicted, Y)
    with pytest.raises(ValueError, match="contains NaN"):
        MLDecisionTree().fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="infinity or a value too large for dtype\\('float32'\\)"):
        MLDecisionTree().fit([[1e300], [0.0]], [[0], [1]])


# forests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra_trees", [False, True])
@pytest.mark.parametrize("q", [1, 4])
def test_forest_equals_scikit_learn(extra_trees, q, monkeypatch):
    monkeypatch.setattr("plurilabel.adaptation._trees_leaves.BLOCK", 1)
    X, Y, rng = _data(100, 4, q)
    new = rng.normal(size=(700, 4))  # three blocks of rows
    kind = ExtraTreesClassifier if extra_trees else RandomForestClassifier
    other = kind(20, criterion="entropy", random_state=0).fit(X, Y if q > 1 else Y.ravel())
    mine = MLRandomForest(20, extra_trees=extra_trees, random_state=0).fit(X, Y)
    wanted = other.predict_proba(new)
    assert_allclose(mine.predict_proba(new), _columns(wanted if q > 1 else [wanted]), rtol=1e-12)
    assert_allclose(mine.feature_importances_, other.feature_importances_)
    assert_allclose(mine.label_feature_importances_.sum(axis=0), other.feature_importances_)
    assert_allclose(mine.label_importances_.sum(), 1)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_out_of_bag_scores(criterion, weighted, form):
    X, Y, rng = _data(60, 3, 3)
    Y[:, 1] = 1  # scikit-learn's own out-of-bag scores fail here
    weights = rng.random(60) if weighted else None
    forest = MLRandomForest(40, criterion=criterion, oob_score=True, random_state=0, n_jobs=2)
    forest.fit(form(X), Y, sample_weight=weights)
    votes = [[] for _ in X]
    for tree, seen in zip(forest.estimator_.estimators_, forest.estimator_.estimators_samples_):
        for i in set(range(60)) - set(seen.tolist()):
            leaf = tree.apply(form(X[[i]]).astype(np.float32))[0]
            value = tree.tree_.value[leaf, :, -1].copy()
            value[1] = 1
            votes[i].append(value)
    assert_allclose(forest.oob_decision_, [np.mean(v, axis=0) for v in votes], rtol=1e-12)
    right = ((forest.oob_decision_ > 0.5) == Y).all(axis=1)
    assert_allclose(forest.oob_score_, right.mean())


def test_too_few_trees_leave_instances_without_out_of_bag_scores():
    X, Y, _ = _data(40, 3, 3)
    with pytest.warns(UserWarning, match="of 40 training instances are in the sample of every"):
        forest = MLRandomForest(2, oob_score=True, random_state=0).fit(X, Y)
    seen = np.bincount(
        np.concatenate([np.unique(s) for s in forest.estimator_.estimators_samples_])
    )
    assert_array_equal(np.isnan(forest.oob_decision_).all(axis=1), seen == 2)
    assert 0 <= forest.oob_score_ <= 1


def test_errors_say_what_was_expected():
    X, Y, _ = _data(20, 2, 2)
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap samples, got .*'auto'"):
        MLRandomForest(extra_trees=True, oob_score=True).fit(X, Y)
    with pytest.raises(ValueError, match="max_samples must be None without bootstrap.*got 0.5"):
        MLRandomForest(bootstrap=False, max_samples=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="'criterion' parameter of MLDecisionTree must be a str"):
        MLDecisionTree(criterion="log_loss").fit(X, Y)
    sampled = MLRandomForest(9, extra_trees=True, bootstrap=True, max_samples=7).fit(X, Y)
    assert {len(s) for s in sampled.estimator_.estimators_samples_} == {7}


# real data -----------------------------------------------------------------------------------


def test_scene_forest_and_tree(data_folder):
    X, X_test, Y, Y_test = datasets.load("scene").holdout()
    losses = {}
    for learner in (
        MLDecisionTree(random_state=0),
        MLRandomForest(60, criterion="gini", random_state=0),
    ):
        scores = learner.fit(X, Y).predict_proba(X_test)
        found = evaluate(Y_test, scores=scores, labels=learner.predict(X_test))
        losses[type(learner).__name__] = found["hamming_loss"], found["ranking_loss"]
    assert losses["MLRandomForest"][0] < 0.1 < losses["MLDecisionTree"][0]
    assert losses["MLRandomForest"][1] < 0.09


def _columns(lists):
    return np.column_stack([found[:, 1] for found in lists])


def _data(n, d, q):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, q)) + rng.normal(size=(n, q)) > 0.7).astype(int)
    return X, Y, rng
