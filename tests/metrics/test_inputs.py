"""What the measures accept, and the errors for what they do not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from plurilabel import metrics
from plurilabel._core.scores import score_matrix
from plurilabel.datasets import Hierarchy
from plurilabel.metrics import evaluate, per_label
from tests.metrics.cases import random_problem

Y2, F2 = [[1, 0], [0, 1]], [[0.2, 0.1], [0.3, 0.4]]


MASKED = np.ma.array(Y2, mask=[[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(Y2), "evaluate needs scores, labels or both"),
        (lambda: per_label(Y2), "per_label needs scores, labels or both"),
        (lambda: evaluate(Y2, [[0.2, np.nan], [0, 1]]), "scores contains NaN"),
        (lambda: evaluate(Y2, [[0.2], [0.1]]), r"scores must have the shape of Y_true, \(2, 2\)"),
        (lambda: evaluate(Y2, labels=[[1, 0]]), r"labels must have the shape .*got \(1, 2\)"),
        (lambda: metrics.f1(Y2, [[1, 0]]), "Y_pred must have the shape of Y_true"),
        (lambda: metrics.ranking_loss(Y2, Y2), "scores must be the scores .*got predicted labels"),
        (
            lambda: metrics.coverage(Y2, sparse.csr_array(np.array(Y2))),
            "got predicted labels .*pass what predict_proba",
        ),
        (lambda: metrics.coverage(Y2, np.array(Y2, dtype=bool)), "got predicted labels"),
        (lambda: metrics.f1(Y2, F2), "Y_pred must hold only 0 and 1, got 0.2"),
        (lambda: metrics.f1([1, 0], [1, 0]), "Y_true must be a 0/1 matrix"),
        (lambda: metrics.f1(np.zeros((0, 2)), np.zeros((0, 2))), "at least one instance and one"),
        (lambda: metrics.f1(np.zeros((2, 0)), np.zeros((2, 0))), "at least one instance and one"),
        (lambda: metrics.f_beta(Y2, Y2, beta=0), "beta must be a positive number, got 0"),
        (lambda: metrics.macro_f_beta(Y2, Y2, beta=-1), "beta must be a positive number"),
        (lambda: metrics.precision_at_k(Y2, F2, 3), "k must be at most the number of labels, 2"),
        (lambda: metrics.precision_at_k(Y2, F2, 0), "k must be an integer of at least 1, got 0"),
        (lambda: evaluate(Y2, F2, top=(1.5,)), "k must be an integer of at least 1, got 1.5"),
        (lambda: metrics.psp_at_k(Y2, F2, 1, propensities=[1]), r"must have shape \(2,\)"),
        (lambda: metrics.psp_at_k(Y2, F2, 1, propensities=[1, 0]), r"must lie in \(0, 1\]"),
        (lambda: evaluate(Y2, F2, bootstrap=0), "bootstrap must be an integer of at least 1"),
        (lambda: evaluate(Y2, F2, bootstrap=2.5), "bootstrap must be an .* got 2.5"),
        (lambda: evaluate(Y2, F2, top=2.5), "k must be an integer of at least 1, got 2.5"),
        (lambda: metrics.precision_at_k(Y2, F2, 1.5), "k must be an integer .* got 1.5"),
        (lambda: metrics.ndcg_at_k(Y2, F2, [1, 2]), r"k must be an integer .* got \[1, 2\]"),
        (lambda: score_matrix(F2, n_labels=1.5), "n_labels must be an .* got 1.5"),
        (lambda: metrics.f_beta(Y2, Y2, beta="2"), "beta must be a positive number, got '2'"),
        (lambda: metrics.f1(MASKED, Y2), "Y_true must not have masked values, got 2"),
        (lambda: metrics.f1(Y2, MASKED), "Y_pred must not have masked values, got 2"),
        (lambda: metrics.coverage(Y2, MASKED * 0.5), "scores must not have masked values, got 2"),
        (lambda: evaluate(Y2, F2, confidence=1), "confidence must lie strictly between 0 and 1"),
    ],
)
def test_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_without_masked_values_a_masked_array_is_an_array():
    assert evaluate(np.ma.array(Y2), np.ma.array(F2)) == evaluate(Y2, F2)


def test_f_of_a_huge_beta_is_the_recall_and_of_a_tiny_one_the_precision():
    Y, _, Z = random_problem(n=60, q=4)
    for kind, recall, precision in (
        (metrics.f_beta, "recall", "precision"),
        (metrics.micro_f_beta, "micro_recall", "micro_precision"),
        (metrics.macro_f_beta, "macro_recall", "macro_precision"),
    ):
        several = Y.any(axis=1) & Z.any(axis=1)  # where both are defined
        y, z = Y[several], Z[several]
        for beta in (1e15, 1e160, 1e200, 1.7e308):
            assert kind(y, z, beta=beta) == pytest.approx(
                getattr(metrics, recall)(y, z), rel=1e-15
            )
        for beta in (1e-160, 1e-320):
            assert kind(y, z, beta=beta) == pytest.approx(getattr(metrics, precision)(y, z))


def test_scores_stored_twice_are_added_up():
    Y, F, _ = random_problem(n=20, q=4)
    S = sparse.csr_array(F)
    twice = sparse.csr_array(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape
    )
    assert evaluate(Y, twice) == evaluate(Y, S)
    assert twice.nnz == 2 * S.nnz


def test_floats_that_happen_to_be_whole_are_scores():
    assert metrics.ranking_loss(Y2, np.array(Y2, dtype=float)) == 0
    assert metrics.ranking_loss(Y2, [[3, 1], [0, 2]]) == 0  # votes
    assert metrics.ranking_loss(Y2, sparse.dok_array(np.array([[3, 1], [0, 2]]))) == 0


def test_data_frames():
    Y, F, Z = random_problem(n=30, q=3)
    names = ["a", "b", "c"]
    expected = evaluate(Y, F, Z)
    for frame in (pd.DataFrame, lambda data, columns: pl.DataFrame(data, schema=columns)):
        got = evaluate(frame(Y, columns=names), frame(F, columns=names), frame(Z, columns=names))
        assert got == expected
        assert per_label(frame(Y, columns=names), F).label_names == names
    with pytest.raises(ValueError, match="labels must have its columns in the order of Y_true"):
        metrics.evaluate(
            pd.DataFrame(Y, columns=names), labels=pd.DataFrame(Z, columns=["b", "a", "c"])
        )


def test_inputs_are_not_changed():
    Y, F, Z = random_problem(n=20)
    S = sparse.csr_array(F)
    before = [a.copy() for a in (Y, F, Z, S.data, S.indices)]
    metrics.evaluate(Y, F, Z)
    metrics.evaluate(Y, S, Z)
    for a, b in zip((Y, F, Z, S.data, S.indices), before):
        np.testing.assert_array_equal(a, b)


def test_tags_are_compared_as_they_are():
    """As ``Model.predict`` gives them; labels are all that occur in either."""
    true, found = [["a", "b"], ["b"], []], [("a",), ("b", "c"), ()]
    Y, Z = [[1, 1, 0], [0, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    for name in ("f1", "macro_f1", "hamming_loss", "subset_accuracy"):
        measure = getattr(metrics, name)
        assert measure(true, found) == measure(Y, Z)
    assert metrics.hamming_loss([["a"], []], [(), ()]) == 0.5
    tree = Hierarchy(["a", "a/b"])
    assert metrics.hierarchical_f_beta([["a/b"]], [["a"]], tree) == 2 / 3
    with pytest.raises(ValueError, match="Y_true must be .* got tags: write y = plurilabel.la"):
        metrics.f1(true, Z)
