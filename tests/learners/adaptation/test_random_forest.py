"""MLRandomForest: scikit-learn's engine, out-of-bag scores, real data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from plurilabel import MLDecisionTree, MLRandomForest, datasets
from plurilabel.metrics import evaluate
from tests.learners.adaptation.trees import columns, data


@pytest.mark.parametrize("extra_trees", [False, True])
@pytest.mark.parametrize("q", [1, 4])
def test_forest_equals_scikit_learn(extra_trees, q, monkeypatch):
    monkeypatch.setattr("plurilabel.learners.adaptation._tree_classifier.BLOCK", 1)
    X, Y, rng = data(100, 4, q)
    new = rng.normal(size=(700, 4))  # three blocks of rows
    kind = ExtraTreesClassifier if extra_trees else RandomForestClassifier
    other = kind(20, criterion="entropy", random_state=0).fit(X, Y if q > 1 else Y.ravel())
    mine = MLRandomForest(20, criterion="entropy", extra_trees=extra_trees, random_state=0)
    mine.fit(X, Y)
    wanted = other.predict_proba(new)
    assert_allclose(mine.predict_proba(new), columns(wanted if q > 1 else [wanted]), rtol=1e-12)
    assert_allclose(mine.feature_importances_, other.feature_importances_)
    assert_allclose(mine.label_feature_importances_.sum(axis=0), other.feature_importances_)
    assert_allclose(mine.label_importances_.sum(), 1)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_out_of_bag_scores(criterion, weighted, form):
    X, Y, rng = data(60, 3, 3)
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


@pytest.mark.parametrize("extra_trees", [False, True])
def test_splits_of_a_label_are_a_forest_for_it(extra_trees):
    X, Y, rng = data(60, 4, 3)
    Y[:, 1] = 1
    weights = rng.random(60)
    mine = MLRandomForest(
        8, splits="label", criterion="entropy", extra_trees=extra_trees, random_state=0
    )
    mine.fit(X, Y, sample_weight=weights)
    kind = ExtraTreesClassifier if extra_trees else RandomForestClassifier
    scores, importances = np.ones((60, 3)), np.zeros((3, 4))
    for l in (0, 2):
        seed = mine.estimators_[l].random_state
        other = kind(8, criterion="entropy", random_state=seed)
        other.fit(X, Y[:, l], sample_weight=weights)
        scores[:, l] = other.predict_proba(X)[:, 1]
        importances[l] = other.feature_importances_ / 2
    assert_allclose(mine.predict_proba(X), scores, rtol=1e-12)
    assert_allclose(mine.label_feature_importances_, importances)
    assert_allclose(mine.feature_importances_, importances.sum(axis=0))
    assert_allclose([why.total for why in mine.explain(X[:5])], scores[:5], atol=1e-12)
    assert mine.estimators_[1] is None
    again = mine.set_params(splits="joint").fit(X, Y)
    assert again.estimators_ is None and len(again.estimator_.estimators_) == 8


def test_splits_of_a_label_use_the_instances_that_know_it():
    X, Y, _ = data(60, 3, 3)
    Y = Y.astype(float)
    Y[:20, 0] = np.nan
    forest = MLRandomForest(30, splits="label", oob_score=True, random_state=0).fit(X, Y)
    alone = MLRandomForest(30, oob_score=True, random_state=forest.estimators_[0].random_state)
    alone.fit(X[20:], Y[20:, [0]].astype(int))
    assert_array_equal(forest.predict_proba(X)[:, [0]], alone.predict_proba(X))
    assert_array_equal(forest.oob_decision_[20:, [0]], alone.oob_decision_)
    assert_array_equal(forest.oob_decision_[:20, [0]], alone.predict_proba(X[:20]))
    wrong = ((forest.oob_decision_ > 0.5) != Y) & ~np.isnan(Y)
    assert_allclose(forest.oob_score_, 1 - wrong.any(axis=1).mean())


def test_too_few_trees_leave_instances_without_out_of_bag_scores():
    X, Y, _ = data(40, 3, 3)
    with pytest.warns(UserWarning, match="of 40 training instances are in the sample of every"):
        forest = MLRandomForest(2, oob_score=True, random_state=0).fit(X, Y)
    seen = np.bincount(
        np.concatenate([np.unique(s) for s in forest.estimator_.estimators_samples_])
    )
    assert_array_equal(np.isnan(forest.oob_decision_).all(axis=1), seen == 2)
    assert 0 <= forest.oob_score_ <= 1


def test_errors_say_what_was_expected():
    X, Y, _ = data(20, 2, 2)
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap samples, got .*'auto'"):
        MLRandomForest(extra_trees=True, oob_score=True).fit(X, Y)
    with pytest.raises(ValueError, match="`max_sample` cannot be set if `bootstrap=False`"):
        MLRandomForest(bootstrap=False, max_samples=0.5).fit(X, Y)
    sampled = MLRandomForest(9, extra_trees=True, bootstrap=True, max_samples=7).fit(X, Y)
    assert {len(s) for s in sampled.estimator_.estimators_samples_} == {7}


# real data -----------------------------------------------------------------------------------


def test_scene_forest_and_tree(data_folder):
    X, X_test, Y, Y_test = datasets.load("scene").holdout()
    losses = {}
    for learner in (
        MLDecisionTree(random_state=0),
        MLRandomForest(60, random_state=0),
    ):
        scores = learner.fit(X, Y).predict_proba(X_test)
        found = evaluate(Y_test, scores=scores, labels=learner.predict(X_test))
        losses[type(learner).__name__] = found["hamming_loss"], found["ranking_loss"]
    assert losses["MLRandomForest"][0] < 0.1 < losses["MLDecisionTree"][0]
    assert losses["MLRandomForest"][1] < 0.09
