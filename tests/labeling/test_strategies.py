"""Strategies of the queue."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from plurilabel import labeling
from plurilabel.labeling import density, diverse, label_need, query, spread, uncertainty

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 5)))
P = RNG.random((60, 3))


def test_uncertainty_and_density_by_loops():
    slow = [np.mean([1 - abs(2 * p - 1) for p in row]) for row in P]
    assert_allclose(uncertainty(P), slow)
    apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    mean = np.sort(apart, axis=1)[:, 1:11].mean(axis=1)
    assert_allclose(density(X), 1 / (1 + mean / np.median(mean)))
    order = np.argsort(-uncertainty(P) * density(X))
    assert_array_equal(query("density", X, P), order)


def test_need_by_loops():
    n_positive, slow = [0, 5, 80], []
    for row in P:
        none = 1.0
        for p, have in zip(row, n_positive):
            none *= 1 - p * max(0.0, 1 - have / 20)
        slow.append(1 - none)
    assert_allclose(label_need(P, n_positive), slow)


def test_diverse_by_loops():
    worth, unit = uncertainty(P), X / np.linalg.norm(X, axis=1, keepdims=True)
    chosen = []
    for _ in range(20):
        gain = {
            i: worth[i] * min([1.0] + [np.linalg.norm(unit[i] - unit[j]) / 0.5 for j in chosen])
            for i in range(60)
            if i not in chosen
        }
        chosen.append(max(gain, key=lambda i: (gain[i], -i)))
    assert_array_equal(diverse(X, worth, 20), chosen)


def test_copies_come_last():
    copies = np.repeat(np.eye(4), 5, axis=0)
    found = diverse(copies, np.linspace(1, 0.5, 20), 20)
    assert len(set(found)) == 20
    assert {i // 5 for i in found[:4]} == {0, 1, 2, 3}
    assert found[4] == 1  # then the best of the rest


@pytest.mark.parametrize("strategy", labeling.STRATEGIES)
def test_dense_sparse_and_a_prefix(strategy):
    options = {"n_positive": [3, 9, 0], "random_state": 0}
    order = query(strategy, X, P, **options)
    assert_array_equal(np.sort(order), np.arange(60))
    read_only = X.copy()
    read_only.setflags(write=False)
    assert_array_equal(query(strategy, sparse.csr_array(X), P, **options), order)
    assert_array_equal(query(strategy, read_only, P, **options), order)
    if strategy != "spread":
        assert_array_equal(query(strategy, X, P, n=7, **options), order[:7])
    assert len(query(strategy, X, P, n=99)) == 60
    assert len(query(strategy, X[:1], P[:1])) == 1
    assert len(query(strategy, X[:0], P[:0])) == 0


def test_without_a_model_rows_are_spread():
    assert_array_equal(query("mix", X, n=9, random_state=1), spread(X, 9, random_state=1))


def test_known_densities():
    order = query("mix", X[:30], P[:30], densities=density(X)[:30])
    assert_array_equal(order, diverse(X[:30], uncertainty(P[:30]) * density(X)[:30], 30))


def test_spread_takes_each_cluster_and_no_row_twice():
    centres = 5 * np.eye(6)
    rows = np.repeat(centres, 40, axis=0) + 0.1 * RNG.normal(size=(240, 6))
    assert {i // 40 for i in spread(rows, 6, random_state=0)} == set(range(6))
    same = np.ones((12, 3))
    assert len(set(spread(same, 12, random_state=0))) == 12
    assert len(set(spread(np.zeros((5, 2)), 3, random_state=0))) == 3
    assert_array_equal(spread(rows, 6, random_state=3), spread(rows, 6, random_state=3))


def test_many_sparse_rows_stay_sparse():
    rows = sparse.random(20_000, 20_000, density=5e-4, random_state=0, format="csr")
    assert len(set(spread(rows, 5, random_state=0))) == 5  # dense, they would take 3.2 GB
    assert len(set(diverse(rows, np.ones(20_000), 5))) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: query("best", X, P), "strategy must be one of mix, .*, got 'best'"),
        (lambda: query("mix", X, P[:9]), "probabilities must have 60 rows, as X has, got 9"),
        (lambda: uncertainty([[1.5]]), "numbers from 0 to 1, got shape"),
        (lambda: uncertainty([[np.nan]]), "numbers from 0 to 1, got shape"),
        (lambda: label_need(P, [1]), r"n_positive must have shape \(3,\), got \(1,\)"),
        (lambda: diverse(X, -np.ones(60), 3), "worth must be 60 numbers of at least 0"),
        (lambda: spread(X, 0), "n must be an integer of at least 1, got 0"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("strategy", ["mix", "uncertainty", "density", "diverse", "budget"])
def test_no_label_is_an_error(strategy):
    with pytest.raises(ValueError, match=r"matrix \(n, q >= 1\).*got shape \(5, 0\)"):
        query(strategy, np.eye(5), np.zeros((5, 0)), n_positive=[])
