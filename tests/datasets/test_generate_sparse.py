"""Generated texts and tags: each parameter does what it says, and the data can be learned."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import RidgeClassifier

from plurilabel.datasets import describe, make_sparse_multilabel
from plurilabel.datasets._generate_sparse import top_up
from tests.datasets.learning import mean_correlation, micro_f1


def mean_lift(data):
    """Lift of the ten most frequent pairs."""
    return np.mean([pair["lift"] for pair in describe(data).common_pairs(10)])


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
