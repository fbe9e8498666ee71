"""All measures in one call, label by label, as sums of parts, and their tables."""

import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plurilabel import metrics
from plurilabel.metrics import MEASURES, MeasureSums, evaluate, get_measure, per_label
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


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    result = evaluate([[1, 0], [0, 1]], [[0.2, 0.1], [0.3, 0.4]])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'plurilabel\[table\]'"):
        result.to_frame()


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


def test_one_rule_for_instances_without_labels():
    """Perfect rankings and sets have the best values, whatever the unlabelled rows."""
    Y = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    scores, sets = Y + np.linspace(0, 0.1, 3), Y.copy()
    found = evaluate(Y, scores, sets, top=(1,))
    for name in ("one_error", "ranking_loss", "is_error", "hamming_loss"):
        assert found[name] == 0, name
    for name in ("accuracy", "precision", "recall", "f1", "subset_accuracy", "average_precision",
                 "precision@1", "ndcg@1"):  # fmt: skip
        assert found[name] == 1, name
    sets[3, 0] = 1  # which only measures of all labels can see
    worse = evaluate(Y, scores, sets, top=(1,))
    changed = {name for name in found if found[name] != worse[name]}
    assert {"hamming_loss", "subset_accuracy", "micro_f1", "macro_precision"} <= changed
    assert not changed & {"accuracy", "precision", "recall", "f1", "one_error", "precision@1"}


def test_the_table_says_what_becomes_of_instances_without_labels():
    Y = np.array([[1, 0], [0, 0], [0, 0]])
    text = "2 of 3 instances have no labels: they count in hamming_loss, subset_accuracy"
    for form in (Y, sparse.csr_array(Y)):
        assert text in repr(evaluate(form, labels=Y))
    assert "no labels" not in repr(evaluate(Y[:1], labels=Y[:1]))
    assert pickle.loads(pickle.dumps(evaluate(Y, labels=Y))).note.startswith("2 of 3")


MEANS = {"rtol": 1e-12, "atol": 1e-12}


def assert_same(found, expected):
    expected = {name: value for name, value in expected.items() if get_measure(name).terms}
    assert list(found) == list(expected)
    for name, value in expected.items():
        if name.startswith(("macro", "micro")):  # made of counts
            assert np.array_equal(found[name], value, equal_nan=True), name
        else:
            np.testing.assert_allclose(found[name], value, **MEANS, err_msg=name)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_sums_of_parts_are_those_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    n, q = rng.integers(1, 40), rng.integers(1, 8)
    Y = (rng.random((n, q)) < rng.random()).astype(float)
    scores = np.round(rng.random((n, q)), 1)
    labels = (scores > rng.random()).astype(np.int8)
    if rng.random() < 0.3:
        Y[rng.random((n, q)) < 0.3] = np.nan
    elif rng.random() < 0.3:
        Y, labels = sparse.csr_array(Y), sparse.csr_array(labels)
        scores = sparse.csr_array(scores)
    cuts = [0, *sorted(set(rng.integers(1, n + 1, 3).tolist()) - {n}), n]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    options = {"top": (1, 3), "propensities": rng.uniform(0.1, 1, q)}
    for given_ in ({"scores": scores, "labels": labels}, {"scores": scores}, {"labels": labels}):
        sums = [
            MeasureSums.of(Y[part], **{k: M[part] for k, M in given_.items()}, **options)
            for part in parts
        ]
        total = sums[0]
        for more in sums[1:]:
            total = more + total
        found, expected = total.evaluation(), evaluate(Y, **given_, **options)
        assert_same(found, expected)
        assert (found.note, found.n_unknown) == (expected.note, expected.n_unknown)
        assert total.n == n


def test_whole_numbers_are_scores_if_some_block_has_more_than_0_and_1():
    Y, votes = np.eye(4, dtype=int), np.array([[1, 0, 0, 0], [0, 1, 1, 0], [3, 0, 2, 0], [0] * 4])
    sums = MeasureSums.of(Y[:2], votes[:2]) + MeasureSums.of(Y[2:], votes[2:])
    assert_same(sums.evaluation(), evaluate(Y, votes))
    with pytest.raises(ValueError, match="got predicted labels"):
        MeasureSums.of(Y[:2], votes[:2]).evaluation()


def test_errors():
    Y = np.eye(3, dtype=int)
    with pytest.raises(ValueError, match="scores, labels or both"):
        MeasureSums.of(Y)
    with pytest.raises(ValueError, match="same labels, got 3 and 2"):
        MeasureSums.of(Y, labels=Y) + MeasureSums.of(Y[:, :2], labels=Y[:, :2])
    with pytest.raises(ValueError, match="same measures"):
        MeasureSums.of(Y, labels=Y) + MeasureSums.of(Y, Y * 0.5)
    with pytest.raises(TypeError):
        MeasureSums.of(Y, labels=Y) + 1
