"""Measures of rankings and of the first k labels, against their twins and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from plurilabel.datasets import UnknownLabels
from plurilabel.metrics import _inputs
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, near, random_problem, scored, sparsely_scored

BY_INSTANCE = [
    "one_error",
    "coverage",
    "coverage_normalized",
    "ranking_loss",
    "is_error",
    "average_precision",
    "r_precision",
    "ndcg",
]
AREAS = [name for name in metrics.measure_names() if name.endswith(("auc", "_average_precision"))]


@settings(**SETTINGS)
@given(problem=scored())
def test_dense_equal_their_twins(problem):
    Y, F = problem
    for name in BY_INSTANCE:
        expected = near(getattr(twins, name)(Y, F))
        assert getattr(metrics, name)(Y, F) == expected, name
        assert getattr(metrics, name)(sparse.csr_array(Y), F) == expected, name


@settings(**SETTINGS)
@given(problem=sparsely_scored())
def test_sparse_equal_their_twins(problem):
    Y, S, F = problem
    for name in BY_INSTANCE:
        expected = near(getattr(twins, name)(Y, F))
        assert getattr(metrics, name)(Y, S) == expected, name
        assert getattr(metrics, name)(sparse.csr_array(Y), sparse.csr_matrix(S)) == expected, name


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_sparse_and_block_size_agree(monkeypatch, decimals, dtype):
    Y, F, Z = random_problem(decimals=decimals)
    F = (F + 0.1).astype(dtype)  # positive: everything is stored
    p = np.linspace(0.1, 0.9, Y.shape[1])
    options = {"labels": Z, "propensities": p}
    dense = metrics.evaluate(Y, F, **options)
    monkeypatch.setattr(_inputs, "BLOCK", 50)
    assert metrics.evaluate(Y, F, **options) == pytest.approx(dense)
    assert metrics.evaluate(Y, sparse.csr_array(F), **options) == pytest.approx(dense)


def test_positive_sparse_scores_are_those_with_zeros():
    Y, F, _ = random_problem()
    F = np.where(F > 0.6, F, 0.0)
    dense, csr = metrics.evaluate(Y, F), metrics.evaluate(Y, sparse.csr_array(F))
    for name in [*BY_INSTANCE, *AREAS]:
        if name != "one_error":  # a row with nothing stored
            assert csr[name] == pytest.approx(dense[name])


def test_duplicate_entries_of_sparse_scores_are_added_and_kept():
    S = sparse.csr_array(([0.5, 0.5, 0.7], [1, 1, 0], [0, 3]), shape=(1, 2))
    assert metrics.one_error([[0, 1]], S) == 0
    assert S.nnz == 3


def test_equal_to_scikit_learn_with_the_stated_differences():
    Y, F, _ = random_problem(p=0.1, decimals=2)
    size = Y.sum(axis=1)
    some, proper = size > 0, (size > 0) & (size < Y.shape[1])
    assert not some.all()
    assert metrics.coverage(Y, F) + 1 == pytest.approx(sk.coverage_error(Y[some], F[some]))
    assert sk.coverage_error(Y, F) == pytest.approx((metrics.coverage(Y, F) + 1) * some.mean())
    assert metrics.ranking_loss(Y, F) == pytest.approx(sk.label_ranking_loss(Y[proper], F[proper]))
    assert sk.label_ranking_loss(Y, F) == pytest.approx(metrics.ranking_loss(Y, F) * proper.mean())
    peer = sk.label_ranking_average_precision_score
    assert metrics.average_precision(Y, F) == pytest.approx(peer(Y[some], F[some]))
    untied = F + np.arange(F.size).reshape(F.shape) * 1e-9
    assert metrics.ndcg(Y, untied) == pytest.approx(sk.ndcg_score(Y[some], untied[some]))


@pytest.mark.parametrize("fill", [0, 1])
def test_nothing_to_rank_is_nan(fill):
    Y = np.full((3, 4), fill)
    F = np.linspace(0, 1, 12).reshape(3, 4)
    for name in ("ranking_loss", "is_error", "macro_auc", "micro_auc"):
        assert np.isnan(getattr(metrics, name)(Y, F))
    for name in ("one_error", "coverage", "average_precision", "precision_at_k", "recall_at_k",
                 "ndcg_at_k"):  # fmt: skip
        value = getattr(metrics, name)(Y, F, **({"k": 2} if name.endswith("k") else {}))
        assert np.isnan(value) == (fill == 0)
    if fill:
        assert metrics.precision_at_k(Y, F, 2) == 1


def test_ties_count_against_the_learner():
    Y, same = [[1, 0, 0, 1]], [[0.5, 0.5, 0.5, 0.5]]
    assert metrics.one_error(Y, same) == 1
    assert metrics.coverage(Y, same) == 3
    assert metrics.ranking_loss(Y, same) == 1
    assert metrics.average_precision(Y, same) == 0.5
    assert metrics.precision_at_k(Y, same, 2) == 0
    assert metrics.precision_at_k(Y, same, 3) == pytest.approx(1 / 3)
    assert metrics.micro_auc(Y, same) == 0.5  # one half, as in scikit-learn
    assert metrics.r_precision(Y, same) == 0
    assert metrics.ndcg(Y, same) == pytest.approx(metrics.ndcg_at_k(Y, same, 4))
    assert metrics.micro_average_precision(Y, same) == 0.5


def test_one_long_row_among_short_ones():
    rng = np.random.default_rng(0)
    F = np.where(rng.random((40, 500)) < 0.01, rng.random((40, 500)), 0)
    F[7] = rng.random(500)
    Y = (rng.random((40, 500)) < 0.02).astype(int)
    S = sparse.csr_array(F)
    G = np.where(F > 0, F, -1)
    for name in [*BY_INSTANCE, *AREAS]:
        if name != "one_error":
            assert getattr(metrics, name)(Y, S) == pytest.approx(getattr(metrics, name)(Y, G))


AT_K = ["precision_at_k", "recall_at_k", "r_precision_at_k", "ndcg_at_k"]
WITH_PROPENSITIES = ["psp_at_k", "ps_ndcg_at_k"]


@settings(**SETTINGS)
@given(problem=sparsely_scored(), k=st.integers(1, 5))
def test_at_k_equal_their_twins(problem, k):
    Y, S, F = problem
    k = min(k, Y.shape[1])
    finite = np.maximum(F, -9)
    for name in AT_K:
        twin, ours = getattr(twins, name), getattr(metrics, name)
        assert ours(Y, S, k) == near(twin(Y, F, k)), name
        assert ours(Y, finite, k) == near(twin(Y, finite, k)), name


@settings(**SETTINGS)
@given(
    problem=sparsely_scored(),
    k=st.integers(1, 5),
    p=st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=5, max_size=5),
)
def test_propensity_scored_equal_their_twins(problem, k, p):
    Y, S, F = problem
    k, p = min(k, Y.shape[1]), p[: Y.shape[1]]
    finite = np.maximum(F, -9)
    for name in WITH_PROPENSITIES:
        twin, ours = getattr(twins, name), getattr(metrics, name)
        assert ours(Y, S, k, propensities=p) == near(twin(Y, F, k, p)), name
        dense = ours(sparse.csr_array(Y), finite, k, propensities=p)
        assert dense == near(twin(Y, finite, k, p)), name


def test_ndcg_equals_scikit_learn_without_ties():
    Y, F, _ = random_problem()
    some = Y.sum(axis=1) > 0
    for k in (1, 3, 7):
        assert metrics.ndcg_at_k(Y, F, k) == pytest.approx(sk.ndcg_score(Y[some], F[some], k=k))


def test_one_error_is_one_minus_precision_at_1():
    Y, F, _ = random_problem(decimals=1)
    assert metrics.one_error(Y, F) == pytest.approx(1 - metrics.precision_at_k(Y, F, 1))


def test_propensities_follow_the_model():
    Y, _, _ = random_problem(n=50)
    n, frequency = 50, Y.sum(axis=0)
    c = (np.log(n) - 1) * 2.5**0.55
    expected = [1 / (1 + c * (f + 1.5) ** -0.55) for f in frequency]
    np.testing.assert_allclose(metrics.propensities(Y), expected)
    np.testing.assert_allclose(metrics.propensities(sparse.csr_array(Y)), expected)
    with pytest.raises(ValueError, match="at least 3 instances"):
        metrics.propensities(Y[:2])
    with pytest.raises(ValueError, match="a and b must be positive"):
        metrics.propensities(Y, a=0)


@settings(**SETTINGS)
@given(problem=sparsely_scored(), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_sparse_scores_of_labels_that_are_not_known_are_not_ranked(problem, k, seed):
    Y, S, F = problem
    k = min(k, Y.shape[1])
    hidden = np.random.default_rng(seed).uniform(size=Y.shape) < 0.3
    partial = UnknownLabels(sparse.csr_array(Y), hidden)
    seen = np.where(hidden, -np.inf, F)  # as if they were not stored
    for name in AT_K:
        found = getattr(metrics, name)(partial, S, k)
        assert found == near(getattr(twins, name)(np.where(hidden, 0, Y), seen, k)), name


def test_whole_rankings_need_dense_scores_where_labels_are_not_known():
    partial = UnknownLabels(sparse.csr_array([[1, 0]]), [[0, 1]])
    with pytest.raises(ValueError, match="only the measures at k take sparse scores"):
        metrics.average_precision(partial, sparse.csr_array([[0.5, 0.2]]))
