"""Every engine, storage and number of threads gives the answer of the slow twin, bit for bit."""

import copy
import itertools
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import check_estimator

from plurilabel import ExactIndex
from plurilabel._core.blocks import dense
from plurilabel.neighbors import _products as products
from plurilabel.neighbors._blocks import Blocks, WholeBlocks
from plurilabel.neighbors._engines import AllPairs, Brute, Tree
from tests.neighbors import twin


def _cases():
    rng = np.random.default_rng(7)
    far_apart = rng.normal(size=(150, 4))
    far_apart[75:] += 1e6
    outlier = rng.normal(size=(120, 5))
    outlier[17] = 1e30
    return {
        "normal": rng.normal(size=(150, 12)),
        "one feature": rng.normal(size=(80, 1)),
        "grid": rng.integers(0, 3, (160, 3)).astype(float),
        "grid of sixteenths": rng.integers(0, 9, (120, 3)) / 16,
        "grid of tenths": np.round(rng.normal(size=(120, 2)), 1),
        "bits": (rng.random((140, 30)) < 0.1).astype(float),
        "duplicates": np.repeat(rng.normal(size=(12, 6)), 12, axis=0)[rng.permutation(144)],
        "many duplicates": np.repeat(rng.normal(size=(4, 6)), 40, axis=0)[rng.permutation(160)],
        "constant": np.ones((60, 3)),
        "constant feature": np.column_stack([rng.normal(size=(90, 3)), np.full(90, 0.3)]),
        "offset": 1e8 + rng.normal(size=(120, 6)),
        "tiny": 1e-30 * rng.normal(size=(120, 6)),
        "huge": 1e30 * rng.normal(size=(120, 6)),
        "least": np.array([[0.0], [5e-324], [1e-323]]),
        "vanishing": 1e-170 * rng.normal(size=(60, 4)),
        "far apart": far_apart,
        "outlier": outlier,
        "signed zeros": np.where(rng.random((80, 4)) < 0.5, -0.0, rng.integers(0, 2, (80, 4))),
        "two rows": np.array([[1.0, 2.0], [3.0, 5.0]]),
    }


CASES = _cases()


@pytest.fixture
def small_blocks(monkeypatch):
    """The filter of large data, on data small enough for the twin."""
    monkeypatch.setattr(products, "DIRECT_BELOW", 0)
    monkeypatch.setattr(products, "_FEW", 0)
    monkeypatch.setattr(products, "SAMPLE", 20)
    monkeypatch.setattr(products, "_CACHE", 1 << 12)


@pytest.mark.parametrize("algorithm", ["auto", "blocks", "tree", "brute"])
@pytest.mark.parametrize("name", CASES)
def test_training_graph_and_queries_are_those_of_the_twin(name, algorithm):
    X = CASES[name]
    k = min(7, len(X) - 1)
    queries = np.vstack([X[:5], X[:3] * 1.25, X.mean(axis=0, keepdims=True)])
    for stored in (X, sparse.csr_array(X)):
        if algorithm == "tree" and sparse.issparse(stored):
            continue
        index = ExactIndex(algorithm=algorithm).fit(stored)
        graph = twin.nearest(twin.table(X, X), k, without_self=True)
        twin.same(index.kneighbors(n_neighbors=k), graph)
        near = twin.nearest(twin.table(queries, X), k, without_self=False)
        twin.same(index.kneighbors(queries, k), near)
        twin.same(index.kneighbors(sparse.csr_array(queries), k), near)


@pytest.mark.parametrize("algorithm", ["blocks", "tree", "brute"])
def test_cosine_of_many_equal_directions_takes_the_first(algorithm):
    # more duplicates than candidates: the bound on the points left out is zero, not above it
    X = CASES["many duplicates"]
    queries = X[:9]
    table = np.array([[twin.cosine(a, b) for b in X] for a in X])
    near = twin.nearest(table[:9], 7, without_self=False)
    graph = twin.nearest(table, 7, without_self=True)
    for stored in (X, sparse.csr_array(X)):
        if algorithm == "tree" and sparse.issparse(stored):
            continue
        index = ExactIndex("cosine", algorithm=algorithm).fit(stored)
        twin.same(index.kneighbors(queries, 7), near)
        twin.same(index.kneighbors(n_neighbors=7), graph)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("seed", range(6))
def test_duplicates_that_only_some_of_them_find(seed, metric):
    # Single precision leaves duplicates and near duplicates, which products cannot tell apart:
    # some rows have found all their duplicates when others have not.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(71, 15)) * 1e-7 + rng.normal(size=(5, 15))[rng.integers(0, 5, 71)] * 100
    X = X.astype(np.float32)
    for k in (1, 2, 5):
        found = ExactIndex(metric, algorithm="blocks").fit(X).kneighbors(n_neighbors=k)
        twin.same(found, ExactIndex(metric, algorithm="brute").fit(X).kneighbors(n_neighbors=k))


@pytest.mark.parametrize("n", [270, 1100])
@pytest.mark.parametrize("kind", ["normal", "offset", "clusters", "scales"])
def test_single_precision_proposes_the_same(n, kind):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 9))
    X = {
        "normal": X,
        "offset": X + 1e4,
        "clusters": 1e-3 * X + 10 * X[rng.integers(0, 20, n)],
        "scales": X * 10.0 ** rng.integers(-9, 9, (n, 1)),
    }[kind]
    blocks, brute = (ExactIndex(algorithm=name).fit(X[20:]) for name in ("blocks", "brute"))
    for k in (1, 10, 33, 249):
        twin.same(blocks.kneighbors(n_neighbors=k), brute.kneighbors(n_neighbors=k))
        twin.same(blocks.kneighbors(X[:20], k), brute.kneighbors(X[:20], k))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("block", [16, 37, 64])
def test_blocks_of_any_size(name, block, small_blocks, monkeypatch):
    monkeypatch.setattr(products, "BLOCK", block)
    X = CASES[name]
    k = min(4, len(X) - 1)
    graph = twin.nearest(twin.table(X, X), k, without_self=True)
    near = twin.nearest(twin.table(X[::3], X), k, without_self=False)
    for stored in (X, sparse.csr_array(X)):
        index = ExactIndex(algorithm="blocks", n_jobs=2).fit(stored)
        twin.same(index.kneighbors(n_neighbors=k), graph)
        twin.same(index.kneighbors(X[::3], k), near)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_any_number_of_threads(n_jobs, small_blocks):
    X = CASES["normal"]
    expected = twin.nearest(twin.table(X, X), 5, without_self=True)
    twin.same(ExactIndex(n_jobs=n_jobs).fit(X).kneighbors(n_neighbors=5), expected)


@pytest.mark.parametrize("name", ["normal", "grid", "bits", "duplicates", "offset"])
def test_float32_and_float64_of_the_same_values(name, small_blocks):
    single = CASES[name].astype(np.float32)
    X = single.astype(np.float64)
    expected = twin.nearest(twin.table(X, X), 6, without_self=True)
    for stored in (X, single, sparse.csr_array(X), sparse.csr_matrix(single)):
        for algorithm in ("auto", "brute"):
            twin.same(ExactIndex(algorithm=algorithm).fit(stored).kneighbors(None, 6), expected)
    twin.same(
        ExactIndex().fit(X).kneighbors(single[:9], 6),
        twin.nearest(twin.table(X[:9], X), 6, without_self=False),
    )


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, np.inf])
@pytest.mark.parametrize("name", ["normal", "grid", "duplicates", "offset", "two rows"])
def test_minkowski(name, p):
    X = CASES[name][:100]
    k = min(5, len(X) - 1)
    expected = twin.nearest(twin.table(X, X, p), k, without_self=True)
    metric = {1.0: "manhattan", np.inf: "chebyshev"}.get(p, "minkowski")
    power = p if metric == "minkowski" else 2
    for stored in (X, X.astype(np.float64), sparse.csr_array(X)):
        for algorithm in ("auto", "tree", "brute"):
            if algorithm == "tree" and sparse.issparse(stored):
                continue
            index = ExactIndex(metric, p=power, algorithm=algorithm).fit(stored)
            distances, indices = index.kneighbors(n_neighbors=k)
            if p in (1.0, np.inf):
                twin.same((distances, indices), expected)
            else:  # the power function may round differently in vectors and alone
                np.testing.assert_array_equal(indices, expected[1])
                np.testing.assert_allclose(distances, expected[0], rtol=1e-14)


def test_minkowski_is_the_same_in_every_engine():
    X = CASES["normal"]
    answers = [
        ExactIndex("minkowski", p=3, algorithm=algorithm).fit(stored).kneighbors(None, 6)
        for stored in (X, sparse.csr_array(X))
        for algorithm in ("auto", "brute", "tree")[: 2 if sparse.issparse(stored) else 3]
    ]
    for answer in answers[1:]:
        twin.same(answer, answers[0])


@pytest.mark.parametrize("algorithm", ["auto", "blocks", "tree", "brute"])
@pytest.mark.parametrize("name", ["normal", "bits", "duplicates", "grid"])
def test_cosine(name, algorithm, small_blocks):
    X = CASES[name][:60].copy()
    X[[3, 11]] = 0  # rows without a direction
    D = np.array([[twin.cosine(x, y) for y in X] for x in X])
    graph = twin.nearest(D, 5, without_self=True)
    near = twin.nearest(D[:20], 5, without_self=False)
    for stored in (X, sparse.csr_array(X)):
        if algorithm == "tree" and sparse.issparse(stored):
            continue
        index = ExactIndex("cosine", algorithm=algorithm).fit(stored)
        twin.same(index.kneighbors(n_neighbors=5), graph)
        twin.same(index.kneighbors(X[:20], 5), near)
    np.testing.assert_allclose(D, pairwise_distances(X, X.copy(), metric="cosine"), atol=1e-12)


@pytest.mark.parametrize("algorithm", ["auto", "blocks", "tree", "brute"])
@pytest.mark.parametrize("exponent", [-323, -320, -308, -200, -155, -30, 30, 140, 155, 300, 307])
def test_cosine_at_any_magnitude(exponent, algorithm):
    """A factor for each row, also one whose squares vanish or overflow, changes no direction."""
    X = np.random.default_rng(3).integers(-3, 4, (40, 3)).astype(float)
    X[[3, 11]] = 0
    scaled = X.copy()
    scaled[::2] *= 10.0**exponent / 4
    # What a denormal number cannot hold is lost before the search: the twin sees what is left.
    largest = np.abs(scaled).max(axis=1, keepdims=True)
    left = scaled / np.where(largest > 0, largest, 1)
    D = np.array([[twin.cosine(x, y) for y in left] for x in left])
    for stored in (scaled, sparse.csr_array(scaled)):
        if algorithm == "tree" and sparse.issparse(stored):
            continue
        distances, _ = ExactIndex("cosine", algorithm=algorithm).fit(stored).kneighbors(None, 39)
        expected = np.sort(D[~np.eye(40, dtype=bool)].reshape(40, 39), axis=1)
        np.testing.assert_allclose(distances, expected, atol=1e-14)


@pytest.mark.parametrize("algorithm", ["auto", "blocks", "tree", "brute"])
@pytest.mark.parametrize("exponent", [-323, -320, -308, -200, -162, -155, -30, 30, 140])
def test_any_magnitude_among_zeros(exponent, algorithm):
    rng = np.random.default_rng(5)
    X = np.where(rng.random((60, 4)) < 0.3, rng.normal(size=(60, 4)), 0) * 10.0**exponent
    graph = twin.nearest(twin.table(X, X), 5, without_self=True)
    queries = np.vstack([X[:4], X[:2] + 1, np.full((1, 4), 5e-324)])
    near = twin.nearest(twin.table(queries, X), 5, without_self=False)
    for stored in (X, sparse.csr_array(X)):
        if algorithm == "tree" and sparse.issparse(stored):
            continue
        index = ExactIndex(algorithm=algorithm).fit(stored)
        twin.same(index.kneighbors(None, 5), graph)
        twin.same(index.kneighbors(queries, 5), near)


@pytest.mark.parametrize("metric", ["canberra", "correlation", "sqeuclidean"])
def test_other_metrics_are_scikit_learns(metric):
    X = np.abs(CASES["normal"])
    expected = twin.nearest(pairwise_distances(X, metric=metric), 5, without_self=True)
    answer = ExactIndex(metric).fit(X).kneighbors(n_neighbors=5)
    np.testing.assert_array_equal(answer[1], expected[1])
    np.testing.assert_allclose(answer[0], expected[0], rtol=1e-9, atol=1e-14)


def test_metric_params_and_callables():
    X = CASES["grid"]
    w = np.array([1.0, 2.0, 0.0])
    expected = twin.nearest(
        pairwise_distances(X, metric="minkowski", p=1, w=w), 5, without_self=True
    )
    params = {"p": 1, "w": w}
    twin.same(ExactIndex("minkowski", metric_params=params).fit(X).kneighbors(None, 5), expected)

    def largest(x, y):
        return np.abs(x - y).max()

    small = X[:40]
    twin.same(
        ExactIndex(largest).fit(small).kneighbors(None, 5),
        twin.nearest(twin.table(small, small, np.inf), 5, without_self=True),
    )


def test_precomputed():
    X = CASES["grid"]
    D = twin.table(X, X)
    index = ExactIndex("precomputed").fit(D)
    twin.same(index.kneighbors(None, 6), twin.nearest(D, 6, without_self=True))
    twin.same(index.kneighbors(D[:7], 6), twin.nearest(D[:7], 6, without_self=False))
    with pytest.raises(ValueError, match=r"square matrix of distances .* got shape \(7, 160\)"):
        ExactIndex("precomputed").fit(D[:7])
    assert not hasattr(index, "partial_fit")
    assert not hasattr(index, "remove")


values = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([0.1, 0.2, 0.30000000000000004, 1e-8, 1e8, 1e8 + 1, 1e-200, 1e100, -0.0]),
    st.floats(-1e3, 1e3),
)


@settings(max_examples=25)
@given(
    X=hnp.arrays(np.float64, st.tuples(st.integers(2, 24), st.integers(1, 4)), elements=values),
    data=st.data(),
)
def test_any_small_data(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    graph = twin.nearest(twin.table(X, X), k, without_self=True)
    for algorithm in ("blocks", "tree", "brute"):
        twin.same(ExactIndex(algorithm=algorithm, n_jobs=1).fit(X).kneighbors(None, k), graph)
    sparsely = ExactIndex(n_jobs=1).fit(sparse.csr_array(X))
    twin.same(sparsely.kneighbors(None, k), graph)
    twin.same(sparsely.kneighbors(X, k), twin.nearest(twin.table(X, X), k, without_self=False))


def test_each_engine_is_the_one_asked_for():
    rng = np.random.default_rng(0)
    wide, low = rng.normal(size=(3000, 20)), rng.normal(size=(3000, 2))
    whole = rng.integers(0, 5, (300, 20)).astype(float)
    assert isinstance(ExactIndex().fit(wide)._engine, Blocks)
    assert isinstance(ExactIndex().fit(low)._engine, Tree)
    assert isinstance(ExactIndex().fit(whole)._engine, WholeBlocks)
    assert isinstance(ExactIndex("manhattan").fit(wide)._engine, Brute)
    assert isinstance(ExactIndex("chebyshev").fit(sparse.csr_array(whole))._engine, AllPairs)
    assert isinstance(ExactIndex("canberra").fit(wide)._engine, AllPairs)
    assert isinstance(ExactIndex().fit(np.repeat(low[:30], 100, axis=0))._engine, Blocks)
    assert ExactIndex().fit(wide)._engine.rounded.dtype == np.float32
    assert ExactIndex().fit(wide + 1e6 * (np.arange(3000) % 2)[:, None])._engine.rounded.dtype == (
        np.float64
    )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_whole_numbers_that_leave_room_for_coarse_keys_only(storage, small_blocks):
    rng = np.random.default_rng(3)
    X = rng.integers(-29, 30, (900, 4)).astype(float)
    X[::2] = 0  # many ties
    index = ExactIndex(algorithm="blocks").fit(storage(X))
    assert index._engine.whole.dtype == np.float32
    assert index._engine.whole.grain > 1
    D = twin.table(X, X)
    twin.same(index.kneighbors(None, 8), twin.nearest(D, 8, without_self=True))
    twin.same(index.kneighbors(X[:50], 8), twin.nearest(D[:50], 8, without_self=False))


def test_queries_far_outside():
    X = CASES["normal"]
    queries = np.vstack([X[:2] + 1e12, X[:2] * 1e100, X[:2] + 1e9])
    index = ExactIndex(algorithm="blocks").fit(X)
    expected = twin.nearest(twin.table(queries, X), 5, without_self=False)
    twin.same(index.kneighbors(queries, 5), expected)
    whole = ExactIndex(algorithm="blocks").fit(CASES["bits"])
    queries = CASES["bits"][:4] + [[0.5], [1e9], [3.0], [1e100]]
    expected = twin.nearest(twin.table(queries, CASES["bits"]), 5, without_self=False)
    twin.same(whole.kneighbors(queries, 5), expected)


@pytest.mark.parametrize("name", ["normal", "bits", "duplicates"])
@pytest.mark.parametrize(
    ("metric", "storage"),
    [
        ("euclidean", np.asarray),
        ("euclidean", sparse.csr_array),
        ("cosine", np.asarray),
        ("cosine", sparse.csr_array),
        ("manhattan", np.asarray),
        ("manhattan", sparse.csr_array),
        ("canberra", np.asarray),  # scikit-learn has none for sparse data
    ],
)
def test_points_added_and_removed(name, metric, storage):
    X = np.abs(CASES[name])
    index = ExactIndex(metric)
    for part in (X[:40], X[40:41], X[41:100], X[100:]):
        index.partial_fit(storage(part))
    gone = [0, 40, 41, len(X) - 1]
    index.remove(gone)
    fresh = ExactIndex(metric).fit(storage(np.delete(X, gone, axis=0)))
    assert index.n_samples_fit_ == fresh.n_samples_fit_ == len(X) - 4
    twin.same(index.kneighbors(None, 5), fresh.kneighbors(None, 5))
    twin.same(index.kneighbors(storage(X[:30]), 5), fresh.kneighbors(storage(X[:30]), 5))


def test_a_point_far_away_is_added():
    X = CASES["normal"]
    index = ExactIndex(algorithm="blocks").fit(X).partial_fit(X[:1] + 1e20)
    both = np.vstack([X, X[:1] + 1e20])
    twin.same(
        index.kneighbors(None, 3), twin.nearest(twin.table(both, both), 3, without_self=True)
    )


STORED = {
    "blocks": (ExactIndex(algorithm="blocks"), CASES["normal"]),
    "whole numbers": (ExactIndex(), CASES["bits"]),
    "sparse": (ExactIndex(), sparse.csr_array(CASES["bits"])),
    "tree": (ExactIndex(algorithm="tree"), CASES["normal"]),
    "brute": (ExactIndex("manhattan", algorithm="brute"), CASES["normal"]),
    "cosine": (ExactIndex("cosine"), CASES["normal"]),
    "precomputed": (ExactIndex("precomputed"), twin.table(CASES["grid"], CASES["grid"])),
    "canberra": (ExactIndex("canberra"), CASES["normal"]),
    "far": (ExactIndex(algorithm="blocks"), CASES["outlier"]),
}


@pytest.mark.parametrize("restored", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("name", STORED)
def test_a_restored_index_gives_the_same_bits(name, restored):
    index, X = clone(STORED[name][0]), STORED[name][1]
    index.fit(X)
    other = restored(index)
    twin.same(other.kneighbors(None, 5), index.kneighbors(None, 5))
    twin.same(other.kneighbors(X[:30], 5), index.kneighbors(X[:30], 5))


def classes_in(value):
    """Names of the classes of all that an object's state consists of."""
    if isinstance(value, dict):
        return {kind for entry in value.values() for kind in classes_in(entry)}
    if isinstance(value, list | tuple):
        return {kind for entry in value for kind in classes_in(entry)}
    return {type(value).__module__.partition(".")[0]}


@pytest.mark.parametrize("name", STORED)
def test_what_is_saved_is_plain(name):
    """Parameters and points: no class of ours, no tree, nothing that a pickle would name."""
    index, X = clone(STORED[name][0]), STORED[name][1]
    state = (
        index.fit(X).partial_fit(X).__getstate__()
        if name != "precomputed"
        else (index.fit(X).__getstate__())
    )
    assert classes_in(state) <= {"builtins", "numpy", "scipy"}
    assert set(state) <= {*index.get_params(), "n_features_in_", "n_samples_fit_", "points_"}


def test_a_restored_index_answers_many_threads_at_once():
    X = CASES["normal"]
    index = pickle.loads(pickle.dumps(ExactIndex(algorithm="blocks", n_jobs=1).fit(X)))
    expected = twin.nearest(twin.table(X, X), 5, without_self=True)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: index.kneighbors(None, 5), range(20)):
            twin.same(answer, expected)


def test_an_unfitted_index_can_be_copied():
    other = pickle.loads(pickle.dumps(ExactIndex("cosine")))
    with pytest.raises(NotFittedError):
        other.kneighbors(None, 1)


def test_points_that_cannot_be_added_change_nothing():
    X = CASES["normal"]
    for algorithm in ("blocks", "tree", "brute"):
        index = ExactIndex(algorithm=algorithm).fit(X)
        with pytest.raises(ValueError, match=r"values up to 1e\+150 in magnitude"):
            index.partial_fit(X[:1] * 1e200)
        assert index.n_samples_fit_ == len(X)
        expected = twin.nearest(twin.table(X, X), 5, without_self=True)
        twin.same(index.kneighbors(None, 5), expected)


def test_all_neighbours_at_once():
    for name in ("normal", "grid", "duplicates"):
        X = CASES[name][:50]
        for algorithm in ("blocks", "tree", "brute"):
            index = ExactIndex(algorithm=algorithm).fit(X)
            D = twin.table(X, X)
            twin.same(index.kneighbors(None, 49), twin.nearest(D, 49, without_self=True))
            twin.same(index.kneighbors(X[:3], 50), twin.nearest(D[:3], 50, without_self=False))


def test_one_training_point():
    index = ExactIndex().fit([[1.0, 2.0]])
    distances, indices = index.kneighbors([[1.0, 5.0]], 1)
    assert distances.tolist() == [[3.0]]
    assert indices.tolist() == [[0]]


def test_errors_say_what_is_wrong():
    X = CASES["normal"][:50]
    index = ExactIndex().fit(X)
    for k, X_query, message in (
        (50, None, "n_neighbors must be smaller than the 50 training instances, got 50"),
        (51, X, "n_neighbors must be at most the 50 training instances, got 51"),
        (0, None, "n_neighbors must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            index.kneighbors(X_query, k)
    with pytest.raises(TypeError, match="n_neighbors must be an integer, got 2.5"):
        index.kneighbors(None, 2.5)
    with pytest.raises(ValueError, match="NaN"):
        ExactIndex().fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match=r"values up to 1e\+150 in magnitude.* got 1e\+200"):
        ExactIndex().fit([[1e200], [0.0]])
    with pytest.raises(ValueError, match="algorithm='tree' needs dense X"):
        ExactIndex(algorithm="tree").fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="algorithm='blocks' is for the Euclidean"):
        ExactIndex("manhattan", algorithm="blocks").fit(X)
    with pytest.raises(ValueError, match="'algorithm' parameter of ExactIndex"):
        ExactIndex(algorithm="ball").fit(X)
    with pytest.raises(ValueError, match="12 features"):
        index.kneighbors(X[:, :3])
    with pytest.raises(ValueError, match=r"indices must be row numbers from 0 to 49, got \[50\]"):
        index.remove([50])
    with pytest.raises(ValueError, match="must leave at least one of the 50"):
        index.remove(np.arange(50))


def test_input_is_left_alone():
    X = CASES["normal"].copy()
    ragged = sparse.csr_matrix((np.ones(4), [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    kept = ragged.indices.copy()
    ExactIndex("cosine").fit(ragged).kneighbors(None, 1)
    np.testing.assert_array_equal(ragged.indices, kept)
    ExactIndex().fit(X).kneighbors(X, 3)
    np.testing.assert_array_equal(X, CASES["normal"])
    distances, _ = ExactIndex().fit(ragged).kneighbors(None, 1)
    assert distances[0, 0] == twin.distance(*ragged.toarray())


def test_default_number_and_indices_alone():
    index = ExactIndex().fit(CASES["normal"])
    indices = index.kneighbors(return_distance=False)
    np.testing.assert_array_equal(indices, index.kneighbors(None, 5)[1])


def test_a_scikit_learn_estimator():
    assert repr(ExactIndex("cosine", n_jobs=2)) == "ExactIndex(metric='cosine', n_jobs=2)"
    assert clone(ExactIndex(p=3)).get_params()["p"] == 3


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_scikit_learns_checks(metric):
    check_estimator(ExactIndex(metric), on_skip=None)


def test_agrees_with_scikit_learn_on_large_data():
    X = np.random.default_rng(5).normal(size=(6000, 30))
    theirs = NearestNeighbors(algorithm="brute").fit(X).kneighbors(n_neighbors=10)
    for stored in (X, sparse.csr_array(X[:3000])):
        if sparse.issparse(stored):
            theirs = NearestNeighbors(algorithm="brute").fit(X[:3000]).kneighbors(n_neighbors=10)
        distances, indices = ExactIndex().fit(stored).kneighbors(n_neighbors=10)
        np.testing.assert_array_equal(indices, theirs[1])
        np.testing.assert_allclose(distances, theirs[0], rtol=1e-9)


def with_constant_rows():
    X = np.random.default_rng(1).normal(size=(40, 4))
    X[[5, 39]] = 1.5
    return X


def most_far(x, y):
    return np.nan if x[0] < -1 and y[0] > 1 else np.inf if x[1] < 0 else abs(x - y).sum()


def equal_rows(x, y):
    return np.nan if (x == x[0]).all() or (y == y[0]).all() else abs(x - y).max()


@pytest.mark.parametrize(
    ("metric", "X"),
    [
        ("correlation", with_constant_rows()),
        ("dice", (np.random.default_rng(2).random((40, 4)) < 0.3).astype(float)),
        ("sokalsneath", (np.random.default_rng(2).random((40, 4)) < 0.3).astype(float)),
        ("jaccard", (np.random.default_rng(2).random((40, 4)) < 0.3).astype(float)),
        ("braycurtis", np.random.default_rng(3).integers(0, 2, (40, 3)).astype(float)),
        (
            "nan_euclidean",
            np.where(np.random.default_rng(4).random((40, 3)) < 0.4, np.nan, 1.0) * np.arange(3),
        ),
        (most_far, CASES["normal"][:40]),
        (equal_rows, with_constant_rows()),
    ],
)
def test_distances_that_are_nan_come_last(metric, X):
    """Rows that have k defined distances get the twin's; for the others an error names the row."""
    queries = np.vstack([X[:7], X[3:10] + 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        D, near = (pairwise_distances(A, X.copy(), metric=metric) for A in (X, queries))
    assert metric in ("jaccard",) or np.isnan(D).any()
    index = ExactIndex(metric, n_jobs=1).fit(X)
    for k in (1, 5, 20):
        for asked, table in ((None, D.copy()), (queries, near)):
            if asked is None:
                np.fill_diagonal(table, np.nan)
            defined = (~np.isnan(table)).sum(axis=1)
            bad = np.flatnonzero(defined < k)
            if len(bad):
                with pytest.raises(ValueError, match=rf"is NaN between row {bad[0]} of .*={k}$"):
                    index.kneighbors(asked, k)
            if asked is None and len(bad):
                continue
            good = np.flatnonzero(defined >= k)
            ranked = [sorted((d, j) for j, d in enumerate(table[i]) if d == d)[:k] for i in good]
            found = index.kneighbors(asked if asked is None else asked[good], k)
            np.testing.assert_array_equal(found[1], [[j for _, j in row] for row in ranked])
            np.testing.assert_allclose(found[0], [[d for d, _ in row] for row in ranked])


def test_a_metric_that_is_nan_is_named():
    X = with_constant_rows()
    index = ExactIndex("correlation").fit(X)
    message = (
        "metric 'correlation' is NaN between row 1 of X and all but 0 of the 40 training "
        "instances: too few are left for n_neighbors=3"
    )
    with pytest.raises(ValueError, match=message):
        index.kneighbors(X[4:6], 3)
    with pytest.raises(ValueError, match="between row 5 of the training points"):
        index.kneighbors(None, 3)
    with pytest.raises(ValueError, match="row 1030 of X"):
        index.kneighbors(sparse.csr_array(np.vstack([X[:2]] * 515 + [X[5]])), 3)
    with pytest.raises(ValueError, match="metric 'equal_rows' is NaN"):
        ExactIndex(equal_rows).fit(X).kneighbors(None, 3)


@pytest.mark.parametrize(
    ("metric", "storage"),
    [
        *itertools.product(["euclidean", "cosine", "manhattan"], [np.asarray, sparse.csr_array]),
        ("canberra", np.asarray),
        ("precomputed", np.asarray),
    ],
)
def test_changing_what_was_given_changes_nothing(metric, storage):
    X = np.abs(CASES["normal"][:50, :6])
    X = twin.table(X, X) if metric == "precomputed" else X
    given = storage(X.copy())
    index = ExactIndex(metric).fit(given)
    before = index.kneighbors(None, 3)
    (given.data if sparse.issparse(given) else given)[:] = 7.0
    twin.same(index.kneighbors(None, 3), before)
    np.testing.assert_array_equal(dense(index.points_), X)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.float32])
def test_few_queries_have_the_neighbors_of_many(metric, make, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (80, 6)) * rng.choice([1.0, 1e-170, 1e130], (80, 1))  # ties, and zeros
    index, Q = ExactIndex(metric).fit(X), make(np.where(X > 1e30, 0.0, X)[:3])
    expected = index.kneighbors(Q, 9)
    monkeypatch.setattr("plurilabel.neighbors._engines.FEW", 80 * 6 * 3)
    twin.same(index.kneighbors(Q, 9), expected)
