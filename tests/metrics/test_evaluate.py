"""All measures in one call, intervals, tables, and the errors."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from plurilabel import metrics
from plurilabel.metrics import MEASURES, evaluate, get_measure, per_label
from tests.metrics import twins
from tests.metrics.cases import random_problem

# These are functions with a parameter; evaluate has beta=1 of them.
ONLY_FUNCTIONS = {"f_beta", "macro_f_beta", "micro_f_beta"}


def test_every_name_equals_its_function():
    Y, F, Z = random_problem(decimals=2)
    p = metrics.propensities(Y)
    result = evaluate(Y, F, Z, propensities=p, top=(1, 4))
    named = {name for name in MEASURES if not name.endswith("@k")} - ONLY_FUNCTIONS
    at_k = {name for name in MEASURES if name.endswith("@k")}
    assert set(result) == named | {f"{name[:-1]}{k}" for name in at_k for k in (1, 4)}
    for name, value in result.items():
        measure = get_measure(name)
        extra = {"propensities": p} if name.startswith("ps") else {}
        assert measure.function(Y, F if measure.kind == "scores" else Z, **extra) == value
        assert type(value) is float


def test_only_what_the_inputs_allow():
    Y, F, Z = random_problem()
    of_labels, of_scores = evaluate(Y, labels=Z), evaluate(Y, F)
    assert {get_measure(n).kind for n in of_labels} == {"labels"}
    assert {get_measure(n).kind for n in of_scores} == {"scores"}
    assert evaluate(Y, F, Z) == {**of_labels, **of_scores}
    assert not any(name.startswith("ps") for name in of_scores)


def test_k_above_the_number_of_labels_is_left_out():
    result = evaluate([[1, 0], [0, 1]], [[0.2, 0.1], [0.3, 0.4]])
    assert "precision@1" in result
    assert "precision@3" not in result


def test_one_row_one_label():
    result = evaluate([[1]], [[0.3]], [[1]])
    assert result["f1"] == 1
    assert result["coverage"] == 0
    assert np.isnan(result["macro_auc"])


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


def test_evaluation_is_a_dict_that_prints_and_pickles():
    Y, F, Z = random_problem(n=40, q=3)
    result = evaluate(Y, F, Z, bootstrap=20, random_state=0)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.intervals == result.intervals
    assert "95% interval" in repr(result)
    frame = result.to_frame()
    assert list(frame.columns) == ["value", "low", "high"]
    assert frame.loc["f1", "value"] == result["f1"]
    assert list(evaluate(Y, F).to_frame().columns) == ["value"]


# bootstrap ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("form", ["dense", "sparse", "sparse labels"])
def test_intervals_are_those_of_evaluating_every_sample(decimals, form):
    Y, F, Z = random_problem(n=40, q=4, decimals=decimals)
    F = np.where(F > 0.4, F, 0)
    p = metrics.propensities(Y)
    if form == "sparse":
        F = sparse.csr_array(F)
    if form != "dense":
        Y, Z = sparse.csr_array(Y), sparse.csr_array(Z)
    options = {"propensities": p, "top": (1, 2)}
    got = evaluate(Y, F, Z, bootstrap=25, confidence=0.8, random_state=3, **options)
    rng = np.random.RandomState(3)
    samples = [evaluate(Y[i], F[i], Z[i], **options) for i in rng.randint(0, 40, (25, 40))]
    assert set(got.intervals) == set(got)
    for name, interval in got.intervals.items():
        expected = np.nanquantile([s[name] for s in samples], [0.1, 0.9])
        assert interval == pytest.approx(tuple(expected)), name


def test_bootstrap_is_reproducible_and_leaves_the_values_alone(monkeypatch):
    Y, F, Z = random_problem(n=60)
    plain = evaluate(Y, F, Z)
    one = evaluate(Y, F, Z, bootstrap=30, random_state=1)
    assert one == plain
    monkeypatch.setattr("plurilabel.metrics._bootstrap._WEIGHTS", 200)
    two = evaluate(Y, F, Z, bootstrap=30, random_state=1)
    for name in plain:
        assert one.intervals[name] == pytest.approx(two.intervals[name])
        low, high = one.intervals[name]
        assert low <= high


def test_an_interval_covers_what_it_should():
    """Of 100 intervals at 90%, about 90 hold the truth: P(X < 80) is below 0.002."""
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Y = (rng.random((150, 3)) < 0.4).astype(int)
        Z = np.where(rng.random((150, 3)) < 0.2, 1 - Y, Y)
        interval = evaluate(Y, labels=Z, bootstrap=200, confidence=0.9, random_state=seed)
        low, high = interval.intervals["hamming_loss"]
        covered += low <= 0.2 <= high
    assert covered >= 80


def test_a_measure_that_is_never_defined_has_no_interval():
    result = evaluate([[1, 1], [1, 1]], [[0.1, 0.2], [0.3, 0.4]], bootstrap=5, random_state=0)
    assert np.isnan(result["ranking_loss"])
    assert np.isnan(result.intervals["ranking_loss"]).all()


# per label ---------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_per_label_equals_the_tables(convert):
    Y, F, Z = random_problem(decimals=1)
    Y[:, 2] = 0
    table = per_label(convert(Y), convert(F + 1), convert(Z))
    for j, (tp, fp, fn, tn) in enumerate(twins.tables(Y, Z)):
        assert [table[c][j] for c in ("tp", "fp", "fn", "tn")] == [tp, fp, fn, tn]
        assert (table["positives"][j], table["predicted"][j]) == (tp + fn, tp + fp)
        for name in ("accuracy", "precision", "recall", "f1", "jaccard"):
            assert table[name][j] == pytest.approx(twins.binary(name, tp, fp, fn, tn))
        f = F[:, j]
        auc = twins.auc(list(f[Y[:, j] == 1]), list(f[Y[:, j] == 0]))
        assert table["auc"][j] == pytest.approx(np.nan if auc is None else auc, nan_ok=True)


def test_per_label_table():
    Y, F, Z = random_problem(q=40)
    table = per_label(Y, F, Z)
    assert table.to_frame().loc["label3", "tp"] == table["tp"][3]
    assert "... and 10 more labels" in repr(table)
    assert list(per_label(Y, F)) == ["positives", "auc"]
    np.testing.assert_array_equal(per_label(sparse.csr_array(Y), F)["positives"], Y.sum(axis=0))
    with pytest.raises(ValueError, match="label_names must have 40 entries"):
        per_label(Y, F, label_names=["a"])


# errors ------------------------------------------------------------------------------------

Y2, F2 = [[1, 0], [0, 1]], [[0.2, 0.1], [0.3, 0.4]]


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
        (lambda: evaluate(Y2, F2, bootstrap=0), "bootstrap must be at least 1"),
        (lambda: evaluate(Y2, F2, confidence=1), "confidence must lie strictly between 0 and 1"),
    ],
)
def test_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_floats_that_happen_to_be_whole_are_scores():
    assert metrics.ranking_loss(Y2, np.array(Y2, dtype=float)) == 0
    assert metrics.ranking_loss(Y2, [[3, 1], [0, 2]]) == 0  # votes
    assert metrics.ranking_loss(Y2, sparse.dok_array(np.array([[3, 1], [0, 2]]))) == 0


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    result = evaluate(Y2, F2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[table\]'"):
        result.to_frame()
