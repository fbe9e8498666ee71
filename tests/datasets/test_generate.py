"""The generators: each parameter does what it says, and the data can be learned."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from plurilabel.datasets import describe, make_multilabel, make_sparse_multilabel
from plurilabel.datasets._generate_sparse import top_up

SHAPES = ["spheres", "cubes"]


def dense(Y):
    return Y.toarray() if sparse.issparse(Y) else Y


def micro_f1(data, learner):
    """Learn from one half, measure on the other; and the best constant label set beside it."""
    half = data.X.shape[0] // 2
    Y = dense(data.Y)
    predicted = learner.fit(data.X[:half], Y[:half]).predict(data.X[half:])
    constant = max(
        f1_score(Y[half:], np.tile(Y[:half].mean(axis=0) >= cut, (len(Y) - half, 1)),
                 average="micro", zero_division=0)
        for cut in np.unique(Y[:half].mean(axis=0))
    )  # fmt: skip
    return f1_score(Y[half:], predicted, average="micro", zero_division=0), constant


def mean_correlation(data):
    """Mean absolute correlation of the pairs of labels."""
    correlation = np.corrcoef(dense(data.Y).T)
    return abs(correlation[np.triu_indices_from(correlation, k=1)]).mean()


def mean_lift(data):
    """Lift of the ten most frequent pairs."""
    return np.mean([pair["lift"] for pair in describe(data).common_pairs(10)])


# dense -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("cardinality", "options"),
    [
        (1.0, {}),
        (1.3, {}),
        (2.0, {"n_features": 2}),
        (2.0, {"n_features": 60}),
        (4.5, {"dependence": 0.9}),
        (9.9, {"imbalance": 2.0}),
        (10.0, {}),
        (2.5, {"noise": 0.1}),
        (0.7, {"allow_empty": True}),
        (3.0, {"allow_empty": True, "noise": 0.05}),
    ],
)
def test_cardinality_is_met(shape, cardinality, options):
    settings_ = {"n_samples": 1000, "n_features": 6, "n_labels": 10} | options
    data = make_multilabel(shape=shape, cardinality=cardinality, random_state=0, **settings_)
    sizes = data.Y.sum(axis=1)
    assert sizes.mean() == pytest.approx(cardinality, abs=0.01)
    assert (sizes.min() >= 1) or options.get("allow_empty")
    assert len(np.unique(data.X, axis=0)) == 1000


def test_cardinality_of_more_rows_than_are_scaled_on():
    data = make_multilabel(20_000, 5, 8, cardinality=2.5, random_state=3)
    assert data.Y.sum(axis=1).mean() == pytest.approx(2.5, rel=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_are_regions(shape):
    # instances of a label fit into a ball or cube that holds no others: the smallest region
    # around a label's instances can be no larger than the label's own
    data = make_multilabel(3000, 2, 3, shape=shape, cardinality=1.4, random_state=1)
    for l in range(3):
        mine = data.Y[:, l] == 1
        center = (data.X[mine].min(axis=0) + data.X[mine].max(axis=0)) / 2
        away = data.X - center
        distance = np.linalg.norm(away, axis=1) if shape == "spheres" else abs(away).max(axis=1)
        reach = distance[mine].max()
        inside = distance < 0.97 * reach
        assert mine[inside].mean() > 0.999


@pytest.mark.parametrize("shape", SHAPES)
def test_instances_lie_in_the_domain(shape):
    for allow_empty in (False, True):
        X = make_multilabel(2000, 3, 5, shape=shape, allow_empty=allow_empty, random_state=0).X
        norm = np.linalg.norm(X, axis=1) if shape == "spheres" else abs(X).max(axis=1)
        assert norm.max() <= 1 + 1e-12
        if allow_empty:  # uniform in the domain: a share r**d of the mass is within r
            assert (norm < 0.5).mean() == pytest.approx(0.5**3, abs=0.03)


def test_relevant_irrelevant_and_redundant_features():
    data = make_multilabel(3000, 9, 4, n_irrelevant=2, n_redundant=3, random_state=0)
    kinds = [name.rstrip("0123456789") for name in data.feature_names]
    assert kinds == ["relevant"] * 4 + ["irrelevant"] * 2 + ["redundant"] * 3
    for j in (6, 7, 8):
        assert any((data.X[:, j] == data.X[:, i]).all() for i in range(4))
    # an irrelevant feature has the same mean with and without a label; some relevant has not
    for l in range(4):
        mine = data.Y[:, l] == 1
        gap = abs(data.X[mine].mean(axis=0) - data.X[~mine].mean(axis=0))
        assert gap[4:6].max() < 0.1 < gap[:4].max()


def test_noise_flips_labels_at_its_rate():
    # with all labels everywhere, each flip is seen
    clean = make_multilabel(4000, 3, 20, cardinality=20, random_state=0)
    assert clean.Y.all()
    noisy = make_multilabel(4000, 3, 20, cardinality=18, noise=0.1, random_state=0)
    assert 1 - noisy.Y.mean() == pytest.approx(0.1, abs=0.01)
    assert noisy.Y.sum(axis=1).min() >= 1


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_learnable_and_noise_hurts(shape):
    reached = []
    for noise in (0.0, 0.1, 0.2):
        data = make_multilabel(
            1000, 4, 8, shape=shape, cardinality=2.5, noise=noise, random_state=0
        )
        f1, constant = micro_f1(data, KNeighborsClassifier())
        assert f1 > constant
        reached.append(f1)
    assert reached[0] > reached[1] + 0.1 > reached[2] + 0.15


@pytest.mark.parametrize("shape", SHAPES)
def test_dense_dependence_and_imbalance(shape):
    common = {"n_samples": 1000, "n_features": 6, "n_labels": 16, "shape": shape}
    for seed in range(3):
        correlation = [
            mean_correlation(make_multilabel(dependence=x, random_state=seed, **common))
            for x in (0.0, 0.9)
        ]
        assert correlation[1] > 1.3 * correlation[0]
        mean_ir = [
            describe(make_multilabel(imbalance=x, random_state=seed, **common)).mean_ir
            for x in (0.0, 1.0, 2.0)
        ]
        assert 3 * mean_ir[0] < 1.5 * mean_ir[1] < mean_ir[2]


# sparse ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 30),
    d=st.integers(1, 20),
    q=st.integers(1, 20),
    share=st.floats(0, 1),
    words=st.floats(0, 1),
    dependence=st.floats(0, 1),
    imbalance=st.floats(0, 4),
    noise=st.floats(0, 1),
    allow_empty=st.booleans(),
)
def test_any_sparse_settings_give_valid_data(
    n, d, q, share, words, dependence, imbalance, noise, allow_empty
):
    data = make_sparse_multilabel(
        n, d, q, cardinality=1 + share * (q - 1), dependence=dependence, imbalance=imbalance,
        noise=noise, nnz_per_row=1 + words * (d - 1), allow_empty=allow_empty, random_state=0,
    )  # fmt: skip
    X, Y = data.X, data.Y
    assert isinstance(X, sparse.csr_array) and isinstance(Y, sparse.csr_array)
    assert X.shape == (n, d) and Y.shape == (n, q)
    assert X.has_canonical_format and Y.has_canonical_format  # sorted, nothing twice
    assert Y.dtype == np.int64 and (Y.data == 1).all()
    assert X.dtype == np.float64 and (X.data >= 1).all()
    assert X.indices.min() >= 0 and X.indices.max() < d
    assert np.diff(X.indptr).min() >= 1
    if not allow_empty:
        assert np.diff(Y.indptr).min() >= 1


@pytest.mark.parametrize(
    ("cardinality", "options"),
    [
        (1.0, {}),
        (3.0, {"dependence": 1.0}),
        (8.0, {"imbalance": 3.0}),
        (40.0, {"noise": 0.5}),
        (50.0, {}),
        (0.4, {"allow_empty": True}),
        (3.0, {"allow_empty": True}),
    ],
)
def test_sparse_sizes_are_met(cardinality, options):
    data = make_sparse_multilabel(
        4000, 300, 50, cardinality=cardinality, nnz_per_row=12.5, random_state=0, **options
    )
    sizes = np.diff(data.Y.indptr)
    # four standard errors of a mean of binomial sizes
    assert sizes.mean() == pytest.approx(cardinality, abs=4 * (cardinality / 4000) ** 0.5)
    assert np.diff(data.X.indptr).mean() == pytest.approx(12.5, abs=0.25)
    if options.get("allow_empty"):
        nothing = (1 - cardinality / 50) ** 50
        assert (sizes == 0).mean() == pytest.approx(nothing, abs=0.02)
    else:
        assert sizes.min() >= 1


def test_independent_labels_follow_zipf():
    # one label per instance, so that nothing is drawn again
    Y = make_sparse_multilabel(
        40_000, 2, 10, cardinality=1, dependence=0, imbalance=1.5, nnz_per_row=1, random_state=0
    ).Y
    expected = np.arange(1, 11) ** -1.5
    frequency = np.asarray(Y.sum(axis=0)).ravel() / 40_000
    np.testing.assert_allclose(frequency, expected / expected.sum(), atol=0.01)


def test_dependence_keeps_the_popularity_of_single_labels():
    Y = make_sparse_multilabel(
        40_000, 2, 10, cardinality=1, dependence=1, imbalance=1.0, nnz_per_row=1, random_state=0
    ).Y
    expected = 1 / np.arange(1, 11)
    frequency = np.asarray(Y.sum(axis=0)).ravel() / 40_000
    np.testing.assert_allclose(frequency, expected / expected.sum(), atol=0.01)


def test_sparse_dependence_raises_lift():
    common = {"n_labels": 40, "imbalance": 0.3, "n_features": 5, "nnz_per_row": 1}
    made = [
        make_sparse_multilabel(4000, dependence=x, random_state=0, **common)
        for x in (0.0, 0.5, 1.0)
    ]
    lift = [mean_lift(data) for data in made]
    assert lift[0] == pytest.approx(1.0, abs=0.3)
    assert 1.5 * lift[0] < lift[1] < lift[2]
    correlation = [mean_correlation(data) for data in made]
    assert correlation[0] < correlation[1] < correlation[2]


def test_imbalance_raises_mean_ir():
    common = {"n_labels": 50, "n_features": 5, "nnz_per_row": 1, "random_state": 0}
    mean_ir = [
        describe(make_sparse_multilabel(3000, imbalance=x, **common)).mean_ir
        for x in (0.0, 0.5, 1.0, 1.5)
    ]
    assert mean_ir[0] < 1.6
    assert all(b > 2 * a for a, b in pairwise(mean_ir))


def test_sparse_learnable_and_noise_hurts():
    reached = []
    for noise in (0.0, 0.4, 1.0):
        data = make_sparse_multilabel(
            1500, 400, 15, cardinality=2, noise=noise, imbalance=0.5, random_state=0
        )
        f1, constant = micro_f1(data, RidgeClassifier(alpha=10))
        reached.append((f1, constant))
    assert reached[0][0] > 0.9
    assert reached[0][0] > reached[1][0] + 0.2 > reached[2][0] + 0.3
    assert reached[1][0] > reached[1][1]
    assert reached[2][0] < reached[2][1]  # all noise: nothing to learn


def test_noise_exchanges_labels_at_its_rate():
    common = {"n_labels": 2000, "imbalance": 0, "n_features": 5, "nnz_per_row": 1}
    clean = make_sparse_multilabel(2000, random_state=0, **common).Y
    noisy = make_sparse_multilabel(2000, random_state=0, noise=0.25, **common).Y
    assert_array_equal(np.diff(clean.indptr), np.diff(noisy.indptr))
    # the first block of rows starts from the same draws: what is gone was exchanged
    kept = clean.multiply(noisy).sum() / clean.sum()
    assert kept == pytest.approx(0.75, abs=0.02)


def test_memory_is_near_the_size_of_the_result():
    tracemalloc.start()
    try:
        data = make_sparse_multilabel(
            40_000, 5000, 500, cardinality=10, nnz_per_row=100, random_state=0
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = sum(a.nbytes for M in (data.X, data.Y) for a in (M.data, M.indices, M.indptr))
    assert size > 50e6
    assert peak < 1.5 * size


# top_up ----------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_top_up_adds_what_is_asked_for(data):
    items = data.draw(st.integers(1, 8))
    has = data.draw(st.lists(st.sets(st.integers(0, items - 1)), min_size=1, max_size=6))
    more = [data.draw(st.integers(0, items - len(s))) for s in has]
    pairs = np.array(sorted(i * items + x for i, s in enumerate(has) for x in s), dtype=np.int64)
    rows = np.repeat(np.arange(len(has)), more)
    # always the same item: all but the first come from the last resort
    attempts = data.draw(st.integers(1, 4))
    got = top_up(pairs, rows, items, np.zeros_like, np.random.default_rng(0), attempts)
    assert (np.diff(got) > 0).all()
    assert set(pairs) <= set(got)
    assert_array_equal(
        np.bincount(got // items, minlength=len(has)), [len(s) + m for s, m in zip(has, more)]
    )


# both ------------------------------------------------------------------------------------


def same(a, b):
    return (dense(a.X) == dense(b.X)).all() and (dense(a.Y) == dense(b.Y)).all()


@pytest.mark.parametrize("make", [make_multilabel, make_sparse_multilabel])
def test_seeds(make):
    assert same(make(random_state=5), make(random_state=5))
    assert not same(make(random_state=5), make(random_state=6))
    state = np.random.RandomState(0)
    first, second = make(random_state=state), make(random_state=state)
    assert not same(first, second)
    assert same(first, make(random_state=np.random.RandomState(0)))
    assert not same(make(), make())


@pytest.mark.parametrize("make", [make_multilabel, make_sparse_multilabel])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "'n_samples' parameter of .* must be an int in the range \\[1, inf\\)"),
        ({"n_labels": 2.5}, "'n_labels' parameter"),
        ({"noise": -0.1}, "'noise' parameter"),
        ({"noise": 1.5}, "'noise' parameter"),
        ({"dependence": 1.5}, "'dependence' parameter"),
        ({"imbalance": -1}, "'imbalance' parameter"),
        ({"cardinality": 0}, "'cardinality' parameter"),
        ({"cardinality": 0.5}, "cardinality must lie between 1 and .*, got 0.5"),
        ({"cardinality": 1000}, "cardinality must lie between .*, got 1000"),
        ({"allow_empty": "yes"}, "'allow_empty' parameter"),
    ],
)
def test_errors(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_errors_of_one_generator():
    with pytest.raises(ValueError, match="must be a str among .* Got 'rings' instead"):
        make_multilabel(shape="rings")
    with pytest.raises(ValueError, match="smaller than the 10 features of n_features, got 10"):
        make_multilabel(n_irrelevant=4, n_redundant=6)
    with pytest.raises(ValueError, match="cardinality must lie between 2.* and 8.*, got 2.0"):
        make_multilabel(n_samples=2000, n_labels=10, noise=0.15, random_state=0)
    with pytest.raises(ValueError, match="nnz_per_row must lie between 1 and 20, got 30"):
        make_sparse_multilabel(n_features=20)
