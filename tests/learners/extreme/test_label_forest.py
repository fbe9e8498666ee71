"""A forest by random projections of the labels, against means over its leaves."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import LabelForest, datasets, metrics
from plurilabel.learners.extreme import _label_forest

DATA = datasets.make_sparse_multilabel(120, 40, 9, nnz_per_row=6, random_state=0)


def test_scores_are_mean_frequencies_in_the_leaves():
    learner = LabelForest(7, random_state=0).fit(DATA.X[:100], DATA.Y[:100])
    X, Y = DATA.X.toarray().astype(np.float32), DATA.Y.toarray()
    wanted = np.zeros((20, 9))
    for tree in learner.estimators_:
        seen = tree.apply(X[:100])
        for i, leaf in enumerate(tree.apply(X[100:])):
            wanted[i] += Y[:100][seen == leaf].mean(axis=0) / 7
    assert_allclose(learner.predict_proba(DATA.X[100:]), wanted, atol=1e-12)
    top = learner.predict_top(DATA.X[100:], 2).max(axis=1).toarray().ravel()
    assert_allclose(top, wanted.max(axis=1))


def test_blocks_and_sparse_trees_give_the_same(monkeypatch):
    usual = LabelForest(5, random_state=0).fit(DATA.X, DATA.Y).predict_proba(DATA.X)
    monkeypatch.setattr(_label_forest, "ENTRIES", 10)
    assert_array_equal(
        LabelForest(5, random_state=0).fit(DATA.X, DATA.Y).predict_proba(DATA.X), usual
    )
    monkeypatch.setattr(_label_forest, "MOST_DENSE", 0)
    kept = LabelForest(5, random_state=0).fit(DATA.X, DATA.Y)
    assert sparse.issparse(_label_forest._for_trees(DATA.X))
    assert kept.predict_proba(DATA.X).shape == usual.shape


def test_few_components_are_enough():
    data = datasets.make_sparse_multilabel(600, 60, 100, imbalance=0, random_state=0)
    X, Y = data.X[:500], data.Y[:500]
    found = [
        metrics.precision_at_k(
            data.Y[500:],
            LabelForest(30, n_components=m, random_state=0).fit(X, Y).predict_top(data.X[500:]), 3,
        )
        for m in (2, 100)
    ]  # fmt: skip
    shuffled = Y[np.random.default_rng(0).permutation(500)]
    chance = LabelForest(30, random_state=0).fit(X, shuffled).predict_top(data.X[500:])
    assert found[0] > found[1] - 0.05
    assert found[0] > 2 * metrics.precision_at_k(data.Y[500:], chance, 3)
