"""Soft labels in lazy learners: fractional counts against slow twins; growing and forgetting."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import IBLRML, BRkNN, DMLkNN, DWMLkNN, MLkNN, MLkNNCV, MLWkNN, MrkNN, load, save
from plurilabel.metrics import average_precision

LEARNERS = [
    MLkNN(4), MLWkNN(4), BRkNN(4), BRkNN(4, variant="a"), BRkNN(4, variant="b"), MrkNN(4),
    DMLkNN(4), DWMLkNN(4), DWMLkNN(4, reading="figure"), IBLRML(4),
    MLkNNCV(range(1, 5), smoothing=(0.5, 1.0)),
]  # fmt: skip


def problem(seed=0, n=40, q=3, levels=8):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    P = np.clip(X[:, :q] + rng.normal(0, 0.2, (n, q)), 0, 1)
    return X, np.round(P * levels) / levels


def nearest(X, x, k, without=None):
    distance = np.sqrt(((X - x) ** 2).sum(axis=1))
    order = [i for i in np.argsort(distance, kind="stable") if i != without]
    return order[:k]


def shares(count, size):
    """Whole counts next to a fractional one, and their shares."""
    j = int(np.floor(count))
    return [(j, 1 - (count - j)), (min(j + 1, size), count - j)]


def mlknn(X, P, queries, k, s):
    """ML-kNN with soft labels, cell by cell."""
    n, q = P.shape
    scores = np.empty((len(queries), q))
    for l in range(q):
        c = np.zeros((2, k + 1))
        for i in range(n):
            count = sum(P[j, l] for j in nearest(X, X[i], k, without=i))
            for j, share in shares(count, k):
                c[1, j] += P[i, l] * share
                c[0, j] += (1 - P[i, l]) * share
        prior = (s + P[:, l].sum()) / (2 * s + n)
        like = (s + c) / (s * (k + 1) + c.sum(axis=1, keepdims=True))
        yes, no = prior * like[1], (1 - prior) * like[0]
        table = yes / (yes + no)
        for t, x in enumerate(queries):
            count = sum(P[j, l] for j in nearest(X, x, k))
            scores[t, l] = sum(table[j] * share for j, share in shares(count, k))
    return scores


def test_mlknn_is_its_twin():
    X, P = problem()
    queries = np.random.default_rng(1).random((10, 3))
    expected = mlknn(X, P, queries, 4, 0.5)
    for form in (P, sparse.csr_array(P), pd.DataFrame(P)):
        learner = MLkNN(4, smoothing=0.5).fit(X, form)
        assert_allclose(learner.predict_proba(queries), expected)
    assert_array_equal(learner.predict(queries), expected > 0.5)
    learner = MLkNN(4, smoothing=0.5).fit(X, sparse.csr_array(P))
    assert_array_equal(learner.predict(queries).toarray(), expected > 0.5)
    top = learner.predict_top(queries, 1).toarray()
    assert_allclose(top.max(axis=1), expected.max(axis=1))


def test_votes_are_added_up():
    X, P = problem(1)
    queries = np.random.default_rng(2).random((10, 3))
    found = BRkNN(5, smoothing=0.5).fit(X, P).predict_proba(queries)
    for x, scores in zip(queries, found):
        votes = P[nearest(X, x, 5)].sum(axis=0)
        assert_allclose(scores, (0.5 + votes) / (1 + 5))


def test_dmlknn_compares_fractional_counts():
    X, P = problem(2)
    queries, k, s, width = np.random.default_rng(3).random((6, 3)), 4, 1.0, 1
    found = DMLkNN(k, width=width, smoothing=s).fit(X, P).predict_proba(queries)
    C = np.array([P[nearest(X, x, k, without=i)].sum(axis=0) for i, x in enumerate(X)])
    for x, scores in zip(queries, found):
        count = P[nearest(X, x, k)].sum(axis=0)
        near = (np.abs(C - count) <= width).all(axis=1)
        equal = np.maximum(1 - np.abs(C[near] - count), 0)
        have, prior = P.sum(axis=0), (s + P.sum(axis=0)) / (2 * s + len(X))
        yes = prior * (s + (equal * P[near]).sum(axis=0)) / (s * (k + 1) + have)
        no = (1 - prior) * (s + (equal * (1 - P[near])).sum(axis=0))
        no /= s * (k + 1) + len(X) - have
        assert_allclose(scores, yes / (yes + no))


def test_iblr_learns_from_two_copies():
    from sklearn.linear_model import LogisticRegression

    X, P = problem(3, n=60)
    found = IBLRML(4, C=2.0).fit(X, P).predict_proba(X)
    F = np.array([2 * P[nearest(X, x, 4, without=i)].sum(axis=0) - 4 for i, x in enumerate(X)])
    G = np.array([2 * P[nearest(X, x, 4)].sum(axis=0) - 4 for x in X])
    for l in range(3):
        y, w = np.repeat([1, 0], 60), np.concatenate([P[:, l], 1 - P[:, l]])
        model = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000)
        model.fit(np.vstack([F, F]), y, sample_weight=w)
        assert_allclose(found[:, l], model.predict_proba(G)[:, 1], atol=1e-5)


@pytest.mark.parametrize("leave_out", ["instance", "entry"])
def test_mlknn_cv_leaves_each_instance_out(leave_out):
    X, P = problem(4, n=25)
    learner = MLkNNCV((2, 4), smoothing=(0.5,), leave_out=leave_out).fit(X, P)
    if leave_out == "instance":
        scores = {k: np.empty(P.shape) for k in (2, 4)}
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            for k, found in scores.items():
                left = MLkNN(k, smoothing=0.5).fit(X[rest], P[rest])
                found[i] = left.predict_proba(X[[i]])
        expected = [average_precision(P, found) for found in scores.values()]
        assert_allclose(learner.cv_values_[:, 0], expected)
    best = MLkNN(learner.n_neighbors_, smoothing=0.5).fit(X, P)
    assert_array_equal(learner.predict_proba(X), best.predict_proba(X))


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_growing_and_forgetting_are_exact(learner):
    X, P = problem(5, n=50)
    P[20:35] = np.round(P[20:35])  # some certain rows
    whole = learner.fit(X[:40], P[:40]).predict_proba(X)
    for first in (P[20:35].astype(int), P[:20]):  # certain rows first, or soft ones
        start = slice(20, 35) if first.shape[0] == 15 else slice(0, 20)
        rest = np.setdiff1d(np.arange(40), np.arange(50)[start])
        order = np.concatenate([np.arange(50)[start], rest])
        fresh = learner.fit(X[order], P[order]).predict_proba(X)
        grown = learner.fit(X[start], first)
        for part in np.array_split(rest, 3):
            grown.partial_fit(X[part], P[part])
        assert_array_equal(grown.predict_proba(X), fresh)
    grown = learner.fit(X, P).forget(np.arange(40, 50))
    assert_array_equal(grown.predict_proba(X), whole)
    # what is left is certain: as if it had never been soft
    certain = learner.fit(X[20:35], P[20:35].astype(int)).predict_proba(X)
    left = learner.fit(X, P).forget([*range(20), *range(35, 50)])
    assert_array_equal(left.predict_proba(X), certain)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_labels_that_are_almost_certain(learner):
    X, P = problem(6)
    Y = (P > 0.5).astype(int)
    hard = learner.fit(X, Y).predict_proba(X)
    assert_array_equal(learner.fit(X, Y.astype(float)).predict_proba(X), hard)
    assert_array_equal(learner.fit(X, np.clip(Y, 1e-6, 1 - 1e-6)).predict_proba(X), hard)
    if not isinstance(learner, MLWkNN):  # which rounds the weights of certain labels
        soft = learner.fit(X, np.clip(Y, 1e-4, 1 - 1e-4)).predict_proba(X)
        assert_allclose(soft, hard, atol=0.02)
    halves = learner.fit(X, np.full(Y.shape, 0.5)).predict_proba(X)
    if not isinstance(learner, MrkNN):
        assert_allclose(halves, 0.5)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_unknown_and_soft(learner):
    X, P = problem(7)
    P[::4, 1] = np.nan
    dense_form = learner.fit(X, P).predict_proba(X)
    assert np.isfinite(dense_form).all() and (dense_form >= 0).all() and (dense_form <= 1).all()
    alone = learner.fit(X, P[:, [0, 2]]).predict_proba(X)
    if not isinstance(learner, DMLkNN | IBLRML | MrkNN | MLkNNCV):  # labels are independent
        assert_allclose(dense_form[:, [0, 2]], alone, atol=1e-4)
    grown = learner.fit(X[:20], P[:20]).partial_fit(X[20:], P[20:])
    assert_array_equal(grown.predict_proba(X), dense_form)
    assert learner.explain(X[:1])[0]


def test_saved_and_loaded(tmp_path):
    X, P = problem(8)
    learner = MLkNN(4).fit(X, P)
    save(learner, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_array_equal(np.asarray(again.predict_proba(X)), learner.predict_proba(X))
