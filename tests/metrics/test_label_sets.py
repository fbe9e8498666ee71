"""Measures of label sets and their counts, against their twins and against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import metrics as sk

from plurilabel import metrics
from plurilabel.datasets import Hierarchy
from plurilabel.metrics import (
    COUNT_MEASURES,
    _inputs,
    hierarchical_f_beta,
    hierarchical_precision,
    hierarchical_recall,
)
from tests.metrics import twins
from tests.metrics.cases import SETTINGS, label_pairs, near, random_problem

BY_LABEL = ["accuracy", "precision", "recall", "f1"]


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_by_label_equal_their_twins(pair):
    for name in BY_LABEL:
        for how in ("macro", "micro"):
            ours = getattr(metrics, f"{how}_{name}")(*pair)
            assert ours == near(getattr(twins, how)(name, *pair)), (how, name)


@settings(**SETTINGS)
@given(pair=label_pairs(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_by_label_f_beta_equals_its_twin(pair, beta):
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
def test_by_label_sparse_labels_give_the_same(pair):
    Y, Z = pair
    for name in ["macro_f1", "micro_f1", "macro_precision"]:
        f = getattr(metrics, name)
        dense = near(f(Y, Z))
        assert f(sparse.csr_array(Y), sparse.csc_matrix(Z)) == dense
        assert f(sparse.csr_matrix(Y), Z) == dense
        assert f(Y, sparse.coo_array(Z)) == dense


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_by_label_equal_to_scikit_learn(p):
    Y, _, Z = random_problem(p=p)
    for how in ("macro", "micro"):
        for name in ("precision", "recall", "f1"):
            peer = getattr(sk, f"{name}_score")(Y, Z, average=how, zero_division=0)
            assert getattr(metrics, f"{how}_{name}")(Y, Z) == pytest.approx(peer)


def test_every_label_counts_even_where_nothing_is_defined():
    nothing = np.zeros((3, 2), dtype=int)
    assert metrics.macro_f1(nothing, nothing) == metrics.micro_f1(nothing, nothing) == 0
    assert metrics.macro_precision(nothing, nothing) == metrics.micro_recall(nothing, nothing) == 0


BY_INSTANCE = ["hamming_loss", "subset_accuracy", "accuracy", "precision", "recall"]


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_by_instance_equal_their_twins(pair):
    for name in BY_INSTANCE:
        assert getattr(metrics, name)(*pair) == near(getattr(twins, name)(*pair)), name


@settings(**SETTINGS)
@given(pair=label_pairs(), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_by_instance_f_beta_equals_its_twin(pair, beta):
    expected = near(twins.f_beta(*pair, beta))
    assert metrics.f_beta(*pair, beta=beta) == expected
    if beta == 1:
        assert metrics.f1(*pair) == expected


@settings(**SETTINGS)
@given(pair=label_pairs())
def test_by_instance_sparse_labels_give_the_same(pair):
    Y, Z = pair
    for name in [*BY_INSTANCE, "f1"]:
        f = getattr(metrics, name)
        dense = near(f(Y, Z))
        assert f(sparse.csr_array(Y), sparse.csc_matrix(Z)) == dense
        assert f(sparse.csr_matrix(Y), Z) == dense
        assert f(Y, sparse.coo_array(Z)) == dense


@pytest.mark.parametrize("p", [0.05, 0.3, 0.9])
def test_by_instance_equal_to_scikit_learn(p):
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


def test_measures_broadcast_and_divide_zero_by_zero_to_zero():
    grid = np.arange(4)
    tp, fp, fn, tn = np.meshgrid(grid, grid, grid, grid, indexing="ij")
    for name in ("accuracy", "precision", "recall", "jaccard", "f1"):
        got = COUNT_MEASURES[name](tp, fp, fn, tn)
        for at in np.ndindex(*tp.shape):
            if name != "accuracy" or sum(at):
                assert got[at] == pytest.approx(twins.binary(name, *at))
    for name, beta in (("f0.5", 0.5), ("f2", 2.0)):
        got = COUNT_MEASURES[name](tp, fp, fn, tn)
        for at in np.ndindex(*tp.shape):
            assert got[at] == pytest.approx(twins.binary("f", *at, beta))
    assert COUNT_MEASURES["accuracy"](0, 0, 0, 0) == 0
    assert COUNT_MEASURES["f1"](3, np.arange(3), 1, 0).shape == (3,)


def test_block_size_changes_nothing(monkeypatch):
    Y, _, Z = random_problem()
    whole = metrics.evaluate(Y, labels=Z)
    monkeypatch.setattr(_inputs, "BLOCK", 10)
    assert metrics.evaluate(Y, labels=Z) == whole


NAMES = ["a", "a/b", "a/b/c", "d", "d/e"]
TREE = Hierarchy(NAMES)


def full(row):
    """A label set with all prefixes of its names."""
    found = set()
    for name in np.array(NAMES)[np.asarray(row) == 1]:
        parts = name.split("/")
        found |= {"/".join(parts[: i + 1]) for i in range(len(parts))}
    return found


def by_loops(Y, Z, average):
    pairs = [(full(y), full(z)) for y, z in zip(Y, Z)]
    if average == "micro":
        both = sum(len(y & z) for y, z in pairs)
        true, pred = sum(len(y) for y, _ in pairs), sum(len(z) for _, z in pairs)
        return both / pred, both / true, 5 * both / (4 * true + pred)
    pairs = [(y, z) for y, z in pairs if y]
    return (
        np.mean([len(y & z) / len(z) if z else 0.0 for y, z in pairs]),
        np.mean([len(y & z) / len(y) for y, z in pairs]),
        np.mean([5 * len(y & z) / (4 * len(y) + len(z)) for y, z in pairs]),
    )


@pytest.mark.parametrize("average", ["micro", "instances"])
def test_by_loops(average):
    rng = np.random.default_rng(0)
    Y, Z = ((rng.random((40, 5)) < 0.25).astype(int) for _ in range(2))
    expected = by_loops(Y, Z, average)
    for form in (np.asarray, sparse.csr_array):
        found = (
            hierarchical_precision(form(Y), form(Z), TREE, average=average),
            hierarchical_recall(form(Y), form(Z), TREE, average=average),
            hierarchical_f_beta(form(Y), form(Z), TREE, beta=2, average=average),
        )
        assert_allclose(found, expected)
    assert hierarchical_recall(pd.DataFrame(Y, columns=NAMES), Z, average=average) == found[1]


def test_bad_requests():
    Y = [[1, 0, 0, 0, 0]]
    with pytest.raises(ValueError, match="hierarchy must be given"):
        hierarchical_precision(Y, Y)
    with pytest.raises(ValueError, match="got dict"):
        hierarchical_precision(Y, Y, {"a/b": "a"})
    with pytest.raises(ValueError, match="average must be"):
        hierarchical_precision(Y, Y, TREE, average="macro")
    with pytest.raises(ValueError, match="the 5 labels of the hierarchy, got 1"):
        hierarchical_precision([[1]], [[1]], TREE)
