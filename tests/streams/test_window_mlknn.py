"""WindowMLkNN is ML-kNN on its window, bit for bit, after anything."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from plurilabel import MLkNN, WindowMLkNN


def as_dicts(A, stem="x"):
    return [{f"{stem}{j}": value for j, value in enumerate(row)} for row in A.tolist()]


def assert_fresh(learner, X, Y, Q):
    """The learner answers as a fresh fit on the rows of its window does."""
    rows, k = learner.rows_, learner.n_neighbors
    if len(rows) < 2:
        return
    k = min(k, len(rows) - 1)
    fresh = MLkNN(k, metric=learner.metric, smoothing=learner.smoothing).fit(X[rows], Y[rows])
    assert_array_equal(learner.core_.counts[:, :, : k + 1], fresh.counts_)
    assert_array_equal(learner.predict_proba(Q), fresh.predict_proba(Q))
    assert_array_equal(learner.predict(Q), fresh.predict(Q))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(2, 25),
    d=st.integers(1, 4),
    metric=st.sampled_from(["euclidean", "cosine", "manhattan", "chebyshev"]),
    forgetting=st.sampled_from(["sliding", "fading"]),
    kind=st.sampled_from(["general", "ties", "drift", "one point"]),
    smoothing=st.sampled_from([0.0, 1.0]),
)
def test_equals_a_fresh_fit(seed, size, d, metric, forgetting, kind, smoothing):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, size)), 60
    X, Y = rng.normal(size=(n, d)), (rng.random((n, 3)) < [0.5, 0.1, 0.9]).astype(int)
    if kind == "ties":
        X = X.round()
    elif kind == "drift":
        X[n // 2 :] += 1000
    elif kind == "one point":
        X[:] = X[0]
    learner = WindowMLkNN(
        k,
        window_size=size,
        metric=metric,
        forgetting=forgetting,
        smoothing=smoothing,
        random_state=seed,
    )
    for i in range(n):
        learner.partial_fit(X[[i]], Y[[i]])
        if i % 9 == 8 or i < 4:
            assert_fresh(learner, X, Y, X[[0, i, n - 1]])
    assert len(learner.rows_) == size


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows_equal_a_fresh_fit(metric):
    """Rows of few words, many of them at the same distance, while new words appear."""
    rng = np.random.default_rng(2)
    n, d, size = 160, 300, 40
    X, Y = np.zeros((n, d)), (rng.random((n, 3)) < 0.4).astype(int)
    for i, row in enumerate(X):
        row[rng.integers(0, min(d, 30 + 4 * i), i % 7)] = rng.integers(1, 3)  # none at times
    learner = WindowMLkNN(3, window_size=size, metric=metric)
    for i in range(n):
        seen = np.flatnonzero(X[: i + 1].any(axis=0))
        words = {f"{j:03}": X[i, j] for j in np.flatnonzero(X[i])}
        learner.predict_one(words)
        learner.learn_one(words, dict(enumerate(Y[i].tolist())))
        if i % 16 == 15:
            order = [int(name) for name in learner.columns_]
            assert sorted(order) == seen.tolist()
            assert_fresh(learner, X[:, order], Y, X[i - 4 : i + 1, order])
    assert learner.core_.is_sparse and learner.core_.points.shape[1] == 6
    again = pickle.loads(pickle.dumps(learner))
    assert_array_equal(again.predict_proba(X[:9, order]), learner.predict_proba(X[:9, order]))


@pytest.mark.parametrize("scale", [1e-160, 1e-8, 1e140])
def test_numbers_of_any_magnitude(scale):
    rng = np.random.default_rng(1)
    X, Y = scale * rng.normal(size=(60, 3)).round(1), (rng.random((60, 2)) < 0.4).astype(int)
    learner = WindowMLkNN(3, window_size=30).partial_fit(X, Y)
    assert_fresh(learner, X, Y, X[:5])


def test_lists_that_become_short_are_searched_again():
    # Young rows are far from all old ones, so that the lists of those only lose rows.
    X = np.r_[np.linspace(0, 1, 40), 10.0 ** np.arange(3, 28)][:, None]
    Y = (np.arange(len(X)) % 3 == 0).astype(int)[:, None]
    learner = WindowMLkNN(2, window_size=40)
    for i in range(len(X)):
        learner.partial_fit(X[[i]], Y[[i]])
        if i >= 38:
            assert_fresh(learner, X, Y, X[[i]])


def test_both_doors_lead_to_the_same_core():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 4)), (rng.random((80, 3)) < 0.4).astype(int)
    by_rows, by_dicts = (WindowMLkNN(4, window_size=50) for _ in range(2))
    by_rows.partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    for x, y in zip(as_dicts(X), as_dicts(Y, "l")):
        by_dicts.learn_one(x, y)
    expected = by_rows.predict_proba(X[:9])
    for x, row in zip(as_dicts(X[:9]), expected):
        found = by_dicts.predict_proba_one(x)
        assert [found[f"l{l}"][True] for l in range(3)] == row.tolist()
        assert by_dicts.predict_one(x) == {f"l{l}": p > 0.5 for l, p in enumerate(row)}
    assert_array_equal(by_dicts.predict_proba(X[:9]), expected)
    assert_array_equal(pickle.loads(pickle.dumps(by_dicts)).predict_proba(X[:9]), expected)


def test_unknown_labels_are_not_counted():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(50, 2)), (rng.random((50, 2)) < 0.5).astype(float)
    hidden = Y.copy()
    hidden[::2, 1] = np.nan
    learner = WindowMLkNN(3, window_size=30).fit(X, hidden)
    whole = WindowMLkNN(3, window_size=30).fit(X, Y)
    assert_array_equal(learner.predict_proba(X)[:, 0], whole.predict_proba(X)[:, 0])
    assert learner.core_.counts[:, 1].sum() == np.isfinite(hidden[learner.rows_, 1]).sum()
    # the tables of the second label by a loop: neighbours that are unknown do not have it
    rows = learner.rows_
    expected = np.zeros((2, 4), dtype=int)
    for i in rows:
        if np.isnan(hidden[i, 1]):
            continue
        others = [j for j in rows if j != i]
        near = sorted(others, key=lambda j: np.linalg.norm(X[i] - X[j]))[:3]
        expected[int(hidden[i, 1]), sum(hidden[j, 1] == 1 for j in near)] += 1
    assert_array_equal(learner.core_.counts[:, 1], expected)


def test_features_and_labels_appear_later():
    learner = WindowMLkNN(2, window_size=20, metric="cosine")
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 4)), (rng.random((30, 3)) < 0.5).astype(int)
    X[:10, 2:], Y[:10, 2] = 0, 0
    for i, (x, y) in enumerate(zip(as_dicts(X), as_dicts(Y, "l"))):
        if i < 10:
            x, y = {"x1": x["x1"], "x0": x["x0"]}, {"l0": y["l0"], "l1": y["l1"]}
        learner.learn_one(x, y)
    assert learner.columns_ == ["x0", "x1", "x2", "x3"]
    assert list(learner.label_names_) == ["l0", "l1", "l2"]
    assert_fresh(learner, X, Y, X)  # the first rows have left the window


def test_bad_input():
    with pytest.raises(ValueError, match="n_neighbors must be smaller than window_size=5, got 5"):
        WindowMLkNN(5, window_size=5).learn_one({"a": 1}, {"l": True})
    learner = WindowMLkNN(1, window_size=5)
    learner.learn_one({"a": 1}, {"l": True})
    for x in ({"a": None}, {"a": "red"}, {"a": float("nan")}, {"a": [1]}, {"a": 1, "b": np.inf}):
        with pytest.raises(ValueError, match="must be a finite number"):
            learner.learn_one(x, {"l": True})
    for value in (2, "yes", -1, 0.5):
        with pytest.raises(ValueError, match="label 'l' must be True, False or None"):
            learner.learn_one({"a": 1}, {"l": value})
    with pytest.raises(ValueError, match="values up to 1e\\+150"):
        learner.learn_one({"a": 1e200}, {"l": True})
    assert learner.columns_ == ["a"] and learner.core_.n == 1
    for y in ({}, {"l": None}, {"new": float("nan")}):
        learner.learn_one({"a": 1}, y)
    assert learner.core_.n == 1 and list(learner.label_names_) == ["l"]


def test_memory_is_flat():
    rng = np.random.default_rng(0)
    learner = WindowMLkNN(3, window_size=50)
    sizes = []
    for x, y in zip(as_dicts(rng.normal(size=(600, 5))), as_dicts(rng.random((600, 3)) < 0.3)):
        learner.learn_one(x, y)
        learner.predict_one(x)
        sizes.append(len(pickle.dumps(learner)))
    assert max(sizes[100:]) - min(sizes[100:]) < 100


def test_many_labels_and_tags():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 130)) < 0.2).astype(int)
    window = WindowMLkNN(3, window_size=20).fit(X, Y)
    fresh = MLkNN(3).fit(X[-20:], Y[-20:])
    np.testing.assert_array_equal(window.predict_proba(X), fresh.predict_proba(X))
    tags = [["sea", "sun"], ["sun"], []] * 10
    assert WindowMLkNN(3).fit(X, tags).label_names_.tolist() == ["sea", "sun"]
