"""Label trees against their twin by loops, and what a user of many labels relies on."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import LabelTree, datasets, metrics
from tests.learners.extreme.twins import fit_linear, halves, learn_more, path_scores

EXACT = {"normalize": False, "prune": 0, "tol": 1e-10, "max_iter": 200, "random_state": 0}


@pytest.fixture(scope="module")
def small():
    data = datasets.make_sparse_multilabel(40, 12, 7, nnz_per_row=4, random_state=0)
    return data.X.toarray(), data.Y.toarray()


@pytest.fixture(scope="module")
def many():
    return datasets.make_sparse_multilabel(1200, 600, 300, random_state=0)


@pytest.fixture(scope="module")
def fitted(many):
    return LabelTree(2, branching_factor=4, leaf_size=20, beam_width=3, random_state=0).fit(
        many.X, many.Y
    )


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_all_paths_are_followed_where_the_beam_holds_all_nodes(small, loss):
    X, Y = small
    tree = LabelTree(2, loss=loss, C=2.0, branching_factor=2, leaf_size=2, **EXACT).fit(X, Y)
    orders = [halves(order.tolist(), 2, 2) for order in tree.order_]
    for x in X[:2]:
        wanted = np.mean([path_scores(X, Y, x, nested, loss, 2.0) for nested in orders], axis=0)
        if loss == "logistic":
            found = tree.predict_proba([x])[0]
        else:
            found, wanted = tree.decision_function([x])[0], np.e * wanted - 1
        assert_allclose(found, wanted, rtol=1e-4, atol=1e-7)


def test_a_narrow_beam_follows_the_best_node(small):
    X, Y = small
    wide = LabelTree(1, branching_factor=2, leaf_size=2, beam_width=9, **EXACT).fit(X, Y)
    narrow = LabelTree(1, branching_factor=2, leaf_size=2, beam_width=1, **EXACT).fit(X, Y)
    assert_array_equal(wide.order_, narrow.order_)
    proba, found = wide.predict_proba(X), narrow.predict_proba(X)
    stored = found > 0
    assert set(stored.sum(axis=1)) <= {1, 2}  # one leaf
    assert_allclose(found[stored], proba[stored])


def test_each_label_is_once_in_each_tree(fitted):
    assert_array_equal(np.sort(fitted.order_, axis=1), np.tile(np.arange(300), (2, 1)))


def test_labels_with_the_same_words_are_together():
    X = np.repeat(np.eye(4), 5, axis=0)
    Y = np.repeat(np.kron(np.eye(4, dtype=int), [1, 1]), 5, axis=0)
    order = LabelTree(1, branching_factor=2, leaf_size=2, random_state=0).fit(X, Y).order_[0]
    assert {frozenset(pair) for pair in order.reshape(4, 2).tolist()} == {
        frozenset(pair) for pair in ((0, 1), (2, 3), (4, 5), (6, 7))
    }


def test_top_labels_are_the_best_of_all_scores(many, fitted):
    X = many.X[:50]
    proba, top = fitted.predict_proba(X), fitted.predict_top(X, 3)
    assert_array_equal(np.diff(top.indptr), 3)
    best = np.sort(np.argsort(-proba, axis=1, kind="stable")[:, :3], axis=1)
    assert_array_equal(top.indices.reshape(-1, 3), best)
    assert_array_equal(top.data.reshape(-1, 3), np.take_along_axis(proba, best, axis=1))
    sets = fitted.predict(X)
    assert sets.format == "csr"
    assert_array_equal(sets.toarray(), proba > 0.5)


def test_threads_and_blocks_change_nothing(many, fitted, monkeypatch):
    again = LabelTree(2, branching_factor=4, leaf_size=20, beam_width=3, n_jobs=2, random_state=0)
    again.fit(many.X, many.Y)
    for name in ("order_", "keys_", "biases_"):
        assert_array_equal(getattr(again, name), getattr(fitted, name))
    assert (again.weights_ != fitted.weights_).nnz == 0
    wanted = fitted.predict_top(many.X[:100])
    monkeypatch.setattr("plurilabel.learners.extreme._label_tree.PAIRS", 1000)
    assert_array_equal(again.predict_top(many.X[:100]).toarray(), wanted.toarray())


def test_pruned_weights_are_gone(many, fitted):
    assert abs(fitted.weights_.data).min() > 0.1
    none = LabelTree(1, prune=1e9, leaf_size=20, random_state=0).fit(many.X, many.Y)
    assert none.weights_.nnz == 0
    top = none.predict_top(many.X[:2], 2)  # by frequency alone
    assert_array_equal(top[[0]].toarray(), top[[1]].toarray())


def test_more_rare_labels_with_propensities(many):
    p = metrics.propensities(many.Y)
    psp = [
        metrics.psp_at_k(
            many.Y[900:],
            LabelTree(1, propensities=weighed, random_state=0)
            .fit(many.X[:900], many.Y[:900])
            .predict_top(many.X[900:]),
            5,
            propensities=p,
        )
        for weighed in (False, True)
    ]
    assert psp[1] > psp[0]


def test_dense_scores_that_do_not_fit_are_refused(many, fitted, monkeypatch):
    monkeypatch.setenv("PLURILABEL_MAX_MEMORY", "0.0001")
    with pytest.raises(ValueError, match="use predict_top, whose answer is sparse"):
        fitted.predict_proba(many.X)
    assert fitted.predict_top(many.X[:5]).shape == (5, 300)


@pytest.mark.parametrize("k", [0, 1.5, "2"])
def test_a_bad_k_is_refused(many, fitted, k):
    with pytest.raises(ValueError, match="k must be a positive integer"):
        fitted.predict_top(many.X[:1], k)


def test_rows_of_zeros_and_single_rows(many, fitted):
    rows = sparse.vstack([many.X[:1], sparse.csr_array((1, 600)), many.X[:1] * 1e200])
    top = fitted.predict_top(rows, 400)
    assert np.isfinite(top.data).all()
    assert_allclose(top[[0]].toarray(), top[[2]].toarray(), rtol=1e-6)
    assert_array_equal(fitted.predict_top(rows[[0]], 400).toarray(), top[[0]].toarray())


# further instances ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_further_instances_by_hand(small, loss):
    X, Y = small
    tree = LabelTree(1, loss=loss, C=2.0, **EXACT).partial_fit(X[:25], Y[:25])
    tree.partial_fit(X[25:], Y[25:])
    for place, label in enumerate(tree.order_[0]):
        y = Y[:, label]
        w, b = fit_linear(X[:25], y[:25], loss, 2.0)
        w, b = learn_more(X[25:], y[25:], w, b, (X[:25], y[:25]), loss, 2.0)
        found = np.zeros(12)
        found[tree.keys_] = tree.weights_[:-1, [place]].toarray().ravel()
        assert_allclose(found, w, rtol=1e-3, atol=1e-5)
        assert_allclose(tree.biases_[0, place], b, rtol=1e-3, atol=1e-5)


@pytest.fixture(scope="module")
def in_halves(many):
    """A tree after each half of the training rows."""
    tree = LabelTree(2, branching_factor=4, leaf_size=20, random_state=0)
    first = deepcopy(tree.partial_fit(many.X[:500], many.Y[:500]))
    return first, tree.partial_fit(many.X[500:1000], many.Y[500:1000])


def test_two_halves_are_near_one_fit(many, in_halves):
    whole = LabelTree(2, branching_factor=4, leaf_size=20, random_state=0).fit(
        many.X[:1000], many.Y[:1000]
    )
    half, both, all_ = (
        metrics.precision_at_k(many.Y[1000:], tree.predict_top(many.X[1000:]), 3)
        for tree in (*in_halves, whole)
    )
    assert both > all_ - 0.02
    assert both - half > 0.5 * (all_ - half)


def test_further_instances_leave_the_trees_as_they_are(many, in_halves):
    first, second = in_halves
    assert_array_equal(first.order_, second.order_)
    assert_array_equal(second.reached_[:, 0], 1000)
    assert (np.diff(second.keys_) > 0).all()
    assert second.weights_.format == "csr" and second.weights_.dtype == np.float32
    assert abs(second.weights_.data).min() > 0.1
    # labels that nobody had so far are as unlikely as before
    never = np.flatnonzero(many.Y[:1000].sum(axis=0) == 0)
    assert len(never) and (second.biases_[:, -300:][np.isin(second.order_, never)] == -30).all()


def test_a_label_may_come_later():
    X, Y = np.eye(6), np.zeros((6, 3), dtype=int)
    Y[[0, 1], 0] = Y[[2, 3], 1] = 1
    tree = LabelTree(1, leaf_size=1, branching_factor=2, random_state=0).partial_fit(X, Y)
    assert tree.predict_proba(X[[4]])[0, 2] < 1e-9
    Y[[4, 5], 2] = 1
    for _ in range(3):
        tree.partial_fit(X[4:], Y[4:])
    assert tree.predict_proba(X[4:])[:, 2].min() > 0.5
    assert_array_equal(tree.predict_top(X, 1).indices, [0, 0, 1, 1, 2, 2])


def test_weights_of_further_instances_are_repetitions(small):
    X, Y = small
    times = np.random.default_rng(0).integers(0, 3, size=len(X))
    start = LabelTree(1, branching_factor=2, leaf_size=2, **EXACT).fit(X, Y, sample_weight=times)
    again = LabelTree(1, branching_factor=2, leaf_size=2, **EXACT).fit(
        X.repeat(times, axis=0), Y.repeat(times, axis=0)
    )
    assert_array_equal(start.order_, again.order_)
    start.partial_fit(X, Y, sample_weight=times[::-1])
    again.partial_fit(X.repeat(times[::-1], axis=0), Y.repeat(times[::-1], axis=0))
    assert_allclose(start.predict_proba(X), again.predict_proba(X), rtol=1e-4, atol=1e-6)


def test_threads_change_nothing_in_further_instances(many, in_halves):
    first, second = in_halves
    again = deepcopy(first).set_params(n_jobs=2).partial_fit(many.X[500:1000], many.Y[500:1000])
    assert_array_equal(again.keys_, second.keys_)
    assert (again.weights_ != second.weights_).nnz == 0


def test_other_labels_or_parameters_are_refused_and_change_nothing(many, in_halves):
    tree = deepcopy(in_halves[0])
    with pytest.raises(ValueError, match="y must have the 300 labels of fit, got 299"):
        tree.partial_fit(many.X[:9], many.Y[:9, :299])
    with pytest.raises(ValueError, match="C"):
        tree.set_params(C=-1).partial_fit(many.X[:9], many.Y[:9])
    assert_array_equal(tree.biases_, in_halves[0].biases_)


def test_rows_without_labels_or_features_can_follow(many, in_halves):
    tree = deepcopy(in_halves[0]).partial_fit(many.X[:1] * 0, many.Y[:1] * 0)
    assert_array_equal(tree.reached_[:, 0], 501)
    assert np.isfinite(tree.predict_top(many.X[:9]).data).all()


# label features -------------------------------------------------------------------------


def test_labels_without_instances_are_put_together_by_their_own_features():
    X, Y = np.eye(2), np.zeros((2, 6), dtype=int)
    kinds = np.tile(np.eye(2), (3, 1))
    for Z in (kinds, sparse.coo_array(kinds)):
        tree = LabelTree(5, branching_factor=2, leaf_size=3, random_state=0).fit(
            X, Y, label_features=Z
        )
        parts = {frozenset(part) for part in tree.order_.reshape(10, 3).tolist()}
        assert frozenset((0, 2, 4)) in parts and frozenset((1, 3, 5)) in parts


@pytest.mark.parametrize(
    ("Z", "why"),
    [
        (np.ones((3, 2)), "label_features must have a row for each of the 8 labels, got 3"),
        (np.full((8, 2), np.nan), "label_features contains NaN"),
        (np.ones(8), "2D array"),
    ],
)
def test_label_features_that_do_not_fit_are_refused(Z, why):
    tree = LabelTree(1)
    with pytest.raises(ValueError, match=why):
        tree.fit(np.eye(2), np.zeros((2, 8), dtype=int), label_features=Z)
    assert not hasattr(tree, "weights_") and not hasattr(tree, "n_labels_")


@pytest.mark.usefixtures("data_folder")
def test_precision_on_bibtex():
    X, X_test, Y, Y_test = datasets.load("bibtex").holdout()
    top = LabelTree(1, random_state=0).fit(X, Y).predict_top(X_test)
    found = [metrics.precision_at_k(Y_test, top, k) for k in (1, 3, 5)]
    # omikuji with its three trees: .632, .386, .279
    assert (np.array(found) > (0.62, 0.38, 0.275)).all()
