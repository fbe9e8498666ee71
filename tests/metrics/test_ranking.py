"""Measures on rankings, against their twins and against scikit-learn; dense and sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
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
]


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
    for name in [*BY_INSTANCE, "macro_auc", "micro_auc"]:
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


def test_one_long_row_among_short_ones():
    rng = np.random.default_rng(0)
    F = np.where(rng.random((40, 500)) < 0.01, rng.random((40, 500)), 0)
    F[7] = rng.random(500)
    Y = (rng.random((40, 500)) < 0.02).astype(int)
    S = sparse.csr_array(F)
    G = np.where(F > 0, F, -1)
    for name in [*BY_INSTANCE, "macro_auc", "micro_auc"]:
        if name != "one_error":
            assert getattr(metrics, name)(Y, S) == pytest.approx(getattr(metrics, name)(Y, G))
