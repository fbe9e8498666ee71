"""Measures on label sets by label, against their twins and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, label_pairs, near, random_problem

NAMES = ["accuracy", "precision", "recall", "f1"]


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_equal_their_twins(pair):
    for name in NAMES:
        for how in ("macro", "micro"):
            ours = getattr(metrics, f"{how}_{name}")(*pair)
            assert ours == near(getattr(twins, how)(name, *pair)), (how, name)


@settings(**SETTINGS)
@given(pair=label_pairs(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_f_beta_equals_its_twin(pair, beta):
    for how in ("macro", "micro"):
        ours = getattr(metrics, f"{how}_f_beta")(*pair, beta=beta)
        assert ours == near(getattr(twins, how)("f", *pair, beta))


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
    for name in ["macro_f1", "micro_f1", "macro_precision"]:
        f = getattr(metrics, name)
        dense = near(f(Y, Z))
        assert f(sparse.csr_array(Y), sparse.csc_matrix(Z)) == dense
        assert f(sparse.csr_matrix(Y), Z) == dense
        assert f(Y, sparse.coo_array(Z)) == dense


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_equal_to_scikit_learn(p):
    Y, _, Z = random_problem(p=p)
    for how in ("macro", "micro"):
        for name in ("precision", "recall", "f1"):
            peer = getattr(sk, f"{name}_score")(Y, Z, average=how, zero_division=0)
            assert getattr(metrics, f"{how}_{name}")(Y, Z) == pytest.approx(peer)


def test_every_label_counts_even_where_nothing_is_defined():
    nothing = np.zeros((3, 2), dtype=int)
    assert metrics.macro_f1(nothing, nothing) == metrics.micro_f1(nothing, nothing) == 0
    assert metrics.macro_precision(nothing, nothing) == metrics.micro_recall(nothing, nothing) == 0
