"""MLDecisionTree: every split and leaf against the definition, and scikit-learn's engine.

Here are also the promises that trees and forests share.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from plurilabel import MLDecisionTree, MLRandomForest
from tests.learners.adaptation.trees import LEARNERS, columns, data

# the definition ---------------------------------------------------------------


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
    # those of the tree that was grown, whatever is set later
    learner.set_params(criterion={"entropy": "gini", "gini": "entropy"}[learner.criterion])
    assert_allclose(learner.label_feature_importances_, share, atol=1e-9)
    assert_allclose(learner.label_importances_, share.sum(axis=1), atol=1e-9)
    assert_allclose(learner.feature_importances_, share.sum(axis=0), atol=1e-9)


def test_equals_the_lists_of_scikit_learn():
    X, Y, rng = data(120, 4, 5)
    new = rng.normal(size=(60, 4))
    params = {"max_depth": 4, "min_samples_leaf": 3, "random_state": 0}
    other = DecisionTreeClassifier(criterion="entropy", **params).fit(X, Y)
    mine = MLDecisionTree(**params).fit(X, Y)
    assert_array_equal(mine.predict_proba(new), columns(other.predict_proba(new)))
    assert_array_equal(mine.predict(new), other.predict(new))


def test_one_split_is_enough_for_two_labels_at_once():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    Y = np.column_stack([X[:, 0], 1 - X[:, 0], X[:, 0]]).astype(int)
    tree = MLDecisionTree().fit(X, Y)
    assert tree.estimator_.get_n_leaves() == 2
    assert_allclose(tree.label_importances_, 1 / 3)
    assert_allclose(tree.feature_importances_, [1, 0])


def test_labels_that_never_vary():
    X, Y, _ = data(50, 3, 4)
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
    X, Y, _ = data(150, 4, 3)
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
    X, Y, rng = data(60, 3, 3)
    times = rng.integers(1, 4, size=60)
    tree = MLDecisionTree(criterion=criterion, max_depth=3, random_state=0)
    weighted = tree.fit(X, Y, sample_weight=times).predict_proba(X)
    repeated = tree.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert_allclose(weighted, repeated.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_sparse_features_equal_dense_ones(learner):
    X, Y, rng = data(80, 5, 3)
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


def test_criterion_is_checked():
    X, Y, _ = data(20, 2, 2)
    with pytest.raises(ValueError, match="'criterion' parameter of MLDecisionTree must be a str"):
        MLDecisionTree(criterion="log_loss").fit(X, Y)
    with pytest.raises(ValueError, match="'max_depth' parameter of MLDecisionTree must be an int"):
        MLDecisionTree(max_depth=0).fit(X, Y)
