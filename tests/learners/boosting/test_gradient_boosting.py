"""MLGradientBoosting against loops written from the formulas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from plurilabel import MLGradientBoosting, datasets, metrics
from plurilabel.learners.boosting import _gradient_features, _gradient_trees
from plurilabel.learners.boosting._gradient_losses import LOSSES, Run
from plurilabel.learners.boosting._gradient_trees import SHORT, Summer
from plurilabel.models import load_model, save_model
from tests.learners.boosting.problems import data, problems


def worth(g, h, l2):
    return g.sum(axis=0) ** 2 / (h.sum(axis=0) + l2)


def gain(right, g, h, l2, rule, k):
    """What a condition gains for the best k labels, on both sides or on the better one."""
    sides = [worth(g[right == side], h[right == side], l2) for side in (False, True)]
    each = sides if rule else [sides[0] + sides[1]]
    return max(np.sort(after - worth(g, h, l2))[::-1][:k].sum() for after in each)


def reach(learner, root, x):
    """The nodes that an instance comes through, leaf last."""
    way = [root]
    while learner.feature_[way[-1]] >= 0:
        node = way[-1]
        value = x[learner.feature_[node]]
        right = (
            learner.missing_right_[node] if np.isnan(value) else value > learner.threshold_[node]
        )
        way.append(int(learner.left_[node]) + int(right))
    return way


def partitions(X, rows):
    """Every way to divide rows by one condition: which of them go to the right."""
    for x in X[rows].T:
        known = np.unique(x[~np.isnan(x)])
        for low in [-np.inf, *known]:
            for missing in (False, True):
                yield np.where(np.isnan(x), missing, x > low)


def assert_greedy(learner, X, Y, weight=None):
    """Replay the rounds: each condition gains most, each leaf makes the Newton step."""
    n, q = Y.shape
    weight = np.ones(n) if weight is None else weight
    l2, rule = learner.l2_regularization, learner.weak == "rule"
    loss, rate = LOSSES[learner.loss], learner.learning_rate
    f = np.tile(learner.start_, (n, 1))
    for t, root in enumerate(learner.roots_):
        g, h = (weight[:, None] * part for part in loss.derivatives(f, Y > 0))
        values = np.zeros((n, q))
        ways = [reach(learner, root, x) for x in X]
        head = np.arange(q)
        k = q if learner.heads == "all" else min(learner.heads, q)
        for node in sorted({node for way in ways for node in way}):
            rows = np.array([i for i, way in enumerate(ways) if node in way])
            if learner.feature_[node] < 0:
                step = -rate * g[rows].sum(axis=0) / (h[rows].sum(axis=0) + l2)
                found = _values(learner, node)
                if not found.any():  # where a rule abstains, or there is nothing to do
                    assert rule or not np.abs(step[head]).max() > 1e-9
                else:
                    assert_allclose(found[head], step[head], atol=1e-9)
                    assert not np.delete(found, head).any()
                values[rows] = found
                continue
            here = g[rows][:, head], h[rows][:, head], l2, rule, k
            best = max(gain(right, *here) for right in partitions(X, rows))
            goes = np.array([learner.left_[node] not in ways[i] for i in rows])
            assert gain(goes, *here) == pytest.approx(best, rel=1e-7, abs=1e-9)
            if node == root and k < q:
                head = _head(learner, t)
        f += values
    assert_allclose(f, learner._f(X), atol=1e-9)


def _values(learner, node):
    values = learner.values_[[learner.leaf_[node]]]
    return (values.toarray() if sparse.issparse(values) else values)[0]


def _head(learner, t):
    ends = np.append(learner.roots_[1:], len(learner.feature_))
    nodes = [v for v in range(learner.roots_[t], ends[t]) if learner.feature_[v] < 0]
    return np.flatnonzero(np.any([_values(learner, node) != 0 for node in nodes], axis=0))


@settings(max_examples=25, deadline=None)
@given(
    problems(),
    st.sampled_from(sorted(LOSSES)),
    st.sampled_from(["tree", "rule"]),
    st.sampled_from(["all", 1, 2]),
)
def test_every_round_is_greedy(problem, loss, weak, heads):
    X, Y, _ = problem
    learner = MLGradientBoosting(
        3, loss=loss, weak=weak, heads=heads, max_depth=2, max_features=None, learning_rate=0.5
    )
    assert_greedy(learner.fit(X, Y), X, Y)


def test_weights_count():
    X, Y = data(n=30, d=3, q=3)
    X = X.round(0)
    weight = np.random.default_rng(1).random(30) + 0.5
    learner = MLGradientBoosting(3, max_depth=2, max_features=None, learning_rate=0.5)
    assert_greedy(learner.fit(X, Y, sample_weight=weight), X, Y, weight)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_by_finite_differences(name):
    rng = np.random.default_rng(0)
    f, has = rng.normal(size=(20, 4)), rng.random((20, 4)) < 0.5
    known = rng.random((20, 4)) < 0.8 if name == "joint" else None
    loss, step = LOSSES[name], 1e-4
    g, h = loss.derivatives(f, has, known)
    for l in range(4):
        up, down = f.copy(), f.copy()
        up[:, l] += step
        down[:, l] -= step
        high, mid, low = (loss.values(s, has, known).sum(axis=1) for s in (up, f, down))
        near_kink = np.abs(1 - np.where(has, f, -f)[:, l]) < 2 * step
        kept = ~near_kink if name == "hinge" else np.ones(20, dtype=bool)
        if known is not None:
            kept &= known[:, l]
        assert_allclose(g[kept, l], ((high - low) / (2 * step))[kept], atol=1e-6)
        assert_allclose(h[kept, l], ((high - 2 * mid + low) / step**2)[kept], atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_huge_scores(name):
    f, has = np.array([[1e4, -1e4], [-1e4, 1e4]]), np.array([[True, False], [True, False]])
    g, h = LOSSES[name].derivatives(f, has)
    assert np.isfinite(g).all() and (h >= 0).all()
    assert np.isfinite(LOSSES[name].values(f, has)).all()


@pytest.mark.parametrize("params", [{}, {"weak": "rule", "heads": 1}, {"loss": "joint"}])
def test_sparse_and_dense_features_alike(params):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 12)) < 0.7, 0.0, rng.integers(-3, 9, size=(80, 12)))
    Y = (X[:, :3] + rng.normal(size=(80, 3)) > 1).astype(int)
    learner = MLGradientBoosting(10, learning_rate=0.2, max_bins=8, random_state=0, **params)
    expected = learner.fit(X, Y).predict_proba(X)
    for make in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert_allclose(learner.fit(make(X), Y).predict_proba(make(X)), expected, atol=1e-9)
        assert_allclose(learner.predict_proba(X), expected, atol=1e-9)


def test_columns_of_counts_are_cut_as_others(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (60, 30)).astype(float)
    X[:, 0] = 0  # a word that no instance has
    X[:, 1] = 1  # no zeros
    X[:, 2], X[:, 3] = rng.integers(0, 40, 60), rng.integers(-2, 3, 60)
    X[::7, 4], X[:, 5] = np.nan, np.where(X[:, 5] > 0, 5e-324, 0)
    # one of the entries is stored in parts, and one that is zero is stored
    rows, columns = np.nonzero(X)
    stored = np.concatenate([X[rows, columns], [-1.0, 0.0]])
    places = np.append(rows, [rows[50], 0]), np.append(columns, [columns[50], 0])
    X = sparse.coo_array((stored, places), shape=X.shape).tocsr()
    fast = _gradient_features.Binned(X, 16, np.ones(60))
    monkeypatch.setattr(_gradient_features, "_counts", lambda *_: {})
    slow = _gradient_features.Binned(X, 16, np.ones(60))
    for name in ("features", "common", "n_slots", "missing", "cut", "start", "threshold"):
        assert_array_equal(getattr(fast, name), getattr(slow, name))
    assert fast.entries == slow.entries
    assert_array_equal(fast._table, slow._table)


def test_bins_are_looked_up_alike_with_and_without_a_table(monkeypatch):
    X, _ = data(n=80)
    features = np.random.default_rng(0).integers(0, X.shape[1], 80)
    table = _gradient_features.Binned(X, 8, np.ones(80))
    monkeypatch.setattr(_gradient_features, "TABLE", 0)
    without = _gradient_features.Binned(sparse.csr_array(np.where(X > 1.5, X, 0)), 8, np.ones(80))
    assert without._table is None
    for binned, values in ((table, X), (without, np.where(X > 1.5, X, 0))):
        bins = binned.bins_of(features)
        for row, (j, found) in enumerate(zip(features, bins)):
            own = binned.owner == j
            cuts = dict(zip(binned.cut[own], binned.threshold[own]))
            assert found == sum(values[row, binned.features[j]] > cut for cut in cuts.values())


@pytest.mark.parametrize("longest", [1, 5, 8 * SHORT])
def test_running_sums(longest):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, longest + 1, 12)
    starts, m = np.cumsum(lengths) - lengths, int(lengths.sum())
    H = rng.random((m + 3, 4))
    parts = [H[start : start + length].cumsum(axis=0) for start, length in zip(starts, lengths)]
    assert_allclose(Summer().running(H, starts, m)[:m], np.concatenate(parts))


def test_large_and_small_parts_alike(monkeypatch):
    X, Y = data(n=120)
    learner = MLGradientBoosting(5, random_state=0)
    expected = learner.fit(X, Y).predict_proba(X)
    monkeypatch.setattr(_gradient_trees, "CELLS", 40)
    assert_allclose(learner.fit(X, Y).predict_proba(X), expected)


def test_leaves_of_a_tree_with_many_nodes():
    # labels are digits: a level has up to 512 nodes, more than a byte can count
    x = np.random.default_rng(0).permutation(1024)
    X, Y = x[:, np.newaxis], x[:, np.newaxis] >> np.arange(10) & 1
    learner = MLGradientBoosting(
        1, learning_rate=1.0, max_depth=10, max_bins=1024, l2_regularization=0.001
    ).fit(X, Y)
    leaves = np.concatenate([leaf[:, 0] for _, leaf in learner._leaves(X)])
    assert len(learner.values_) == len(np.unique(leaves)) > 600
    # the derivatives are Y - 1/2 and 1/4, and the Newton step is -G / (H + l2)
    for leaf in np.unique(leaves):
        own = leaves == leaf
        step = (Y[own] - 0.5).sum(axis=0) / (own.sum() / 4 + 0.001)
        assert_allclose(learner.values_[leaf], step)


def test_order_of_rows_does_not_matter():
    X, Y = data(n=200)
    order = np.random.default_rng(0).permutation(200)
    learner = MLGradientBoosting(20, random_state=0)
    expected = learner.fit(X, Y).predict_proba(X)
    assert_allclose(learner.fit(X[order], Y[order]).predict_proba(X), expected, atol=1e-9)


def test_missing_values_tell():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    gone = rng.random(60) < 0.5
    X[gone, 0] = np.nan
    learner = MLGradientBoosting(5, learning_rate=1.0, max_features=None).fit(X, gone[:, None])
    assert_array_equal(learner.predict(X)[:, 0], gone)
    assert "x0 missing" in learner.to_text() and "x0 known" in learner.to_text()
    mostly = np.where(rng.random((60, 1)) < 0.9, np.nan, 1.0)
    learner.fit(mostly, np.isnan(mostly))
    assert_array_equal(learner.predict(mostly), np.isnan(mostly))


def test_values_missing_only_later_go_with_most():
    X, Y = np.arange(10.0)[:, None], (np.arange(10) > 6).astype(int)[:, None]
    learner = MLGradientBoosting(5, max_depth=1).fit(X, Y)
    assert_allclose(learner.predict_proba([[np.nan]]), learner.predict_proba([[0.0]]))


def test_labels_that_are_not_known_do_not_count():
    _, Y = data()
    cells = (np.random.default_rng(0).random(Y.shape) < 0.7).astype(float)
    f = np.random.default_rng(1).normal(size=Y.shape)
    for loss in LOSSES:
        both = []
        for labels in (Y, np.where(cells > 0, Y, 1 - Y)):
            run, W = Run(loss, f, labels.astype(bool), cells), np.empty((len(Y), 9))
            run.derivatives(W)
            both.append((W, run.loss()))
        assert_array_equal(both[0][0], both[1][0])
        assert both[0][1] == pytest.approx(both[1][1])


def test_label_sets_with_labels_that_are_not_known():
    X, Y = data()
    hidden = np.random.default_rng(0).random(Y.shape) < 0.3
    learner = MLGradientBoosting(8, loss="joint", random_state=0)
    learner.fit(X, np.where(hidden, np.nan, Y))
    filled = np.where(hidden, learner.predict_proba(X) > 0.5, Y)
    assert_array_equal(learner.label_sets_, np.unique(filled, axis=0))


def test_label_weight():
    X, Y = data()
    learner = MLGradientBoosting(5, label_weight=[1, 1, 0, 1], random_state=0).fit(X, Y)
    assert_allclose(learner.predict_proba(X)[:, 2], 0.5)  # nothing is known of it
    assert not learner.label_feature_importances_[2].any()
    for wrong in ([1, 1], [1, 1, 1, -1], [1, 1, 1, np.nan]):
        with pytest.raises(ValueError, match="label_weight must be 4 finite numbers"):
            MLGradientBoosting(label_weight=wrong).fit(X, Y)


def test_instances_without_weight_are_not_there():
    X, Y = data(n=100)
    weight = np.repeat([1.0, 0.0], 50)
    learner = MLGradientBoosting(10, random_state=0, max_bins=8)
    expected = learner.fit(X[:50], Y[:50]).predict_proba(X)
    assert_allclose(learner.fit(X, Y, sample_weight=weight).predict_proba(X), expected)


def test_early_stopping_keeps_the_best_round():
    X, Y = data(n=200)
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, 1 - Y, Y)  # noise to fit
    learner = MLGradientBoosting(
        300, learning_rate=0.5, validation_fraction=0.3, n_iter_no_change=5, random_state=0
    ).fit(X, Y)
    best = int(np.argmin(learner.validation_loss_))
    assert learner.n_estimators_ == len(learner.roots_) == best + 1
    assert len(learner.validation_loss_) == best + 6
    with pytest.raises(ValueError, match="leaves no instance to learn from"):
        MLGradientBoosting(validation_fraction=0.9).fit(X[:3], Y[:3])


def test_joint_loss_answers_with_the_best_seen_set():
    X, Y = data(n=60)
    learner = MLGradientBoosting(10, loss="joint", random_state=0).fit(X[:40], Y[:40])
    sets = np.unique(Y[:40], axis=0)
    assert_array_equal(learner.label_sets_, sets)
    f = learner._f(X)
    losses = np.array([LOSSES["joint"].values(f, np.tile(s > 0, (60, 1)))[:, 0] for s in sets])
    assert_array_equal(learner.predict(X), sets[losses.argmin(axis=0)])
    learner.set_params(loss="logistic").fit(X, Y)
    assert not hasattr(learner, "label_sets_")


def test_joint_loss_of_scores_beyond_the_range_of_exp(monkeypatch):
    X, Y = np.arange(8.0)[:, None], np.array([[1, 0], [0, 1]] * 4)
    learner = MLGradientBoosting(2, loss="joint", random_state=0).fit(X, Y)
    f = np.array([[-800.0, 900.0], [1e6, -5.0], [-3.0, 800.0]])
    monkeypatch.setattr(learner, "_f", lambda _: f)
    assert_array_equal(learner.predict(X[:3]), [[0, 1], [1, 0], [0, 1]])


def test_a_fitted_learner_answers_for_the_loss_of_its_fit():
    X, Y = data()
    learner = MLGradientBoosting(3, loss="hinge", random_state=0).fit(X, Y)
    expected = learner.decision_function(X)
    learner.set_params(loss="joint")
    assert_array_equal(learner.decision_function(X), expected)


def test_importances():
    X, Y = data(d=6, q=3)
    learner = MLGradientBoosting(10, random_state=0).fit(X, Y)
    each = learner.label_feature_importances_
    assert each.shape == (3, 6) and (each >= 0).all()
    assert_allclose(each.sum(axis=0), learner.feature_importances_)
    assert learner.feature_importances_.sum() == pytest.approx(1)
    assert_array_equal(each.argmax(axis=1), [0, 1, 2])
    assert sparse.issparse(learner.fit(sparse.csr_array(X), Y).label_feature_importances_)


def test_explanations_add_up():
    X, Y = data(n=50)
    learner = MLGradientBoosting(12, random_state=0).fit(X, Y)
    for x, wanted, explained in zip(X, learner._f(X), learner.explain(X)):
        assert explained.exact.all()
        assert_allclose(explained.total, wanted)
        assert_allclose(explained.scores, expit(wanted))
        way, _ = explained.top(0)[0]
        for condition in way.split(" and "):
            name, sign, value = condition.split()
            # values are printed with four digits
            assert (x[int(name[1:])] > float(value) - 1e-3) if sign == ">" else True
    with pytest.raises(ValueError, match="feature_names must have 5"):
        learner.explain(X, feature_names=["a"])


def test_heads_and_rules_stay_sparse():
    X, Y = data()
    learner = MLGradientBoosting(10, weak="rule", heads=1, random_state=0).fit(X, Y)
    assert sparse.issparse(learner.values_)
    # a rule scores one label in one leaf
    assert learner.values_.nnz <= 10
    assert len(learner.to_text().splitlines()) == learner.values_.nnz


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (np.ones((5, 2)), np.eye(5, 2, dtype=int)),  # no feature varies
        (np.zeros((1, 1)), np.ones((1, 1), dtype=int)),
        (np.full((4, 1), np.nan), np.eye(4, 2, dtype=int)),
        (np.array([[1e300], [-1e300], [5e-324], [0.0]]), np.eye(4, 2, dtype=int)),
        (sparse.csr_array((4, 3)), np.eye(4, 2, dtype=int)),
    ],
    ids=["constant", "one row", "nothing known", "huge and tiny", "empty"],
)
@pytest.mark.parametrize("params", [{}, {"weak": "rule", "heads": 1}, {"loss": "joint"}])
def test_strange_data(X, Y, params):
    learner = MLGradientBoosting(3, random_state=0, **params).fit(X, Y)
    assert np.isfinite(learner.predict_proba(X)).all()
    assert learner.predict(X).shape == Y.shape
    assert isinstance(learner.to_text(), str) and len(learner.explain(X)) == Y.shape[0]


def test_a_fit_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", "0.00001")
    with pytest.raises(ValueError, match="MLGradientBoosting would need about"):
        MLGradientBoosting().fit(*data())


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("dataset", "precision", "hamming"), [("emotions", 0.80, 0.205), ("medical", 0.862, 0.0125)]
)
def test_as_good_as_measured(dataset, precision, hamming):
    found = datasets.load(dataset)
    learner = MLGradientBoosting(random_state=0).fit(found.X[found.train], found.Y[found.train])
    X, Y = found.X[found.test], found.Y[found.test]
    assert metrics.average_precision(Y, learner.predict_proba(X)) > precision
    assert metrics.hamming_loss(Y, learner.predict(X)) < hamming


# categories ------------------------------------------------------------------------------------


def coloured(n=240, q=3, seed=0):
    """A table with a column of text, one of numbers without order, and one of numbers."""
    rng = np.random.default_rng(seed)
    colour = np.array(list("abcdefg"), dtype=object)[rng.integers(0, 7, n)]
    size = rng.integers(0, 4, n) * 10.0
    each = rng.random((7, q)) < 0.5
    Y = each[[ord(c) - 97 for c in colour]] ^ (size == 20)[:, None] ^ (rng.random((n, q)) < 0.1)
    colour[rng.random(n) < 0.1] = None
    X = pd.DataFrame({"colour": colour, "size": size, "z": rng.normal(size=n)})
    return X, Y.astype(int)


@pytest.fixture(scope="module")
def by_colour():
    X, Y = coloured()
    learner = MLGradientBoosting(8, categorical_features=["colour", "size"], random_state=0)
    return learner.fit(X, Y), X, Y


def divisions(cells):
    """Every division of categories into two, as which cells go to the right."""
    kinds = sorted(set(cells))
    for number in range(1, 2 ** (len(kinds) - 1)):
        right = {kind for bit, kind in enumerate(kinds) if number >> bit & 1}
        yield np.array([cell in right for cell in cells])


def first_division(learner, X):
    """Which instances the first condition sends to the right, cell by cell."""
    j, row = learner.feature_[0], learner.subsets_[learner.subset_[0]]
    categories = learner.categories_[list(np.flatnonzero(learner.is_categorical_)).index(j)]
    return np.array(
        [
            row[categories.index(cell)] if cell in categories else learner.missing_right_[0]
            for cell in X.iloc[:, j]
        ]
    )


def test_division_of_categories_is_the_best_for_one_label():
    for seed in range(5):
        X, Y = coloured(n=60, q=1, seed=seed)
        learner = MLGradientBoosting(
            1, max_depth=1, max_features=None, l2_regularization=1e-9, random_state=0,
            categorical_features=[0],
        ).fit(X[["colour"]], Y)  # fmt: skip
        f = np.tile(learner.start_, (60, 1))
        g, h = LOSSES["logistic"].derivatives(f, Y > 0)
        cells = X["colour"].fillna("missing")
        best = max(gain(right, g, h, 1e-9, False, 1) for right in divisions(cells))
        found = first_division(learner, X[["colour"]])
        assert gain(found, g, h, 1e-9, False, 1) == pytest.approx(best)


def test_categories_are_cut_along_their_principal_component(by_colour):
    _, X, Y = by_colour
    X = X[["colour"]].fillna("missing")
    learner = MLGradientBoosting(1, max_depth=1, categorical_features=[0], random_state=0)
    learner.fit(X, Y)
    g, h = LOSSES["logistic"].derivatives(np.tile(learner.start_, (len(X), 1)), Y > 0)
    kinds = sorted(set(X["colour"]))
    members = [np.flatnonzero(X["colour"] == kind) for kind in kinds]
    G, H = (np.array([part[rows].sum(axis=0) for rows in members]) for part in (g, h + 0.0))
    steps, weight = G / (H + 1), (H + 1).sum(axis=1)
    centred = steps - np.average(steps, axis=0, weights=weight)
    axis = np.linalg.eigh(centred.T @ (weight[:, None] * centred))[1][:, -1]
    order = [kinds[i] for i in np.argsort(centred @ axis)]
    gains = [
        gain(X["colour"].isin(order[:k]).to_numpy(), g, h, 1.0, False, 3)
        for k in range(1, len(order))
    ]
    assert gain(first_division(learner, X), g, h, 1.0, False, 3) == pytest.approx(max(gains))


def test_instances_run_down_by_their_categories(by_colour):
    learner, X, _ = by_colour
    X = X.copy()
    X.loc[:30, "colour"] = "never seen"
    codes = X[["colour", "size", "z"]].to_numpy(dtype=object)
    for column, known in enumerate(learner.categories_):
        codes[:, column] = [
            known.index(c) if c in known else np.nan for c in codes[:, column].tolist()
        ]
    expected = np.tile(learner.start_, (len(X), 1))
    for i, x in enumerate(codes.astype(float)):
        for node in learner.roots_:
            while learner.feature_[node] >= 0:
                value = x[learner.feature_[node]]
                if np.isnan(value):
                    right = learner.missing_right_[node]
                elif learner.is_categorical_[learner.feature_[node]]:
                    right = learner.subsets_[learner.subset_[node], int(value)]
                else:
                    right = value > learner.threshold_[node]
                node = learner.left_[node] + right
            expected[i] += _values(learner, node)
    assert_allclose(learner.predict_proba(X), expit(expected))
    missing = X.assign(colour=None)
    unknown = X.assign(colour="never seen")
    assert_array_equal(learner.predict_proba(missing), learner.predict_proba(unknown))


def test_forms_of_categorical_features(by_colour):
    learner, X, Y = by_colour
    expected = learner.predict_proba(X)
    typed = X.astype({"colour": "category", "size": "category"})
    cells = X.to_numpy(dtype=object)
    for asked, table in [
        ([0, 1], X), ([True, True, False], X), ("from_dtype", typed), ([1, 0], cells.tolist()),
        (np.array([0, 1]), cells),
    ]:  # fmt: skip
        other = MLGradientBoosting(8, categorical_features=asked, random_state=0).fit(table, Y)
        assert_array_equal(other.predict_proba(table), expected)
        assert other.categories_ == learner.categories_
    numbers = np.column_stack([X["size"], X["z"]])
    one = MLGradientBoosting(3, categorical_features=[0], random_state=0).fit(numbers, Y)
    assert one.categories_ == [[0.0, 10.0, 20.0, 30.0]]
    # another name of the same categories changes nothing
    renamed = numbers * [-1, 1] + [7, 0]
    assert_allclose(one.predict_proba(numbers), clone(one).fit(renamed, Y).predict_proba(renamed))
    one.set_params(categorical_features=None).fit(numbers, Y)
    assert not hasattr(one, "categories_") and not hasattr(one, "subsets_")


def test_categories_in_words(by_colour):
    learner, X, _ = by_colour
    text = learner.to_text()
    assert "colour is one of a" in text or "colour is a" in text
    assert "size is 20" in text
    for wanted, explained in zip(learner.predict_proba(X[:5]), learner.explain(X[:5])):
        assert_allclose(expit(explained.total), wanted)
        assert any("colour is" in rule for rule, _ in explained.top(0))


@pytest.mark.parametrize(
    "params",
    [{"weak": "rule", "heads": 1}, {"loss": "joint", "subsample": 0.7},
     {"validation_fraction": 0.3}],
)  # fmt: skip
def test_categories_with_other_options(params):
    X, Y = coloured(n=80)
    learner = MLGradientBoosting(5, categorical_features=[0, 1], random_state=0, **params)
    assert np.isfinite(learner.fit(X, Y).predict_proba(X)).all()


def test_model_file_with_categories(by_colour, tmp_path):
    learner, X, _ = by_colour
    save_model(learner, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops").learner
    assert_array_equal(again.predict_proba(X), learner.predict_proba(X))
    assert again.to_text() == learner.to_text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([3], "must be from 0 to 2"),
        ([-1], "must be from 0 to 2"),
        ([True], "must have 3 entries"),
        (["shade"], "has shade, which X does not have"),
        (["z"], "at most 255 categories, got 300 in column z"),
    ],
)
def test_wrong_categorical_features(asked, message):
    X, Y = coloured(n=300)
    with pytest.raises(ValueError, match=message):
        MLGradientBoosting(categorical_features=asked).fit(X, Y)
    with pytest.raises(ValueError, match="X is not a data frame"):
        MLGradientBoosting(categorical_features=["a"]).fit(X.to_numpy(), Y)
    with pytest.raises(TypeError, match="need dense X"):
        MLGradientBoosting(categorical_features=[0]).fit(sparse.eye_array(300), Y)


def test_text_that_is_not_declared():
    X, Y = coloured(n=30)
    X.insert(0, "number", "1.5")  # which scikit-learn reads
    advice = "of X has text, '[a-g]': if it has categories, add it to categorical_features"
    for asked in ("from_dtype", None, ["size"], [2]):
        learner = MLGradientBoosting(2, categorical_features=asked)
        with pytest.raises(ValueError, match="^column colour " + advice):
            learner.fit(X, Y)
        if asked != ["size"]:
            for form in (X.to_numpy(), X.to_numpy().tolist(), X.to_numpy().astype(str)):
                with pytest.raises(ValueError, match="^column 1 " + advice):
                    learner.fit(form, Y)
    rest = X.drop(columns="colour")
    learner = MLGradientBoosting(2).fit(rest, Y)
    with pytest.raises(ValueError, match="^column z of X has text, 'b': it is not one of the cat"):
        learner.predict(rest.assign(z="b"))


@pytest.mark.parametrize(
    "column",
    [[None] * 6, ["a"] * 6, ["a", None] * 3, [True, False, None] * 2, [1, 1.5, "x"] * 2],
    ids=["nothing known", "one", "one or missing", "bools", "mixed"],
)
def test_strange_categories(column):
    X, Y = pd.DataFrame({"c": pd.Series(column, dtype=object)}), np.eye(6, 2, dtype=int)
    learner = MLGradientBoosting(3, categorical_features=["c"], random_state=0).fit(X, Y)
    assert np.isfinite(learner.predict_proba(X)).all()
    assert isinstance(learner.to_text(), str)


def test_of_labels_that_gain_alike_the_first_has_the_head():
    X = np.array([[2.0], [2.0], [0.0], [2.0], [1.0], [1.0]])
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [0, 1], [0, 1]])
    order = [3, 1, 5, 0, 4, 2]
    learner = MLGradientBoosting(1, heads=1, max_depth=1, max_features=None)
    wanted = learner.fit(X, Y).predict_proba(X)
    assert_allclose(learner.fit(X[order], Y[order]).predict_proba(X), wanted)


@pytest.mark.parametrize("weak", ["tree", "rule"])
@pytest.mark.parametrize("lost", [(0, 4), (16, 20), (8, 12)], ids=["low", "high", "both"])
def test_of_features_that_gain_alike_the_first_wins(weak, lost):
    """Also where its missing values have to go to the left."""
    x = np.repeat([0.0, 1.0], 10)
    gappy, other = x.copy(), x[::-1].copy()
    gappy[slice(*lost)] = np.nan
    Y = (x == 0)[:, np.newaxis]
    learner = MLGradientBoosting(1, max_depth=1, max_features=None, weak=weak)
    for columns in ([gappy, x], [x, gappy], [gappy, other], [gappy, gappy], [x, other]):
        if lost == (8, 12) and columns[0] is gappy and columns[1] is not gappy:
            columns = columns[::-1]  # what is missing on both sides gains less
        X = np.column_stack(columns)
        assert_array_equal(learner.fit(X, Y).feature_importances_, [1, 0])
