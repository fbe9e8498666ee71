"""Measures on label sets by instance, against their twins and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, label_pairs, near, random_problem

NAMES = ["hamming_loss", "subset_accuracy", "accuracy", "precision", "recall"]


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_equal_their_twins(pair):
    for name in NAMES:
        assert getattr(metrics, name)(*pair) == near(getattr(twins, name)(*pair)), name


@settings(**SETTINGS)
@given(pair=label_pairs(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_f_beta_equals_its_twin(pair, beta):
    expected = near(twins.f_beta(*pair, beta))
    assert metrics.f_beta(*pair, beta=beta) == expected
    if beta == 1:
        assert metrics.f1(*pair) == expected


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_sparse_labels_give_the_same(pair):
    Y, Z = pair
    for name in [*NAMES, "f1"]:
        f = getattr(metrics, name)
        dense = near(f(Y, Z))
        assert f(sparse.csr_array(Y), sparse.csc_matrix(Z)) == dense
        assert f(sparse.csr_matrix(Y), Z) == dense
        assert f(Y, sparse.coo_array(Z)) == dense


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_equal_to_scikit_learn(p):
    Y, _, Z = random_problem(p=p)
    kept = Y.sum(axis=1) > 0  # the stated difference: instances without labels
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
