"""The tree beside a slow twin: splits by loops over all rows, naive Bayes by loops over sets."""

from collections import Counter
from math import exp, log, log2, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from plurilabel import MLHoeffdingTree, WindowMLkNN
from plurilabel.streams._learners._leaves import (
    SKETCH,
    Leaf,
    SplitCounts,
    hoeffding_bound,
    resized,
    thresholds,
)
from plurilabel.streams._learners._ml_hoeffding_tree import Split

pytestmark = pytest.mark.usefixtures("river")


def tree(**parameters):
    from river import drift

    return MLHoeffdingTree(**{"drift_detector": drift.NoDrift(), **parameters})


def data(n=600, d=4, q=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[:, -1] = X[:, -1] > 0.5  # a feature of two values
    Y = np.column_stack([X[:, 0] > 0.2, X[:, 1] + X[:, 0] > 0, rng.random(n) < 0.1, X[:, -1] > 0])
    return X, Y[:, :q].astype(int)


# the slow twin ----------------------------------------------------------------------------


def entropy(column):
    """Of the known values of a label, in bits."""
    known = [value for value in column if value != -1]
    found = 0.0
    for value in set(known):
        p = known.count(value) / len(known)
        found -= p * log2(p)
    return found


def slow_gain(X, Y, j, threshold):
    """Sum over the labels of their information gain, as a part of the sum of their entropies."""
    before = gain = 0.0
    for column in Y.T.tolist():
        n = sum(value != -1 for value in column)
        if not n:
            continue
        before += entropy(column)
        gain += entropy(column)
        for side in (X[:, j] <= threshold, X[:, j] > threshold):
            part = [value for value, inside in zip(column, side) if inside]
            known = sum(value != -1 for value in part)
            if known:
                gain -= known / n * entropy(part)
    return gain / before


def slow_best(X, Y, edges):
    """For each feature its best gain and threshold."""
    found = []
    for j in range(X.shape[1]):
        of_feature = []
        for threshold in edges[j]:
            left = int((X[:, j] <= threshold).sum())
            if min(left, len(X) - left) >= max(1, 0.01 * len(X)):
                of_feature.append((slow_gain(X, Y, j, threshold), -threshold))
        found.append(max(of_feature, default=(-np.inf, 0.0)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_gains_by_loops(seed):
    X, Y = data(150, seed=seed)
    rng = np.random.default_rng(seed)
    Y[rng.random(Y.shape) < 0.1] = -1
    counts = SplitCounts(X[:40], 2)
    for i, (x, y) in enumerate(zip(X, Y.astype(np.int8))):
        counts.add(x, y[: 2 if i < 20 else 3], [])  # the third label is new
    Y[:20, 2] = -1
    best = counts.best()
    found = sorted(((gain, -t, -j) for j, (gain, t) in enumerate(slow_best(X, Y, counts.edges))))
    gain, threshold, feature = found[-1]
    assert (best.feature, best.threshold) == (-feature, threshold)
    assert best.gain == pytest.approx(gain)
    assert best.lead == pytest.approx(gain - max(found[-2][0], 0))
    for shares, side in zip(
        counts.shares(best.feature, best.threshold),
        (X[:, best.feature] <= best.threshold, X[:, best.feature] > best.threshold),
    ):
        n1, n0 = (Y[side] == 1).sum(axis=0), (Y[side] == 0).sum(axis=0)
        assert_allclose(shares, (n1 + 1) / (n0 + n1 + 2))


def test_the_bound():
    assert hoeffding_bound(0.01, 50) == pytest.approx(sqrt(log(1 / 0.01) / (2 * 50)))


@pytest.mark.parametrize(("delta", "tie"), [(1e-3, 0.0), (1e-7, 0.12)])
def test_a_leaf_is_split_when_the_bound_says_so(delta, tie):
    """The row of the first split, its feature and threshold, by loops over all rows so far."""
    X, Y = data(900)
    learner = tree(delta=delta, tie=tie, grace_period=60)
    learner.partial_fit(X[:1], Y[:1])
    edges = thresholds(X[:SKETCH])
    for n in range(1, 900):
        expected = None
        if n % 60 == 0:
            best = slow_best(X[:n], Y[:n], edges)
            order = sorted(range(4), key=lambda j: best[j][0])
            gain, second = best[order[-1]], best[order[-2]]
            bound = sqrt(log(1 / delta) / (2 * n))
            if gain[0] - max(second[0], 0) > bound or bound < tie:
                expected = order[-1], -gain[1]
        learner.partial_fit(X[n : n + 1], Y[n : n + 1])
        root = learner.core_.root
        assert isinstance(root, Split) == (expected is not None), n
        if expected:
            assert (root.feature, root.threshold) == expected
            break
    assert 60 < n < 899
    assert sum(leaf.n for leaf in root.sides) == min(n, learner.leaf_size) + 1


def slow_bayes(X, sets, x, edges):
    """Frequencies of the label sets, and naive Bayes with them, by loops."""

    def interval(value, j):
        return sum(value > edge for edge in edges[j])

    often, n = Counter(sets), len(sets)
    logs = {}
    for found, n_c in often.items():
        logs[found] = log(n_c + 1)
        for j in range(len(x)):
            mine = [interval(row[j], j) == interval(x[j], j) for row in X]
            n_bins = 1 + sum(edge < np.inf for edge in edges[j])
            usual = (sum(mine) + 1) / (n + n_bins)
            inside = sum(m and found == s for m, s in zip(mine, sets))
            logs[found] += log((inside + usual) / (n_c + 1))
    total = sum(exp(value) for value in logs.values())
    return {found: exp(value) / total for found, value in logs.items()}


def test_naive_bayes_by_loops():
    X, Y = data(70, q=2)
    core = tree(min_count=1).fit(X, Y).core_
    sets = [tuple(np.flatnonzero(y)) for y in Y]
    edges = thresholds(X[:SKETCH])
    for x in data(6, q=2, seed=1)[0]:
        p = slow_bayes(X, sets, x, edges)
        expected = [sum(value for found, value in p.items() if l in found) for l in range(2)]
        assert_allclose(core.root.answer._both(x, core.root.counts)[1], expected)
        by_share = Counter(sets)
        expected = sum((n + 1) * (1 in s) for s, n in by_share.items()) / (70 + len(by_share))
        assert core.root.answer._both(x, core.root.counts)[0, 1] == pytest.approx(expected)


def test_neighbors_in_one_leaf_are_a_window():
    X, Y = data(200)
    learner = tree(leaf="mlknn", leaf_size=80, n_neighbors=5, max_leaf_nodes=1).fit(X, Y)
    window = WindowMLkNN(5, window_size=80).fit(X, Y)
    assert_array_equal(learner.predict_proba(X), window.predict_proba(X))


# the tree ---------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["pruned_sets", "mlknn"])
def test_leaves_hold_what_belongs_to_them(leaf):
    X, Y = data(900)
    learner = tree(leaf=leaf, grace_period=50, delta=0.01, leaf_size=100, max_leaf_nodes=5).fit(
        X, Y
    )
    core = learner.core_
    leaves = list(core._leaves(core.root))
    assert len(leaves) == core.n_leaves == 5
    for one in leaves:
        assert isinstance(one, Leaf) and len(one.rows) <= 100
        for row in one.rows:
            assert core._path(row.x)[-1] is one
            assert_array_equal(row.x, X[row.number])
    assert (learner.predict(X[-200:]) == Y[-200:]).mean() > 0.85


def test_memory_is_bounded():
    X, Y = data(1600)
    learner = tree(grace_period=50, delta=0.05, tie=0.2, leaf_size=40, max_leaf_nodes=6)
    sizes = []
    for start in range(0, 1600, 200):
        learner.partial_fit(X[start : start + 200], Y[start : start + 200])
        sizes.append(learner._raw_memory_usage)
    assert max(sizes[4:]) < 1.02 * min(sizes[4:])
    assert learner.core_.n_leaves == 6


def test_a_drift_replaces_a_branch_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] > 0.1])
    turned = (np.arange(3000) >= 1500) & (X[:, 0] > 0)
    Y[turned, 1] = ~Y[turned, 1]
    learner = MLHoeffdingTree(grace_period=100).partial_fit(X[:1500], Y[:1500].astype(int))
    root = learner.core_.root
    assert isinstance(root, Split) and root.feature == 0
    kept = root.sides[0]
    learner.partial_fit(X[1500:], Y[1500:].astype(int))
    assert learner.core_.n_drifts >= 1
    assert learner.core_.root is root and root.sides[0] is kept
    assert (learner.predict(X[-500:]) == Y[-500:]).mean() > 0.95


def test_a_feature_that_comes_late_can_be_split_on():
    learner = tree(grace_period=50, delta=0.01)
    rng = np.random.default_rng(0)
    for i in range(600):
        x, late = {"a": rng.normal()}, bool(rng.random() < 0.5)
        if i >= 100 and late:
            x["late"] = 1.0
        learner.learn_one(x, {"l": i >= 100 and late, "m": x["a"] > 3})
    assert learner.columns_[learner.core_.root.feature] == "late"
    assert learner.predict_one({"late": 1.0})["l"] and not learner.predict_one({"a": 0.0})["l"]


@pytest.mark.parametrize(
    "column", [[1e308, -1e308, 0.0], [5e-324, 0.0, 1.0], [1.0, np.nextafter(1.0, 2), 2.0]]
)
def test_thresholds_divide_the_values(column):
    values = np.array(column)
    edges = thresholds(values[:, None])[0]
    left = (values[:, None] <= edges[np.isfinite(edges)]).sum(axis=0)
    assert_array_equal(left, [1, 2])


def test_many_labels_do_not_split_for_lack_of_memory(monkeypatch):
    X, Y = data(300)
    learner = tree(grace_period=50, delta=0.05, tie=1.0).partial_fit(X[:1], Y[:1])
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", str(1.5 * 16.9e3 / 1e9))
    learner.partial_fit(X[1:], Y[1:])
    assert learner.core_.n_leaves == 1


def test_parameters_that_do_not_fit():
    with pytest.raises(ValueError, match="n_neighbors must be smaller than leaf_size=5, got 10"):
        MLHoeffdingTree(leaf_size=5).learn_one({"a": 1.0}, {"l": True})
    with pytest.raises(ValueError, match="'leaf' parameter"):
        MLHoeffdingTree("oak").learn_one({"a": 1.0}, {"l": True})


def test_bound_and_sizes():
    assert round(hoeffding_bound(1e-7, 200), 3) == 0.201
    assert resized(np.array([1.0, 2.0]), 3).tolist() == [1.0, 2.0, 0.0]
    assert resized(np.array([1.0, 2.0]), 1).tolist() == [1.0]


def test_thresholds_between_values():
    found = thresholds(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 5.0]]))[:, :3]
    assert_allclose(found, [[0.5, 2.0, np.inf], [5.0, 5.0, np.inf]])
