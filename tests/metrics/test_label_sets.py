"""Measures on label sets, against their twins and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from plurilabel.metrics import COUNT_MEASURES, _inputs
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, label_pairs, random_problem

EXAMPLE = ["hamming_loss", "subset_accuracy", "accuracy", "precision", "recall"]
BINARY = ["accuracy", "precision", "recall"]


def near(value):
    return pytest.approx(value, nan_ok=True)


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_example_based_equal_their_twins(pair):
    for name in EXAMPLE:
        assert getattr(metrics, name)(*pair) == near(getattr(twins, name)(*pair)), name


@settings(**SETTINGS)
@given(pair=label_pairs(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_f_beta_equals_its_twin(pair, beta):
    expected = near(twins.f_beta(*pair, beta))
    assert metrics.f_beta(*pair, beta=beta) == expected
    if beta == 1:
        assert metrics.f1(*pair) == expected
    for how in ("macro", "micro"):
        ours = getattr(metrics, f"{how}_f_beta")(*pair, beta=beta)
        assert ours == near(getattr(twins, how)("f", *pair, beta))


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_label_based_equal_their_twins(pair):
    for name in [*BINARY, "f1"]:
        for how in ("macro", "micro"):
            ours = getattr(metrics, f"{how}_{name}")(*pair)
            assert ours == near(getattr(twins, how)(name, *pair)), (how, name)


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_the_identities_of_the_review(pair):
    loss = metrics.hamming_loss(*pair)
    assert metrics.macro_accuracy(*pair) == pytest.approx(1 - loss)
    assert metrics.micro_accuracy(*pair) == pytest.approx(1 - loss)


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_sparse_labels_give_the_same(pair):
    Y, Z = pair
    for name in [*EXAMPLE, "f1", "macro_f1", "micro_f1", "macro_precision"]:
        f = getattr(metrics, name)
        dense = pytest.approx(f(Y, Z), nan_ok=True)
        assert f(sparse.csr_array(Y), sparse.csc_matrix(Z)) == dense
        assert f(sparse.csr_matrix(Y), Z) == dense
        assert f(Y, sparse.coo_array(Z)) == dense


def test_block_size_changes_nothing(monkeypatch):
    Y, _, Z = random_problem()
    whole = metrics.evaluate(Y, labels=Z)
    monkeypatch.setattr(_inputs, "BLOCK", 10)
    assert metrics.evaluate(Y, labels=Z) == whole


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_equal_to_scikit_learn(p):
    Y, _, Z = random_problem(p=p)
    kept = (Y.sum(axis=1) > 0) | (Z.sum(axis=1) > 0)  # the stated difference: both empty
    Yk, Zk = Y[kept], Z[kept]
    assert p > 0.05 or not kept.all()
    assert metrics.hamming_loss(Y, Z) == pytest.approx(sk.hamming_loss(Y, Z))
    assert metrics.subset_accuracy(Y, Z) == pytest.approx(sk.accuracy_score(Y, Z))
    options = {"average": "samples", "zero_division": 0}
    assert metrics.accuracy(Y, Z) == pytest.approx(sk.jaccard_score(Yk, Zk, **options))
    assert metrics.precision(Y, Z) == pytest.approx(sk.precision_score(Yk, Zk, **options))
    assert metrics.f1(Y, Z) == pytest.approx(sk.f1_score(Yk, Zk, **options))
    assert metrics.f_beta(Y, Z, 2) == pytest.approx(sk.fbeta_score(Yk, Zk, beta=2, **options))
    options["zero_division"] = np.nan
    assert metrics.recall(Y, Z) == pytest.approx(sk.recall_score(Y, Z, **options))
    for how in ("macro", "micro"):
        for name in ("precision", "recall", "f1"):
            peer = getattr(sk, f"{name}_score")(Y, Z, average=how, zero_division=0)
            assert getattr(metrics, f"{how}_{name}")(Y, Z) == pytest.approx(peer)


def test_nothing_predicted_counts_zero_and_nothing_at_all_is_left_out():
    Y = [[1, 0], [0, 0], [0, 1]]
    Z = [[0, 0], [0, 0], [0, 1]]
    assert metrics.precision(Y, Z) == 0.5
    assert metrics.recall(Y, Z) == 0.5
    assert metrics.accuracy(Y, Z) == 0.5
    assert metrics.f1(Y, Z) == 0.5
    assert metrics.subset_accuracy(Y, Z) == pytest.approx(2 / 3)


def test_nothing_defined_is_nan():
    nothing = np.zeros((3, 2), dtype=int)
    for name in ("accuracy", "precision", "recall", "f1"):
        assert np.isnan(getattr(metrics, name)(nothing, nothing))
    assert metrics.hamming_loss(nothing, nothing) == 0
    assert metrics.macro_f1(nothing, nothing) == 0


def test_counts_broadcast_and_divide_zero_by_zero_to_zero():
    grid = np.arange(4)
    tp, fp, fn, tn = np.meshgrid(grid, grid, grid, grid, indexing="ij")
    for name in (*BINARY, "jaccard", "f1"):
        got = COUNT_MEASURES[name](tp, fp, fn, tn)
        for at in np.ndindex(*tp.shape):
            if name != "accuracy" or sum(at):
                assert got[at] == pytest.approx(twins.binary(name, *at))
    assert COUNT_MEASURES["accuracy"](0, 0, 0, 0) == 0
    assert COUNT_MEASURES["f1"](3, np.arange(3), 1, 0).shape == (3,)


def test_inputs_are_not_changed():
    Y, F, Z = random_problem(n=20)
    S = sparse.csr_array(F)
    before = [a.copy() for a in (Y, F, Z, S.data, S.indices)]
    metrics.evaluate(Y, F, Z)
    metrics.evaluate(Y, S, Z)
    for a, b in zip((Y, F, Z, S.data, S.indices), before):
        np.testing.assert_array_equal(a, b)
